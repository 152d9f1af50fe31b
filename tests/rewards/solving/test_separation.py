"""Data without a finite optimum: by hand, and against the linear program that counts pairs."""

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ranking_oracle import problem_of, random_problem, separation_by_highs
from rewards.solving.fitted_problem import fitted
from voirdire.errors import InputError

CORNERS = [[0, 0], [1, 0], [0, 1], [1, 1]]


def separation(problem):
    """Say what the logistic loss without λ has against the data."""
    try:
        fitted(replace(problem, loss="logistic", l2=0.0))
    except InputError as error:
        which = re.search(r"some weights rank (all|some).*Pass 0\.01", str(error))[1]
        return {"all": "complete", "some": "quasi"}[which]
    return "none"


@pytest.mark.edges
@pytest.mark.parametrize(
    ("pairs", "signs", "expected"),
    [
        ([[1, 0], [2, 0]], None, "complete"),
        ([[1, 0], [0, 1]], None, "none"),
        # Along the second column the contradiction of the first is not felt.
        ([[1, 0], [0, 1], [2, 0]], None, "quasi"),
        ([[1, 0], [0, 0]], None, "quasi"),
        ([[0, 0]], None, "none"),
        ([[1, 0]], [-1, 0], "none"),
        ([[1, 0], [2, 0]], [-1, 0], "quasi"),
        ([[1, 0], [0, 1], [2, 0]], [0, -1], "none"),
        ([[3, 0]], [-1, 1], "complete"),
        ([[3, 0], [1, 0]], [-1, 1], "quasi"),
        ([[1, 0], [2, 0]], [None, 0], "quasi"),
    ],
)
def test_small_cases_by_hand(pairs, signs, expected):
    problem = problem_of(CORNERS, pairs, signs=signs)

    assert separation(problem) == expected
    assert separation_by_highs(problem) == expected
    assert fitted(replace(problem, l2=0.1)).row.is_separable == (expected == "complete")


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

    assert separation(problem) == separation_by_highs(problem)


@pytest.mark.edges
@pytest.mark.parametrize("flip", [0.0, 0.01, 0.3])
def test_many_pairs_are_told_apart_by_one_that_is_the_wrong_way_around(flip):
    problem = random_problem(1, n_items=200, n_pairs=1000, n_features=6, flip=flip)

    assert separation(problem) == ("none" if flip else "complete")


def test_a_column_that_only_ever_helps_is_found_beside_many_contradictions():
    problem = random_problem(2, n_items=200, n_pairs=1000, n_features=6)
    column = np.zeros(200)
    column[problem.better[17]] = 1.0
    is_new = (problem.better == problem.better[17]) | (problem.worse == problem.better[17])
    pairs = np.column_stack([problem.better, problem.worse])[~is_new | (np.arange(1000) == 17)]
    wider = problem_of(np.column_stack([problem.features, column]), pairs)

    assert separation(wider) == "quasi"


def test_the_scale_of_features_does_not_matter():
    for scale in (1e-5, 1.0):
        problem = problem_of(np.array(CORNERS) * [1.0, scale], [[1, 0], [0, 1], [2, 0]])

        assert separation(problem) == "quasi"


def test_the_logistic_loss_with_l2_takes_separable_data():
    problem = problem_of(CORNERS, [[1, 0], [2, 0]], loss="logistic", l2=1e-6)

    assert fitted(problem).gap <= 1e-6
