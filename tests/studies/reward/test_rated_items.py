"""Rewards of items from verdicts, and why some have none."""

import dataclasses

import numpy as np
import pytest

from studies.reward import reward_oracle as oracle
from studies.reward.small_reward import items_of, judged_of
from voirdire.errors import InputError
from voirdire.studies.reward.given_responses import base_reward, numbered
from voirdire.studies.reward.rated_items import joined_probabilities, rate_items

SORRY = [1.0, 0, 0, 0]


@pytest.fixture
def rate(reward, propositions):
    """Rate rows."""

    def rated(rows, *, judged=None, of=reward):
        items = items_of(rows)
        return rate_items(
            items,
            of,
            judged=judged_of(rows, propositions) if judged is None else judged,
            prompts=numbered(items, lambda item: item.group),
            behaviors=[item.behavior for item in items],
            base_rewards=np.array([base_reward(item.metadata) for item in items]),
            source="rows",
        )

    return rated


@pytest.mark.parametrize("orientation", ["plain", "demanded"])
def test_rewards_are_those_that_are_added_up_feature_by_feature(
    rate, random_rows, make_reward, orientation
):
    rows = random_rows(0)
    reward = make_reward(orientation=orientation)

    found = rate(rows, of=reward)

    for signal, expected in oracle.signals(rows, reward).items():
        assert found.signals[signal] == pytest.approx(np.array(expected))


def test_rewards_are_those_that_the_reward_gives(rate, random_rows, reward, propositions):
    rows = random_rows(1)

    scores = reward.score(
        items_of(rows),
        verdicts=judged_of(rows, propositions),
        base_rewards=[row["base"] for row in rows],
    )

    assert rate(rows).signals["total"].tolist() == pytest.approx(scores.rewards.tolist())


def test_verdicts_may_be_in_another_order_and_about_fewer_items(random_rows, propositions):
    rows = random_rows(2)[:3]
    judged = judged_of(rows, propositions)
    turned = dataclasses.replace(
        judged, items=("i2", "i0"), probabilities=judged.probabilities[[2, 0]]
    )

    found = joined_probabilities(items_of(rows), turned, propositions=(*propositions, "new"))

    assert found[0, :4].tolist() == rows[0]["p"].tolist()
    assert found[2, :4].tolist() == rows[2]["p"].tolist()
    assert np.isnan(found[1]).all()
    assert np.isnan(found[:, 4]).all()


def test_every_item_without_a_reward_is_listed_with_its_reason(rate, make_reward, propositions):
    rows = [
        {"prompt": "a", "behavior": behavior, "p": SORRY, "base": base}
        for behavior, base in [
            ("refuse", 1.0),
            (None, 1.0),
            ("comply", 1.0),
            ("refuse", None),
            ("refuse", 1.0),
            ("refuse", 1.0),
        ]
    ]
    judged = judged_of(rows, propositions)
    probabilities = judged.probabilities.copy()
    probabilities[4] = np.nan
    judged = dataclasses.replace(
        judged,
        items=judged.items[:5],
        probabilities=probabilities[:5],
        failures={"i4": "timeout"},
    )

    found = rate(rows, judged=judged, of=make_reward({"refuse": {"apology": 1.0}}))

    assert {drop.item: drop.reason for drop in found.dropped} == {
        "i1": "no behavior, so that no weights apply",
        "i2": "the reward has no weights for behavior 'comply'",
        "i3": "no base reward, where others have one",
        "i4": "no verdict: timeout",
        "i5": "no verdict",
    }
    assert found.is_rated.tolist() == [True, False, False, False, False, False]
    assert not np.isinf(found.signals["total"]).any()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1.0),
        ("2.5", 2.5),
        (True, None),
        ("x", None),
        (float("inf"), None),
        ("nan", None),
        (None, None),
        ([1], None),
    ],
)
def test_a_base_reward_is_a_finite_number_or_missing(value, expected):
    found = base_reward({"base_reward": value})

    assert (None if np.isnan(found) else found) == expected


def test_a_probability_that_is_none_is_refused(rate, propositions):
    rows = [{"prompt": "a", "behavior": "refuse", "p": [2.0, 0, 0, 0]}]

    with pytest.raises(InputError, match=r"must be in \[0, 1\]"):
        rate(rows, judged=judged_of(rows, propositions))
