"""Label sets from positions and from a table."""

import numpy as np
import pytest

from voirdire import InputError
from voirdire.stats import LabelSets

UNIVERSES = (0, 1, 7, 8, 9, 16, 17, 32, 33, 63, 64, 65, 128, 129, 200)


@pytest.mark.parametrize("n_labels", UNIVERSES)
def test_positions_and_membership_build_the_same_sets(n_labels):
    rng = np.random.default_rng(1)
    membership = rng.random((5, n_labels)) < 0.5

    by_position = LabelSets.from_positions(
        [np.flatnonzero(row).tolist() for row in membership], n_labels=n_labels
    )

    by_membership = LabelSets.from_membership(membership)
    assert (by_position.words == by_membership.words).all()
    assert len(by_position) == len(by_membership) == 5
    assert by_position.n_labels == by_membership.n_labels == n_labels


def test_there_may_be_no_sets_at_all():
    packed = LabelSets.from_positions([], n_labels=6)

    assert len(packed) == 0


@pytest.mark.parametrize("wrong", [np.zeros((2, 3), dtype=int), np.zeros(3, dtype=bool)])
def test_membership_is_a_table_of_truth_values(wrong):
    with pytest.raises(InputError, match="`label_sets` must be bool of shape"):
        LabelSets.from_membership(wrong)
