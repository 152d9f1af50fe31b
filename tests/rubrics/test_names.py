"""What may be called how, and how rubrics are named after files."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire._types import DemandWord
from voirdire.rubrics.names import (
    RESERVED_WORDS,
    did_you_mean,
    is_identifier,
    is_rubric_name,
    name_of_file,
)


def test_every_word_of_the_grammar_is_reserved():
    operators = {"and", "or", "not", "true", "false", "any", "all", "count", "otherwise"}
    states = {"met", "unmet", "core"}

    assert operators | states | {*get_args(DemandWord)} == RESERVED_WORDS


@pytest.mark.parametrize(
    ("word", "fits"),
    [
        ("a", True),
        ("a1_b", True),
        ("a" * 100, True),
        ("a" * 101, False),
        ("", False),
        ("1a", False),
        ("_a", False),
        ("A", False),
        ("a-b", False),
        ("a b", False),
        ("é", False),
        ("a\n", False),
    ],
)
def test_identifiers(word, fits):
    assert is_identifier(word) is fits


@pytest.mark.parametrize(
    ("word", "fits"),
    [
        ("safety", True),
        ("Safety_2.0-beta", True),
        ("安全", True),
        ("2nd", True),
        ("", False),
        ("-x", False),
        (".x", False),
        ("_x", False),
        ("a/b", False),
        ("a b", False),
        ("a\n", False),
        ("x" * 101, False),
    ],
)
def test_rubric_names(word, fits):
    assert is_rubric_name(word) is fits


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("rules/our rules.yaml", "our-rules"),
        ("安全.yaml", "安全"),
        (".hidden", "hidden"),
        ("<text>", "text"),
        ("!!.yaml", "other"),
        ("", "other"),
    ],
)
def test_names_of_files(path, name):
    assert name_of_file(path, otherwise="other") == name


@given(st.text())
def test_every_file_gives_a_name_that_a_rubric_may_have(path):
    assert is_rubric_name(name_of_file(path, otherwise="other"))


def test_a_word_like_none_is_not_suggested():
    assert did_you_mean("apolgy", ["apology", "rude"]) == " Did you mean `apology`?"
    assert did_you_mean("zzz", ["apology", "rude"]) == ""
    assert did_you_mean(3, ["apology"]) == ""
