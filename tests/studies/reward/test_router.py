"""What a router chose, and what a wrong weight vector costs."""

import math

import numpy as np
import pytest

from studies.reward import reward_oracle as oracle
from studies.reward.small_reward import judged_of


def _routed(rows, choice):
    return [{**row, "more": {"routed_behavior": choice(row)}} for row in rows]


def _check(examine_rows, rows, **settings):
    return examine_rows(rows, **settings).router


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


def test_verdicts_may_name_the_choice_and_items_come_before_them(
    examine_rows, random_rows, propositions
):
    rows = [row for row in random_rows(0) if row["behavior"] == "refuse"]
    prompts = [row["prompt"] for row in rows]
    own = ["refuse"] * len(rows)
    other = ["comply" if prompt == prompts[0] else None for prompt in prompts]

    def checked(behaviors, rows=rows):
        judged = judged_of(rows, propositions, behaviors=tuple(behaviors))
        return examine_rows(rows, judged=judged).router

    assert checked([None] * len(rows)) is None
    assert checked(own) is None  # the verdicts were made under the items' own behaviors
    assert (checked(other).confusion[0], checked(other).n_unrouted) == ((0, 1), 5)
    assert checked(own, _routed(rows, lambda row: "comply")).confusion[0] == (0, 6)
