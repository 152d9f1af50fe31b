"""Packed label sets against Python's own sets."""

import numpy as np
import pytest

from voirdire import InputError
from voirdire.stats import LabelSets
from voirdire.stats.label_sets import intersection_and_union

UNIVERSES = (0, 1, 7, 8, 9, 16, 17, 32, 33, 63, 64, 65, 128, 129, 200)


@pytest.mark.parametrize("n_labels", UNIVERSES)
def test_sizes_are_those_of_python_sets(n_labels):
    rng = np.random.default_rng(n_labels)
    membership = rng.random((12, n_labels)) < rng.random((12, 1))
    sets = [set(np.flatnonzero(row).tolist()) for row in membership]

    packed = LabelSets.from_membership(membership)
    both, either = intersection_and_union(packed.words[:, np.newaxis], packed.words[np.newaxis])

    assert len(packed) == 12
    assert packed.n_labels == n_labels
    assert both.tolist() == [[len(a & b) for b in sets] for a in sets]
    assert either.tolist() == [[len(a | b) for b in sets] for a in sets]


@pytest.mark.parametrize("n_labels", UNIVERSES)
def test_positions_and_membership_build_the_same_sets(n_labels):
    rng = np.random.default_rng(1)
    membership = rng.random((5, n_labels)) < 0.5

    by_position = LabelSets.from_positions(
        [np.flatnonzero(row).tolist() for row in membership], n_labels=n_labels
    )

    assert (by_position.words == LabelSets.from_membership(membership).words).all()


@pytest.mark.parametrize(
    ("n_labels", "shape", "bits"),
    [(0, (1, 1), 8), (8, (1, 1), 8), (9, (1, 1), 16), (64, (1, 1), 64), (65, (1, 2), 64)],
)
def test_words_are_no_wider_than_needed(n_labels, shape, bits):
    words = LabelSets.from_membership(np.zeros((1, n_labels), dtype=bool)).words

    assert words.shape == shape
    assert words.dtype.itemsize * 8 == bits


def test_there_may_be_no_sets_at_all():
    packed = LabelSets.from_positions([], n_labels=6)

    assert len(packed) == 0


@pytest.mark.parametrize("wrong", [np.zeros((2, 3), dtype=int), np.zeros(3, dtype=bool)])
def test_membership_is_a_table_of_truth_values(wrong):
    with pytest.raises(InputError, match="`label_sets` must be bool of shape"):
        LabelSets.from_membership(wrong)
