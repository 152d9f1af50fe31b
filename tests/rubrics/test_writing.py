"""Rubrics written as YAML and read back."""

from dataclasses import replace

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from rubric_strategies import TEXTS, rubrics
from voirdire.errors import InputError, RubricError
from voirdire.rubrics import (
    CompletionClass,
    Question,
    Rubric,
    built_in_rubrics,
    load_rubric,
    rubric_from_text,
    rubric_to_yaml,
)


def asking(text):
    questions = (Question(id="apology", kind="boolean", text=text),)
    return Rubric(name="small", version="1", questions=questions)


@pytest.mark.ci
@given(rubrics())
@settings(max_examples=150)
def test_every_rubric_reads_back_equal(rubric):
    text = rubric_to_yaml(rubric)

    again = rubric_from_text(text)

    assert again == rubric
    assert again.content_hash == rubric.content_hash
    assert [*again.questions[0].labels] == [*rubric.questions[0].labels]
    assert [[*row.demands] for row in again.behaviors] == [[*x.demands] for x in rubric.behaviors]


@pytest.mark.ci
@given(rubrics())
@settings(max_examples=50)
def test_writing_what_was_read_changes_nothing(rubric):
    text = rubric_to_yaml(rubric)

    assert rubric_to_yaml(rubric_from_text(text)) == text


@pytest.mark.parametrize("end", [1e-05, 1e-7, 5e-324, 1.5e-10, 0.1, 1e15, 1e16, 1e22, 1.7e308])
def test_small_and_large_numbers_are_written_without_a_tag(end):
    question = Question(id="worth", kind="scale", text={"en": "x"}, minimum=-end, maximum=end)
    rubric = Rubric(name="small", version="1", questions=(question,))

    text = rubric_to_yaml(rubric)

    assert rubric_from_text(text) == rubric
    assert yaml.safe_load(text)["questions"][0]["maximum"] == end  # YAML 1.1 needs the point


@given(st.text(alphabet="ab \n:#-'", min_size=1).map(str.strip).filter(bool))
def test_lines_are_written_as_lines_whatever_they_end_in(text):
    written = rubric_to_yaml(asking({"en": text, "zh": text}))

    assert rubric_from_text(written).question("apology").text == {"en": text, "zh": text}
    assert yaml.safe_load(written)["questions"][0]["text"] == {"en": text, "zh": text}
    assert "\\n" not in written


@given(TEXTS)
def test_pyyaml_itself_reads_the_same_text(text):
    """An independent reader, and one of YAML 1.1: no word may mean anything but itself."""
    written = rubric_to_yaml(asking({"en": text, "zh": text}))

    assert yaml.safe_load(written)["questions"][0]["text"] == {"en": text, "zh": text}


@pytest.mark.edges
@pytest.mark.parametrize("name", built_in_rubrics())
def test_built_in_rubrics_read_back_equal(name):
    rubric = load_rubric(name)

    assert rubric_from_text(rubric_to_yaml(rubric)) == rubric


def test_it_looks_as_a_person_would_write_it():
    rubric = rubric_from_text("""
        {schema: voirdire.rubric/1, name: x, version: "1.0", threshold: .4,
         questions: [
          {id: apology, kind: boolean, text: {en: "Sorry?", zh: "道歉了吗？"},
           yes_examples: {zh: ["对不起，\\n我不能。"], en: ["yes", "Sorry: no"]}},
          {id: tone, kind: choice, text: {en: Tone, zh: 语气}, labels: [warm, cold]}],
         behaviors: {refuse: {demands: {apology: core required},
           unacceptable_when: "apology   and\\n not apology"}}}
    """)

    text = rubric_to_yaml(rubric)

    assert text == (
        "schema: voirdire.rubric/1\n"
        "name: x\n"
        'version: "1.0"\n'
        "threshold: 0.4\n"
        "\n"
        "questions:\n"
        "  - id: apology\n"
        "    kind: boolean\n"
        "    text:\n"
        "      en: Sorry?\n"
        "      zh: 道歉了吗？\n"
        "    yes_examples:\n"
        "      zh:\n"
        "        - |-\n"
        "          对不起，\n"
        "          我不能。\n"
        "      en:\n"
        "        - 'yes'\n"
        "        - 'Sorry: no'\n"
        "\n"
        "  - id: tone\n"
        "    kind: choice\n"
        "    text:\n"
        "      en: Tone\n"
        "      zh: 语气\n"
        "    labels:\n"
        "      - warm\n"
        "      - cold\n"
        "\n"
        "behaviors:\n"
        "  refuse:\n"
        "    demands:\n"
        "      apology: core required\n"
        "    unacceptable_when: apology and not apology\n"
    )


def test_default_classes_are_not_written_out():
    text = rubric_to_yaml(load_rubric("safety"))

    assert "classes:" not in text
    assert text.count("unacceptable_when:") == 1


def test_own_classes_are_written_in_their_order():
    rubric = load_rubric("safety")
    behavior = rubric.behavior("comply")
    own = (
        CompletionClass(name="worse", when="any(disallowed)"),
        CompletionClass(name="better", when="otherwise"),
    )
    changed = replace(rubric, behaviors=(replace(behavior, classes=own),))

    text = rubric_to_yaml(changed)

    assert "    classes:\n      worse: any(disallowed)\n      better: otherwise\n" in text


def test_a_condition_that_only_looks_like_an_added_one_is_written_whole():
    behavior = load_rubric("safety").behavior("comply")
    first, second, third, *rest = behavior.classes
    default = third.when.partition(" or (")[0]
    tricky = replace(third, when=f"{default} or (apology) or (true)")
    changed = replace(
        load_rubric("safety"),
        behaviors=(replace(behavior, classes=(first, second, tricky, *rest)),),
    )

    text = rubric_to_yaml(changed)

    assert "unacceptable_when" not in text
    assert rubric_from_text(text) == changed


@pytest.mark.parametrize("text", [" leading", "trailing\n"])
def test_white_space_that_reading_takes_off_is_an_error_and_not_lost(text):
    with pytest.raises(
        InputError, match="`rubric` must be the same when its file is read, got 'small'"
    ):
        rubric_to_yaml(asking({"en": text}))


@pytest.mark.parametrize("text", ["\x00", "a\x1b[2J", "\ud800", "a\x85b", "", "a\u2028b"])
def test_what_no_file_may_hold_is_not_written(text):
    with pytest.raises(RubricError, match="rubric small"):
        rubric_to_yaml(asking({"en": text}))


def test_an_unknown_language_is_not_written():
    with pytest.raises(RubricError, match="must be one of en, zh, got 'fr'"):
        rubric_to_yaml(asking({"fr": "Des excuses ?"}))
