"""The order within groups under two rewards, against pairs that are counted one by one."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest

from rewards.reward_cases import TINY
from rewards.training.recorded_runs import scored, watch_of
from voirdire.rewards import Turn, replay, reward_of_weights
from voirdire.rubrics import rubric_from_text

RUBRIC = rubric_from_text(
    TINY.replace("      rude: undesired\n", "      rude: undesired\n      sorry: desired\n")
)
# One reward pays for the first number of a response, the other for the second.
BEFORE, AFTER = (
    reward_of_weights({"refuse": {name: 1.0}, "chat": {name: 1.0}}, rubric=RUBRIC, judge=None)
    for name in ("sorry", "rude")
)


def replayed(rows, folder):
    """Record a run of (reward, reward under another, group, step, behavior), and replay it."""
    watch = watch_of(folder, reward=BEFORE)
    for step in sorted({row[3] for row in rows}):
        turns = [
            Turn(response=f"{x} {y}", prompt=f"prompt {group}", behavior=behavior)
            for x, y, group, of_step, behavior in rows
            if of_step == step
        ]
        watch.add(scored(turns, reward=BEFORE), turns, step=step)
    watch.close()
    return replay(folder, AFTER)


def ranks_of(rows, folder):
    """Give the ranks of a run of one step: (reward, reward under another, group)."""
    return replayed([(*row, 0, "refuse") for row in rows], folder).whole.ranks


def check_counts(found, rows):
    """Compare ranks with pairs and groups that are counted one by one."""
    expected, (n_groups, n_changed) = counted(rows), changed(rows)
    assert found.n_same == expected["same"]
    assert found.n_reversed == expected["reversed"]
    assert found.n_pairs == sum(expected.values())
    n_parted = found.n_pairs - expected["both"]
    share = found.n_same / n_parted if n_parted else math.nan
    assert found.same_order_share == pytest.approx(share, nan_ok=True)
    assert found.n_groups == n_groups
    share = n_changed / n_groups if n_groups else math.nan
    assert found.best_changed_share == pytest.approx(share, nan_ok=True)


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


@pytest.mark.edges
@pytest.mark.parametrize("seed", range(5))
def test_pairs_and_best_ones_are_those_counted_one_by_one(tmp_path, seed):
    rng = np.random.default_rng(seed)
    values = [0.0, 0.5, 1.0, math.nan]
    rows = [
        (rng.choice(values), rng.choice(values), int(group))
        for group in rng.integers(0, 8, size=40)
    ]

    check_counts(ranks_of(rows, tmp_path / "run"), rows)


@pytest.mark.edges
@pytest.mark.parametrize("seed", range(3))
def test_a_part_counts_the_pairs_of_its_own_completions(tmp_path, seed):
    rng = np.random.default_rng(seed)
    sizes = [1, 2, 3, 5, 9]  # of groups, whose completions stand in any order
    rows = [
        (*rng.choice([0.0, 0.25, 0.5, 1.0, math.nan], size=2), group, step, behavior)
        for step in (0, 1, 4)
        for group, size in enumerate(rng.permutation(sizes * 2).tolist())
        for behavior in rng.choice(["refuse", "chat"], size=size).tolist()
    ]
    rows = [rows[place] for place in rng.permutation(len(rows))]

    found = replayed(rows, tmp_path / "run")

    # a group is a prompt in a step; one that has both behaviors is parted between them
    coded = [(x, y, 100 * step + group, step, behavior) for x, y, group, step, behavior in rows]
    check_counts(found.whole.ranks, [row[:3] for row in coded])
    assert [part.step for part in found.steps] == [0, 1, 4]
    for part in found.steps:
        check_counts(part.ranks, [row[:3] for row in coded if row[3] == part.step])
    assert {part.behavior for part in found.behaviors} == {"refuse", "chat"}
    for part in found.behaviors:
        check_counts(part.ranks, [row[:3] for row in coded if row[4] == part.behavior])


def test_rewards_that_differ_by_rounding_alone_are_tied(tmp_path):
    found = ranks_of([(0.1 + 0.2, 0.1, 0), (0.3, 0.2, 0)], tmp_path / "run")

    assert (found.n_pairs, found.n_same, found.n_reversed) == (1, 0, 0)
    assert found.same_order_share == 0.0


@pytest.mark.ci
def test_a_large_group_is_counted_in_bounded_memory(tmp_path):
    n = 3_000
    before, after = np.arange(n) / n, np.arange(n) / n
    after[:10] = after[:10][::-1]
    before[-2:] = after[-2:] = 1.0

    tracemalloc.start()
    found = ranks_of(zip(before.tolist(), after.tolist(), [0] * n, strict=True), tmp_path / "run")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    # 10 * 9 / 2 pairs stand the other way round, the last two are equal
    assert found.n_reversed == 45
    assert found.n_same == found.n_pairs - 46 == n * (n - 1) // 2 - 46
    assert peak < 48 * 2**20  # all pairs at once would take 70 MB for a single number of each


def test_shares_of_nothing_are_undefined(tmp_path):
    found = ranks_of([(1.0, 1.0, 0)], tmp_path / "run")

    assert math.isnan(found.same_order_share)
    assert math.isnan(found.best_changed_share)
