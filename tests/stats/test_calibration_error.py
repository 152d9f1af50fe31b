"""The parts of a Brier score, by hand and by simulation."""

import math

import numpy as np
import pytest

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats import decompose_brier


def ferro_and_fricker(p, y):
    """Equations 5 to 7 of Ferro and Fricker (2012), one bin for each distinct probability."""
    n, mean = len(p), np.mean(y)
    reliability = resolution = within = 0.0
    for stated in np.unique(p):
        members = y[p == stated]
        share = members.mean()
        reliability += len(members) * (stated - share) ** 2 / n
        resolution += len(members) * (share - mean) ** 2 / n
        within += len(members) * share * (1 - share) / (len(members) - 1) / n
    overall = mean * (1 - mean) / (n - 1)
    return reliability - within, resolution - within + overall, mean * (1 - mean) + overall


def draw(rng, n_items, *, bend=1.0):
    p = rng.choice([0.05, 0.3, 0.5, 0.8, 0.95], n_items)
    return p, (rng.random(n_items) < 0.5 + (p - 0.5) * bend).astype(float)


def test_the_parts_are_those_of_ferro_and_fricker():
    for seed in range(3):
        p, y = draw(np.random.default_rng(seed), 200, bend=0.6)

        found = decompose_brier(p, y)

        parts = found.reliability.estimate, found.resolution, found.uncertainty
        assert parts == pytest.approx(ferro_and_fricker(p, y))
        assert found.calibration_error.estimate == pytest.approx(math.sqrt(parts[0]))
        assert (found.n_items, found.n_groups, found.n_bins) == (200, 200, 5)


def test_two_bins_by_hand():
    found = decompose_brier([0.9] * 10 + [0.1] * 10, [1] * 6 + [0] * 14)

    # bins: .9 against 6/10, whose variance is .6 * .4 / 9; .1 against 0, without spread
    assert found.reliability.estimate == pytest.approx((0.3**2 - 0.24 / 9 + 0.1**2) / 2)
    assert found.uncertainty == pytest.approx(0.3 * 0.7 * 20 / 19)
    assert found.brier == pytest.approx((6 * 0.01 + 4 * 0.81 + 10 * 0.01) / 20)


def test_the_parts_add_up_to_the_brier_score():
    rng = np.random.default_rng(3)
    p = rng.random(300)
    y = rng.random(300) < p**2
    groups = rng.integers(0, 60, 300)

    found = decompose_brier(p, y, groups=groups)

    parts = found.reliability.estimate - found.resolution + found.uncertainty
    assert parts == pytest.approx(found.brier)
    assert found.brier == pytest.approx(((p - y) ** 2).mean())
    assert (found.n_groups, found.n_bins) == (len(np.unique(groups)), 10)


@pytest.mark.ci
@pytest.mark.parametrize("per_group", [1, 4])
def test_perfect_calibration_has_no_error_on_average(per_group):
    rng = np.random.default_rng(4)
    estimates, uncorrected = [], []
    for _ in range(300):
        p, y = draw(rng, 80)
        p, y = np.repeat(p, per_group), np.repeat(y, per_group)
        found = decompose_brier(p, y, groups=np.arange(len(p)) // per_group)
        estimates.append(found.reliability.estimate)
        uncorrected.append(ferro_and_fricker(p, y)[0] if per_group > 1 else 0)

    error = np.std(estimates) / math.sqrt(300)
    assert abs(np.mean(estimates)) < 3 * error
    assert per_group == 1 or np.mean(uncorrected) > 5 * error  # items are not independent


def test_copies_of_an_item_in_one_group_add_nothing():
    p, y = draw(np.random.default_rng(5), 120, bend=0.5)
    twice = np.repeat(np.arange(120), 2)

    alone = decompose_brier(p, y)
    doubled = decompose_brier(p[twice], y[twice], groups=twice)

    assert doubled.reliability.estimate == pytest.approx(alone.reliability.estimate)
    assert doubled.calibration_error.high == pytest.approx(alone.calibration_error.high)
    assert doubled.resolution == pytest.approx(alone.resolution)


@pytest.mark.edges
@pytest.mark.parametrize(("bend", "per_group"), [(1.0, 1), (0.6, 1), (0.6, 4)])
def test_the_interval_covers_the_calibration_error(bend, per_group):
    rng = np.random.default_rng(6)
    truth = math.sqrt(np.mean([((p - 0.5) * (1 - bend)) ** 2 for p in (0.05, 0.3, 0.5, 0.8, 0.95)]))
    covered, n_runs = 0, 200
    for _ in range(n_runs):
        p, y = draw(rng, 100, bend=bend)
        p, y = np.repeat(p, per_group), np.repeat(y, per_group)
        found = decompose_brier(p, y, groups=np.arange(len(p)) // per_group).calibration_error
        covered += found.low <= truth <= found.high

    assert covered / n_runs > 0.95 - 3 * math.sqrt(0.95 * 0.05 / n_runs)


def test_a_judge_that_was_never_wrong_may_be_miscalibrated():
    found = decompose_brier(np.repeat([0.0, 1.0], 25), np.repeat([0, 1], 25))

    assert found.reliability.estimate == found.calibration_error.estimate == 0
    # 25 of 25 are right with a chance of .05 if one in 9 is wrong
    assert 0.08 < found.calibration_error.high < 0.15


def test_one_group_has_a_brier_score_only():
    with pytest.warns(DegenerateDataWarning, match="has no interval"):
        found = decompose_brier([0.2, 0.7], [0, 1], groups=["a", "a"])

    assert found.brier == pytest.approx((0.04 + 0.09) / 2)
    assert math.isnan(found.reliability.estimate)
    assert math.isnan(found.uncertainty)


def test_nothing_is_undefined():
    with pytest.warns(DegenerateDataWarning, match="calibration of 0 items"):
        found = decompose_brier([], [])

    assert math.isnan(found.brier)
    assert math.isnan(found.calibration_error.high)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.5], [1]), r"`probabilities` must be in \[0, 1\]"),
        (([0.5], [1, 0]), "`truths` must have the shape"),
    ],
)
def test_what_cannot_be_decomposed_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        decompose_brier(*arguments)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_bins": 0}, "`n_bins` must be a whole number"),
        ({"confidence_level": 95}, "`confidence_level` must be in"),
        ({"groups": [1]}, "`groups` must have the shape"),
    ],
)
def test_settings_that_break_a_rule_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        decompose_brier([0.5, 0.6], [1, 0], **settings)
