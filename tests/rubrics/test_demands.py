"""The words of a demand."""

import itertools
from typing import get_args

import pytest

from voirdire._types import DemandWord
from voirdire.errors import InputError
from voirdire.rubrics import Demand
from voirdire.rubrics.rubric import parse_demand, write_demand

# All eleven that there are.
MEANINGS = {
    "required": Demand(word="required", demanded=True),
    "core required": Demand(word="required", demanded=True, core=True),
    "required false": Demand(word="required", demanded=False),
    "core required false": Demand(word="required", demanded=False, core=True),
    "desired": Demand(word="desired", demanded=True),
    "desired false": Demand(word="desired", demanded=False),
    "allowed": Demand(word="allowed", demanded=None),
    "undesired": Demand(word="undesired", demanded=False),
    "unacceptable": Demand(word="unacceptable", demanded=False),
    "illogical": Demand(word="illogical", demanded=False),
    "disallowed": Demand(word="disallowed", demanded=False),
}


@pytest.mark.parametrize("text", MEANINGS)
def test_each_demand_has_its_meaning_and_is_written_again(text):
    demand = parse_demand(text)

    assert demand == MEANINGS[text]
    assert write_demand(demand) == text


def test_nothing_else_is_a_demand():
    """Every sequence of up to three of all words, and some that are none."""
    words = [*get_args(DemandWord), "core", "false", "true", "Required", "必须"]
    sequences = (" ".join(row) for n in range(4) for row in itertools.product(words, repeat=n))

    accepted = {text for text in sequences if _is_demand(text)}

    # One of them has four words.
    assert accepted == {text for text in MEANINGS if text.count(" ") < 3}
    assert len(accepted) == len(MEANINGS)


def test_white_space_does_not_matter():
    assert parse_demand("  core \n required ") == MEANINGS["core required"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("requiredd", r"got 'requiredd'\. Did you mean `required`\?"),
        ("core", r"must be one of `required`, .* got 'core'\."),
        ("", r"must be one of .* got ''"),
        ("desired always", r"got 'always'"),
        ("core allowed", r"must have `core` before `required` only, got 'core allowed'"),
        ("allowed false", r"must have `false` after `required` and `desired` only"),
        ("x\u202ey", r"got 'x\\\\u202ey'"),
    ],
)
def test_the_wrong_word_is_named(text, words):
    with pytest.raises(InputError, match=words):
        parse_demand(text)


def _is_demand(text):
    try:
        parse_demand(text)
    except InputError:
        return False
    return True
