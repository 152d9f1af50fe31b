"""What a controlled change does to answers: exact swaps, McNemar's test, intervals, simulation."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest, ttest_1samp

from voirdire.errors import InputError
from voirdire.stats import measure_change


def exact_p_values(sums):
    """All swaps of all units, counted."""
    observed = np.abs(sums.sum(axis=0))
    squares = (sums**2).sum(axis=0)
    together = (observed**2 / squares).sum()
    n_above, n_together = np.zeros(sums.shape[1]), 0
    for signs in product([-1, 1], repeat=len(sums)):
        found = np.abs(np.array(signs) @ sums)
        n_above += found >= observed - 1e-12
        n_together += (found**2 / squares).sum() >= together - 1e-12
    return n_above / 2 ** len(sums), n_together / 2 ** len(sums)


@pytest.mark.edges
@pytest.mark.parametrize("seed", range(4))
def test_p_values_are_those_of_all_swaps(seed):
    draws = np.random.default_rng(seed)
    before = draws.random((10, 3)) * 0.8
    after = before + draws.normal(0.05, 0.1, (10, 3))

    found = measure_change(before, after, n_swaps=40_000, rng=seed)

    each, together = exact_p_values(after - before)
    error = 4 * np.sqrt(0.25 / 40_000)
    assert [row.p_value for row in found.questions] == pytest.approx(each, abs=error)
    assert found.p_value == pytest.approx(together, abs=error)


def test_clusters_are_swapped_as_one():
    draws = np.random.default_rng(7)
    before = draws.random((24, 2)) * 0.8
    after = before + draws.normal(0.04, 0.1, (24, 2))
    clusters = np.repeat(np.arange(8), 3)

    found = measure_change(before, after, clusters=clusters, n_swaps=40_000, rng=0)

    sums = (after - before).reshape(8, 3, 2).sum(axis=1)
    each, together = exact_p_values(sums)
    assert [row.p_value for row in found.questions] == pytest.approx(each, abs=0.01)
    assert found.p_value == pytest.approx(together, abs=0.01)


def test_flips_and_their_tests_are_counted_from_the_labels():
    # 20 items: 7 labels rise, 2 fall, 11 stay
    before = np.array([0.2] * 7 + [0.8] * 2 + [0.1] * 6 + [0.9] * 5)[:, None]
    after = np.array([0.8] * 7 + [0.2] * 2 + [0.2] * 6 + [0.8] * 5)[:, None]

    [found] = measure_change(before, after, rng=0).questions

    expected = binomtest(9, 20).proportion_ci(method="exact")
    rate = found.flip_rate
    assert (rate.estimate, rate.low, rate.high) == pytest.approx((0.45, *expected))
    assert found.shift.estimate == pytest.approx((7 * 0.6 - 2 * 0.6 + 6 * 0.1 - 5 * 0.1) / 20)


def test_flips_beyond_those_between_two_askings():
    # flips under the change on items 0-8, between two askings on items 8-9
    before = np.zeros((20, 1), dtype=int)
    after, again = before.copy(), before.copy()
    after[:9], again[8:10] = 1, 1

    found = measure_change(
        before, after, labels=(before, after), noise=(before, again), n_swaps=9_999, rng=0
    )

    # only under the change: 8 items; only between askings: 1
    expected = binomtest(8, 9, 0.5, alternative="greater").pvalue
    assert found.questions[0].excess_p_value == pytest.approx(expected)
    assert found.questions[0].noise_rate.estimate == pytest.approx(0.1)
    assert found.excess_p_value == pytest.approx(expected, abs=0.01)


def test_the_interval_of_a_shift_is_near_students():
    draws = np.random.default_rng(3)
    before = draws.random((60, 1))
    after = before + draws.normal(0.1, 0.1, (60, 1))

    [found] = measure_change(before, after, rng=0).questions

    students = ttest_1samp((after - before)[:, 0], 0).confidence_interval()
    assert (found.shift.low, found.shift.high) == pytest.approx(tuple(students), abs=0.004)


def test_what_is_missing_is_left_out():
    before = np.array([[0.2, np.nan], [0.3, 0.4], [np.nan, 0.5], [0.4, 0.6]])
    after = np.array([[0.9, 0.1], [0.3, np.nan], [0.8, 0.5], [0.4, 0.6]])

    found = measure_change(before, after, rng=0)

    assert [row.n_items for row in found.questions] == [3, 2]
    assert found.n_items == 4
    assert found.questions[0].shift.estimate == pytest.approx(0.7 / 3)
    assert np.isnan(found.questions[0].excess_p_value)
    assert np.isnan(found.excess_p_value)


def test_labels_without_order_have_flips_and_no_shift():
    nothing = np.full((4, 1), np.nan)
    first, second = np.array([[0], [1], [2], [-1]]), np.array([[0], [2], [1], [1]])

    [found] = measure_change(nothing, nothing, labels=(first, second), rng=0).questions

    assert np.isnan(found.shift.estimate)
    assert np.isnan(found.p_value)
    assert found.n_items == 3
    assert found.flip_rate.estimate == pytest.approx(2 / 3)


@given(st.integers(0, 2**32 - 1))
def test_the_order_of_items_and_the_direction_do_not_matter(seed):
    draws = np.random.default_rng(seed)
    before, after = draws.random((9, 2)), draws.random((9, 2))
    order = draws.permutation(9)

    found = measure_change(before, after, n_swaps=20_000, rng=1)
    other = measure_change(after[order], before[order], n_swaps=20_000, rng=2)

    for one, two in zip(found.questions, other.questions, strict=True):
        assert one.shift.estimate == pytest.approx(-two.shift.estimate)
        assert one.p_value == pytest.approx(two.p_value, abs=0.025)
    assert found.p_value == pytest.approx(other.p_value, abs=0.025)


def test_one_unit_has_no_p_value():
    found = measure_change([[0.2], [0.3]], [[0.5], [0.6]], clusters=["a", "a"], rng=0)

    assert np.isnan(found.p_value)
    assert np.isnan(found.questions[0].p_value)
    assert found.questions[0].shift.estimate == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1], [0.2]), "must have the shape"),
        (([[0.1]], [[0.2, 0.3]]), "must have the same shape"),
        (([[0.1]], [[0.2]], {"labels": ([[1]], [[1, 0]])}), "must be two tables of shape"),
        (([[0.1]], [[0.2]], {"noise": ([[1], [1]], [[1], [1]])}), "must be two tables of shape"),
        (([[0.1]], [[0.2]], {"n_swaps": 9}), "n_swaps"),
        (([[0.1]], [[0.2]], {"clusters": ["a", "b"]}), "clusters"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, message):
    *tables, settings = arguments if isinstance(arguments[-1], dict) else (*arguments, {})

    with pytest.raises(InputError, match=message):
        measure_change(*tables, **settings)


@pytest.mark.slow
def test_noise_alone_is_found_at_the_level():
    draws = np.random.default_rng(11)
    n_runs, n_found, n_flips = 600, 0, 0
    for run in range(n_runs):
        truth = draws.random((40, 4))
        noisy = [np.clip(truth + draws.normal(0, 0.15, truth.shape), 0, 1) for _ in range(4)]
        labels = [(table >= 0.5).astype(int) for table in noisy]
        found = measure_change(
            noisy[0], noisy[1], noise=(labels[2], labels[3]), n_swaps=499, rng=run
        )
        n_found += found.p_value <= 0.05
        n_flips += found.excess_p_value <= 0.05

    allowed = 0.05 + 3 * np.sqrt(0.05 * 0.95 / n_runs)
    assert n_found / n_runs <= allowed
    assert n_flips / n_runs <= allowed
    assert n_found / n_runs >= 0.05 - 3 * np.sqrt(0.05 * 0.95 / n_runs)
