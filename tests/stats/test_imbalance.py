"""Inverse probability weights against plain loops."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alt_test_oracle import imbalance_weights as oracle_weights
from voirdire.stats.imbalance import imbalance_weights, majority_shares


@st.composite
def code_panels(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (draw(st.integers(2, 6)), draw(st.integers(1, 30)))
    return rng.integers(-1, draw(st.integers(1, 4)), shape)


@given(code_panels(), st.integers(0, 2**32 - 1))
def test_weights_are_those_of_the_oracle(codes, seed):
    present = codes >= 0
    compared = present & (present.sum(axis=0) >= 2)
    compared &= np.random.default_rng(seed).random(codes.shape[1]) < 0.8

    weights = imbalance_weights(codes, compared, n_codes=4)

    for j, items in enumerate(compared):
        others = np.delete(codes, j, axis=0)[:, items].T.tolist()
        panels = [[code for code in row if code >= 0] for row in others]
        np.testing.assert_allclose(weights[j, items], oracle_weights(panels) if panels else [])
        assert not weights[j, ~items].any()


@given(code_panels())
def test_shares_are_those_of_the_most_frequent_labels(codes):
    for j in range(len(codes)):
        shares = majority_shares(codes, j)

        others = np.delete(codes, j, axis=0)
        for i in range(codes.shape[1]):
            counts = Counter(code for code in others[:, i].tolist() if code >= 0)
            top = [code for code, n in counts.items() if n == max(counts.values())]
            for code in set(others[:, i].tolist()):
                total = shares[others[:, i] == code, i].sum()
                assert total == pytest.approx(1 / len(top) if code in top else 0)


def test_weights_by_hand():
    # For the last annotator the majorities are a, a, a|b, b|c (0, 1, 2). Frequencies: a 5/2, b 1,
    # c 1/2, so the weights of the labels are 8/5, 4 and 8.
    codes = np.array([[0, 0, 0, 1], [0, -1, 1, 2], [0, 0, 0, 0]])
    compared = np.zeros((3, 4), dtype=bool)
    compared[2] = True

    weights = imbalance_weights(codes, compared, n_codes=3)

    assert weights[2].tolist() == pytest.approx([8 / 5, 8 / 5, 14 / 5, 6])


def test_a_reference_is_the_majority():
    codes = np.array([[0, 0, 0, 0]])
    reference = np.array([0, 1, 1, 1])

    weights = imbalance_weights(codes, codes >= 0, n_codes=2, reference=reference)

    # One item of 4 is label 0, three are label 1.
    assert weights[0].tolist() == pytest.approx([4, 4 / 3, 4 / 3, 4 / 3])


@given(code_panels())
def test_every_majority_label_weighs_the_same_in_all(codes):
    codes = np.abs(codes)
    reference = codes[0]

    weights = imbalance_weights(codes, codes >= 0, n_codes=4, reference=reference)

    n_items = codes.shape[1]
    for label in np.unique(reference):
        assert weights[-1, reference == label].sum() == pytest.approx(n_items)
