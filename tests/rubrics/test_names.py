"""What may be called how, and how rubrics are named after files."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire._types import DemandWord
from voirdire.documents import is_name
from voirdire.errors import RubricError
from voirdire.rubrics import rubric_from_rbr_layout, rubric_from_text

HEAD = 'schema: voirdire.rubric/1\nname: small\nversion: "1"\nquestions:\n'
OPERATORS = ("and", "or", "not", "true", "false", "any", "all", "count", "otherwise")
LAYOUT = """
completion_class_order: [good]
completion_classes: {good: {refuse: {sorry: true}}}
simple_propositions: {sorry: {prompt: x}}
"""


def with_id(word):
    return rubric_from_text(f"{HEAD}  - {{id: {word!r}, kind: boolean, text: x}}\n")


@pytest.mark.parametrize("word", [*OPERATORS, "met", "unmet", "core", *get_args(DemandWord)])
def test_every_word_of_the_grammar_is_reserved(word):
    with pytest.raises(RubricError, match="must not be a word of expressions"):
        with_id(word)


@pytest.mark.parametrize("word", ["a", "a1_b", "a" * 100, "andy"])
def test_words_that_a_question_may_be_called(word):
    assert with_id(word).propositions == (word,)


@pytest.mark.parametrize("word", ["a" * 101, "", "1a", "_a", "A", "a-b", "a b", "é"])
def test_words_that_no_question_may_be_called(word):
    with pytest.raises(RubricError, match="`id` must be lower-case letters"):
        with_id(word)


@pytest.mark.parametrize(
    ("file", "name"),
    [("our rules.yaml", "our-rules"), ("安全.yaml", "安全"), (".hidden", "hidden"), ("!!", "rbr")],
)
def test_names_of_files(tmp_path, file, name):
    (tmp_path / file).write_text(LAYOUT, encoding="utf-8")

    assert rubric_from_rbr_layout(tmp_path / file).name == name


@given(st.text())
def test_every_source_gives_a_name_that_a_rubric_may_have(source):
    assert is_name(rubric_from_text(LAYOUT, source=source).name)
