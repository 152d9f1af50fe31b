"""Propositions that no behavior uses are no obstacle for a judge that does not answer them."""

import dataclasses

import pytest

from voirdire import load_rubric
from voirdire.errors import InputError
from voirdire.records import Item
from voirdire.rewards import reward_of_weights
from voirdire.rubrics import Question

SAFETY = load_rubric("safety")
EXTRA = Question(id="is_long", kind="boolean", text={"en": "Is it long?"})
MORE = dataclasses.replace(SAFETY, questions=(*SAFETY.questions, EXTRA))


def score(rubric):
    item = Item(id="a", response="I'm sorry, but I can't help with that.", behavior="hard_refuse")
    reward = reward_of_weights({"hard_refuse": {"apology": 1}}, rubric=rubric)
    return reward.score([item], judge="local")


def test_a_proposition_is_asked_where_a_behavior_or_an_expression_uses_it():
    found = score(MORE)

    assert found.rewards.tolist() == score(SAFETY).rewards.tolist()
    assert any("no behavior uses it: 'is_long'" in note for note in found.notes)
    with pytest.raises(InputError, match="without 'is_long'"):
        score(dataclasses.replace(MORE, expressions={"wordy": "is_long"}))
