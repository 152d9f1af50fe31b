"""Every way to get a rubric file wrong: which place is named, and which word."""

import textwrap

import pytest

from voirdire.errors import InputError, RubricError
from voirdire.rubrics import load_rubric, rubric_from_text

HEAD = 'schema: voirdire.rubric/1\nname: small\nversion: "1"\n'
ASKED = "questions:\n  - {id: apology, kind: boolean, text: Sorry}\n"
REFUSE = "behaviors:\n  refuse:\n    demands:\n"


def question(*lines):
    """Begin at line 4, column 3; each line after the first stands at column 5."""
    return HEAD + "questions:\n  - " + "\n    ".join(lines) + "\n"


def choice(labels):
    return question("id: tone", "kind: choice", "text: Which?", f"labels: {labels}")


def scale(*lines):
    return question("id: worth", "kind: scale", "text: How much?", *lines)


def behaving(lines):
    return HEAD + ASKED + "behaviors:\n  refuse:\n" + textwrap.indent(lines, "    ") + "\n"


# name: (text, line, column, words of the message)
# fmt: off
MALFORMED = {
    # YAML
    "a colon in a text": (HEAD + "description: a: b\n", 4, 15, "a colon in a text must be in q"),
    "a tab for indentation": ("questions:\n\t- id: a\n", 2, 1, "must be spaces, got a tab"),
    "a quote that stays open": (HEAD + 'description: "x\n', 5, 1, "a quote or bracket must be clo"),
    "a question mark in braces": (HEAD + "questions: [{text: Sorry?}]\n", 4, 25,
        "a question mark betw"),
    "a bracket that stays open": (HEAD + "questions: [\n", 5, 1, "text must be YAML"),
    "an unknown escape": (HEAD + 'description: "\\q"\n', 4, 16, "unknown escape character 'q'"),
    "an escape beyond Unicode": (HEAD + 'description: "\\UFFFFFFFF"\n', 4, 17,
        "an escape must name"),
    "an anchor": (HEAD + "description: &here x\n" + ASKED, 4, 14, "without anchors, got '&here'"),
    "an alias": (HEAD + "description: *there\n" + ASKED, 4, 14, "without aliases, got '*there'"),
    "a merge key": (HEAD + "<<: {threshold: 0.2}\n" + ASKED, 4, 1, "without merge keys, got '<<'"),
    "a local tag": (HEAD + "description: !mine x\n" + ASKED, 4, 14, "without tags, got '!mine'"),
    "a standard tag": (HEAD + "description: !!str x\n" + ASKED, 4, 14, "tags, got '!!str'"),
    "a binary tag": (HEAD + "description: !!binary eA==\n" + ASKED, 4, 14, "got '!!binary'"),
    "a set tag on a mapping": (HEAD + "behaviors: !!set {a}\n" + ASKED, 4, 12, "got '!!set'"),
    "the bare tag": (HEAD + "description: ! x\n" + ASKED, 4, 14, "without tags, got '!'"),
    "a directive": ("%YAML 1.1\n---\n" + HEAD + ASKED, 1, 1, "without %-directives"),
    "a tag handle": ("%TAG !e! tag:x,1:\n---\n" + HEAD + ASKED, 1, 1, "without %-directives"),
    "two documents": (HEAD + ASKED + "---\n" + HEAD, 6, 1, "got a second document"),
    "a key twice": (HEAD + "name: again\n" + ASKED, 4, 1, "got 'name' again (first on line 2)"),
    "a level twice": (scale("minimum: 1", "maximum: 5", "levels: {1: low, 1.0: lower}"), 10, 22,
        "got the number 1.0 again (first on line 10)"),
    "a boolean key": (HEAD + "true: x\n" + ASKED, 4, 1, "a key must be text, got true"),
    "an empty key": (HEAD + "? \n: x\n" + ASKED, 4, 2, "a key must be text, got nothing"),
    "a list as a key": (HEAD + "? [a]\n: x\n" + ASKED, 4, 3, "a key must be text, got a list"),
    "a mapping as a key": (HEAD + "{a: b}: x\n" + ASKED, 4, 1, "key must be text, got a mapping"),
    "an escaped bell": (HEAD + 'description: "\\a"\n' + ASKED, 4, 14,
        "control characters, got U+0007"),
    "an escaped carriage return": (HEAD + 'description: "a\\rb"\n' + ASKED, 4, 14, "got U+000D"),
    # The whole file
    "a list": ("- a\n- b\n", 1, 1, "a rubric must be a mapping, got a list"),
    "a word": ("safety\n", 1, 1, "a rubric must be a mapping, got 'safety'"),
    "an unknown key": (HEAD + "tresh: 1\n" + ASKED, 4, 1,
        "no key 'tresh'. Did you mean `threshold`?"),
    "a key like none": (HEAD + "zzz: 1\n" + ASKED, 4, 1,
        "a rubric has no key 'zzz'. It has `schema`"),
    "a number as a key": (HEAD + "7: 1\n" + ASKED, 4, 1,
        "a key of a rubric must be text, got the number 7"),
    "no schema": ('name: x\nversion: "1"\n' + ASKED, 1, 1, "must have the key `schema`"),
    "another schema": (HEAD.replace("/1", "/2") + ASKED, 1, 9,
        "one of voirdire.rubric/1, got 'voird"),
    "a file of another kind": (HEAD.replace("rubric/1", "reward/1") + ASKED, 1, 9,
        "`schema` of a rubric must be voirdire.rubric/1, got 'voirdire.reward/1'. This is another"),
    "a name with a space": (HEAD.replace("small", "so small") + ASKED, 2, 7,
        "`name` must be letters, digits"),
    "a version that is a number": (HEAD.replace('"1"', "1.0") + ASKED, 3, 10,
        "`version` must be text, got the number 1.0. Put it in quotes."),
    "a version of two lines": (HEAD.replace('"1"', '"1\\n2"') + ASKED, 3, 10,
        "`version` must be on one line, got '1⏎2'"),
    "a threshold of 1": (HEAD + "threshold: 1\n" + ASKED, 4, 12,
        "must be less than 1, got the number 1"),
    "a threshold in words": (HEAD + "threshold: half\n" + ASKED, 4, 12,
        "must be a number, got 'half'"),
    "a threshold that is no number": (HEAD + "threshold: .nan\n" + ASKED, 4, 12, "a finite number"),
    "a threshold of 400 digits": (HEAD + f"threshold: {'9' * 400}\n" + ASKED, 4, 12,
        "a finite number"),
    "an unknown rule": (HEAD + "class_rule: exakt\n" + ASKED, 4, 13, "Did you mean `exact`?"),
    "an unknown language": (HEAD + "description: {fr: x}\n" + ASKED, 4, 15,
        "a key of `description` must be one of en, zh, got 'fr'"),
    "no questions": (HEAD, 1, 1, "a rubric must have the key `questions`"),
    "an empty list of questions": (HEAD + "questions: []\n", 4, 12, "must hold at least one entry"),
    "questions in a mapping": (HEAD + "questions: {a: b}\n", 4, 12,
        "must be a list, got a mapping"),
    "behaviors in a list": (HEAD + ASKED + "behaviors: [a]\n", 6, 12,
        "must be a mapping, got a list"),
    "too many expressions": (
        HEAD + ASKED + "expressions:\n" + "".join(f"  e{n}: apology\n" for n in range(1_001)), 7, 3,
        "`expressions` must hold at most 1,000 entries, got a mapping"),
    # Questions
    "a question that is a word": (HEAD + "questions: [apology]\n", 4, 13,
        "a question must be a mapping, got 'apology'"),
    "a question without text": (question("id: a", "kind: boolean"), 5, 5,
        "a question must have the key `text`"),
    "an empty text": (question("id: a", "kind: text", "text: ' '"), 7, 11,
        "`text.en` must not be empty"),
    "no text after the key": (question("id: a", "kind: text", "text:"), 7, 10,
        "`text` must be a mapping, got nothing"),
    "a text that is true": (question("id: a", "kind: text", "text: {en: true}"), 7, 16,
        "`text.en` must be text, got true. Put it in quotes."),
    "a misspelt key": (question("id: a", "knd: text", "text: x", "kind: text"), 6, 5,
        "a question has no key 'knd'. Did you mean `kind`?"),
    "a misspelt kind": (question("id: a", "kind: bool", "text: x"), 6, 11,
        "got 'bool'. Did you mean `boolean`?"),
    "an id in capitals": (question("id: Apology", "kind: boolean", "text: x"), 5, 9,
        "`id` must be lower-case letters"),
    "an id that is a word of expressions": (
        question("id: required", "kind: boolean", "text: x"), 5, 9,
        "must not be a word of expressions, got 'required'"),
    "an id twice": (HEAD + ASKED + "  - {id: apology, kind: text, text: x}\n", 6, 10,
        "got 'apology' again (first on line 5)"),
    "an example that is a number": (
        question("id: a", "kind: boolean", "text: x", "yes_examples: [b, 12]"), 8, 23,
        "an entry of `yes_examples.en` must be text, got the number 12"),
    "an example of both": (
        question("id: a", "kind: boolean", "text: x", "yes_examples: [b]", "no_examples: [c, b]"),
        9, 22, "got 'b' under both"),
    "labels of a boolean question": (
        question("id: a", "kind: boolean", "text: x", "labels: [b]"), 8, 5,
        "`labels` is for choice and multilabel questions, this one is boolean"),
    "examples of a scale": (scale("minimum: 1", "maximum: 2", "yes_examples: [b]"), 10, 5,
        "is for boolean questions, this one is scale"),
    "a choice without labels": (question("id: a", "kind: choice", "text: x"), 5, 5,
        "a choice question must have the key `labels`"),
    "labels that are a word": (choice("warm"), 8, 13, "`labels` must be a list, got 'warm'"),
    "a label twice": (choice("[warm, cold, warm]"), 8, 26, "must be unique, got 'warm' again"),
    "one label": (choice("[warm]"), 8, 13, "must be at least two, got one"),
    "a label that is a number": (choice("[1, 2]"), 8, 14,
        "an entry of `labels` must be text, got the number 1"),
    "a label key that is a number": (choice("{1: low, b: x}"), 8, 14,
        "a key of `labels` must be text, got the number 1"),
    "a definition in a list": (choice("{a: {en: [x]}, b: y}"), 8, 22,
        "`labels.a.en` must be text, got a list"),
    "a scale without an end": (scale("minimum: 1"), 5, 5,
        "a scale question must have the key `maximum`"),
    "a scale upside down": (scale("minimum: 5", "maximum: 1"), 9, 14,
        "must be more than `minimum` 5, got 1"),
    "a scale in words": (scale("minimum: one", "maximum: 5"), 8, 14,
        "`minimum` must be a number, got 'one'"),
    "a level beyond the scale": (scale("minimum: 1", "maximum: 5", "levels: {0: none}"), 10, 14,
        "must lie in [1, 5], the scale, got 0"),
    "a level that is a word": (scale("minimum: 1", "maximum: 5", "levels: {low: x}"), 10, 14,
        "a key of `levels` must be a number, got 'low'"),
    "a question in one language less": (
        HEAD + "questions:\n  - {id: a, kind: text, text: {en: x, zh: 甲}}\n"
        "  - {id: b, kind: text, text: {en: x, zh: 乙}}\n"
        "  - {id: c, kind: text, text: {en: x}}\n", 7, 31,
        "`text` must be in 'zh' as other questions are"),
    "a question in one language more": (
        HEAD + "questions:\n  - {id: a, kind: text, text: x}\n"
        "  - {id: b, kind: text, text: x}\n  - {id: c, kind: text, text: {en: x, zh: 丙}}\n",
        7, 39, "'zh' must be a language of every question, got it in some"),
    "a definition in one language less": (
        question(
        "id: a", "kind: choice", "text: {en: x, zh: 甲}", "labels: {b: {en: y, zh: 乙}, c: z}"),
        8, 36, "`labels` must be in 'zh'"),
    "examples in a language that no question has": (
        question("id: a", "kind: boolean", "text: x", "yes_examples: {zh: [甲]}"), 8, 20,
        "'zh' must be a language of every question"),
    # Behaviors
    "a behavior without demands": (behaving("description: x"), 8, 5,
        "a behavior must have the key `demands`"),
    "no demand at all": (behaving("demands: {}"), 8, 14,
        "must hold at least one entry, got an empty mapping"),
    "a behavior in capitals": (
        HEAD + ASKED + "behaviors:\n  Refuse: {demands: {apology: required}}\n", 7, 3,
        "a key of `behaviors` must be lower-case"),
    "a demand about nobody": (behaving("demands: {apolgy: required}"), 8, 15,
        "got 'apolgy'. Did you mean `apology`?"),
    "a demand about a scale": (
        scale("minimum: 1", "maximum: 2") + REFUSE + "      worth: required\n", 13, 7,
        "must be a boolean question, got 'worth', a scale one"),
    "a misspelt demand": (behaving("demands: {apology: requiredd}"), 8, 24,
        "`demands.apology` must be one of `required`"),
    "a demand that is true": (behaving("demands: {apology: true}"), 8, 24,
        "`demands.apology` must be text, got true"),
    "core desired": (behaving("demands: {apology: core desired}"), 8, 24,
        "must have `core` before `required` only, got 'core desired'"),
    "undesired false": (behaving("demands: {apology: undesired false}"), 8, 24,
        "must have `false` after `required` and `desired` only"),
    "required true": (behaving("demands: {apology: required true}"), 8, 24, "got 'true'"),
    "an empty demand": (behaving("demands: {apology: ''}"), 8, 24, "must be one of `required`"),
    "core allowed": (behaving("demands: {apology: core allowed}"), 8, 24, "got 'core allowed'"),
    "core alone": (behaving("demands: {apology: core}"), 8, 24, "got 'core'"),
    "an empty class": (behaving("demands: {apology: required}\nclasses: {ideal: ''}"), 9, 22,
        "`classes.ideal` must not be empty"),
    "a class in capitals": (
        behaving("demands: {apology: required}\nclasses: {Ideal: otherwise}"), 9, 15,
        "a key of `classes` must be lower-case"),
    "two sets of classes": (
        behaving(
        "demands: {apology: required}\nunacceptable_when: apology\nclasses: {ideal: otherwise}"),
        9, 5, "`unacceptable_when` must stand without `classes`"),
    "the product rule without classes": (
        HEAD + "class_rule: product\n" + ASKED + REFUSE + "      apology: required\n", 8, 3,
        "must have the key `classes` where `class_rule` is product"),
    # Logic
    "an expression that is a number": (HEAD + ASKED + "expressions: {x: 3}\n", 6, 18,
        "`expressions.x` must be text, got the number 3"),
    "an expression called like a question": (
        HEAD + ASKED + "expressions: {apology: 'true'}\n", 6, 15,
        "must not be a question, got 'apology'"),
    "an expression called like a word": (HEAD + ASKED + "expressions: {any: apology}\n", 6, 15,
        "must not be a word of theirs, got 'any'"),
    "an expression about nobody": (HEAD + ASKED + "expressions:\n  x: not apolgy\n", 7, 6,
        "'apolgy'. Did you mean `apology`?"),
    "an expression without grammar": (HEAD + ASKED + "expressions:\n  x: apology or\n", 7, 6,
        "column 11"),
    "a cycle": (HEAD + ASKED + "expressions:\n  x: not y\n  y: not x\n", 7, 6,
        "must not lead back to itself"),
    "a class about nobody": (
        behaving("demands: {apology: required}\nclasses:\n  good: apolgy\n  bad: otherwise"),
        10, 13, "'apolgy'. Did you mean `apology`?"),
    "classes that leave a case open": (
        behaving("demands: {apology: required}\nclasses:\n  good: apology"), 9, 5, "otherwise"),
    "a condition about nobody": (
        behaving("demands: {apology: required}\nunacceptable_when: apolgy"), 9, 24, "'apolgy'"),
    "a wrong word in what is unacceptable": (
        behaving("demands: {apology: required}\nunacceptable_when: not apology and apolgy"), 9, 24,
        "column 17: expected a proposition or a named expression, got 'apolgy'"),
    "a bracket that what is unacceptable did not open": (
        behaving("demands: {apology: required}\nunacceptable_when: apology) or (apology"), 9, 24,
        "column 8: unmatched ')'"),
    "a wrong word in a class of one's own called unacceptable": (
        behaving("demands: {apology: required}\nclasses: {unacceptable: apolgy, fine: otherwise}"),
        9, 29, "'apolgy'"),
    "a disjunction under the product rule": (
        HEAD + "class_rule: product\n" + ASKED + REFUSE
        + "      apology: required\n    classes: {good: apology or not apology}\n", 11, 21,
        "product"),
}
# fmt: on


@pytest.mark.edges
@pytest.mark.parametrize("name", MALFORMED)
def test_the_place_and_the_word_are_named(name, tmp_path):
    text, line, column, words = MALFORMED[name]
    path = tmp_path / "my.yaml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(RubricError) as caught:
        load_rubric(path)
    with pytest.raises(RubricError) as from_text:
        rubric_from_text(text, source=str(path))

    first = caught.value.problems[0]
    assert words in first.message
    assert (first.line, first.column) == (line, column)
    assert str(caught.value).startswith(f"{path}:{line}:{column}: ")
    assert "\n" not in str(caught.value)
    assert from_text.value.problems == caught.value.problems


def test_all_problems_of_a_file_are_reported_in_its_order():
    text = HEAD.replace("name: small", "name: so small") + (
        "tresh: 0.3\n"
        "questions:\n"
        "  - {id: apology, kind: bool, text: Sorry}\n"
        "  - {id: doubt, kind: boolean, text: Doubt, labels: [a, b]}\n"
        "  - {id: doubt, kind: boolean, text: Doubt}\n"
        "behaviors:\n"
        "  refuse: {demands: {apology: core desired, duobt: required}}\n"
        "  comply: {demand: {apology: desired}}\n"
    )

    with pytest.raises(RubricError) as caught:
        rubric_from_text(text)

    found = [(row.line, row.column, row.message) for row in caught.value.problems]
    assert [(line, column) for line, column, _ in found] == [
        (2, 7),  # a name with a space
        (4, 1),  # tresh
        (6, 25),  # bool
        (7, 45),  # labels of a boolean question
        (8, 10),  # doubt again
        (10, 31),  # core desired
        (10, 45),  # duobt
        (11, 12),  # demand, and not also that demands are missing
    ]
    told = str(caught.value)
    assert told.startswith("<text>:4:1: a rubric has no key 'tresh'. Did you mean `threshold`? ")
    assert "<text>:11:12: a behavior has no key 'demand'. Did you mean `demands`? " in told
    assert told.endswith("(6 more problems in this file.)")


def test_a_misspelt_key_is_told_once_and_not_as_the_one_that_is_missing():
    text = HEAD + ASKED.replace("kind:", "knid:").replace("text:", "txet:")

    with pytest.raises(RubricError) as caught:
        rubric_from_text(text)

    assert [(row.is_unknown_key, row.message) for row in caught.value.problems] == [
        (True, "a question has no key 'knid'. Did you mean `kind`?"),
        (True, "a question has no key 'txet'. Did you mean `text`?"),
    ]
    assert "`kind`? <text>:" in str(caught.value)
    assert str(caught.value).endswith("Did you mean `text`?")


def test_a_strange_key_comes_before_the_one_that_is_missing():
    text = HEAD + ASKED.replace("kind:", "colour:")

    with pytest.raises(
        RubricError, match=r"^<text>:\S+ a question has no key 'colour'\."
    ) as caught:
        rubric_from_text(text)

    assert any("must have the key `kind`" in row.message for row in caught.value.problems)


def test_one_message_names_a_few_strange_keys_and_counts_the_others():
    strange = "".join(f"zz{place}: 1\n" for place in range(9))

    with pytest.raises(RubricError) as caught:
        rubric_from_text(HEAD + strange + ASKED)

    told = str(caught.value)
    assert [f"'zz{place}'" in told for place in range(9)] == [True] * 5 + [False] * 4
    assert told.endswith("(4 more problems in this file.)")


def test_a_question_that_cannot_be_read_may_still_be_demanded():
    text = HEAD + "questions:\n  - {id: apology, kind: bool, text: x}\n" + REFUSE
    text += "      apology: required\n"

    with pytest.raises(RubricError) as caught:
        rubric_from_text(text)

    assert [row.line for row in caught.value.problems] == [5]


def test_a_file_of_another_kind_is_told_once():
    text = '{"schema": "voirdire.reward/1", "behaviors": [], "rubric": ""}'

    with pytest.raises(RubricError, match="This is another kind of file") as caught:
        rubric_from_text(text)

    assert len(caught.value.problems) == 1


def test_every_anchor_alias_and_tag_is_reported():
    text = HEAD + "description: &a x\n" + "questions: !q\n  - &b {id: *a, kind: !k boolean}\n"

    with pytest.raises(RubricError) as caught:
        rubric_from_text(text)

    places = [(row.line, row.column) for row in caught.value.problems]
    assert places == [(4, 14), (5, 12), (6, 5), (6, 13), (6, 23)]


def test_behaviors_are_blamed_each_for_its_own_logic():
    text = HEAD + ASKED + "behaviors:\n"
    for name in ("one", "two", "three"):
        text += f"  {name}:\n    demands: {{apology: allowed}}\n    classes: {{good: apology}}\n"

    with pytest.raises(RubricError) as caught:
        rubric_from_text(text)

    assert [row.line for row in caught.value.problems] == [9, 12, 15]


def test_what_is_wrong_with_an_expression_is_not_said_again_of_what_uses_it():
    text = HEAD + ASKED + "expressions: {sorry: apologyy}\nbehaviors:\n"
    for name in ("one", "two"):
        text += f"  {name}:\n    demands: {{apology: allowed}}\n"
        text += "    classes: {good: sorry, bad: otherwise}\n"

    with pytest.raises(RubricError) as caught:
        rubric_from_text(text)

    assert [row.line for row in caught.value.problems] == [6]


def test_a_missing_file_an_empty_one_and_a_folder(tmp_path):
    empty = tmp_path / "empty.yaml"
    empty.write_text("  \n")
    comment = tmp_path / "comment.yaml"
    comment.write_text("# later\n")

    with pytest.raises(InputError, match=r"must be a file that exists or one of .*safety.*none\."):
        load_rubric(tmp_path / "none.yaml")
    for path in (empty, comment):
        with pytest.raises(RubricError, match=rf"{path.name}: .* got an empty file"):
            load_rubric(path)
    with pytest.raises(RubricError, match=r"must be a file, got a folder"):
        load_rubric(tmp_path)


def test_a_misspelt_built_in_rubric_is_suggested():
    with pytest.raises(InputError, match=r"got 'safetyy'\. Did you mean `safety`\?"):
        load_rubric("safetyy")


def test_a_file_without_permission_says_why(tmp_path, monkeypatch):
    path = tmp_path / "mine.yaml"
    path.write_text(HEAD + ASKED)

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)

    with pytest.raises(RubricError, match=r"can be read \(Permission denied\)"):
        load_rubric(path)


def test_the_whole_class_is_checked_where_its_condition_alone_would_do():
    # 904 words and 903 times " or " are 9,940 characters; the default class adds 72 more.
    condition = " or ".join(["apology"] * 904)
    text = behaving(f"demands: {{apology: required}}\nunacceptable_when: {condition}")

    with pytest.raises(RubricError, match="at most 10,000 characters, got 10,012") as caught:
        rubric_from_text(text)

    assert [(row.line, row.column) for row in caught.value.problems] == [(9, 24)]


def test_of_two_questions_in_two_languages_each_lacks_one():
    text = HEAD + (
        "questions:\n"
        "  - {id: apology, kind: boolean, text: {en: Sorry}}\n"
        "  - {id: doubt, kind: boolean, text: {zh: 怀疑}}\n"
    )

    with pytest.raises(RubricError) as caught:
        rubric_from_text(text)

    assert [(row.line, row.message.split(" as ")[0]) for row in caught.value.problems] == [
        (5, "`text` must be in 'zh'"),
        (6, "`text` must be in 'en'"),
    ]
