"""From outcomes to the winning rate: who is tested, who counts how much, what is undefined."""

import math

import numpy as np
import pytest

from alt_test_oracle import benjamini, exact_p_oracle, t_test_p
from made_outcomes import labels_with, outcomes_of
from voirdire import DegenerateDataWarning, stats

GOOD, EVEN, POOR, SHORT = (10, 10, 0), (5, 10, 5), (0, 10, 10), (3, 3, 3)


def examine(*tables, **options):
    """Test one judge whose wins, ties and losses against each annotator are given."""
    settings = {"epsilon": 0.2, "min_items": 10} | options
    return stats.alt_test(**labels_with(*map(outcomes_of, tables)), **settings)


def test_figures_by_hand():
    [result] = examine(GOOD, EVEN, POOR, SHORT)

    assert result.untested == ("3",)
    assert [row.advantage_judge for row in result.annotators] == [1, 3 / 4, 1 / 2]
    assert [row.advantage_human for row in result.annotators] == [1 / 2, 3 / 4, 1]
    assert result.advantage_probability == (1 + 3 / 4 + 1 / 2) / 3
    assert result.human_advantage == (1 / 2 + 3 / 4 + 1) / 3


@pytest.mark.edges
@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize("rate", [0.01, 0.05, 0.3])
def test_the_winning_rate_is_the_share_of_corrected_rejections(mode, rate):
    epsilons = (0.0, 0.1, 0.3)
    tables = np.random.default_rng(2).multinomial(14, [0.4, 0.4, 0.2], size=5).tolist()

    results = examine(*tables, epsilon=epsilons, epsilon_mode=mode, false_discovery_rate=rate)

    for result, epsilon in zip(results, epsilons, strict=True):
        slope = 1 / (1 - epsilon) if mode == "multiplicative" else 1.0
        target = epsilon if mode == "additive" else 0.0
        expected = [
            t_test_p(np.repeat([-slope, 1 - slope, 1.0], table), target) for table in tables
        ]
        p_values = [row.p_value for row in result.annotators]
        assert p_values == pytest.approx(expected, abs=1e-8)
        exact = [exact_p_oracle(*table, epsilon, mode) for table in tables]
        assert [row.exact_p_value for row in result.annotators] == pytest.approx(exact, abs=1e-8)
        by, bh = (benjamini(expected, rate, yekutieli=choice) for choice in (True, False))
        assert [row.rejected for row in result.annotators] == by
        assert [row.rejected_bh for row in result.annotators] == bh
        assert result.t_test.winning_rate == np.mean(by)
        assert result.t_test.p_values == tuple(p_values)
        by, bh = (benjamini(exact, rate, yekutieli=choice) for choice in (True, False))
        assert [row.shown for row in result.annotators] == by
        assert result.n_shown == sum(by)
        assert result.winning_rate == np.mean(by)
        assert result.winning_rate_bh == np.mean(bh)


def test_the_untested_do_not_count_in_the_family():
    # The p-value of (6, 8, 4) is just below .05: alone it is
    # rejected, in a family of 3 it is not.
    [alone] = examine((6, 8, 4), SHORT, SHORT)
    [crowd] = examine((6, 8, 4), POOR, POOR)

    assert 0.05 / 3 / (11 / 6) < alone.annotators[0].p_value <= 0.05
    assert alone.t_test.winning_rate == 1
    assert crowd.t_test.winning_rate == 0


def test_quality_weighs_the_winning_rate_only():
    [result] = examine(GOOD, POOR, GOOD, quality=[1.0, 2.0, 0.5])

    assert result.winning_rate == pytest.approx(1.5 / 3.5)
    assert result.advantage_probability == pytest.approx((1 + 0.5 + 1) / 3)


@pytest.mark.parametrize(("n_items", "tested"), [(19, False), (20, True)])
def test_an_annotator_needs_the_fewest_items(n_items, tested):
    [result] = examine((n_items, 0, 0), EVEN, min_items=20)

    assert [row.annotator for row in result.annotators] == ["0", "1"][1 - tested :]


def test_half_passes_and_less_does_not():
    [half], [third] = examine(GOOD, POOR), examine(GOOD, POOR, POOR)

    assert half.winning_rate == 0.5
    assert half.t_test.passed
    assert not third.t_test.passed


@pytest.mark.parametrize("parts", [3, 5, 6, 7, 10, 30])
def test_half_of_the_quality_passes_whatever_the_rounding(parts):
    tables = [(20, 0, 0)] * parts + [POOR] * parts

    [result] = examine(*tables, quality=np.full(2 * parts, 0.1))

    assert result.t_test.passed


def test_nobody_tested_is_undefined_and_no_pass():
    with pytest.warns(DegenerateDataWarning, match="ω is undefined"):
        [result] = examine(SHORT, SHORT)

    assert math.isnan(result.winning_rate)
    assert math.isnan(result.advantage_probability)
    assert math.isnan(result.human_advantage)
    assert not result.passed
    assert result.untested == ("0", "1")


def test_an_undefined_p_value_of_a_tested_annotator_counts_as_one():
    # Every item of the first annotator is a cluster, all of the second's are one.
    clusters = [*range(18), *[18] * 20]

    [result] = examine((6, 8, 4), GOOD, clusters=clusters)
    [alone] = examine((6, 8, 4), clusters=clusters[:18])

    assert alone.t_test.winning_rate == 1
    assert math.isnan(result.annotators[1].p_value)
    assert not result.annotators[1].rejected
    # The other one's p-value just below .05 would need .05 / (2 * 3/2) in a family of two.
    assert result.winning_rate == 0
