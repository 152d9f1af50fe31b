"""What skewed labels let a know-nothing judge do, and that the outcome sees it."""

import numpy as np
import pytest

from voirdire import stats

pytestmark = pytest.mark.slow


def test_always_no_passes_nearly_surely_at_a_low_prevalence_and_is_no_evidence():
    rng = np.random.default_rng(8)
    passed, outcomes = [], set()
    for _ in range(300):
        truth = (rng.random(400) < 0.03).astype(int)
        wrong = rng.random((400, 4)) < 0.02
        humans = np.where(wrong, 1 - truth[:, np.newaxis], truth[:, np.newaxis])
        [result] = stats.alt_test(np.zeros(400, dtype=int), humans, epsilon=0.1, n_codes=2)

        passed.append(result.winning_rate >= 0.5)
        outcomes.add(result.outcome)

    assert np.mean(passed) > 0.97
    assert outcomes == {"no_evidence"}


def test_on_balanced_labels_constants_and_random_judges_do_not_pass():
    rng = np.random.default_rng(8)
    outcomes = {"constant": [], "random": []}
    for _ in range(200):
        truth = rng.integers(0, 2, 200)
        wrong = rng.random((200, 4)) < 0.1
        humans = np.where(wrong, 1 - truth[:, np.newaxis], truth[:, np.newaxis])
        judges = np.column_stack([np.ones(200, dtype=int), rng.integers(0, 2, 200)])

        for kind, result in zip(outcomes, stats.alt_test(judges, humans), strict=True):
            outcomes[kind].append(result.outcome)
        assert all(control.winning_rate < 0.5 for control in result.controls[:2])
        assert result.controls[2].winning_rate >= 0.5

    assert set(outcomes["constant"]) == set(outcomes["random"]) == {"failed"}
