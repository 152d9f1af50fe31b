"""Who is closer, item by item: small panels by hand, and the properties of sums and medoids."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.stats.alignment import make_scorer
from voirdire.stats.outcomes import (
    HUMAN_WINS,
    JUDGE_WINS,
    NO_OUTCOME,
    TIE,
    HumanBlock,
    sums_without_each,
)

PANEL = np.array(
    [
        # a, b, c per item
        [0, 0, 1],
        [0, 1, -1],
        [1, 1, 0],
        [-1, 0, 0],
        [-1, -1, 0],
    ]
)


def block_of(panel, alignment="accuracy", **options):
    n_codes = 0 if panel.dtype.kind == "f" else int(panel.max()) + 1
    scorer = make_scorer(alignment, humans=panel, n_codes=max(n_codes, 2))
    return HumanBlock(panel, scorer=scorer, **options)


def test_outcomes_by_hand():
    outcomes = block_of(PANEL).outcomes(np.array([0, 1, -1, 1, 0]))

    # Item 0, judge 0: against {0, 1} a has 1/2 and so has the judge; so for b; c 0, the judge 1.
    # Item 1, judge 1: a has 0 of {1}, the judge 1; b has 0 of {0}, the judge 0.
    # Item 2: no judge. Item 3, judge 1: the others agree, the judge does not. Item 4: one label.
    assert outcomes.tolist() == [
        [TIE, JUDGE_WINS, NO_OUTCOME, NO_OUTCOME, NO_OUTCOME],
        [TIE, TIE, NO_OUTCOME, HUMAN_WINS, NO_OUTCOME],
        [JUDGE_WINS, NO_OUTCOME, NO_OUTCOME, HUMAN_WINS, NO_OUTCOME],
    ]


def test_failed_items_are_lost_to_everyone_who_can_be_compared():
    judge = np.array([-1, 1, -1, 1, -1])
    failed = np.array([True, False, False, True, True])

    outcomes = block_of(PANEL).outcomes(judge, failed=failed)

    assert outcomes[:, 0].tolist() == [HUMAN_WINS] * 3
    assert (outcomes[:, 2] == NO_OUTCOME).all()
    assert outcomes[:, 3].tolist() == [NO_OUTCOME, HUMAN_WINS, HUMAN_WINS]
    assert (outcomes[:, 4] == NO_OUTCOME).all()
    assert outcomes[:, 1].tolist() == block_of(PANEL).outcomes(judge)[:, 1].tolist()


def test_an_item_needs_enough_annotators():
    outcomes = block_of(PANEL, min_annotators=3).outcomes(np.zeros(5, dtype=int))

    assert (outcomes >= 0).any(axis=0).tolist() == [True, False, True, False, False]


def test_a_reference_stands_for_the_others():
    reference = np.array([1, 0, -1, 0, 0])

    outcomes = block_of(PANEL, reference=reference).outcomes(np.array([0, 0, 0, 1, 0]))

    assert outcomes.tolist() == [
        [TIE, TIE, NO_OUTCOME, NO_OUTCOME, NO_OUTCOME],
        [TIE, JUDGE_WINS, NO_OUTCOME, HUMAN_WINS, NO_OUTCOME],
        [HUMAN_WINS, NO_OUTCOME, NO_OUTCOME, HUMAN_WINS, TIE],
    ]


def test_quality_moves_the_balance():
    panel = np.array([[0, 0, 1]])

    # Judge 1 against {0, 1} without a: equal weights tie; weight 3 on b, 1 on c: 1/4 < 3/4.
    plain = block_of(panel).outcomes(np.array([1]))
    weighted = block_of(panel, quality=np.array([2.0, 3.0, 1.0])).outcomes(np.array([1]))

    assert plain[:, 0].tolist() == [TIE, TIE, TIE]
    assert weighted[:, 0].tolist() == [HUMAN_WINS, HUMAN_WINS, TIE]


@given(st.integers(1, 8), st.integers(0, 5), st.integers(0, 2**32 - 1))
def test_sums_without_each_are_sums_without_each(n_rows, n_columns, seed):
    score = np.random.default_rng(seed).random((n_rows, n_columns))

    sums = sums_without_each(score)

    expected = [np.delete(score, row, axis=0).sum(axis=0) for row in range(n_rows)]
    np.testing.assert_allclose(sums, np.array(expected).reshape(score.shape), atol=1e-12)


def test_a_sum_without_a_huge_row_keeps_the_digits_of_the_others():
    score = np.array([[0.1], [1e17], [0.2]])

    assert sums_without_each(score)[1, 0] == 0.1 + 0.2


@pytest.mark.parametrize("seed", range(5))
def test_the_medoid_is_a_majority_vote(seed):
    rng = np.random.default_rng(seed)
    panel = rng.integers(-1, 4, (200, 5))
    panel[:, 0] = np.maximum(panel[:, 0], 0)

    votes = panel[np.arange(200), block_of(panel).medoid()]

    for row, vote in zip(panel.tolist(), votes.tolist(), strict=True):
        counts = Counter(label for label in row if label >= 0)
        assert counts[vote] == max(counts.values())


@pytest.mark.parametrize("seed", range(5))
def test_the_medoid_of_numbers_is_the_label_closest_to_the_others(seed):
    rng = np.random.default_rng(seed)
    panel = rng.integers(1, 6, (100, 5)).astype(float)
    panel[rng.random((100, 5)) < 0.2] = np.nan
    panel[:, :2] = np.nan_to_num(panel[:, :2], nan=3.0)

    votes = panel[np.arange(100), block_of(panel, "neg_rmse").medoid()]

    for row, vote in zip(panel, votes, strict=True):
        known = row[~np.isnan(row)]
        spread = [np.sum((known - own) ** 2) / (len(known) - 1) for own in known]
        assert np.sum((known - vote) ** 2) / (len(known) - 1) == pytest.approx(min(spread))
