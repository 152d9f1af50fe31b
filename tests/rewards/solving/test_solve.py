"""`solve`: against other solvers, by hand, and on data that leave no corner to stand in."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from ranking_oracle import (
    dual_optimum,
    linear_optimum,
    logistic_optimum,
    objective_by_hand,
    problem_of,
    random_problem,
    rows,
    shortest_optimum,
)
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.rewards.solving.problem import RankingProblem
from voirdire.rewards.solving.solve import solve

SIGNS = {"free": None, "signed": [1, -1, 0, 1, None, -1]}


def is_within(weights, problem):
    return bool((weights >= problem.lower).all() and (weights <= problem.upper).all())


def assert_proved(solution, problem):
    allowed = 1e-6 * max(1.0, solution.objective)
    assert solution.objective == pytest.approx(objective_by_hand(problem, solution.weights))
    assert solution.gap <= allowed
    assert is_within(solution.weights, problem)


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("n_pairs", [1, 7, 60, 500, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", range(3))
def test_without_l2_the_optimum_is_that_of_highs(seed, n_pairs, signs):
    problem = random_problem(
        seed, n_items=2 + n_pairs // 2, n_pairs=n_pairs, n_features=6, signs=SIGNS[signs]
    )

    solution = solve(problem)

    best = linear_optimum(problem)
    assert_proved(solution, problem)
    assert solution.objective == pytest.approx(best, abs=1e-6 * max(1.0, best))
    assert solution.bound <= best + 1e-9


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("l2", [1.0, 1e-2, 1e-3])
@pytest.mark.parametrize("n_pairs", [5, 60, 400])
def test_with_l2_no_point_of_the_dual_lies_more_than_the_tolerance_below(n_pairs, l2, signs):
    problem = random_problem(
        n_pairs, n_items=40, n_pairs=n_pairs, n_features=6, l2=l2, signs=SIGNS[signs]
    )

    solution = solve(problem)

    below = dual_optimum(problem)
    assert_proved(solution, problem)
    assert below <= solution.objective + 1e-9
    assert solution.objective <= below + 1e-6
    assert solution.bound <= solution.objective


def test_a_support_vector_machine_without_intercept_is_the_same_problem():
    problem = random_problem(3, n_pairs=200, n_features=4, l2=0.02)
    problem = replace(problem, gap=np.ones(200))
    differences, heavy = rows(problem), problem.weight > 0
    # Each pair once as it is and, so that there are two classes, the odd ones turned around.
    label = np.where(np.arange(200) % 2, 1, -1)
    machine = LinearSVC(loss="hinge", C=1.0, fit_intercept=False, tol=1e-9, max_iter=2_000_000)

    solution = solve(problem)
    machine.fit(
        (differences * label[:, None])[heavy],
        label[heavy],
        sample_weight=problem.weight[heavy] / problem.l2,
    )

    assert solution.weights == pytest.approx(machine.coef_[0], abs=1e-4)
    assert solution.objective <= objective_by_hand(problem, machine.coef_[0]) + 1e-12


@pytest.mark.parametrize("signs", SIGNS)
@pytest.mark.parametrize("l2", [0.0, 1e-4, 0.1])
@pytest.mark.parametrize("n_pairs", [60, 500])
def test_the_logistic_optimum_is_that_of_a_quasi_newton_method(n_pairs, l2, signs):
    problem = random_problem(
        n_pairs, n_pairs=n_pairs, n_features=6, l2=l2, signs=SIGNS[signs], loss="logistic"
    )

    solution = solve(problem)

    best = logistic_optimum(problem)
    assert_proved(solution, problem)
    assert solution.objective == pytest.approx(best, abs=1e-7)
    assert solution.bound <= best + 1e-12


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
        weight=rng.multinomial(n_pairs, np.full(n_pairs, 1 / n_pairs)) / n_pairs,
        signs=signs,
    )

    solution = solve(problem)

    best = linear_optimum(problem)
    assert solution.bound <= best + 1e-9
    assert solution.objective == pytest.approx(best, abs=1e-6 * max(1.0, best))
    assert is_within(solution.weights, problem)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("signs", [None, [1, -1, 0, 1]])
def test_of_several_optima_the_shortest_is_taken(seed, signs):
    rng = np.random.default_rng(seed)
    # Fewer kinks than directions: the optima are a whole face.
    problem = problem_of(
        rng.random((8, 4)), rng.integers([0, 4], [4, 8], (6, 2)), gap=rng.random(6), signs=signs
    )

    solution = solve(problem)

    expected = shortest_optimum(problem)
    assert solution.objective == pytest.approx(linear_optimum(problem), abs=1e-9)
    assert np.linalg.norm(solution.weights) <= np.linalg.norm(expected) + 1e-6
    assert solution.weights == pytest.approx(expected, abs=1e-5)


def test_two_columns_that_say_the_same_share_the_weight():
    problem = problem_of([[1, 1], [0, 0]], [[0, 1]], gap=3.0)

    solution = solve(problem)

    # w1 + w2 = 3 is enough, and 1.5 each is shortest.
    assert solution.weights == pytest.approx([1.5, 1.5], abs=1e-9)
    assert solution.objective == pytest.approx(0.0, abs=1e-12)


def test_a_bound_moves_the_shortest_weights_along_what_no_pair_tells_apart():
    # Both columns differ by 1; the first must not be above 0, so the second carries all.
    problem = problem_of([[1, 1], [0, 0]], [[0, 1]], gap=3.0, signs=[-1, 0])

    solution = solve(problem)

    assert solution.weights == pytest.approx([0.0, 3.0], abs=1e-8)


@pytest.mark.parametrize("l2", [0.0, 1e-6, 0.01])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_weights_of_shares_that_add_up_to_one_add_up_to_zero(l2, loss):
    rng = np.random.default_rng(0)
    problem = problem_of(
        rng.dirichlet(np.ones(5), 60), rng.integers(0, 60, (300, 2)), l2=l2, loss=loss
    )

    solution = solve(problem)

    assert np.abs(solution.weights).max() > 0.01
    assert solution.weights.sum() == pytest.approx(0.0, abs=1e-7)


def test_columns_in_which_no_pair_differs_get_nothing():
    problem = random_problem(0, n_features=3, l2=0.01)
    constant = np.full(len(problem.features), 0.1)
    wider = replace(
        problem,
        features=np.column_stack([constant, problem.features, np.zeros(len(constant))]),
        lower=np.full(5, -np.inf),
        upper=np.full(5, np.inf),
    )

    solution, plain = solve(wider), solve(problem)

    assert solution.weights[[0, 4]].tolist() == [0.0, 0.0]
    assert solution.weights[1:4] == pytest.approx(plain.weights, abs=1e-7)


def test_pairs_without_weight_count_for_nothing():
    problem = random_problem(1, n_pairs=80, l2=0.01)
    light = np.flatnonzero(problem.weight == 0)
    changed = replace(problem, gap=problem.gap.copy())
    changed.gap[light] = 1e6

    assert light.size
    assert solve(changed).weights.tolist() == solve(problem).weights.tolist()


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_weights_of_pairs_are_as_good_as_copies_of_pairs(loss):
    problem = random_problem(2, n_pairs=30, l2=0.01, loss=loss)
    counts = np.round(problem.weight * 90).astype(int)
    copies = replace(
        problem,
        better=np.repeat(problem.better, counts),
        worse=np.repeat(problem.worse, counts),
        gap=np.repeat(problem.gap, counts),
        weight=np.full(counts.sum(), 1 / 90),
    )

    assert solve(copies).weights == pytest.approx(solve(problem).weights, abs=1e-7)


@pytest.mark.parametrize("l2", [0.0, 1e-6, 1e-2])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_order_of_pairs_does_not_matter(l2, loss):
    problem = random_problem(4, n_items=400, n_pairs=6000, n_features=8, l2=l2, loss=loss)
    order = np.random.default_rng(0).permutation(6000)
    shuffled = replace(
        problem,
        better=problem.better[order],
        worse=problem.worse[order],
        gap=problem.gap[order],
        weight=problem.weight[order],
    )

    assert solve(shuffled).weights == pytest.approx(solve(problem).weights, abs=1e-7)


@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_same_problem_gives_the_same_bytes(l2, loss):
    problem = random_problem(5, n_items=200, n_pairs=5000, n_features=7, l2=l2, loss=loss)

    first, second = solve(problem), solve(problem)

    assert first.weights.tobytes() == second.weights.tobytes()
    assert (first.objective, first.bound) == (second.objective, second.bound)


@pytest.mark.parametrize("l2", [0.0, 1e-3])
@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_where_it_starts_does_not_change_the_optimum(l2, loss):
    problem = random_problem(6, n_items=200, n_pairs=5000, n_features=7, l2=l2, loss=loss)
    start = np.random.default_rng(0).normal(size=7) * 10

    near, far = solve(problem), solve(problem, start=start)

    assert_proved(far, problem)
    assert far.objective == pytest.approx(near.objective, abs=1e-8)
    assert far.weights == pytest.approx(near.weights, abs=1e-4)


@pytest.mark.parametrize("signs", [None, [1, 1, 1, -1, -1, -1, 0, 0]])
@pytest.mark.parametrize("l2", [1e-2, 1e-5, 1e-9, 0.0])
def test_a_band_of_pairs_finds_the_optimum_of_all_of_them(l2, signs):
    problem = random_problem(7, n_items=900, n_pairs=20_000, n_features=8, l2=l2, signs=signs)

    solution = solve(problem)

    assert_proved(solution, problem)
    assert solution.gap <= 1e-9
    assert solution.objective <= objective_by_hand(problem, solution.weights * 1.0001)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_features_of_any_scale_give_weights_of_the_other(scale):
    problem = random_problem(8, n_pairs=300, n_features=4)
    scaled = replace(problem, features=problem.features * [1, scale, 1, 1 / scale])

    solution, plain = solve(scaled), solve(problem)

    assert_proved(solution, scaled)
    assert solution.objective == pytest.approx(plain.objective, abs=1e-8)


@pytest.mark.parametrize("l2", [0.0, 1e-3])
def test_huge_base_rewards_are_no_trouble(l2):
    problem = random_problem(9, n_pairs=300, n_features=4, l2=l2)
    problem = replace(problem, gap=problem.gap * 1e6)

    solution = solve(problem)

    assert_proved(solution, problem)
    assert solution.gap <= 1e-8 * solution.objective


def test_what_all_items_share_is_not_felt():
    problem = random_problem(10, n_pairs=300, n_features=4, l2=1e-3)
    # 2**20 leaves 32 of the 52 binary digits of features below 1.
    coarse = replace(problem, features=np.round(problem.features * 2**30) / 2**30)
    moved = replace(coarse, features=coarse.features + 2.0**20)

    assert solve(moved).weights == pytest.approx(solve(coarse).weights, abs=1e-9)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_discrete_features_with_thousands_of_ties(loss):
    rng = np.random.default_rng(11)
    problem = problem_of(
        rng.integers(0, 2, (300, 6)), rng.integers(0, 300, (20_000, 2)), l2=1e-3, loss=loss
    )

    solution = solve(problem)

    assert_proved(solution, problem)


def test_when_nothing_is_lost_at_zero_nothing_moves():
    problem = replace(random_problem(12), gap=np.full(60, -0.5))

    solution = solve(problem)

    assert not solution.weights.any()
    assert (solution.objective, solution.bound, solution.gap) == (0.0, 0.0, 0.0)


def test_pairs_without_any_difference_lose_their_gap():
    problem = problem_of([[1.0, 2.0], [1.0, 2.0]], [[0, 1], [1, 0]], gap=[1.0, 3.0])

    solution = solve(problem)

    assert not solution.weights.any()
    assert solution.objective == solution.bound == 2.0


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_no_pairs_at_all_are_no_loss(loss):
    problem = problem_of([[1.0]], np.zeros((0, 2)), loss=loss)

    solution = solve(problem)

    assert solution.weights.tolist() == [0.0]
    assert solution.objective == solution.bound == 0.0


def test_features_held_at_zero_stay_there():
    problem = random_problem(13, n_features=3, l2=0.01, signs=[None, None, None])

    assert solve(problem).weights.tolist() == [0.0, 0.0, 0.0]


def test_one_pair_by_hand():
    # min max(0, 1 - 2w) + w²: the loss falls by 2 for each w and the term rises by 2w, so they
    # meet at the kink w = 1/2, where the term is 1/4.
    problem = problem_of([[2.0], [0.0]], [[0, 1]], l2=2.0)

    solution = solve(problem)

    assert solution.weights == pytest.approx([0.5], abs=1e-9)
    assert solution.objective == pytest.approx(0.25, abs=1e-12)


def test_separable_pairs_get_the_widest_margin():
    # The nearest pairs are (1, 0) and (0, 1): w = (1, 1) gives both the margin, nothing shorter.
    problem = problem_of([[0, 0], [1, 0], [0, 1], [5, 3]], [[1, 0], [2, 0], [3, 0]])

    solution = solve(problem)

    assert solution.weights == pytest.approx([1.0, 1.0], abs=1e-7)
    assert solution.gap <= 1e-9


@pytest.mark.parametrize(
    ("pairs", "which"), [([[1, 0], [2, 0]], "all"), ([[1, 0], [2, 0], [0, 2]], "some")]
)
def test_the_logistic_loss_without_l2_needs_data_that_contradict_each_other(pairs, which):
    problem = problem_of([[0, 0], [1, 0], [0, 1]], pairs, loss="logistic")

    with pytest.raises(InputError, match=rf"some weights rank {which}.*Pass 0\.01"):
        solve(problem)


def test_the_logistic_loss_with_l2_takes_separable_data():
    problem = problem_of([[0, 0], [1, 0], [0, 1]], [[1, 0], [2, 0]], loss="logistic", l2=1e-6)

    solution = solve(problem)

    assert_proved(solution, problem)
    assert solution.objective == pytest.approx(logistic_optimum(problem), abs=1e-8)


def test_a_gap_that_rounding_leaves_open_is_told():
    problem = random_problem(14, n_pairs=100)

    with pytest.warns(DegenerateDataWarning, match="are proved to lie within"):
        solve(problem, tolerance=1e-19)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap": np.ones(3)}, r"`gap` must have the shape \(60,\), got \(3,\)"),
        ({"features": np.zeros(3)}, "`features` must have two dimensions"),
        ({"features": np.full((30, 5), np.nan)}, "`features` must be finite.*row 0"),
        ({"weight": np.full(60, -1.0)}, "`weight` must be at least 0, got -1.0"),
        ({"l2": -1.0}, "`l2` must be a finite number of at least 0, got -1.0"),
        ({"l2": np.nan}, "`l2` must be a finite number"),
        ({"better": np.full(60, 30)}, "`better` must name rows 0 to 29"),
        ({"worse": np.zeros(60)}, "`worse` must be a row of whole numbers"),
        ({"lower": np.full(5, 1.0)}, "`lower`, `upper` must be -inf or 0"),
        ({"loss": "huber"}, "`loss` must be one of"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(change, message):
    problem = replace(random_problem(0), **change)

    with pytest.raises(InputError, match=message):
        solve(problem)


def test_a_start_at_the_kink_of_every_pair_leads_to_the_same_optimum():
    # Five pairs, all alike: six weights of 5/24 make up their gap of 1 but for rounding.
    problem = RankingProblem(
        features=np.array([[0.8] * 6, [0.0] * 6]),
        better=np.zeros(5, dtype=np.int64),
        worse=np.ones(5, dtype=np.int64),
        gap=np.ones(5),
        weight=np.full(5, 0.2),
        l2=1e-3,
        lower=np.full(6, -np.inf),
        upper=np.full(6, np.inf),
    )

    plain = solve(problem)
    started = solve(problem, start=np.full(6, 0.20833333333333334))

    assert started.gap < 1e-9
    assert np.allclose(started.weights, plain.weights, atol=1e-7)
