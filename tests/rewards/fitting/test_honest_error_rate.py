"""The held-out error rate leaves out whole prompts: leaving out pairs would flatter the reward."""

import numpy as np
import pytest

from rewards.fitting import fit_oracle as oracle
from rewards.fitting.fit_cases import labelled_case
from rewards.fitting.test_fit import fit

N_RUNS = 40
N_EACH = 8
LABELS = ["ideal"] * 2 + ["less_good"] * 3 + ["poor"] * 3


def meaningless_case(seed):
    """Give two prompts of eight completions whose labels have nothing to do with verdicts."""
    case = labelled_case(seed, n_prompts=2, n_each=N_EACH)
    rng = np.random.default_rng(seed + 1_000)
    for place, row in enumerate(case.rows):
        if place % N_EACH == 0:
            labels = rng.permutation(LABELS)
        row["label"] = str(labels[place % N_EACH])
    return case


def error_rate_by_pairs(case, *, seed):
    """Hold out a fifth of the pairs, wherever their completions are seen else."""
    pairs = oracle.pairs_of(case.rows)
    d, c = oracle.differences(case, pairs)
    folds = np.random.default_rng(seed).permutation(len(pairs)) % 5
    gains = np.empty(len(pairs))
    for fold in range(5):
        held = folds == fold
        v = np.full((~held).sum(), 1 / (~held).sum())
        gains[held] = d[held] @ oracle.hinge_weights(d[~held], c[~held], v, l2=1e-3)
    return oracle.error_rate(gains)


@pytest.mark.ci
def test_a_reward_of_noise_is_a_coin_by_prompts_and_looks_good_by_pairs():
    by_prompts, by_pairs = [], []
    for seed in range(N_RUNS):
        case = meaningless_case(seed)
        found = fit(case, l2=1e-3, n_folds=2)
        by_prompts.append(found.behaviors[0].error_rate.value)
        by_pairs.append(error_rate_by_pairs(case, seed=seed))

    # A coin is wrong half of the time; three standard errors of the mean over the runs.
    reach = 3 * np.std(by_prompts, ddof=1) / np.sqrt(N_RUNS)
    assert np.mean(by_prompts) == pytest.approx(0.5, abs=reach)
    assert reach < 0.1
    assert np.mean(by_pairs) < 0.36


def test_the_error_rate_of_the_fitted_comparisons_is_too_low():
    found = [fit(meaningless_case(seed), l2=1e-3, n_folds=2) for seed in range(5)]

    assert np.mean([row.behaviors[0].error_rate_fitted for row in found]) < 0.35
