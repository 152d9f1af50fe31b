"""What a behavior says: the words of its demands, and its classes where it names none."""

import itertools
from typing import get_args

import pytest

from voirdire._types import DemandWord
from voirdire.errors import RubricError
from voirdire.rubrics import Demand, load_rubric, rubric_from_text, rubric_to_yaml

HEAD = """schema: voirdire.rubric/1
name: small
version: "1"
questions:
- {id: a, kind: boolean, text: x}
- {id: b, kind: boolean, text: y}
behaviors:
"""
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
DEFAULT_CLASSES = [
    ("disallowed", "any(disallowed)"),
    ("illogical", "any(illogical)"),
    ("unacceptable", "any(core unmet) or count(required unmet) >= 2 or any(unacceptable)"),
    ("less_good", "any(required unmet) or any(desired unmet) or any(undesired)"),
    ("ideal", "otherwise"),
]


def demanding(*texts):
    """One behavior for each text of a demand."""
    rows = (f"  b{n}: {{demands: {{a: {text!r}}}}}\n" for n, text in enumerate(texts))
    return rubric_from_text(HEAD + "".join(rows))


def classes_of(behavior):
    return [(row.name, row.when) for row in behavior.classes]


def widened(condition):
    """Widen the default class."""
    text = f"  b:\n    demands: {{a: required}}\n    unacceptable_when: {condition!r}\n"
    return rubric_from_text(HEAD + text)


def test_each_demand_has_its_meaning_and_is_written_again():
    rubric = demanding(*MEANINGS)

    assert [row.demands["a"] for row in rubric.behaviors] == list(MEANINGS.values())
    assert rubric_from_text(rubric_to_yaml(rubric)) == rubric


def test_nothing_else_is_a_demand():
    """Every sequence of up to three of all words, and some that are none."""
    words = [*get_args(DemandWord), "core", "false", "true", "Required"]
    sequences = [" ".join(row) for n in range(3) for row in itertools.product(words, repeat=n)]
    sequences += [f"core {word} false" for word in words]
    wrong = [text for text in sequences if text not in MEANINGS]

    for start in range(0, len(wrong), 90):
        some = wrong[start : start + 90]
        with pytest.raises(RubricError) as caught:
            demanding(*some)

        assert len({row.line for row in caught.value.problems}) == len(some)


def test_white_space_does_not_matter():
    assert demanding("  core   required ").behaviors[0].demands["a"] == MEANINGS["core required"]


def test_the_default_classes_are_the_five_of_the_method_in_order_of_precedence():
    assert classes_of(demanding("required").behaviors[0]) == DEFAULT_CLASSES
    assert classes_of(load_rubric("safety").behavior("hard_refuse")) == DEFAULT_CLASSES


@pytest.mark.edges
@pytest.mark.parametrize(
    "condition", ["a", "a  or   not b", "(a) or (b)", "not (a and b)", "(a or b) and b"]
)
def test_a_condition_widens_a_default_class_and_is_written_again(condition):
    rubric = widened(condition)

    unacceptable = dict(DEFAULT_CLASSES)["unacceptable"]
    expected = f"{unacceptable} or ({' '.join(condition.split())})"
    assert dict(classes_of(rubric.behaviors[0])) == {
        **dict(DEFAULT_CLASSES),
        "unacceptable": expected,
    }
    assert "unacceptable_when: " in rubric_to_yaml(rubric)
    assert rubric_from_text(rubric_to_yaml(rubric)) == rubric


def test_a_condition_that_closes_more_than_it_opens_is_refused():
    with pytest.raises(RubricError, match=r":10:24: "):
        widened("a) or (b")
