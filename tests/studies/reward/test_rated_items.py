"""Rewards of items from verdicts, and why some have none."""

import dataclasses

import numpy as np
import pytest

from studies.reward import reward_oracle as oracle
from studies.reward.small_reward import items_of, judged_of
from voirdire.errors import InputError

SORRY = [1.0, 0, 0, 0]


@pytest.mark.parametrize("orientation", ["plain", "demanded"])
def test_rewards_are_those_that_the_reward_gives(
    random_rows, make_reward, propositions, orientation
):
    rows = random_rows(0, with_base=False)
    reward = make_reward(orientation=orientation)

    scored = reward.score(items_of(rows), verdicts=judged_of(rows, propositions)).rewards
    assert scored == pytest.approx(np.array(oracle.rule_rewards(rows, reward)))


def test_verdicts_may_be_in_another_order_and_about_fewer_items(
    examine_rows, random_rows, propositions
):
    rows = random_rows(2)
    judged = judged_of(rows, propositions)
    order = np.random.default_rng(0).permutation(len(rows))[2:]
    some = dataclasses.replace(
        judged,
        items=tuple(judged.items[k] for k in order),
        probabilities=judged.probabilities[order],
        behaviors=(None,) * len(order),
    )
    kept = set(some.items)

    found = examine_rows(rows, judged=some)

    assert {(drop.item, drop.reason) for drop in found.dropped} == {
        (name, "no verdict") for name in judged.items if name not in kept
    }
    left = [row if f"i{k}" in kept else {**row, "p": [np.nan] * 4} for k, row in enumerate(rows)]
    expected = examine_rows(left)
    assert found.n_comparisons == expected.n_comparisons > 0
    assert [row.rate.value for row in found.error_rates] == [
        row.rate.value for row in expected.error_rates
    ]


def test_every_item_without_a_reward_is_listed_with_its_reason(
    examine_rows, make_reward, propositions
):
    rows = [
        {"prompt": behavior, "behavior": behavior, "p": SORRY, "base": base, "label": label}
        for behavior, base, label in [
            ("refuse", 1.0, "ideal"),
            ("refuse", None, "ideal"),
            ("refuse", 1.0, "ideal"),
            ("comply", 1.0, "ideal"),
            ("comply", 1.0, "disallowed"),
            (None, 1.0, "ideal"),
            (None, 1.0, "disallowed"),
            ("refuse", 1.0, "disallowed"),
        ]
    ]
    judged = judged_of(rows, propositions)
    probabilities = judged.probabilities.copy()
    probabilities[2] = np.nan
    judged = dataclasses.replace(
        judged,
        items=judged.items[:7],
        behaviors=(None,) * 7,
        probabilities=probabilities[:7],
    ).with_reasons({"i2": "timeout"})

    found = examine_rows(rows, judged=judged, of=make_reward({"refuse": {"apology": 1.0}}))

    assert {drop.item: drop.reason for drop in found.dropped} == {
        "i1": "no base reward, where others have one",
        "i2": "failed verdict: timeout",
        "i3": "no weights for behavior 'comply'",
        "i4": "no weights for behavior 'comply'",
        "i5": "no behavior",
        "i6": "no behavior",
        "i7": "no verdict",
    }
    assert found.n_items == 1


def test_a_probability_that_is_none_is_refused(examine_rows):
    rows = [{"prompt": "a", "behavior": "refuse", "p": [x, 0, 0, 0]} for x in (2.0, 0.5)]

    with pytest.raises(InputError, match=r"must be in \[0, 1\]"):
        examine_rows(rows)
