import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats import measure_calibration


def sample(n_items, rng, *, slope=1.0):
    p = rng.beta(0.8, 0.8, n_items).clip(0.01, 0.99)
    return p, rng.random(n_items) < expit(slope * logit(p))


@given(
    st.lists(st.tuples(st.integers(0, 20), st.booleans()), min_size=2, max_size=50),
    st.integers(1, 12),
)
def test_bins_are_those_of_plain_loops(rows, n_bins):
    p = [row[0] / 20 for row in rows]
    truths = [row[1] for row in rows]

    found = measure_calibration(p, truths, n_bins=n_bins)

    edges = [row.n_items for row in found]
    order = sorted(range(len(p)), key=lambda i: p[i])
    assert sum(edges) == len(p)
    assert len(edges) <= n_bins
    start = 0
    for size, row in zip(edges, found, strict=True):
        inside = order[start : start + size]
        assert row.share == pytest.approx(sum(truths[i] for i in inside) / size)
        if start + size < len(p):  # equal probabilities stay together
            assert p[order[start + size]] > p[inside[-1]]
        start += size


def test_bins_hold_equal_numbers_of_items():
    found = measure_calibration(np.linspace(0, 1, 100), np.arange(100) % 2 == 0)

    assert [row.n_items for row in found] == [10] * 10
    assert found[0].probability == pytest.approx(np.linspace(0, 1, 100)[:10].mean())
    assert found[0].share == 0.5


def test_items_of_a_group_count_once_for_the_interval():
    rng = np.random.default_rng(3)
    p, truths = sample(40, rng)
    groups = np.arange(40)

    once = measure_calibration(p, truths, groups=groups)
    four = measure_calibration(np.tile(p, 4), np.tile(truths, 4), groups=np.tile(groups, 4))

    for one, other in zip(once, four, strict=True):
        assert other.n_items == 4 * one.n_items
        assert other.high - other.low > 0.9 * (one.high - one.low)  # and not by half


def test_one_group_has_no_interval():
    with pytest.warns(DegenerateDataWarning, match="2 items in 1 groups has no interval"):
        found = measure_calibration([0.2, 0.9], [0, 1], groups=["a", "a"])

    assert [each.share for each in found] == [0, 1]
    assert all(math.isnan(each.low) for each in found)


def test_no_items_have_no_figures():
    with pytest.warns(DegenerateDataWarning):
        found = measure_calibration([], [])

    assert found == ()


def test_a_wrong_number_of_bins_is_named():
    with pytest.raises(InputError, match="`n_bins` must be a whole number of at least 1"):
        measure_calibration([0.1, 0.2], [0, 1], n_bins=0)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.1, 0.5])
@pytest.mark.parametrize("size", [1, 4])
def test_intervals_of_a_bin_cover_its_share(share, size):
    rng, covered, n_runs = np.random.default_rng([int(100 * share), size]), 0, 1000
    for _ in range(n_runs):
        shared = rng.random(40) < share  # half of the items of a group follow it
        own = rng.random((40, size)) < share
        truths = np.where(rng.random((40, size)) < 0.5, shared[:, None], own).ravel()
        groups = np.repeat(np.arange(40), size)
        found = measure_calibration(np.full(len(truths), share), truths, groups=groups)
        covered += found[0].low <= share <= found[0].high
    assert covered / n_runs > 0.95 - 3 * math.sqrt(0.95 * 0.05 / n_runs)
