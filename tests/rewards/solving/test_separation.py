"""Comparisons that some weights rank right: by hand, and against a linear program that counts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking_oracle import is_separable_by_highs, problem_of, random_problem
from rewards.solving.fitted_problem import fitted

CORNERS = [[0, 0], [1, 0], [0, 1], [1, 1]]


def is_separable(problem):
    return fitted(replace(problem, l2=0.1)).row.is_separable


@pytest.mark.edges
@pytest.mark.parametrize(
    ("pairs", "signs", "expected"),
    [
        ([[1, 0], [2, 0]], None, True),
        ([[1, 0], [0, 1]], None, False),
        # Along the second column the contradiction of the first is not felt.
        ([[1, 0], [0, 1], [2, 0]], None, False),
        ([[1, 0], [0, 0]], None, False),
        ([[0, 0]], None, False),
        ([[1, 0]], [-1, 0], False),
        ([[1, 0], [2, 0]], [-1, 0], False),
        ([[3, 0]], [-1, 1], True),
        ([[3, 0], [1, 0]], [-1, 1], False),
        ([[1, 0], [2, 0]], [None, 0], False),
    ],
)
def test_small_cases_by_hand(pairs, signs, expected):
    problem = problem_of(CORNERS, pairs, signs=signs)

    assert is_separable(problem) == expected
    assert is_separable_by_highs(problem) == expected


@pytest.mark.ci
@given(
    seed=st.integers(0, 10**6),
    n_pairs=st.integers(1, 12),
    n_features=st.integers(1, 5),
    n_levels=st.sampled_from([2, 3, 50]),
    is_signed=st.booleans(),
)
def test_it_is_what_the_count_of_separable_pairs_says(
    seed, n_pairs, n_features, n_levels, is_signed
):
    rng = np.random.default_rng(seed)
    problem = problem_of(
        rng.integers(0, n_levels, (7, n_features)) / (n_levels - 1),
        rng.integers(0, 7, (n_pairs, 2)),
        signs=list(rng.choice([1, -1, 0], n_features)) if is_signed else None,
    )

    assert is_separable(problem) == is_separable_by_highs(problem)


@pytest.mark.edges
@pytest.mark.parametrize("flip", [0.0, 0.01, 0.3])
def test_many_pairs_are_told_apart_by_one_that_is_the_wrong_way_around(flip):
    problem = random_problem(1, n_items=200, n_pairs=1000, n_features=6, flip=flip)

    assert is_separable(problem) == (not flip)


@pytest.mark.parametrize("scale", [1e-5, 1.0])
def test_the_scale_of_features_does_not_matter(scale):
    problem = problem_of(np.array(CORNERS) * [1.0, scale], [[1, 0], [2, 0]])

    assert is_separable(problem)
