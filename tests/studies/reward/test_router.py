"""What a router chose, and what a wrong weight vector costs."""

import math

import numpy as np
import pytest

from studies.reward import reward_oracle as oracle
from studies.reward.small_reward import items_of
from voirdire.studies.reward.resampling import PromptResamples
from voirdire.studies.reward.router import check_router, routed_behaviors


def _routed(rows, choice):
    return [{**row, "more": {"routed_behavior": choice(row)}} for row in rows]


def _check(examine_rows, rows, **settings):
    examined = examine_rows(rows, **settings)
    rated = examined.rated
    routing = routed_behaviors(rated.items, rated.behaviors, judged_behaviors={})
    return check_router(examined, routing, resamples=PromptResamples(rated.n_prompts))


def test_figures_are_those_of_loops(examine_rows, random_rows, reward):
    rows = random_rows(5, n_prompts=14)
    wrong_prompts = {0, 1, 6}
    other = {"refuse": "comply", "comply": "refuse"}

    def choice(row):
        if row["prompt"] == 13:
            return None
        own = row["behavior"]
        return other[own] if row["prompt"] in wrong_prompts else own

    found = _check(examine_rows, _routed(rows, choice))

    # of seven prompts each: 0 and 6 are refuse, 1 is comply, 13 (comply) has no choice
    assert found.behaviors == ("refuse", "comply")
    assert found.confusion == ((5, 2), (1, 5))
    assert found.n_unrouted == 1
    pairs = [pair for pair in oracle.comparisons(rows) if rows[pair[0]]["prompt"] != 13]
    right = oracle.signals(rows, reward)["total"]
    routed = oracle.signals([{**row, "behavior": choice(row) or "comply"} for row in rows], reward)
    assert found.error_rate_right.n == found.error_rate_routed.n == len(pairs)
    assert found.error_rate_right.value == pytest.approx(np.mean(oracle.errors(pairs, right)))
    assert found.error_rate_routed.value == pytest.approx(
        np.mean(oracle.errors(pairs, routed["total"]))
    )


def test_costs_are_error_rates_under_the_weights_of_every_behavior(
    examine_rows, random_rows, reward
):
    rows = random_rows(6)

    found = _check(examine_rows, _routed(rows, lambda row: row["behavior"]))

    for row, name in zip(found.cost, found.behaviors, strict=True):
        pairs = [pair for pair in oracle.comparisons(rows) if rows[pair[0]]["behavior"] == name]
        for cost, column in zip(row, found.behaviors, strict=True):
            told = [{**each, "behavior": column} for each in rows]
            values = oracle.signals(told, reward)["total"]
            assert cost == pytest.approx(np.mean(oracle.errors(pairs, values)))


def test_a_behavior_without_weights_has_no_cost(examine_rows, random_rows, make_reward):
    rows = [row for row in random_rows(0) if row["behavior"] == "refuse"]
    reward = make_reward({"refuse": {"apology": 1.0}})

    found = _check(examine_rows, _routed(rows, lambda row: "comply"), of=reward)

    assert found.confusion[0] == (0, 6)
    assert math.isnan(found.cost[0][1])
    assert math.isnan(found.cost[1][0])
    assert found.error_rate_routed.n == 0


def test_a_choice_that_the_rubric_lacks_is_none(examine_rows, random_rows):
    found = _check(examine_rows, _routed(random_rows(0), lambda row: "sing"))

    assert found.n_unrouted == 12
    assert sum(map(sum, found.confusion)) == 0


def test_items_come_before_verdicts_and_nobody_is_none(random_rows):
    rows = random_rows(0)[:3]
    items = items_of(rows)
    behaviors = [item.behavior for item in items]
    told = items_of(_routed(rows, lambda row: "comply"))

    by_verdicts = routed_behaviors(items, behaviors, judged_behaviors={"i0": "comply"})

    assert routed_behaviors(items, behaviors, judged_behaviors={}) is None
    assert (
        routed_behaviors(
            items, behaviors, judged_behaviors=dict.fromkeys(["i0", "i1"], behaviors[0])
        )
        is None
    )
    assert by_verdicts.source == "verdicts"
    assert by_verdicts.behaviors == ("comply", None, None)
    assert routed_behaviors(told, behaviors, judged_behaviors={"i0": "refuse"}).source == "items"
