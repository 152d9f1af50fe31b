"""Areas under the ROC curve against scikit-learn and against their definition."""

import math

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from voirdire.judging.local.roc import area_difference, roc_area


def scored(seed, n=60, levels=8):
    rng = np.random.default_rng(seed)
    truths = rng.random(n) < 0.3
    return np.round(truths + rng.normal(size=n), 1), truths


@pytest.mark.parametrize("seed", range(5))
def test_the_area_is_that_of_scikit_learn(seed):
    scores, truths = scored(seed)

    result = roc_area(scores, truths)

    assert result.area == pytest.approx(roc_auc_score(truths, scores))
    assert result.low < result.area < result.high


def test_the_standard_error_of_a_difference_is_that_of_the_definition():
    first, truths = scored(1)
    second, _ = scored(2)

    difference, error = area_difference(first, second, truths)

    # DeLong: variances of the mean win of each positive and of each negative.
    def wins(scores):
        true, false = scores[truths], scores[~truths]
        return (true[:, None] > false) + 0.5 * (true[:, None] == false)

    gap = wins(first) - wins(second)
    variance = gap.mean(1).var(ddof=1) / gap.shape[0] + gap.mean(0).var(ddof=1) / gap.shape[1]
    assert difference == pytest.approx(gap.mean())
    assert error == pytest.approx(math.sqrt(variance))


def test_a_perfect_ranking_still_has_an_interval():
    result = roc_area(np.arange(20.0), np.arange(20) >= 10)

    assert result.area == result.high == 1
    assert 0.6 < result.low < 1


@pytest.mark.parametrize("truths", [[True] * 4, [False] * 4])
def test_one_kind_of_label_has_no_area(truths):
    assert math.isnan(roc_area(np.arange(4.0), np.array(truths)).area)


def test_one_positive_has_an_area_without_interval():
    result = roc_area(np.array([3.0, 1.0, 2.0]), np.array([True, False, False]))

    assert result.area == 1
    assert math.isnan(result.low)


@pytest.mark.slow
def test_the_interval_covers_the_area():
    rng = np.random.default_rng(0)
    # Normal scores one standard deviation apart: area = Phi(1 / sqrt 2).
    area = 0.5 * (1 + math.erf(0.5))
    n_inside = 0
    for _ in range(1_000):
        truths = np.arange(100) < 20
        result = roc_area(truths + rng.normal(size=100), truths)
        n_inside += result.low <= area <= result.high

    # 3 binomial standard errors of 0.95 in 1,000 are 0.021.
    assert n_inside / 1_000 > 0.95 - 0.021
