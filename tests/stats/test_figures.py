"""From sums to the winning rate: who is tested, who counts how much, what is undefined."""

import math

import numpy as np
import pytest

from alt_test_oracle import benjamini, exact_p_oracle, t_test_p
from voirdire.stats import OutcomeSums
from voirdire.stats.figures import TestSettings as Settings
from voirdire.stats.figures import compute_figures


def sums_of(*judges):
    """Sums from tables (wins, ties, losses) per judge and annotator."""
    tables = np.array(judges)
    return OutcomeSums(
        counts=tables,
        weights=tables.astype(float),
        squares=tables[..., np.newaxis] * np.eye(3),
        n_units=tables.sum(axis=-1),
    )


def settings(**changes):
    given = {
        "epsilons": np.array([0.2]),
        "mode": "additive",
        "method": "t",
        "design": "items",
        "false_discovery_rate": 0.05,
        "min_items": 10,
    }
    return Settings(**(given | changes))


GOOD, EVEN, POOR, SHORT = (10, 10, 0), (5, 10, 5), (0, 10, 10), (3, 3, 3)


def expand(table):
    return np.repeat([-1.0, 0.0, 1.0], table)


def test_figures_by_hand():
    figures = compute_figures(sums_of([GOOD, EVEN, POOR, SHORT]), settings())

    assert figures.tested.tolist() == [[True, True, True, False]]
    np.testing.assert_array_equal(figures.advantage_judge[0], [1, 3 / 4, 1 / 2, math.nan])
    np.testing.assert_array_equal(figures.advantage_human[0], [1 / 2, 3 / 4, 1, math.nan])
    assert figures.advantage_probability[0] == (1 + 3 / 4 + 1 / 2) / 3
    assert figures.human_advantage[0] == (1 / 2 + 3 / 4 + 1) / 3
    assert np.isnan(figures.p_values[0, 0]).tolist() == [False, False, False, True]


@pytest.mark.parametrize("method", ["t", "exact"])
@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
def test_judges_and_epsilons_together_are_each_alone(method, mode):
    rng = np.random.default_rng(2)
    tables = rng.multinomial(14, [0.4, 0.4, 0.2], size=(3, 4))
    epsilons = np.array([0.0, 0.1, 0.3])
    options = {"mode": mode, "method": method}

    together = compute_figures(sums_of(*tables), settings(epsilons=epsilons, **options))

    for judge in range(3):
        for number, epsilon in enumerate(epsilons):
            p = together.p_values[judge, number]
            for table, value in zip(tables[judge].tolist(), p, strict=True):
                if method == "exact":
                    expected = exact_p_oracle(*table, epsilon, mode)
                elif mode == "additive":
                    expected = t_test_p(expand(table), epsilon)
                else:
                    slope = 1 / (1 - epsilon)
                    d = np.repeat([-slope, 1 - slope, 1.0], table)
                    expected = t_test_p(d, 0.0)
                assert value == pytest.approx(expected, abs=1e-9)
            by = benjamini(p.tolist(), 0.05, yekutieli=True)
            bh = benjamini(p.tolist(), 0.05, yekutieli=False)
            assert together.rejected[judge, number].tolist() == by
            assert together.rejected_bh[judge, number].tolist() == bh
            assert together.winning_rate[judge, number] == np.mean(by)
            assert together.winning_rate_bh[judge, number] == np.mean(bh)


def test_the_untested_do_not_count_in_the_family():
    # The p-value of (6, 8, 4) is just below .05: alone it is
    # rejected, in a family of 3 it is not.
    alone = compute_figures(sums_of([(6, 8, 4), SHORT, SHORT]), settings())
    crowd = compute_figures(sums_of([(6, 8, 4), POOR, POOR]), settings())

    assert 0.05 / 3 / (11 / 6) < alone.p_values[0, 0, 0] <= 0.05
    assert alone.winning_rate[0, 0] == 1
    assert crowd.winning_rate[0, 0] == 0


def test_quality_weighs_the_winning_rate_only():
    figures = compute_figures(
        sums_of([GOOD, POOR, GOOD]), settings(quality=np.array([1.0, 2.0, 0.5]))
    )

    assert figures.winning_rate[0, 0] == pytest.approx(1.5 / 3.5)
    assert figures.advantage_probability[0] == pytest.approx((1 + 0.5 + 1) / 3)


def test_the_expert_is_not_tested():
    figures = compute_figures(sums_of([GOOD, POOR, GOOD]), settings(excluded=1))

    assert figures.tested.tolist() == [[True, False, True]]
    assert figures.winning_rate[0, 0] == 1


def test_half_passes_and_less_does_not():
    half = compute_figures(sums_of([GOOD, POOR]), settings())
    third = compute_figures(sums_of([GOOD, POOR, POOR]), settings())

    assert half.winning_rate[0, 0] == 0.5
    assert half.passed.tolist() == [[True]]
    assert third.passed.tolist() == [[False]]


@pytest.mark.parametrize("parts", [3, 5, 6, 7, 10, 30])
def test_half_of_the_quality_passes_whatever_the_rounding(parts):
    quality = np.full(2 * parts, 0.1)

    figures = compute_figures(
        sums_of([(20, 0, 0)] * parts + [POOR] * parts), settings(quality=quality)
    )

    assert figures.passed.tolist() == [[True]]


def test_nobody_tested_is_undefined_and_no_pass():
    figures = compute_figures(sums_of([SHORT, SHORT]), settings())

    assert np.isnan(figures.winning_rate).all()
    assert np.isnan(figures.advantage_probability).all()
    assert np.isnan(figures.human_advantage).all()
    assert figures.passed.tolist() == [[False]]
    assert not figures.rejected.any()


def test_an_undefined_p_value_of_a_tested_annotator_counts_as_one():
    sums = sums_of([(6, 8, 4), GOOD])
    one_unit = OutcomeSums(
        counts=sums.counts,
        weights=sums.weights,
        squares=sums.squares,
        n_units=np.array([[18, 1]]),
    )

    figures = compute_figures(one_unit, settings(design="clustered"))

    assert math.isnan(figures.p_values[0, 0, 1])
    assert figures.tested.tolist() == [[True, True]]
    assert not figures.rejected[0, 0, 1]
    # The other one's p-value just below .05 would need .05 / (2 * 3/2) in a family of two.
    assert figures.winning_rate[0, 0] == 0
