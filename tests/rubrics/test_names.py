"""What may be called how, and how rubrics are named after files."""

from typing import get_args

import pytest

from voirdire._types import DemandWord
from voirdire.cli import app
from voirdire.errors import RubricError
from voirdire.rubrics import load_rubric, rubric_from_text

HEAD = 'schema: voirdire.rubric/1\nname: small\nversion: "1"\nquestions:\n'
OPERATORS = ("and", "or", "not", "true", "false", "any", "all", "count", "otherwise")


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
    [
        ("our rules.yaml", "our-rules"),
        ("安全.yaml", "安全"),
        (".hidden", "hidden"),
        ("!!", "my-rubric"),
    ],
)
def test_a_new_rubric_is_named_after_its_file(tmp_path, file, name):
    app(["rubric", "new", str(tmp_path / file)], result_action="return_value")

    assert load_rubric(tmp_path / file).name == name
