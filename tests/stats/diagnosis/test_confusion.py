"""Pairs of labels: scikit-learn's matrix, plain loops over sets, and numbers in rows."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from voirdire.errors import InputError
from voirdire.stats import LabelSets
from voirdire.stats.diagnosis import confusion_counts
from voirdire.stats.diagnosis.confusion import NumberBins, bin_codes, confusion_of_sets


def pairs_of(judge, humans):
    """All (annotator's label, judge's label) pairs, one per annotation."""
    return [
        (int(label), int(answer))
        for answer, row in zip(judge, humans, strict=True)
        for label in row
        if label >= 0 and answer >= 0
    ]


def labels_of(seed, n_items, n_annotators, n_codes):
    rng = np.random.default_rng(seed)
    return (
        rng.integers(-1, n_codes, n_items),
        np.minimum(rng.integers(-1, n_codes, (n_items, n_annotators)), rng.integers(n_codes)),
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    n_items=st.integers(1, 60),
    n_annotators=st.integers(1, 5),
    n_codes=st.sampled_from((1, 2, 5, 20, 400)),
    in_order=st.booleans(),
    max_labels=st.sampled_from((1, 3, 12)),
)
def test_the_counts_are_those_of_scikit_learn(
    seed, n_items, n_annotators, n_codes, in_order, max_labels
):
    judge, humans = labels_of(seed, n_items, n_annotators, n_codes)
    pairs = pairs_of(judge, humans)

    found = confusion_counts(judge, humans, max_labels=max_labels, in_order=in_order)

    totals = Counter(label for pair in pairs for label in pair)
    ranked = sorted(totals, key=lambda label: (-totals[label], label))
    chosen = sorted(ranked[:max_labels]) if in_order else ranked[:max_labels]
    assert list(found.codes) == chosen
    assert found.n_other == len(ranked) - len(chosen)
    assert found.n_pairs == len(pairs)
    merged = [[label if label in chosen else -7 for label in pair] for pair in pairs]
    rows = chosen + [-7] * (found.n_other > 0)
    if len(rows) < 2:  # scikit-learn warns of a single label
        assert found.counts.tolist() == [[len(pairs)]] * len(rows)
        return
    truth, predicted = zip(*merged, strict=True)
    assert found.counts.tolist() == confusion_matrix(truth, predicted, labels=rows).tolist()


def test_the_matrix_is_turned_when_judge_and_annotator_change_places():
    judge, humans = labels_of(5, 100, 1, 6)

    forth = confusion_counts(judge, humans, in_order=True)
    back = confusion_counts(humans[:, 0], judge[:, np.newaxis], in_order=True)

    np.testing.assert_array_equal(forth.counts, back.counts.T)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_items=st.integers(1, 40),
    n_labels=st.integers(1, 70),
)
def test_labels_of_sets_are_counted_one_by_one(seed, n_items, n_labels):
    rng = np.random.default_rng(seed)
    membership = rng.random((9, n_labels)) < 0.3
    judge, humans = labels_of(seed, n_items, 3, 9)
    pairs = pairs_of(judge, humans)

    found = confusion_of_sets(
        judge, humans, label_sets=LabelSets.from_membership(membership), max_labels=5
    )

    held = {
        label: Counter((bool(membership[h, label]), bool(membership[f, label])) for h, f in pairs)
        for label in range(n_labels)
    }
    held = {
        label: c for label, c in held.items() if c[True, True] + c[True, False] + c[False, True]
    }
    size = {label: 2 * c[1, 1] + c[1, 0] + c[0, 1] for label, c in held.items()}
    ranked = sorted(held, key=lambda label: (-size[label], label))
    assert [row.label for row in found.labels] == ranked[:5]
    assert found.n_other == max(len(ranked) - 5, 0)
    assert found.n_pairs == len(pairs)
    for row in found.labels:
        c = held[row.label]
        assert (row.both, row.human_only) == (c[True, True], c[True, False])
        assert (row.judge_only, row.neither) == (c[False, True], c[False, False])


def test_few_numbers_have_a_row_each():
    humans, judge = np.array([[1.0, 2.0], [5.0, np.nan]]), np.array([2.0, 3.0])

    binning, numbers = NumberBins.of(humans).beside(judge)

    assert (binning, numbers.tolist()) == ("values", [1, 2, 3, 5])
    assert bin_codes(humans[:, 1], numbers, binning=binning).tolist() == [1, -1]
    assert bin_codes(judge, numbers, binning=binning).tolist() == [1, 2]


def test_a_judge_of_many_numbers_goes_to_the_nearest_of_the_annotators():
    humans, judge = np.array([[1.0], [2.0], [5.0]]), np.array([0.3, 1.6, 3.4, np.nan])

    binning, numbers = NumberBins.of(humans, max_labels=5).beside(np.linspace(0, 9, 50))

    assert (binning, numbers.tolist()) == ("nearest", [1, 2, 5])
    assert bin_codes(judge, numbers, binning=binning).tolist() == [0, 1, 1, -1]


def test_many_numbers_are_cut_into_fifths_of_the_annotators():
    humans = np.arange(100.0).reshape(50, 2)

    binning, edges = NumberBins.of(humans).beside(np.array([3.0]))

    assert (binning, edges.tolist()) == ("quantiles", [19, 39, 59, 79])
    codes = bin_codes(humans.ravel(), edges, binning=binning)
    assert np.bincount(codes).tolist() == [20] * 5
    assert bin_codes(np.array([-5.0, 19, 19.5, 1e9]), edges, binning=binning).tolist() == [
        0,
        0,
        1,
        4,
    ]


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"max_labels": 0}, "`max_labels` must be"),
        ({"n_codes": 1}, "`n_codes` must be a whole number of at least 2"),
        ({"judge": [0.5, 1]}, "`judges` must hold integer codes"),
        ({"judge": [0, 1, 1]}, "`judges` must have one row"),
    ],
)
def test_arguments_are_checked(changed, match):
    given = {"judge": [0, 1], "humans": [[0], [1]], **changed}

    with pytest.raises(InputError, match=match):
        confusion_counts(given.pop("judge"), given.pop("humans"), **given)


def test_every_set_must_be_known():
    with pytest.raises(InputError, match="`label_sets` must hold a set for every code, got 1"):
        confusion_of_sets([0, 1], [[0], [1]], label_sets=LabelSets.from_membership([[True]]))
