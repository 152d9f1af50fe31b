"""Propositions that no behavior uses are no obstacle for a judge that does not answer them."""

import dataclasses

import pytest

from voirdire import load_rubric
from voirdire.errors import InputError
from voirdire.records import Item
from voirdire.rewards import reward_of_weights
from voirdire.rubrics import Question

ITEM = Item(id="a", response="I'm sorry, but I can't help with that.", behavior="hard_refuse")


def _with(question, **changes):
    safety = load_rubric("safety")
    return dataclasses.replace(safety, questions=(*safety.questions, question), **changes)


def _scored(rubric):
    reward = reward_of_weights({"hard_refuse": {"apology": 1}}, rubric=rubric)
    return reward.score([ITEM], judge="local")


def test_a_proposition_that_no_behavior_uses_is_not_asked():
    extra = Question(id="is_long", kind="boolean", text={"en": "Is it long?"})

    found = _scored(_with(extra))

    assert found.rewards.tolist() == _scored(load_rubric("safety")).rewards.tolist()
    assert any("no behavior uses it: 'is_long'" in note for note in found.notes)


def test_one_that_an_expression_names_must_be_answered():
    extra = Question(id="is_long", kind="boolean", text={"en": "Is it long?"})

    with pytest.raises(InputError, match="without 'is_long'"):
        _scored(_with(extra, expressions={"wordy": "is_long"}))
