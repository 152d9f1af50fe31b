"""False and missed refusals: what the reward likes best of each prompt."""

import numpy as np
import pytest

from studies.reward.small_reward import RUBRIC
from voirdire.rewards import reward_of_weights
from voirdire.rubrics import load_rubric, rubric_from_text

REFUSES, HELPS, RUDE = [1.0, 0, 0, 0], [0.0, 0, 1, 0], [0.0, 1, 0, 0]


def _rows(prompt, behavior, *probabilities, bases=None):
    bases = bases or [None] * len(probabilities)
    return [
        {"prompt": prompt, "behavior": behavior, "label": "ideal", "p": p, "base": base}
        for p, base in zip(probabilities, bases, strict=True)
    ]


def _found(examined):
    return {(row.behavior, row.signal): row for row in examined.refusals}


def test_a_refusal_that_is_rewarded_best_where_help_is_due_is_false(examine_rows, make_reward):
    rows = [
        *_rows("a", "comply", REFUSES, HELPS),
        *_rows("b", "comply", REFUSES, HELPS),
        *_rows("c", "comply", HELPS, HELPS),  # none refuses: it could not happen
    ]
    likes_refusals = make_reward({"comply": {"helps": -1.0}})

    found = _found(examine_rows(rows, of=likes_refusals))
    right = _found(examine_rows(rows))

    assert found["comply", "total"].kind == "false_refusal"
    assert (found["comply", "total"].rate.value, found["comply", "total"].rate.n) == (1.0, 2)
    assert right["comply", "total"].rate.value == 0.0


def test_help_that_is_rewarded_best_where_a_refusal_is_due_is_missed(examine_rows):
    rows = [
        *_rows("a", "refuse", REFUSES, HELPS, bases=[0.0, 100.0]),
        *_rows("b", "refuse", REFUSES, RUDE, bases=[0.0, 0.0]),
    ]

    found = _found(examine_rows(rows))

    assert {row.kind for row in found.values()} == {"missed_refusal"}
    assert found["refuse", "base"].rate.value == pytest.approx((1 + 0.5) / 2)  # the second ties
    assert found["refuse", "total"].rate.value == 0.5
    assert found["refuse", "rules"].rate.value == 0.0


def test_where_several_are_rewarded_best_their_share_counts(examine_rows):
    rows = _rows("a", "comply", REFUSES, HELPS, REFUSES, HELPS, HELPS, bases=[1.0, 1, 0, 1, 0])

    found = _found(examine_rows(rows))

    assert found["comply", "base"].rate.value == pytest.approx(1 / 3)


def test_a_completion_whose_refusing_is_unknown_is_left_out(examine_rows, make_reward):
    rows = _rows("a", "comply", [np.nan, 0, 0.9, 0], [np.nan, 0, 0.1, 0], REFUSES)
    reward = make_reward({"comply": {"helps": 1.0}})

    found = _found(examine_rows(rows, of=reward))

    # helps .9 is no refusal whatever the apology; the second may be one, and does not count
    assert found["comply", "total"].rate.n == 1
    assert found["comply", "total"].rate.value == 0.0


def _examined(examine_rows, rubric, behaviors, **given):
    """Examine two completions under a rubric of the package: only the first has these verdicts."""
    weights = {name: {f"{name}.ideal": 1.0} for name in behaviors}
    reward = reward_of_weights(weights, rubric=rubric, judge=None)
    first = [given.get(name, 0.1) for name in rubric.propositions]
    second = [0.9 if name == "apology" else 0.1 for name in rubric.propositions]
    rows = [row for name in behaviors for row in _rows(name, name, first, second)]
    return examine_rows(rows, of=reward)


def test_kinds_follow_from_what_the_safety_rubric_demands(examine_rows):
    rubric = load_rubric("safety")
    behaviors = [row.id for row in rubric.behaviors]

    found = _examined(examine_rows, rubric, behaviors, apology=0.9, inability_to_comply=0.9)

    assert {row.behavior: row.kind for row in found.refusals} == {
        "hard_refuse": "missed_refusal",
        "soft_refuse": "missed_refusal",
        "comply": "false_refusal",
    }


def test_an_inability_to_comply_counts_where_there_is_no_expression(examine_rows):
    rubric = load_rubric("hard-refusal-example")

    found = _examined(examine_rows, rubric, ["hard_refuse"], inability_to_comply=0.9)

    # the apology is rewarded best, and it is not the one that says so
    assert [row.rate.value for row in found.refusals if row.signal == "total"] == [1.0]


def test_a_rubric_without_a_word_for_refusing_counts_none_and_says_so(examine_rows):
    plain = RUBRIC.replace("expressions:\n  safe_refusal: apology and not helps\n", "")
    rubric = rubric_from_text(plain, source="plain.yaml")

    found = _examined(examine_rows, rubric, ["refuse"], apology=0.9)

    assert found.refusals == ()
    assert "no_refusals" in [note.code for note in found.notes]
