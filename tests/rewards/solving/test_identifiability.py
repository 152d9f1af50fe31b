"""`loose_directions`: what no pair tells, by hand and by the singular values of D."""

import numpy as np
import pytest

from ranking_oracle import problem_of, random_problem, rows
from voirdire.errors import InputError
from voirdire.rewards.solving.identifiability import loose_directions

NO_GAUGE = np.zeros((0, 5))


def classes_and_more(seed=0):
    """Five classes that add up to 1, one column twice, one that never differs, and a free one."""
    rng = np.random.default_rng(seed)
    classes, one = rng.dirichlet(np.ones(5), 40), rng.random(40)
    features = np.column_stack([classes, one, one, np.full(40, 0.3), rng.random(40)])
    return problem_of(features, rng.integers(0, 40, (200, 2)))


CLASS_GAUGE = np.array([[1.0] * 5 + [0.0] * 4])


def test_full_rank_leaves_nothing_loose():
    assert loose_directions(random_problem(0), gauge=NO_GAUGE).shape == (0, 5)


def test_loose_directions_are_those_in_which_no_pair_differs():
    problem = classes_and_more()

    found = loose_directions(problem, gauge=np.zeros((0, 9)))

    assert found.shape == (3, 9)
    assert found @ found.T == pytest.approx(np.eye(3), abs=1e-12)
    assert np.abs(rows(problem) @ found.T).max() < 1e-12
    assert np.linalg.matrix_rank(rows(problem)) == 9 - 3


def test_the_gauge_of_the_classes_is_not_reported():
    found = loose_directions(classes_and_more(), gauge=CLASS_GAUGE)

    # What is left is the column that is there twice, and the one that never differs.
    assert found.shape == (2, 9)
    assert np.abs(found @ CLASS_GAUGE.T).max() < 1e-12
    twice = np.zeros(9)
    twice[5], twice[6] = np.sqrt(0.5), -np.sqrt(0.5)
    assert np.linalg.norm(found @ twice) == pytest.approx(1.0)
    assert np.linalg.norm(found @ np.eye(9)[7]) == pytest.approx(1.0)


def test_a_gauge_that_changes_something_takes_nothing_away():
    gauge = np.eye(9)[[8]]

    found = loose_directions(classes_and_more(), gauge=gauge)

    assert found.shape == (3, 9)


def test_pairs_without_weight_tell_nothing():
    problem = problem_of(np.eye(3), [[0, 1], [0, 2]], weight=[1.0, 0.0])

    found = loose_directions(problem, gauge=np.ones((1, 3)))

    # With the first pair alone, (1, 1, 1) and (1, 1, -2) / √6 change nothing.
    assert np.abs(found) == pytest.approx(np.abs([[1, 1, -2]]) / np.sqrt(6))


def test_features_held_at_zero_are_not_loose():
    problem = problem_of([[1, 1, 0], [0, 0, 0]], [[0, 1]], signs=[0, None, None])

    assert loose_directions(problem, gauge=np.zeros((0, 3))).shape == (0, 3)


def test_differences_as_small_as_single_precision_tell_nothing():
    problem = classes_and_more()
    rounded = problem_of(
        problem.features.astype(np.float32), np.column_stack([problem.better, problem.worse])
    )

    assert loose_directions(rounded, gauge=CLASS_GAUGE).shape == (2, 9)


def test_a_gauge_of_another_width_is_refused():
    with pytest.raises(InputError, match=r"`gauge` must have the shape \(n, 5\), got \(1, 3\)"):
        loose_directions(random_problem(0), gauge=np.ones((1, 3)))
