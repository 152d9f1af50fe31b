"""Pairs of labels: scikit-learn's matrix."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from voirdire.errors import InputError
from voirdire.stats import confusion_counts


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
