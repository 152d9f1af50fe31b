"""Sure and split items: plain loops over every item, and small panels by hand."""

import math
from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError
from voirdire.stats import PanelCounts, count_panels


def smallest_step(numbers):
    steps = np.diff(np.unique(numbers[~np.isnan(numbers)]))
    return float(steps.min()) if len(steps) else 0.0


def oracle(judge, humans, *, min_annotators, step=None):
    """Count item by item, and chance by chance; `step` where labels are numbers."""

    def known(x):
        return x == x and x != -1

    def is_near(x, label):
        return x == label or (step is not None and abs(x - label) < step)

    found = Counter()
    for answer, row in zip(judge, humans, strict=True):
        labels = [x for x in row if known(x)]
        if not known(answer) or len(labels) < min_annotators:
            continue
        counts = Counter(labels)
        top = [label for label, n in counts.items() if n == max(counts.values())]
        agrees = any(is_near(answer, label) for label in top)
        if len(counts) == 1:
            found["n_unanimous"] += 1
            found["n_opposed"] += not agrees
        else:
            found["n_split"] += 1
            given_by_some = any(is_near(answer, label) for label in counts)
            kind = "nobody" if not given_by_some else "minority"
            if agrees:
                kind = "majority" if len(top) == 1 else "tied"
            found[f"n_split_with_{kind}"] += 1
        for j in range(len(labels)):
            others = labels[:j] + labels[j + 1 :]
            if len(others) >= 2 and len(set(others)) == 1:
                found["n_human_chances"] += 1
                found["n_human_opposed"] += labels[j] != others[0]
                found["n_judge_opposed"] += not is_near(answer, others[0])
    return found


@given(
    seed=st.integers(0, 2**32 - 1),
    n_items=st.integers(1, 60),
    n_annotators=st.integers(1, 20),
    noise=st.sampled_from((0.05, 0.3, 1.0)),
    missing=st.sampled_from((0.0, 0.2, 0.8)),
    min_annotators=st.integers(2, 4),
    numbers=st.booleans(),
)
def test_the_counts_are_those_of_plain_loops(
    seed, n_items, n_annotators, noise, missing, min_annotators, numbers
):
    rng = np.random.default_rng(seed)

    def rated(size):
        truth = np.arange(n_items).reshape(-1, *[1] * (len(size) - 1)) % 4
        labels = np.where(rng.random(size) < noise, rng.integers(0, 4, size), truth)
        gone = rng.random(size) < missing
        return np.where(gone, np.nan, labels) if numbers else np.where(gone, -1, labels)

    humans, judge = rated((n_items, n_annotators)), rated((n_items,))
    if numbers:
        judge = judge + rng.choice([0, 0.5, 1.5], n_items)  # a mean of several answers
    step = smallest_step(humans) if numbers else None

    [counts] = count_panels(judge, humans, min_annotators=min_annotators)
    expected = oracle(
        judge.tolist(), humans.tolist(), min_annotators=min_annotators, step=step or None
    )

    assert asdict(counts) == {name: expected[name] for name in asdict(PanelCounts())}


def test_a_panel_by_hand():
    humans = [[0, 0, 0], [1, 1, 1], [0, 0, 1], [0, 1, -1], [0, 1, 2], [2, -1, -1], [0, 0, -1]]
    judge = [0, 2, 1, 1, 3, 2, 1]

    [counts] = count_panels(judge, humans)

    # Items 0, 1 and 6 are unanimous; the judge opposes 1 and 6. Items 2, 3 and 4 are split.
    assert (counts.n_unanimous, counts.n_opposed) == (3, 2)
    assert (counts.n_split, counts.n_split_with_minority) == (3, 1)
    assert (counts.n_split_with_tied, counts.n_split_with_nobody) == (1, 1)
    # Chances: three on each of items 0 and 1, and that of the one who differs on item 2.
    assert (counts.n_human_chances, counts.n_human_opposed, counts.n_judge_opposed) == (7, 1, 4)
    assert counts.departs_from_split == 2 / 3
    assert counts.human_opposes_others == 1 / 7
    assert counts.judge_opposes_others == 4 / 7


def test_without_items_the_shares_are_undefined():
    [found] = count_panels([-1, -1], [[0, 0], [0, 1]])

    assert found == PanelCounts()
    assert math.isnan(found.departs_from_split)
    assert math.isnan(found.human_opposes_others)
    assert math.isnan(found.judge_opposes_others)


def test_on_a_scale_less_than_a_step_is_no_opposition():
    humans = [[3.0, 3.0, 3.0], [3.0, 3.0, 3.0], [3.0, 3.0, 3.0], [4.0, 4.0, 5.0]]

    [found] = count_panels([3.4, 4.0, 1.0, 4.6], humans)
    [without] = count_panels([3.0, 3.1], [[3.0, 3.0], [3.0, 3.0]])

    assert (found.n_opposed, found.n_split_with_majority) == (2, 1)
    assert without.n_opposed == 1  # a scale of one number has no step


def test_several_judges_are_counted_apart():
    rng = np.random.default_rng(2)
    humans, judges = rng.integers(-1, 2, (150, 4)), rng.integers(-1, 2, (150, 3))

    assert count_panels(judges, humans) == [count_panels(x, humans)[0] for x in judges.T]


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"min_annotators": 1}, "`min_annotators` must be a whole number of at least 2"),
        ({"judges": [0]}, "`judges` must have one row"),
        ({"humans": [0, 1]}, "`humans` must have the shape"),
    ],
)
def test_arguments_are_checked(changed, match):
    given = {"judges": [0, 1], "humans": [[0, 1], [1, 1]], **changed}

    with pytest.raises(InputError, match=match):
        count_panels(given.pop("judges"), given.pop("humans"), **given)
