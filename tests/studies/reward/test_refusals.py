"""False and missed refusals: what the reward likes best of each prompt."""

import numpy as np
import pytest

from voirdire.rewards import reward_of_weights
from voirdire.rubrics import load_rubric
from voirdire.studies.reward.refusals import kind_of, refusal_errors, refusal_expression
from voirdire.studies.reward.resampling import PromptResamples

REFUSES, HELPS, RUDE = [1.0, 0, 0, 0], [0.0, 0, 1, 0], [0.0, 1, 0, 0]


def _rows(prompt, behavior, *probabilities, bases=None):
    bases = bases or [None] * len(probabilities)
    return [
        {"prompt": prompt, "behavior": behavior, "label": "ideal", "p": p, "base": base}
        for p, base in zip(probabilities, bases, strict=True)
    ]


def _found(examined):
    found = refusal_errors(examined, PromptResamples(examined.rated.n_prompts))
    return {(row.behavior, row.signal): row for row in found.errors}, found


def test_a_refusal_that_is_rewarded_best_where_help_is_due_is_false(examine_rows, make_reward):
    rows = [
        *_rows("a", "comply", REFUSES, HELPS),
        *_rows("b", "comply", REFUSES, HELPS),
        *_rows("c", "comply", HELPS, HELPS),  # none refuses: it could not happen
    ]
    likes_refusals = make_reward({"comply": {"helps": -1.0}})

    found, _ = _found(examine_rows(rows, of=likes_refusals))
    right, _ = _found(examine_rows(rows))

    assert found["comply", "total"].kind == "false_refusal"
    assert (found["comply", "total"].rate.value, found["comply", "total"].rate.n) == (1.0, 2)
    assert right["comply", "total"].rate.value == 0.0


def test_help_that_is_rewarded_best_where_a_refusal_is_due_is_missed(examine_rows):
    rows = [
        *_rows("a", "refuse", REFUSES, HELPS, bases=[0.0, 100.0]),
        *_rows("b", "refuse", REFUSES, RUDE, bases=[0.0, 0.0]),
    ]

    found, _ = _found(examine_rows(rows))

    assert {row.kind for row in found.values()} == {"missed_refusal"}
    assert found["refuse", "base"].rate.value == pytest.approx((1 + 0.5) / 2)  # the second ties
    assert found["refuse", "total"].rate.value == 0.5
    assert found["refuse", "rules"].rate.value == 0.0


def test_where_several_are_rewarded_best_their_share_counts(examine_rows):
    rows = _rows("a", "comply", REFUSES, HELPS, REFUSES, HELPS, HELPS, bases=[1.0, 1, 0, 1, 0])

    found, _ = _found(examine_rows(rows))

    assert found["comply", "base"].rate.value == pytest.approx(1 / 3)


def test_a_completion_whose_refusing_is_unknown_is_left_out(examine_rows, make_reward):
    rows = _rows("a", "comply", [np.nan, 0, 0.9, 0], [np.nan, 0, 0.1, 0], REFUSES)
    reward = make_reward({"comply": {"helps": 1.0}})

    found, _ = _found(examine_rows(rows, of=reward))

    # helps .9 is no refusal whatever the apology; the second may be one, and does not count
    assert found["comply", "total"].rate.n == 1
    assert found["comply", "total"].rate.value == 0.0


def test_kinds_follow_from_what_the_safety_rubric_demands():
    rubric = load_rubric("safety")

    kinds = {row.id: kind_of(rubric, row.id, "safe_refusal") for row in rubric.behaviors}

    assert kinds == {
        "hard_refuse": "missed_refusal",
        "soft_refuse": "missed_refusal",
        "comply": "false_refusal",
    }


def test_the_expression_comes_before_the_proposition_and_may_be_missing(rubric):
    assert refusal_expression(rubric) == "safe_refusal"
    assert refusal_expression(load_rubric("hard-refusal-example")) == "inability_to_comply"
    assert refusal_expression(load_rubric("helpfulness")) is None


def test_an_inability_to_comply_counts_where_there_is_no_expression():
    from studies.reward.small_reward import items_of, judged_of
    from voirdire.rewards import comparisons_of
    from voirdire.studies.reward.examined import Examined, examined_behaviors, orders_for
    from voirdire.studies.reward.rated_items import rate_items

    rubric = load_rubric("hard-refusal-example")
    reward = reward_of_weights({"hard_refuse": {"apology": 1.0}}, rubric=rubric, judge=None)
    unable, able = [0.1] * 6, [0.1] * 6
    unable[rubric.propositions.index("inability_to_comply")] = 0.9
    able[rubric.propositions.index("apology")] = 0.9
    rows = _rows("a", "hard_refuse", unable, able)
    data = comparisons_of(items_of(rows))
    rated = rate_items(
        data.items,
        reward,
        judged=judged_of(rows, rubric.propositions),
        prompts=data.prompts,
        behaviors=data.behaviors,
        base_rewards=data.base_rewards,
        source="rows",
    )
    examined = Examined(
        reward=reward,
        rated=rated,
        labels=np.array(data.labels, dtype=object),
        behaviors=examined_behaviors(data, rated, orders=orders_for(reward, data)),
    )

    found = refusal_errors(examined, PromptResamples(1))

    assert found.expression == "inability_to_comply"
    assert [row.rate.value for row in found.errors] == [1.0]
