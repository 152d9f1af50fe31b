"""Sufficient statistics: partitions add up, and they are what the definitions say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.stats import OutcomeSums, sum_outcomes

FIELDS = ("counts", "weights", "squares", "n_units")


@st.composite
def outcome_blocks(draw):
    """Outcomes of some annotators, with weights and clusters, both or neither."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (draw(st.integers(1, 5)), draw(st.integers(1, 60)))
    outcomes = rng.integers(-1, 3, shape).astype(np.int8)
    weights = np.where(outcomes >= 0, rng.gamma(1, 1, shape), 0.0) if draw(st.booleans()) else None
    clusters = None
    if draw(st.booleans()):
        clusters = np.sort(rng.integers(0, draw(st.integers(1, shape[1])), shape[1]))
    return outcomes, weights, clusters


def assert_same(one, two):
    for name in FIELDS:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-10, err_msg=name)


@given(outcome_blocks())
def test_sums_are_what_the_definition_says(block):
    outcomes, weights, clusters = block
    n_annotators, n_items = outcomes.shape

    sums = sum_outcomes(outcomes, weights=weights, clusters=clusters)

    for j in range(n_annotators):
        units = {}
        for i in range(n_items):
            if outcomes[j, i] >= 0:
                unit = units.setdefault(i if clusters is None else clusters[i], np.zeros(3))
                unit[outcomes[j, i]] += 1.0 if weights is None else weights[j, i]
        expected = list(units.values())
        assert sums.counts[j].tolist() == [np.sum(outcomes[j] == kind) for kind in range(3)]
        assert sums.n_items[j] == np.sum(outcomes[j] >= 0)
        assert sums.n_units[j] == len(expected)
        np.testing.assert_allclose(sums.weights[j], sum(expected, np.zeros(3)), atol=1e-10)
        squares = sum((np.outer(u, u) for u in expected), np.zeros((3, 3)))
        np.testing.assert_allclose(sums.squares[j], squares, atol=1e-10)


@given(outcome_blocks(), st.lists(st.integers(0, 3), min_size=60, max_size=60))
def test_any_partition_that_keeps_clusters_whole_adds_up(block, parts):
    outcomes, weights, clusters = block
    n_items = outcomes.shape[1]
    unit = np.arange(n_items) if clusters is None else clusters
    part = np.array(parts)[unit]

    pieces = []
    for number in range(4):
        chosen = part == number
        pieces.append(
            sum_outcomes(
                outcomes[:, chosen],
                weights=None if weights is None else weights[:, chosen],
                clusters=None if clusters is None else clusters[chosen],
            )
        )

    whole = sum_outcomes(outcomes, weights=weights, clusters=clusters)
    assert_same((pieces[0] + pieces[1]) + (pieces[2] + pieces[3]), whole)
    assert_same(pieces[3] + (pieces[2] + (pieces[1] + pieces[0])), whole)


@given(outcome_blocks(), st.integers(2, 4))
def test_a_stack_holds_its_parts(block, n):
    outcomes, _, clusters = block
    parts = [
        sum_outcomes(np.roll(outcomes, shift, axis=0), weights=None, clusters=clusters)
        for shift in range(n)
    ]

    stacked = OutcomeSums.stack(iter(parts))

    for number, part in enumerate(parts):
        alone = OutcomeSums(**{name: getattr(stacked, name)[number] for name in FIELDS})
        assert_same(alone, part)
    assert stacked.n_items.shape == (n, len(outcomes))


def test_weights_of_one_are_no_weights():
    outcomes = np.array([[0, 1, 2, -1, 1]], dtype=np.int8)

    assert_same(
        sum_outcomes(outcomes, weights=np.where(outcomes >= 0, 1.0, 0.0)), sum_outcomes(outcomes)
    )
    assert_same(sum_outcomes(outcomes, clusters=np.arange(5)), sum_outcomes(outcomes))


def test_a_cluster_that_nobody_compared_is_no_unit():
    outcomes = np.array([[0, 0, -1, -1, 1]], dtype=np.int8)

    sums = sum_outcomes(outcomes, clusters=np.array([0, 0, 1, 1, 2]))

    assert sums.n_units.tolist() == [2]


@pytest.mark.parametrize("clusters", [None, np.zeros(0, dtype=int)])
def test_no_items_sum_to_nothing(clusters):
    sums = sum_outcomes(np.zeros((2, 0), dtype=np.int8), clusters=clusters)

    assert not sums.n_items.any()
    assert not sums.n_units.any()
    assert not sums.weights.any()
    assert sums.squares.shape == (2, 3, 3)


def test_sums_add_only_to_sums():
    sums = sum_outcomes(np.zeros((1, 1), dtype=np.int8))

    with pytest.raises(TypeError, match="unsupported operand"):
        sums + 1
