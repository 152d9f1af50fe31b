"""Sums of distances in closed form against sums over all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alt_test_oracle import pair_jaccard
from voirdire.stats.label_distance import make_metric


def numbers_and_metric(seed, level):
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, 7, (15, 3)) / 2
    matrix[rng.random((15, 3)) < 0.2] = np.nan
    return matrix, make_metric(matrix, level, None)


@given(st.integers(0, 2**32 - 1), st.sampled_from(("ordinal", "interval", "ratio")))
def test_spreads_are_sums_of_distances_of_numbers(seed, level):
    matrix, metric = numbers_and_metric(seed, level)
    present = ~np.isnan(matrix)

    values = metric.encode(matrix, present)
    spread = metric.spread(values)

    known = values[present]
    expected = metric.distance(values[..., np.newaxis], known).sum(axis=-1)
    np.testing.assert_allclose(spread[present], expected[present], atol=1e-9)


def test_distances_by_hand():
    matrix = np.array([[1.0, 2.0], [2.0, 4.0]])
    present = np.ones((2, 2), dtype=bool)

    squares = {}
    for level in ("interval", "ordinal", "ratio"):
        metric = make_metric(matrix, level, None)
        values = metric.encode(matrix, present)
        squares[level] = float(metric.distance(values[0, 0], values[1, 1]))

    # 1 against 4: difference 3; midranks 1/2 and 3 1/2 (of 1, 2 2, 4); (1 - 4) / 5.
    assert squares == pytest.approx({"interval": 9, "ordinal": 9, "ratio": 9 / 25})


@pytest.mark.parametrize("n_labels", [5, 64, 65, 200])
def test_spreads_of_sets_are_sums_of_jaccard_distances(n_labels):
    rng = np.random.default_rng(n_labels)
    membership = rng.random((20, n_labels)) < 0.2
    membership[3] = False
    codes = rng.integers(-1, 20, (30, 3))
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in membership]

    metric = make_metric(codes, "sets", membership)

    given_labels = [sets[code] for code in codes[codes >= 0].tolist()]
    for code, own in enumerate(sets):
        expected = sum(float(1 - pair_jaccard(own, other)) for other in given_labels)
        assert metric.spread(np.array([code]))[0] == pytest.approx(expected)


def test_a_nominal_spread_counts_the_other_labels():
    metric = make_metric(np.array([[0, 0, 1], [2, -1, 0]]), "nominal", None)

    assert metric.spread(np.array([0, 1, 2])).tolist() == [2, 4, 4]
