"""The interval from influence values: its scale, its units, its degrees of freedom."""

import math

import numpy as np
import pytest
from scipy import stats

from voirdire import InputError
from voirdire.stats.agreement.interval import check_units, make_interval


def interval(estimate, influence, **options):
    influence = np.asarray(influence, dtype=float)
    arguments = {
        "reach": None,
        "compared": np.ones(len(influence), dtype=bool),
        "units": None,
        "confidence_level": 0.95,
        "least": 0.0,
    }
    return make_interval(estimate, influence, **(arguments | options))


def test_the_interval_of_a_share_is_that_of_its_logit():
    hits = np.repeat([1.0, 0.0], [30, 10])

    result = interval(0.75, (hits - 0.75) / 40)

    # The error of a logit is that of the share over p (1 - p): sqrt(pq / (n - 1)) / pq.
    half = stats.t.ppf(0.975, 39) / math.sqrt(0.75 * 0.25 * 39)
    assert result.low == pytest.approx(1 / (1 + math.exp(-(math.log(3) - half))))
    assert result.high == pytest.approx(1 / (1 + math.exp(-(math.log(3) + half))))
    assert result.n_units == 40


def test_fishers_scale_reaches_down_to_minus_one():
    influence = np.tile([0.01, -0.01], 50)

    result = interval(0.2, influence, least=-1.0)

    half = stats.t.ppf(0.975, 99) * 0.01 * 100 / math.sqrt(99) / (1 - 0.2**2)
    assert result.low == pytest.approx(math.tanh(math.atanh(0.2) - half))
    assert result.high == pytest.approx(math.tanh(math.atanh(0.2) + half))


def test_below_the_least_value_the_interval_has_no_lower_limit():
    result = interval(-1.2, np.tile([0.01, -0.01], 50), least=-1.0)

    assert result.low < -1.2 < result.high < 1


def test_few_large_influences_take_degrees_of_freedom():
    even = np.tile([1.0, -1.0], 100)
    few = np.zeros(200)
    few[:4] = [5.0, -5.0, 5.0, -5.0]

    widths = []
    for influence in (even, few):
        scaled = influence / math.sqrt((influence**2).sum()) / 20
        result = interval(0.0, scaled, least=-1.0)
        widths.append(math.atanh(result.high))

    # Kurtosis 1: all 199 degrees. Kurtosis 200 / 4 = 50: 2 * 200 / 49 degrees.
    expected = stats.t.ppf(0.975, 400 / 49) / stats.t.ppf(0.975, 199)
    assert widths[1] / widths[0] == pytest.approx(expected)


def test_what_a_unit_holds_of_chance_disagreement_widens_the_interval():
    influence = np.tile([0.01, -0.01], 20)
    reach = np.zeros(40)
    reach[:2] = 0.2

    plain, widened = (interval(0.5, influence, reach=x, least=-1.0) for x in (None, reach))

    assert widened.low < plain.low
    assert widened.high > plain.high


def test_clusters_are_summed():
    rng = np.random.default_rng(0)
    influence = rng.normal(size=30) / 100
    influence -= influence.mean()

    clustered = interval(0.5, np.repeat(influence, 3) / 3, units=np.repeat(np.arange(30), 3))
    single = interval(0.5, influence)

    assert (clustered.low, clustered.high) == pytest.approx((single.low, single.high))
    assert clustered.n_units == 30


def test_units_without_compared_items_do_not_count():
    compared = np.array([True, True, False, False])

    assert interval(0.5, [0.1, -0.1, 0, 0], compared=compared).n_units == 2
    assert interval(0.5, [0.1, -0.1, 0, 0], compared=compared, units=[0, 0, 1, 1]).n_units == 1


@pytest.mark.parametrize("estimate", [0.0, 0.3, 1.0])
def test_without_spread_a_coefficient_beyond_chance_closes_on_its_estimate(estimate):
    result = interval(estimate, np.zeros(5), reach=np.zeros(5))

    assert (result.low, result.high) == (estimate, estimate)


@pytest.mark.parametrize("influence", [[], [0.0]])
def test_fewer_than_two_units_have_no_interval(influence):
    result = interval(0.5, influence)

    assert math.isnan(result.low)
    assert math.isnan(result.high)


def test_clusters_are_numbered():
    assert check_units(["b", "a", "b"], 3).tolist() == [1, 0, 1]
    assert check_units(None, 3) is None
    with pytest.raises(InputError, match="`clusters` must have the shape"):
        check_units([1, 2], 3)
