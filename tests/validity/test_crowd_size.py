"""How often a judge at the boundary is shown to be like a random person of a crowd."""

import math

import numpy as np
import pytest

from voirdire import stats

ERROR, SPREAD, EPSILON = 0.15, 0.08, 0.1
AT_THE_BOUNDARY = ERROR + EPSILON / (1 - 2 * ERROR)
"""A judge's rate of errors at which its agreement with a person is less by ε than two persons'.

With two labels, people's mean rate e and the judge's x, two persons agree on 1 - 2e(1 - e) and the
judge and a person on 1 - e - x(1 - 2e).
"""


def share_shown(judge_error, *, n_items, n_people, n_runs):
    n_shown = 0
    for run in range(n_runs):
        rng = np.random.default_rng([run, n_items, n_people])
        shape = ERROR * (ERROR * (1 - ERROR) / SPREAD**2 - 1)
        rates = rng.beta(shape, shape * (1 - ERROR) / ERROR, n_people)
        truth = rng.integers(0, 2, n_items)
        humans = np.full((n_items, n_people), -1)
        rows = np.arange(n_items)[:, np.newaxis]
        people = rng.random((n_items, n_people)).argpartition(2, axis=1)[:, :2]
        humans[rows, people] = truth[:, np.newaxis] ^ (rng.random((n_items, 2)) < rates[people])
        judge = truth ^ (rng.random(n_items) < judge_error)
        [result] = stats.alt_test(judge, humans, epsilon=EPSILON, min_items=n_items + 1)
        n_shown += result.crowd.shown
    return n_shown / n_runs


def above(level, n_runs):
    return level + 3 * math.sqrt(level * (1 - level) / n_runs)


@pytest.mark.slow
@pytest.mark.parametrize("n_people", [6, 20, 200])
@pytest.mark.parametrize("n_items", [50, 100, 300])
def test_judges_at_the_boundary_are_seldom_shown_and_good_ones_often(n_items, n_people):
    at_boundary = share_shown(AT_THE_BOUNDARY, n_items=n_items, n_people=n_people, n_runs=600)
    as_good = share_shown(ERROR, n_items=n_items, n_people=n_people, n_runs=200)

    assert at_boundary <= above(0.06, 600)
    assert as_good >= {50: 0.2, 100: 0.35, 300: 0.7}[n_items]


def test_a_judge_at_the_boundary_is_seldom_shown_and_a_perfect_one_is():
    at_boundary = share_shown(AT_THE_BOUNDARY, n_items=100, n_people=20, n_runs=60)

    assert at_boundary <= above(0.06, 60)
    assert share_shown(0.0, n_items=100, n_people=20, n_runs=10) >= 0.9
