"""The order within groups, against pairs that are counted one by one."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.rewards.training.group_ranks import ranks_of

REWARDS = st.one_of(st.sampled_from([0.0, 1.0, 2.0, math.nan]))
ROWS = st.lists(st.tuples(REWARDS, REWARDS, st.integers(-1, 3)), max_size=20)


def counted(rows):
    """Count every pair of one group that has both rewards."""
    found = dict.fromkeys(("same", "reversed", "before", "after", "both"), 0)
    kept = [row for row in rows if row[2] >= 0 and row[0] == row[0] and row[1] == row[1]]
    for one, other in itertools.combinations(kept, 2):
        if one[2] != other[2]:
            continue
        a, b = one[0] - other[0], one[1] - other[1]
        if a == 0 and b == 0:
            found["both"] += 1
        elif a == 0:
            found["before"] += 1
        elif b == 0:
            found["after"] += 1
        else:
            found["same" if a * b > 0 else "reversed"] += 1
    return found


def changed(rows):
    """Count groups of two or more, and those in which no best one stays best."""
    groups = {}
    for x, y, group in rows:
        if group >= 0 and x == x and y == y:
            groups.setdefault(group, []).append((x, y))
    several = [pairs for pairs in groups.values() if len(pairs) > 1]
    n_changed = 0
    for pairs in several:
        top = max(x for x, _ in pairs), max(y for _, y in pairs)
        n_changed += top not in pairs
    return len(several), n_changed


@given(ROWS)
def test_pairs_and_best_ones_are_those_counted_one_by_one(rows):
    arrays = [np.array(column, dtype=float) for column in zip(*rows, strict=True)]
    before, after, groups = arrays or [np.empty(0)] * 3

    found = ranks_of(before, after, groups.astype(np.int64))

    expected = counted(rows)
    n_groups, n_changed = changed(rows)
    assert found.n_same == expected["same"]
    assert found.n_reversed == expected["reversed"]
    assert (found.n_tied_before, found.n_tied_after) == (expected["before"], expected["after"])
    assert found.n_tied_both == expected["both"]
    assert found.n_pairs == sum(expected.values())
    assert found.n_groups == n_groups
    if n_groups:
        assert found.best_changed_share == pytest.approx(n_changed / n_groups)


def test_rewards_that_differ_by_rounding_alone_are_tied():
    found = ranks_of(np.array([0.1 + 0.2, 0.3]), np.array([1.0, 2.0]), np.array([0, 0]))

    assert (found.n_tied_before, found.n_same) == (1, 0)
    assert found.same_order_share == 0.0


def test_a_large_group_is_counted_in_bounded_memory():
    n = 3_000
    before, after = np.arange(n, dtype=float), np.arange(n, dtype=float)
    after[:10] = after[:10][::-1]
    before[-2:] = after[-2:] = n

    tracemalloc.start()
    found = ranks_of(before, after, np.zeros(n, dtype=np.int64))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    # 10 * 9 / 2 pairs stand the other way round, the last two are equal
    assert (found.n_reversed, found.n_tied_both) == (45, 1)
    assert found.n_same == n * (n - 1) // 2 - 46
    assert peak < 32 * 2**20  # all pairs at once would take 70 MB for a single number of each


def test_shares_of_nothing_are_undefined():
    found = ranks_of(np.array([1.0]), np.array([1.0]), np.array([0]))

    assert math.isnan(found.same_order_share)
    assert math.isnan(found.best_changed_share)
