"""What a file that is right is read as."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from voirdire.documents import document_from_text
from voirdire.errors import InputError, LogicError, RubricError
from voirdire.rubrics import (
    Demand,
    Question,
    built_in_rubrics,
    load_rubric,
    rubric_from_text,
)

EVERYTHING = """\
schema: voirdire.rubric/1
name: everything
version: "2.0"
description: {en: All kinds, zh: 各种题型}
threshold: 0.25
questions:
  - id: apology
    kind: boolean
    text:
      en: >-
        Does it
        apologise?
      zh: 是否道歉？
    yes_examples: {en: [yes, "no"], zh: [对不起]}
    no_examples: {en: [on]}
  - {id: tone, kind: choice, text: {en: Which, zh: 哪种}, labels: [warm, 冷]}
  - id: harms
    kind: multilabel
    text: {en: Which, zh: 哪些}
    labels:
      hateful: {en: about a group, zh: 针对群体}
      rude:
  - id: worth
    kind: scale
    text: {en: How much, zh: 多少}
    minimum: -1
    maximum: 1.5
    levels: {-1: {en: none, zh: 没有}, 0.5: {en: some, zh: 一些}}
  - {id: why, kind: text, text: {en: Why, zh: 为何}}
  - {id: better, kind: pairwise, text: {en: Which, zh: 哪个}}
expressions:
  always: true
  rude_or_not: apology or not
    apology
behaviors:
  refuse:
    description: {en: Say no, zh: 拒绝}
    demands: {apology: core required false}
  comply:
    demands: {apology: allowed}
    classes: {good: apology and always, bad: otherwise}
"""


def test_everything_that_the_form_can_say():
    rubric = rubric_from_text(EVERYTHING, source="here")

    assert (rubric.name, rubric.version, rubric.source) == ("everything", "2.0", "here")
    assert rubric.description == {"en": "All kinds", "zh": "各种题型"}
    assert (rubric.threshold, rubric.class_rule) == (0.25, "exact")
    assert rubric.languages == ("en", "zh")
    assert rubric.propositions == ("apology",)
    assert rubric.questions == (
        Question(
            id="apology",
            kind="boolean",
            text={"en": "Does it apologise?", "zh": "是否道歉？"},
            yes_examples={"en": ("yes", "no"), "zh": ("对不起",)},
            no_examples={"en": ("on",)},
        ),
        Question(
            id="tone",
            kind="choice",
            text={"en": "Which", "zh": "哪种"},
            labels={"warm": {}, "冷": {}},
        ),
        Question(
            id="harms",
            kind="multilabel",
            text={"en": "Which", "zh": "哪些"},
            labels={"hateful": {"en": "about a group", "zh": "针对群体"}, "rude": {}},
        ),
        Question(
            id="worth",
            kind="scale",
            text={"en": "How much", "zh": "多少"},
            minimum=-1.0,
            maximum=1.5,
            levels={-1.0: {"en": "none", "zh": "没有"}, 0.5: {"en": "some", "zh": "一些"}},
        ),
        Question(id="why", kind="text", text={"en": "Why", "zh": "为何"}),
        Question(
            id="better",
            kind="pairwise",
            text={"en": "Which", "zh": "哪个"},
            labels={"A": {}, "B": {}, "tie": {}},
        ),
    )
    assert rubric.expressions == {"always": "true", "rude_or_not": "apology or not apology"}
    refuse, comply = rubric.behaviors
    assert (refuse.id, refuse.classes) == (
        "refuse",
        load_rubric("safety").behavior("hard_refuse").classes,
    )
    assert refuse.demands == {"apology": Demand(word="required", demanded=False, core=True)}
    assert [(row.name, row.when) for row in comply.classes] == [
        ("good", "apology and always"),
        ("bad", "otherwise"),
    ]


def test_numbers_of_a_scale_are_floats():
    row = rubric_from_text(EVERYTHING).question("worth")

    assert {type(x) for x in (row.minimum, row.maximum, *row.levels)} == {float}


def test_a_file_is_read_from_a_path_or_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text(EVERYTHING, encoding="utf-8")

    by_name, by_path = load_rubric("mine.yaml"), load_rubric(tmp_path / "mine.yaml")

    assert by_name == by_path == rubric_from_text(EVERYTHING)
    assert by_name.source == "mine.yaml"
    assert by_path.source == str(tmp_path / "mine.yaml")


def test_a_built_in_name_wins_over_a_file_unless_a_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("safety").write_text(EVERYTHING, encoding="utf-8")

    assert load_rubric("safety").name == "safety"
    assert load_rubric("./safety").name == "everything"
    assert load_rubric(Path("safety")).name == "everything"


def test_json_is_yaml_too():
    text = (
        '{"schema": "voirdire.rubric/1", "name": "x", "version": "1", '
        '"questions": [{"id": "a", "kind": "boolean", "text": "Sorry?\\u4e2d"}]}'
    )

    assert rubric_from_text(text).question("a").text == {"en": "Sorry?中"}


def test_bytes_are_read_as_text_is():
    assert rubric_from_text(EVERYTHING.encode()) == rubric_from_text(EVERYTHING)


def test_keys_without_a_value_are_as_good_as_left_out():
    text = EVERYTHING.partition("expressions:")[0] + "expressions:\nbehaviors:\n"

    rubric = rubric_from_text(text)

    assert (rubric.expressions, rubric.behaviors) == ({}, ())


@pytest.mark.edges
@pytest.mark.parametrize("name", built_in_rubrics())
def test_pyyaml_finds_the_same_in_built_in_rubrics(name):
    """An independent reader of the same files; they have no word that YAML 1.1 reads otherwise."""
    text = (files("voirdire") / "data" / "rubrics" / f"{name}.yaml").read_text(encoding="utf-8")

    found = document_from_text(text, source=name, what="a rubric").value

    assert found == yaml.safe_load(text)


def error_of(text):
    """Read a text; None where it is a rubric, and any error but ours goes on."""
    try:
        rubric_from_text(text)
    except RubricError as error:
        return error
    return None


@given(st.text("schema:voirdnag{}[]-&*!|>'\"#%@`?,\n \t\\1xé中", max_size=200))
def test_any_text_gives_our_error(text):
    error = error_of(text)

    assert error.problems
    assert "\n" not in str(error)
    assert str(error).startswith("<text>:")


PIECES = st.sampled_from(
    [
        *EVERYTHING.splitlines(keepends=True),
        "  - {id: apology, kind: scale, text: x}\n",
        "behaviors: {b: {demands: {apology: [x]}}}\n",
        "questions: [1, {id: {}}, []]\n",
        "    labels: {a: {en: 1}, 2: x}\n",
        "    levels: [1]\n",
        "expressions: [a]\n",
        "completion_classes: {a: {b: {c: true}}}\n",
    ]
)


@given(st.lists(PIECES, max_size=30).map("".join).filter(str.strip))
def test_any_mixture_of_lines_gives_a_rubric_or_a_place(text):
    error = error_of(text)

    assert error is None or all(row.line is not None for row in error.problems)


def test_the_errors_are_input_errors_that_keep_what_they_know():
    error = LogicError("column 3: x", where=("expressions", "a"), column=3)

    assert isinstance(error, InputError)
    assert issubclass(RubricError, InputError)
    assert (error.where, error.column) == (("expressions", "a"), 3)
    assert RubricError("nothing more is known").problems == ()


@pytest.mark.ci
def test_a_rubric_is_read_without_numpy():
    """Arrays come with the first class probability: half the time of `voirdire rubric check`."""
    code = (
        "import sys; from voirdire.rubrics import load_rubric; load_rubric('safety'); "
        "print('numpy' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "False\n"
