"""What each feature does: spread, what is lost without it, dead and contradictory ones."""

import dataclasses
import math

import numpy as np
import pytest

from studies.reward import reward_oracle as oracle
from voirdire.records import CERTIFICATE_SCHEMA, Certificate
from voirdire.rewards import BehaviorReward, feature_set, feature_values


def _row(prompt, label, p, behavior="refuse"):
    return {"prompt": prompt, "behavior": behavior, "label": label, "p": p}


def _found(examined):
    return {(row.behavior, row.feature): row for row in examined.drives}


@pytest.mark.parametrize("orientation", ["plain", "demanded"])
def test_figures_are_those_of_loops(examine_rows, random_rows, make_reward, orientation):
    rows = random_rows(0)
    reward = make_reward(orientation=orientation)
    total = oracle.signals(rows, reward)["total"]
    pairs = oracle.comparisons(rows)

    found = _found(examine_rows(rows, of=reward))

    spreads = {}
    for (behavior, name), row in found.items():
        own = [k for k, each in enumerate(rows) if each["behavior"] == behavior]
        place = feature_set(reward.rubric, behavior, orientation=orientation).names.index(name)
        values = feature_values(
            reward.rubric,
            behavior,
            probabilities=[rows[k]["p"] for k in own],
            orientation=orientation,
        )[:, place]
        weight = reward.behaviors[behavior].weights[name]
        paid = dict(zip(own, weight * values, strict=True))
        spreads[behavior, name] = oracle.pooled_within(
            [rows[k]["prompt"] for k in own], [paid[k] for k in own]
        )
        mine = [pair for pair in pairs if pair[0] in paid]
        without = {k: total[k] - paid[k] for k in own}
        assert row.weight == weight
        assert row.mean == pytest.approx(values.mean())
        assert row.spread == pytest.approx(spreads[behavior, name])
        assert row.error_rate_without == pytest.approx(np.mean(oracle.errors(mine, without)))
    for (behavior, name), row in found.items():
        whole = sum(x for (own, _), x in spreads.items() if own == behavior)
        assert row.share == pytest.approx(spreads[behavior, name] / whole)


def test_more_comparisons_than_fit_into_one_block_all_count(examine_rows, make_reward):
    p = np.random.default_rng(1).random((480, 2)).round(2)
    rows = [
        _row("a", ("ideal", "unacceptable")[k % 2], [*own, 0, 0])
        for k, own in enumerate(p.tolist())
    ]
    reward = make_reward({"refuse": {"apology": 1.0, "rude": -1.0}})

    found = _found(examine_rows(rows, of=reward))

    for feature, left in (("apology", -p[:, 1]), ("rude", p[:, 0])):
        gaps = left[::2, None] - left[1::2]  # of all 57,600 pairs
        expected = np.where(gaps == 0, 0.5, gaps < 0).mean()
        assert found["refuse", feature].error_rate_without == pytest.approx(expected)


def test_a_feature_that_does_not_vary_within_prompts_is_dead(examine_rows):
    rows = [
        _row(k, label, [float(k % 2), rude, 0.0, 0.0])
        for k in range(6)
        for label, rude in (("ideal", 0.0), ("unacceptable", 1.0))
    ]

    found = _found(examine_rows(rows))

    assert found["refuse", "apology"].spread == 0.0  # differs between prompts only
    assert found["refuse", "apology"].is_dead
    assert not found["refuse", "rude"].is_dead
    assert found["refuse", "helps"].is_dead


def test_a_weight_that_is_as_good_as_nothing_is_dead(examine_rows, make_reward):
    rows = [_row("a", "ideal", [1.0, 0, 0, 0]), _row("a", "unacceptable", [0.0, 1, 0, 0])]
    reward = make_reward({"refuse": {"apology": 1.0, "rude": -0.0009}})

    found = _found(examine_rows(rows, of=reward))

    assert found["refuse", "rude"].is_dead
    assert not found["refuse", "apology"].is_dead


def test_a_feature_that_varies_little_and_decides_everything_is_not_dead(examine_rows, make_reward):
    rows = [
        _row(k, label, [float(k % 2), rude, 0.0, 0.0])
        for k in range(6)
        for label, rude in (("ideal", 0.001), ("unacceptable", 0.011))
    ]
    reward = make_reward({"refuse": {"apology": 1.0, "rude": -100.0}})

    row = _found(examine_rows(rows, of=reward))["refuse", "rude"]

    assert (row.share, row.error_rate_without) == (1.0, 0.5)
    assert not row.is_dead


def test_a_class_is_not_held_against_one_that_hardly_occurs(examine_rows, make_reward):
    def rows(helps):  # how probable it is that the worst one is disallowed
        return [
            _row(k, label, p)
            for k in range(8)
            for label, p in (
                ("ideal", [1.0, 0, 0, 0]),
                ("unacceptable", [1.0, 1, 0, 0]),
                ("unacceptable", [1.0, 1, helps, 0]),
            )
        ]

    weights = {"refuse.ideal": 1.0, "refuse.unacceptable": -1.0}  # and 0 for what is disallowed
    found = {
        helps: {
            row.feature
            for row in examine_rows(rows(helps), of=make_reward({"refuse": weights})).drives
            if row.is_contradictory
        }
        for helps in (0.03, 0.9)
    }

    assert found == {0.03: set(), 0.9: {"refuse.unacceptable"}}


@pytest.mark.edges
@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ({"apology": 1.0, "rude": -1.0, "helps": -1.0, "extra": -1.0}, set()),
        ({"apology": -1.0, "rude": -1.0}, {"apology"}),
        ({"apology": 1.0, "rude": 1.0}, {"rude"}),
        ({"apology": 1.0, "helps": 1.0, "extra": 0.5}, {"helps", "extra"}),
        ({"refuse.ideal": 1.0, "refuse.disallowed": 2.0}, {"refuse.disallowed"}),
        ({"refuse.ideal": -1.0}, {"refuse.ideal"}),  # those below it weigh nothing
    ],
)
def test_weights_that_pay_against_the_demand_are_contradictory(
    examine_rows, random_rows, make_reward, weights, expected
):
    found = _found(examine_rows(random_rows(4), of=make_reward({"refuse": weights})))

    assert {row.feature for row in found.values() if row.is_contradictory} == expected


def test_the_weights_against_demands_are_those_of_the_fit_and_classes_stand_apart(
    examine_rows, random_rows, make_reward
):
    rows = [row | {"p": [*row["p"][:3], 0.0]} for row in random_rows(4)]  # nothing varies in extra
    weights = {"apology": 1.0, "rude": 0.5, "extra": 0.7}
    reward = make_reward({"refuse": weights | {"refuse.ideal": -1.0}})

    found = examine_rows(rows, of=reward)

    figures = {row.code: row.figures for row in found.notes}
    against = found.reward["against_demands"]
    paid = tuple(f"{row['behavior']}:{row['proposition']}" for row in against)
    assert figures["contradictory_features"] == {"n": 2, "features": paid}
    assert paid == ("refuse:extra", "refuse:rude")  # a policy may vary in what is dead here
    assert _found(found)["refuse", "extra"].is_dead
    assert figures["classes_out_of_order"] == {"n": 1, "features": ("refuse.ideal",)}


def test_a_flipped_feature_is_read_by_what_it_pays_for(examine_rows, random_rows, make_reward):
    reward = make_reward({"refuse": {"rude": 1.0, "extra": -1.0}}, orientation="demanded")

    found = _found(examine_rows(random_rows(4), of=reward))

    # 1 for not being rude is right; -1 for there being nothing extra is not
    assert {row.feature for row in found.values() if row.is_contradictory} == {"extra"}


def test_demands_are_in_words(examine_rows, random_rows):
    found = _found(examine_rows(random_rows(0)))

    words = {name: row.demand for (behavior, name), row in found.items() if behavior == "refuse"}
    assert words["apology"] == "core required"
    assert words["extra"] == "required false"
    assert words["rude"] == "unacceptable"
    assert words["refuse.ideal"] == ""
    assert found["comply", "rude"].demand == "undesired"


def test_intervals_are_those_of_the_fit(examine_rows, random_rows, reward):
    told = {"apology": {"value": 2.0, "low": 1.5, "high": 2.5}, "rude": {"low": None, "high": None}}
    row = dataclasses.replace(reward.behaviors["refuse"], figures={"weights": told})
    fitted = dataclasses.replace(reward, behaviors={"refuse": row})

    found = _found(examine_rows(random_rows(0), of=fitted))

    assert (found["refuse", "apology"].low, found["refuse", "apology"].high) == (1.5, 2.5)
    assert math.isnan(found["refuse", "rude"].low)
    assert math.isnan(found["refuse", "extra"].high)


def test_a_class_is_certified_where_all_of_its_propositions_are(examine_rows, random_rows, reward):
    def certified_for(*questions):
        judge = dataclasses.replace(reward.judge, name="j", fingerprint="print")
        certificate = Certificate(
            schema=CERTIFICATE_SCHEMA,
            created="",
            versions={},
            data_hash="",
            gold_hash=None,
            judges={"j": {"fingerprint": "print"}},
            rubric_hash=None,
            settings={},
            examinations=tuple(
                {
                    "question": name,
                    "judge": "j",
                    "outcome": "passed",
                    "epsilon": 0.1,
                    "alignment": "accuracy",
                }
                for name in questions
            ),
            outcomes={},
            content_hash="sha256:0",
        )
        of = dataclasses.replace(reward, judge=judge, certificates=(certificate,))
        found = _found(examine_rows(random_rows(0), of=of))
        return {name for (b, name), row in found.items() if b == "refuse" and row.is_certified}

    assert certified_for() == set()
    assert certified_for("apology") == {"apology"}
    assert "refuse.ideal" in certified_for("apology", "rude", "helps", "extra")


def test_a_missing_verdict_of_a_feature_without_weight_does_no_harm(examine_rows, make_reward):
    rows = [
        _row("a", "ideal", [1.0, np.nan, 0, 0]),
        _row("a", "unacceptable", [0.0, 1, 0, 0]),
        _row("a", "unacceptable", [0.5, 0, 0, 0]),
    ]
    reward = make_reward({"refuse": {"apology": 1.0}})

    found = _found(examine_rows(rows, of=reward))

    assert found["refuse", "rude"].mean == 0.5
    assert found["refuse", "rude"].is_dead
    assert found["refuse", "apology"].spread == pytest.approx(0.5)


def test_a_behavior_without_comparisons_has_no_error_rates(examine_rows, reward):
    rows = [_row("a", "ideal", [1.0, 0, 0, 0]), _row("a", "ideal", [0.5, 0, 0, 0])]

    found = _found(examine_rows(rows))

    assert isinstance(reward.behaviors["refuse"], BehaviorReward)
    assert all(math.isnan(row.error_rate_without) for row in found.values())
