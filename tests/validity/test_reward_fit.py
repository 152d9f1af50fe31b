"""How often the intervals of a fit cover what comparisons without end would give."""

import math

import numpy as np
import pytest

from rewards.fitting import fit_oracle as oracle
from rewards.fitting.fit_cases import RUBRIC
from voirdire.rewards import FitSettings
from voirdire.rewards.fitting import weight_problem as resampling
from voirdire.rewards.fitting.settings import choose_features
from voirdire.rewards.fitting.weight_problem import (
    WeightProblem,
    estimate_error_rate,
    resample_weights,
)

pytestmark = pytest.mark.slow

CONFIDENCE = 0.95
N_RUNS = 150
ALLOWED = 3 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / N_RUNS)
L2 = 0.05
PUSH = np.array([1.0, 0.6, -0.8, 0.0])
N_EACH = 4


def drawn(rng, n_prompts):
    """Draw prompts of four completions: the best of each against the others.

    Completions of a prompt share a part of their features and of their noise, so that comparisons
    of one prompt hang together.
    """
    n_items = n_prompts * N_EACH
    shared = np.repeat(rng.normal(size=(n_prompts, 4)), N_EACH, axis=0)
    spread = np.repeat(rng.choice([0.5, 2.0], n_prompts), N_EACH)[:, np.newaxis]
    features = shared + spread * rng.normal(size=(n_items, 4))
    merit = features @ PUSH + 1.5 * rng.normal(size=n_items)
    rows = np.arange(n_items).reshape(n_prompts, N_EACH)
    best = merit[rows].argmax(axis=1)
    better = rows[np.arange(n_prompts), best].repeat(N_EACH - 1)
    worse = np.array([row[np.arange(N_EACH) != k] for row, k in zip(rows, best, strict=True)])
    prompts = np.arange(n_prompts).repeat(N_EACH - 1)
    return features, better, worse.ravel(), prompts


def problem_of(sample, **settings):
    features, better, worse, prompts = sample
    classes = np.zeros((len(features), 2))
    chosen = FitSettings(ignored=["ideal", "poor"], confidence_level=CONFIDENCE, **settings)
    return WeightProblem(
        items=np.arange(len(features)),
        features=np.hstack([features, classes]),
        base=np.zeros(len(features)),
        is_vetoed=np.zeros(len(features), bool),
        better=better,
        worse=worse,
        prompts=prompts,
        margins=np.ones(better.size),
        choice=choose_features(RUBRIC, chosen)["answer"],
        settings=chosen,
    )


def limit():
    """Weights on so many prompts that their error does not matter, by other solvers than ours."""
    features, better, worse, _ = drawn(np.random.default_rng(99), 60_000)
    d = features[better] - features[worse]
    c, v = np.ones(len(d)), np.full(len(d), 1 / len(d))
    return oracle.rounded_hinge_weights(d, c, v, l2=L2)


@pytest.mark.parametrize("most", [120, 40])
def test_weight_intervals_cover_as_often_as_they_say(monkeypatch, most):
    monkeypatch.setattr(resampling, "MAX_RESAMPLED_PROMPTS", most)
    truth = limit()
    rng = np.random.default_rng([7, len("hinge")])
    covered = np.zeros(4)
    for run in range(N_RUNS):
        problem = problem_of(drawn(rng, 120), n_resamples=79, seed=run)
        low, high = resample_weights(
            problem,
            weights=problem.solve(L2)[0],
            l2=L2,
            report=lambda: None,
        )
        covered += (low[:4] <= truth) & (truth <= high[:4])

    assert (np.abs(covered / N_RUNS - CONFIDENCE) <= ALLOWED).all(), covered / N_RUNS


def test_error_rate_intervals_cover_as_often_as_they_say():
    features, better, worse, _ = drawn(np.random.default_rng(98), 60_000)
    gains = (features[better] - features[worse]) @ PUSH
    truth = float((gains < 0).mean())
    rng = np.random.default_rng(8)
    covered = 0
    n_runs = 1_000
    for run in range(n_runs):
        sample = drawn(rng, 80)
        features, better, worse, _ = sample
        problem = problem_of(sample, n_resamples=200, seed=run)
        found = estimate_error_rate(problem, (features[better] - features[worse]) @ PUSH)
        covered += found.low <= truth <= found.high

    allowed = 3 * math.sqrt(CONFIDENCE * (1 - CONFIDENCE) / n_runs)
    assert covered / n_runs == pytest.approx(CONFIDENCE, abs=allowed)
