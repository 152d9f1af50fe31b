"""The optimum of a fit: against other solvers, by hand, and where it stands in no corner."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from ranking_oracle import (
    dual_optimum,
    linear_optimum,
    objective_by_hand,
    problem_of,
    random_problem,
    rows,
    shortest_optimum,
)
from rewards.solving.fitted_problem import fitted

SIGNS = {"free": None, "signed": [1, -1, 0, 1, None, -1]}


def is_within(weights, problem):
    return bool((weights >= problem.lower).all() and (weights <= problem.upper).all())


def assert_proved(solution, problem):
    allowed = 1e-6 * max(1.0, solution.objective)
    assert solution.objective == pytest.approx(objective_by_hand(problem, solution.weights))
    assert solution.gap <= allowed
    assert is_within(solution.weights, problem)


# Other solvers --------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("n_pairs", [1, 7, 60, 500, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", range(3))
def test_without_l2_the_optimum_is_that_of_highs(seed, n_pairs, signs):
    problem = random_problem(
        seed, n_items=2 + n_pairs // 2, n_pairs=n_pairs, n_features=6, signs=SIGNS[signs]
    )

    solution = fitted(problem)

    best = linear_optimum(problem)
    assert_proved(solution, problem)
    assert solution.objective == pytest.approx(best, abs=1e-6 * max(1.0, best))
    assert solution.bound <= best + 1e-9


@pytest.mark.edges
@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("l2", [1.0, 1e-2, 1e-3])
@pytest.mark.parametrize("n_pairs", [5, 60, 400])
def test_with_l2_no_point_of_the_dual_lies_more_than_the_tolerance_below(n_pairs, l2, signs):
    problem = random_problem(
        n_pairs, n_items=40, n_pairs=n_pairs, n_features=6, l2=l2, signs=SIGNS[signs]
    )

    solution = fitted(problem)

    below = dual_optimum(problem)
    assert_proved(solution, problem)
    assert below <= solution.objective + 1e-9
    assert solution.objective <= below + 1e-6
    assert solution.bound <= solution.objective


def test_a_support_vector_machine_without_intercept_is_the_same_problem():
    problem = random_problem(3, n_pairs=200, n_features=4, l2=0.02)
    problem = replace(problem, gap=np.ones(200))
    # Each pair once as it is and, so that there are two classes, the odd ones turned around.
    label = np.where(np.arange(200) % 2, 1, -1)
    machine = LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-9, max_iter=2_000_000)

    solution = fitted(problem)
    machine.fit(rows(problem) * label[:, None], label, sample_weight=problem.weight / problem.l2)

    assert solution.weights == pytest.approx(machine.coef_[0], abs=1e-4)
    assert solution.objective <= objective_by_hand(problem, machine.coef_[0]) + 1e-12


@pytest.mark.ci
@given(
    seed=st.integers(0, 10**6),
    n_pairs=st.integers(1, 25),
    n_features=st.integers(1, 5),
    n_levels=st.sampled_from([2, 3, 1000]),
    is_signed=st.booleans(),
)
def test_no_weights_lie_below_the_bound(seed, n_pairs, n_features, n_levels, is_signed):
    rng = np.random.default_rng(seed)
    signs = list(rng.choice([1, -1, 0], n_features)) if is_signed else None
    # Few levels make ties, duplicates, columns of zeros and pairs without any difference.
    problem = problem_of(
        rng.integers(0, n_levels, (6, n_features)) / (n_levels - 1),
        rng.integers(0, 6, (n_pairs, 2)),
        gap=rng.integers(-2, 4, n_pairs),
        signs=signs,
    )

    solution = fitted(problem)

    best = linear_optimum(problem)
    assert solution.bound <= best + 1e-9
    assert solution.objective == pytest.approx(best, abs=1e-6 * max(1.0, best))
    assert is_within(solution.weights, problem)


@pytest.mark.edges
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("signs", [None, [1, -1, 0, 1]])
def test_of_several_optima_the_shortest_is_taken(seed, signs):
    rng = np.random.default_rng(seed)
    # Fewer kinks than directions: the optima are a whole face.
    problem = problem_of(
        rng.random((8, 4)), rng.integers([0, 4], [4, 8], (6, 2)), gap=rng.random(6), signs=signs
    )

    solution = fitted(problem)

    expected = shortest_optimum(problem)
    assert solution.objective == pytest.approx(linear_optimum(problem), abs=1e-9)
    assert np.linalg.norm(solution.weights) <= np.linalg.norm(expected) + 1e-6
    assert solution.weights == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("signs", [None, [1, 1, 1, -1, -1, -1, 0, 0]])
@pytest.mark.parametrize("l2", [1e-2, 1e-5, 1e-9, 0.0])
def test_of_many_pairs_the_optimum_is_proved(l2, signs):
    problem = random_problem(7, n_items=900, n_pairs=20_000, n_features=8, l2=l2, signs=signs)

    solution = fitted(problem)

    assert_proved(solution, problem)
    assert solution.gap <= 1e-9
    assert solution.objective <= objective_by_hand(problem, solution.weights * 1.0001)


@pytest.mark.ci
def test_discrete_features_with_many_ties():
    rng = np.random.default_rng(11)
    problem = problem_of(rng.integers(0, 2, (300, 6)), rng.integers(0, 300, (3_000, 2)), l2=1e-3)

    assert_proved(fitted(problem), problem)


# By hand --------------------------------------------------------------------------------------


def test_one_pair_by_hand():
    # min max(0, 1 - w) + w²: the loss falls by 1 for each w and the term rises by 2w, so they
    # meet where w = 1/2; the loss is 1/2 there, and the term 1/4.
    problem = problem_of([[1.0], [0.0]], [[0, 1]], l2=2.0)

    solution = fitted(problem)

    assert solution.weights == pytest.approx([0.5], abs=1e-9)
    assert solution.objective == pytest.approx(0.75, abs=1e-12)


def test_two_columns_that_say_the_same_share_the_weight():
    problem = problem_of([[1, 1], [0, 0]], [[0, 1]], gap=3.0)

    solution = fitted(problem)

    # w1 + w2 = 3 is enough, and 1.5 each is shortest.
    assert solution.weights == pytest.approx([1.5, 1.5], abs=1e-9)
    assert solution.objective == pytest.approx(0.0, abs=1e-12)


def test_a_sign_moves_the_shortest_weights_along_what_no_pair_tells_apart():
    # Both columns differ by 1; the first must not be above 0, so the second carries all.
    problem = problem_of([[1, 1], [0, 0]], [[0, 1]], gap=3.0, signs=[-1, 0])

    assert fitted(problem).weights == pytest.approx([0.0, 3.0], abs=1e-8)


def test_separable_pairs_get_the_widest_margin():
    # The nearest pairs are (.2, 0) and (0, .2): w = (5, 5) gives both the margin, nothing shorter.
    problem = problem_of([[0, 0], [0.2, 0], [0, 0.2], [1, 0.6]], [[1, 0], [2, 0], [3, 0]])

    solution = fitted(problem)

    assert solution.weights == pytest.approx([5.0, 5.0], abs=1e-6)
    assert solution.gap <= 1e-9


def test_when_nothing_is_lost_at_zero_nothing_moves():
    problem = replace(random_problem(12), gap=np.full(60, -0.5))

    solution = fitted(problem)

    assert not solution.weights.any()
    assert (solution.objective, solution.bound) == (0.0, 0.0)


def test_pairs_without_any_difference_lose_their_gap():
    problem = problem_of([[1.0, 0.5], [1.0, 0.5]], [[0, 1], [1, 0]], gap=[1.0, 3.0])

    solution = fitted(problem)

    assert not solution.weights.any()
    assert solution.objective == solution.bound == 2.0


def test_a_start_at_the_kink_of_every_pair_leads_to_the_optimum():
    # Five pairs, all alike: six weights of 5/24 make up their gap of 1.
    problem = problem_of([[0.8] * 6, [0.0] * 6], [[0, 1]] * 5, l2=1e-3)

    solution = fitted(problem)

    assert solution.gap < 1e-9
    assert solution.weights == pytest.approx([5 / 24] * 6, abs=1e-7)


# Data of every shape --------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("l2", [0.0, 1e-6, 0.01])
def test_weights_of_shares_that_add_up_to_one_add_up_to_zero(l2):
    rng = np.random.default_rng(0)
    problem = problem_of(rng.dirichlet(np.ones(5), 60), rng.integers(0, 60, (300, 2)), l2=l2)

    solution = fitted(problem)

    assert np.abs(solution.weights).max() > 0.01
    assert solution.weights.sum() == pytest.approx(0.0, abs=1e-7)


def test_columns_in_which_no_pair_differs_get_nothing_and_are_called_undetermined():
    problem = random_problem(0, n_features=3, l2=0.01)
    constant = np.full(len(problem.features), 0.1)
    wider = replace(
        problem,
        features=np.column_stack([constant, problem.features, np.zeros(len(constant))]),
        signs=(0,) * 5,
    )

    solution, plain = fitted(wider), fitted(problem)

    assert solution.weights[[0, 4]].tolist() == [0.0, 0.0]
    assert solution.weights[1:4] == pytest.approx(plain.weights, abs=1e-7)
    origins = [row.origin for row in solution.row.weights[:5]]
    assert origins == ["undetermined", "fitted", "fitted", "fitted", "undetermined"]


@pytest.mark.edges
@pytest.mark.parametrize("l2", [0.0, 1e-2])
def test_the_order_of_pairs_does_not_matter(l2):
    problem = random_problem(4, n_items=100, n_pairs=600, n_features=8, l2=l2)
    order = np.random.default_rng(0).permutation(600)
    shuffled = replace(
        problem, better=problem.better[order], worse=problem.worse[order], gap=problem.gap[order]
    )

    assert fitted(shuffled).weights == pytest.approx(fitted(problem).weights, abs=1e-7)


@pytest.mark.ci
@pytest.mark.parametrize("scale", [1e-6, 1e-3])
def test_features_of_any_scale_give_weights_of_the_other(scale):
    problem = random_problem(8, n_pairs=300, n_features=4)
    scaled = replace(problem, features=problem.features * [1, scale, 1, 1])

    solution, plain = fitted(scaled), fitted(problem)

    assert_proved(solution, scaled)
    assert solution.objective == pytest.approx(plain.objective, abs=1e-8)


@pytest.mark.edges
@pytest.mark.parametrize("l2", [0.0, 1e-2, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_signs_on_features_of_every_scale_are_proved(seed, l2):
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, n_items=50, n_pairs=300, n_features=8, l2=l2, signs=[1, -1] * 4)
    scaled = problem.features * 10.0 ** rng.integers(-5, 1, 8)
    problem = replace(problem, features=scaled, gap=problem.gap * 100)

    assert_proved(fitted(problem), problem)


@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_huge_base_rewards_are_no_trouble(l2):
    problem = random_problem(9, n_pairs=300, n_features=4, l2=l2)
    problem = replace(problem, gap=problem.gap * 1e6)

    solution = fitted(problem)

    assert_proved(solution, problem)
    assert solution.gap <= 1e-8 * solution.objective


# What comparisons leave open ------------------------------------------------------------------


def features_of(n_features=6, n_items=40):
    return np.random.default_rng(0).random((n_items, n_features))


def left_open(features, *, l2=0.01):
    """Say what pairs of neighbours leave open: features, and whether weights can be shifted."""
    n_pairs = len(features) // 2
    pairs = np.arange(2 * n_pairs).reshape(-1, 2)
    found = fitted(problem_of(features, pairs, l2=l2))
    names = [one.feature for one in found.row.weights if one.origin == "undetermined"]
    return names, any("no comparison tells apart" in note for note in found.notes)


def test_comparisons_that_tell_everything_leave_nothing_open():
    assert left_open(features_of()) == ([], False)


def test_two_features_that_always_agree_are_told_apart_by_nothing():
    features = features_of()
    features[:, 1] = features[:, 0]

    assert left_open(features) == ([], True)


def test_differences_as_small_as_single_precision_tell_nothing():
    features = features_of()
    features[:, 1] = features[:, 0].astype(np.float32)

    assert left_open(features) == ([], True)


def test_several_things_at_once_are_kept_apart():
    features = features_of()
    features[:, 1] = 1 - features[:, 0]
    features[:, 2] = 0.3
    features[:, 4] = (features[:, 3] + features[:, 5]) / 2

    assert left_open(features) == (["f2"], True)


def test_a_feature_without_a_difference_alone_lets_no_weights_be_shifted():
    features = features_of()
    features[:, 2] = 0.3

    assert left_open(features) == (["f2"], False)


def test_more_features_than_differences_are_told_apart_by_nothing():
    assert left_open(features_of(7)[:6]) == ([], True)  # three differences


def test_where_no_comparison_differs_in_anything_every_feature_is_named():
    assert left_open(np.full((10, 3), 0.5)) == (["f0", "f1", "f2"], False)
