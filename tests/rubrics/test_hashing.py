"""When two rubrics have one hash, and when they must not."""

import hashlib
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rubric_strategies import CHARACTERS, rubrics
from voirdire.rubrics import (
    Behavior,
    Demand,
    built_in_rubrics,
    load_rubric,
    rubric_from_text,
    rubric_to_yaml,
)

PLAIN = """\
schema: voirdire.rubric/1
name: small
version: "1"
description: {en: Small, zh: 小}
questions:
  - id: apology
    kind: boolean
    text: {en: "Sorry, or not?", zh: "是否道歉？"}
  - id: tone
    kind: choice
    text: {en: Which tone, zh: 什么语气}
    labels: {warm: {en: kind, zh: 温和}, cold: {en: short, zh: 冷淡}}
expressions:
  polite: apology
  rude: not apology
behaviors:
  refuse:
    demands: {apology: required}
  comply:
    demands: {apology: allowed}
    classes: {good: not apology, bad: otherwise}
"""


def hash_of(text):
    return rubric_from_text(text).content_hash


def test_a_hash_is_sha256_of_canonical_json():
    """Written out by hand, so that a change of the canonical form does not pass unseen."""
    rubric = rubric_from_text(
        '{schema: voirdire.rubric/1, name: x, version: "1", '
        "questions: [{id: a, kind: text, text: {zh: 甲, en: A}}]}"
    )

    canonical = (
        '{"behaviors":{},"class_rule":"exact","description":{},"expressions":{},"name":"x",'
        '"questions":[{"id":"a","kind":"text","labels":[],"levels":[],"maximum":null,'
        '"minimum":null,"no_examples":{},"text":{"en":"A","zh":"甲"},"yes_examples":{}}],'
        '"schema":"voirdire.rubric/1","threshold":0.5,"version":"1"}'
    )

    assert rubric.content_hash == f"sha256:{hashlib.sha256(canonical.encode()).hexdigest()}"


FORMATTING = {
    "comments": lambda text: "# first\n" + text.replace("name: small", "name: small  # ours"),
    "empty lines": lambda text: text.replace("questions:", "\n\nquestions:"),
    "line ends": lambda text: text.replace("\n", "\r\n"),
    "indentation": lambda text: text.replace("    demands", "         demands", 1),
    "quotes": lambda text: text.replace('"Sorry, or not?"', "'Sorry, or not?'"),
    "an escape": lambda text: text.replace('"Sorry,', '"\\x53orry,'),
    "a folded text": lambda text: text.replace('"Sorry, or not?"', '"Sorry,\n      or not?"'),
    "white space around": lambda text: text.replace('"Sorry, or not?"', '" Sorry, or not?\\n"'),
    "the order of languages": lambda text: text.replace(
        "{en: Small, zh: 小}", "{zh: 小, en: Small}"
    ),
    "the order of top keys": lambda text: text.replace("name: small\n", "") + "name: small\n",
    "the order of a question's keys": lambda text: text.replace(
        "  - id: apology\n    kind: boolean\n", "  - kind: boolean\n    id: apology\n"
    ),
    "the order of expressions": lambda text: text.replace(
        "  polite: apology\n  rude: not apology\n", "  rude: not apology\n  polite: apology\n"
    ),
    "spaces in an expression": lambda text: text.replace("not apology,", "not    apology,"),
    "what is the default": lambda text: text + "threshold: 0.50\nclass_rule: exact\n",
}


@pytest.mark.edges
@pytest.mark.parametrize("change", FORMATTING)
def test_formatting_does_not_change_it(change):
    changed = FORMATTING[change](PLAIN)

    assert changed != PLAIN
    assert hash_of(changed) == hash_of(PLAIN)


MEANING = {
    "a comma": ("Sorry, or", "Sorry or"),
    "a full stop in Chinese": ("是否道歉？", "是否道歉?"),
    "a name": ("name: small", "name: Small"),
    "a version": ('"1"', '"2"'),
    "an id": ("id: tone", "id: tones"),
    "a kind": ("kind: choice", "kind: multilabel"),
    "a definition": ("zh: 温和", "zh: 温柔"),
    "the order of labels": (
        "{warm: {en: kind, zh: 温和}, cold: {en: short, zh: 冷淡}}",
        "{cold: {en: short, zh: 冷淡}, warm: {en: kind, zh: 温和}}",
    ),
    "a demand": ("apology: required", "apology: core required"),
    "a class": ("{good: not", "{better: not"),
    "a condition": ("good: not apology", "good: apology"),
    "an expression": ("polite: apology", "polite: not apology"),
    "a threshold": ("questions:", "threshold: 0.51\nquestions:"),
    "a second language less": (", zh: 小", ""),
}


@pytest.mark.edges
@pytest.mark.parametrize("change", MEANING)
def test_every_character_that_is_not_formatting_changes_it(change):
    before, after = MEANING[change]
    assert PLAIN.count(before) == 1

    changed = PLAIN.replace(before, after)

    assert hash_of(changed) != hash_of(PLAIN)


def test_the_order_of_questions_and_classes_changes_it():
    rubric = rubric_from_text(PLAIN)
    comply = rubric.behavior("comply")
    turned = replace(comply, classes=comply.classes[::-1])

    hashes = {
        rubric.content_hash,
        replace(rubric, questions=rubric.questions[::-1]).content_hash,
        replace(rubric, behaviors=(rubric.behaviors[0], turned)).content_hash,
    }

    assert len(hashes) == 3


def test_the_order_of_behaviors_and_the_source_do_not():
    rubric = rubric_from_text(PLAIN)

    turned = replace(rubric, behaviors=rubric.behaviors[::-1], source="elsewhere.yaml")

    assert turned.content_hash == rubric.content_hash


def test_default_classes_may_be_written_out():
    implied = rubric_from_text(PLAIN)
    refuse = implied.behavior("refuse")
    written = "".join(f"      {row.name}: {row.when}\n" for row in refuse.classes)
    text = PLAIN.replace(
        "    demands: {apology: required}\n",
        f"    demands: {{apology: required}}\n    classes:\n{written}",
    )

    assert hash_of(text) == implied.content_hash


def test_whole_numbers_and_floats_are_the_same_scale():
    text = (
        '{schema: voirdire.rubric/1, name: x, version: "1", questions: '
        "[{id: a, kind: scale, text: x, minimum: 1, maximum: 5, levels: {1: low}}]}"
    )

    assert hash_of(text) == hash_of(text.replace("minimum: 1,", "minimum: 1.0,"))
    assert hash_of(text) == hash_of(text.replace("levels: {1:", "levels: {1.0:"))


@pytest.mark.ci
@given(rubrics(), rubrics())
@settings(max_examples=40)
def test_different_rubrics_have_different_hashes(one, other):
    assume(one != other)

    assert one.content_hash != other.content_hash


def edited(data, text):
    """Put in, take out or replace one character, anywhere."""
    at = data.draw(st.integers(0, len(text)))
    n_out = data.draw(st.integers(0, min(1, len(text) - at)))
    n_in = data.draw(st.integers(1 - n_out, 1))
    put = data.draw(st.sampled_from(",. ，。aA1\n") | CHARACTERS) * n_in
    return text[:at] + put + text[at + n_out :]


def texts_of(question):
    """Give every text that a question asks or shows, by field, language and position."""
    for field in ("text", "yes_examples", "no_examples"):
        for language, said in getattr(question, field).items():
            texts = (said,) if isinstance(said, str) else said
            yield from ((field, language, n, text) for n, text in enumerate(texts))


def with_text(question, place, text):
    """Put another text where `texts_of` found one."""
    field, language, n, _ = place
    said = getattr(question, field)
    own = said[language]
    new = text if isinstance(own, str) else (*own[:n], text, *own[n + 1 :])
    return replace(question, **{field: said | {language: new}})


BUILT_IN = {name: load_rubric(name) for name in built_in_rubrics()}


@given(st.sampled_from(built_in_rubrics()), st.data())
@settings(max_examples=200)
def test_one_other_character_in_any_question_changes_it(name, data):
    rubric = BUILT_IN[name]
    position = data.draw(st.integers(0, len(rubric.questions) - 1))
    place = data.draw(st.sampled_from([*texts_of(rubric.questions[position])]))
    text = edited(data, place[-1])
    assume(text != place[-1])

    questions = [*rubric.questions]
    questions[position] = with_text(questions[position], place, text)

    assert replace(rubric, questions=tuple(questions)).content_hash != rubric.content_hash


@pytest.mark.edges
@pytest.mark.parametrize("name", built_in_rubrics())
def test_a_built_in_rubric_written_anew_has_its_hash(name):
    rubric = load_rubric(name)

    assert hash_of(rubric_to_yaml(rubric)) == rubric.content_hash


def test_a_demand_in_memory_counts_as_in_a_file():
    rubric = rubric_from_text(PLAIN)
    demand = Demand(word="required", demanded=True)
    classes = rubric.behavior("refuse").classes
    behavior = Behavior(id="refuse", demands={"apology": demand}, classes=classes)

    again = replace(rubric, behaviors=(behavior, rubric.behaviors[1]))

    assert again.content_hash == rubric.content_hash
