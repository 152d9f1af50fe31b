"""`Differences` and directions against matrices that are written out."""

import numpy as np
import pytest

from ranking_oracle import random_problem, rows
from voirdire.rewards.solving.differences import Differences
from voirdire.rewards.solving.directions import null_directions, relative_to_linked


def differences_of(problem):
    return Differences(features=problem.features, better=problem.better, worse=problem.worse)


def test_it_acts_like_the_matrix_that_it_does_not_write_out():
    problem = random_problem(0, n_items=500, n_pairs=20_000)
    pairs, matrix = differences_of(problem), rows(problem)
    rng = np.random.default_rng(0)
    weights, forces = rng.normal(size=5), rng.random(20_000)

    assert pairs.along(weights) == pytest.approx(matrix @ weights, abs=1e-12)
    assert pairs.pull(forces) == pytest.approx(matrix.T @ forces, abs=1e-9)
    assert np.array_equal(pairs.columns(slice(5, 9)), matrix[5:9].T)
    assert pairs.weighted_gram(forces) == pytest.approx(
        matrix.T @ (forces[:, None] * matrix), rel=1e-9
    )


def test_taking_away_what_linked_items_share_changes_no_difference():
    problem = random_problem(1, n_items=50, n_pairs=30)

    relative = relative_to_linked(problem.features, problem.better, problem.worse)

    assert relative[problem.better] - relative[problem.worse] == pytest.approx(rows(problem))
    assert np.linalg.matrix_rank(relative) == np.linalg.matrix_rank(rows(problem))


def test_null_directions_are_found_whatever_the_scale_of_columns():
    rng = np.random.default_rng(2)
    matrix = rng.random((40, 3)) @ rng.normal(size=(3, 6)) * 10.0 ** np.arange(-6, 6, 2)

    found = null_directions(matrix, tolerance=1e-10)

    assert found.shape == (6, 3)
    assert found.T @ found == pytest.approx(np.eye(3), abs=1e-12)
    assert np.abs(
        matrix / np.linalg.norm(matrix, axis=0) @ (found * np.linalg.norm(matrix, axis=0)[:, None])
    ).max() < 1e-9 * np.linalg.norm(matrix)


def test_no_rows_leave_every_direction():
    assert null_directions(np.zeros((0, 3)), tolerance=1e-10).shape == (3, 3)
