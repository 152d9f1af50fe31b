import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from voirdire.errors import InputError
from voirdire.stats import fit_calibrator


def noisy(n_items: int, *, seed: int, slope: float = 1.0, shift: float = 0.0):
    """Probabilities, truths that follow their log-odds by a line, and weights."""
    rng = np.random.default_rng(seed)
    p = rng.beta(0.7, 1.2, n_items).clip(0.001, 0.999)
    truths = rng.random(n_items) < expit(slope * logit(p) + shift)
    return p, truths, rng.uniform(0.2, 3, n_items)


def platt_targets(truths, weights):
    n_true, n_false = weights @ truths, weights @ ~truths
    return np.where(truths, (n_true + 1) / (n_true + 2), 1 / (n_false + 2))


@pytest.mark.parametrize("seed", range(5))
def test_platt_is_the_logistic_regression_of_scikit_learn_on_platts_targets(seed):
    p, truths, weights = noisy(150, seed=seed, slope=0.6, shift=-0.7)
    targets = platt_targets(truths, weights)

    calibrator = fit_calibrator(p, truths, method="platt", weights=weights)

    # a soft target t is a true item of weight t and a false one of weight 1 - t
    doubled = np.concatenate([logit(p), logit(p)])[:, None]
    model = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        doubled,
        np.repeat([1, 0], len(p)),
        sample_weight=np.concatenate([weights * targets, weights * (1 - targets)]),
    )
    assert calibrator.slope == pytest.approx(model.coef_[0, 0], abs=1e-5)
    assert calibrator.intercept == pytest.approx(model.intercept_[0], abs=1e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_temperature_minimises_the_log_loss(seed):
    p, truths, weights = noisy(150, seed=seed, slope=0.4)
    targets = platt_targets(truths, weights)

    calibrator = fit_calibrator(p, truths, method="temperature", weights=weights)

    def loss(slope):
        scores = slope[0] * logit(p)
        return weights @ (np.logaddexp(0, scores) - targets * scores) / weights.sum()

    best = minimize(loss, [1.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-14})
    assert calibrator.slope == pytest.approx(best.x[0], abs=1e-5)


@pytest.mark.parametrize("method", ["platt", "temperature"])
def test_truths_that_can_be_parted_give_a_finite_fit(method):
    p = np.array([0.1, 0.2, 0.3, 0.7, 0.8, 0.9])

    calibrated = fit_calibrator(p, p > 0.5, method=method).apply(p)

    # (3 + 1) / (3 + 2) is what Platt's targets allow
    assert 0.5 < calibrated[-1] < 0.95
    assert calibrated[0] == pytest.approx(1 - calibrated[-1], abs=1e-6)


@pytest.mark.parametrize("method", ["platt", "temperature"])
def test_a_judge_that_is_the_wrong_way_round_gets_one_number_for_all(method):
    p = np.linspace(0.05, 0.95, 20)

    calibrated = fit_calibrator(p, p < 0.5, method=method).apply(p)

    np.testing.assert_allclose(calibrated, 0.5, atol=1e-6)


def test_with_platt_that_number_is_the_share():
    p = np.linspace(0.05, 0.95, 40)

    calibrated = fit_calibrator(p, p < 0.25).apply(p)

    # 9 of 40 are true: (9 × 10/11 + 31 × 1/33) / 40
    np.testing.assert_allclose(calibrated, (9 * 10 / 11 + 31 / 33) / 40)


@pytest.mark.parametrize("method", ["platt", "temperature"])
def test_weights_of_two_count_like_two_items(method):
    p, truths, _ = noisy(60, seed=1)

    weighted = fit_calibrator(p, truths, method=method, weights=np.full(60, 2.0))
    doubled = fit_calibrator(np.tile(p, 2), np.tile(truths, 2), method=method)

    grid = np.linspace(0, 1, 9)
    np.testing.assert_allclose(weighted.apply(grid), doubled.apply(grid), atol=1e-7)


def test_probabilities_of_0_and_1_do_not_break_it():
    calibrator = fit_calibrator([0, 0, 1, 1, 1, 0], [0, 0, 1, 1, 0, 1])

    assert 0 < calibrator.apply([0.0])[0] < 0.5 < calibrator.apply([1.0])[0] < 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"truths": [1, 1, 1]}, "`truths` must hold true and false ones"),
        ({"truths": [0, 0, 0]}, "`truths` must hold true and false ones"),
        ({"truths": [0, 1]}, r"`truths` must have the shape \(3,\), got \(2,\)"),
        ({"truths": [0, 1, math.nan]}, "`truths` must be true, false or a share"),
        ({"truths": [0, 1, 2]}, "`truths` must be true, false or a share"),
        ({"probabilities": [0.1, 0.5, 7]}, r"`probabilities` must be in \[0, 1\], got 7.0"),
        ({"weights": [1, 1, -1]}, "`weights` must be finite, not negative"),
        ({"weights": [0, 0, 0]}, "`weights` must be finite, not negative"),
        ({"method": "magic"}, "`method` must be one of 'platt'"),
    ],
    ids=repr,
)
def test_a_mistake_is_named(changed, message):
    given = {"probabilities": [0.1, 0.5, 0.7], "truths": [0, 1, 1], **changed}

    with pytest.raises(InputError, match=message):
        fit_calibrator(given.pop("probabilities"), given.pop("truths"), **given)
