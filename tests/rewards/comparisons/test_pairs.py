"""Comparisons within prompts, against loops over all pairs."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError
from voirdire.rewards import LabelOrder, pairs_of, read_comparisons

ORDER = LabelOrder.of("good > fair > poor, rude > bad")


def looped(rows, order):
    """All pairs of completions, one after the other."""
    found = []
    for a, b in itertools.permutations(range(len(rows)), 2):
        (prompt, label), (other_prompt, other) = rows[a], rows[b]
        if label and other and prompt == other_prompt and other in order.better(label):
            found.append((a, b))
    return found


def of_labels(rows):
    """Give comparisons of prompts and labels."""
    return read_comparisons(
        [
            {"id": f"i{k}", "prompt": f"p{prompt}", "response": f"r{k}", "label": label}
            for k, (prompt, label) in enumerate(rows)
        ],
        behavior="comply",
    )


@given(
    st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from([None, *"abcde"])), min_size=1, max_size=30
    ),
    st.sampled_from(["a > b > c > d > e", "a > b, c > d; a > e", "a > b; c > d; e"]),
)
def test_the_same_pairs_as_by_looking_at_every_two(rows, text):
    order = LabelOrder.of(text)
    rows = [*rows, (9, "a"), (9, "e")]  # there is always something to compare
    data = of_labels(rows)

    found = pairs_of(data, behavior="comply", order=order)

    places = [int(item.id[1:]) for item in data.items]
    pairs = [(places[a], places[b]) for a, b in zip(found.better, found.worse, strict=True)]
    assert Counter(pairs) == Counter(looped(rows, order))
    assert found.prompts.tolist() == sorted(found.prompts.tolist())


@pytest.mark.ci
def test_work_grows_with_the_pairs_and_not_with_the_square_of_the_items():
    # One prompt per two items: a pass over all pairs of items would look at 6 * 10**7 of them.
    data = of_labels([(k // 2, ("good", "bad")[k % 2]) for k in range(8_000)])

    found = pairs_of(data, behavior="comply", order=ORDER)

    assert (found.better == np.arange(0, 8_000, 2)).all()
    assert (found.worse == found.better + 1).all()


def labelled(labels, *, behavior="comply", prompt="Hi"):
    return [
        {"prompt": prompt, "response": f"{prompt}-{k}", "label": label, "behavior": behavior}
        for k, label in enumerate(labels)
    ]


def as_tuples(pairs):
    return list(
        zip(pairs.better.tolist(), pairs.worse.tolist(), pairs.margins.tolist(), strict=True)
    )


def test_only_items_of_the_behavior_are_compared():
    rows = labelled(["good", "bad"]) + labelled(["good", "bad"], behavior="refuse", prompt="Lo")
    data = read_comparisons(rows)

    pairs = pairs_of(data, behavior="refuse", order=ORDER)

    assert as_tuples(pairs) == [(2, 3, 1.0)]
    assert pairs.prompts.tolist() == [1]


def test_margins_go_by_the_label_of_the_better_one():
    data = read_comparisons(labelled(["bad", "good", "poor", "fair"]))

    pairs = pairs_of(data, behavior="comply", order=ORDER, margin=0.5, margins={"good": 2})

    assert set(as_tuples(pairs)) == {
        (1, 0, 2.0), (1, 2, 2.0), (1, 3, 2.0), (3, 2, 0.5), (3, 0, 0.5), (2, 0, 0.5),
    }  # fmt: skip


def test_a_declared_pair_is_there_once_with_its_own_margin():
    data = read_comparisons(
        [
            *labelled(["good", "bad"]),
            {"prompt": "Hi", "chosen": "Hi-0", "rejected": "Hi-1", "margin": 3},
            {"prompt": "Hi", "chosen": "Hi-1", "rejected": "new"},
        ],
        behavior="comply",
    )

    pairs = pairs_of(data, behavior="comply", order=ORDER, margins={"bad": 0.25})

    # the second pair's better one is labelled bad; the first one's margin comes before labels
    assert as_tuples(pairs) == [(0, 1, 3.0), (1, 2, 0.25)]


def test_declared_pairs_come_in_the_order_of_their_prompts():
    data = read_comparisons(
        [
            {"prompt": "a", "response": "1", "label": "bad"},
            {"prompt": "b", "chosen": "x", "rejected": "y"},
            {"prompt": "a", "response": "2", "label": "good"},
        ],
        behavior="comply",
    )

    pairs = pairs_of(data, behavior="comply", order=ORDER)

    assert pairs.prompts.tolist() == [0, 1]
    assert as_tuples(pairs) == [(3, 0, 1.0), (1, 2, 1.0)]


def test_two_margins_for_one_pair_are_refused():
    row = {"prompt": "a", "chosen": "x", "rejected": "y"}
    data = read_comparisons([{**row, "margin": 1}, {**row, "margin": 2}], behavior="comply")

    with pytest.raises(InputError, match="a pair must have one margin, got two"):
        pairs_of(data, behavior="comply", order=ORDER)


@pytest.mark.parametrize(
    ("margins", "message"),
    [
        ({"margin": 0}, "`margin` must be a finite number above 0, got 0"),
        ({"margin": float("nan")}, "`margin` must be a finite number above 0, got nan"),
        ({"margins": {"good": -1}}, r"`margins\['good'\]` must be a finite number above 0, got -1"),
        (
            {"margins": {"good": "2"}},
            r"`margins\['good'\]` must be a finite number above 0, got '2'",
        ),
    ],
)
def test_a_margin_is_above_zero(margins, message):
    data = read_comparisons(labelled(["good", "bad"]))

    with pytest.raises(InputError, match=message):
        pairs_of(data, behavior="comply", order=ORDER, **margins)
