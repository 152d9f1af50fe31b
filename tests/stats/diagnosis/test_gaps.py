"""How far a judge is ahead of the annotators, item by item."""

import numpy as np
import pytest

from voirdire.stats.diagnosis.gaps import item_gaps
from voirdire.stats.preparation import prepare


def test_gaps_by_hand():
    humans = [[0, 0, 1], [0, 1, -1], [1, 1, 0], [0, -1, -1]]
    judges = [[0, 1], [1, 0], [-1, 0], [0, 0]]

    gaps = item_gaps(prepare(judges, humans))

    # Item 0, label 0: 1/2 beside a's and b's 1/2, 1 beside c's 0. Label 1: ties.
    # Item 1: the judge beats whom it differs from, 1 against 0, and ties with the other.
    # Item 2, label 0: 1/2 beside 1/2 twice, 0 beside c's 0.
    assert gaps[:, 0].tolist() == [pytest.approx(1 / 3), 0]
    assert gaps[:, 1].tolist() == [0.5, 0.5]
    assert gaps[1, 2] == 0
    assert np.isnan(gaps[0, 2])
    assert np.isnan(gaps[:, 3]).all()
    assert gaps.shape == (2, 4)


@pytest.mark.parametrize("variant", ["plain", "quality", "expert", "gold"])
def test_gaps_add_up_to_the_figures_of_the_test(variant):
    rng = np.random.default_rng(1)
    humans = rng.integers(0, 3, (300, 4))
    judge = rng.integers(0, 3, 300)
    options = {
        "plain": {},
        "quality": {"quality": [1.0, 2, 0.5, 3]},
        "expert": {"expert": 2},
        "gold": {"gold": rng.integers(0, 3, 300)},
    }[variant]
    prepared = prepare(judge, humans, **options)

    [gaps] = item_gaps(prepared)

    sums = prepared.comparison.run(prepared.raters, []).judges.counts[0]
    sums = np.delete(sums, 2, axis=0) if variant == "expert" else sums
    assert gaps.mean() == pytest.approx((sums[:, 0] - sums[:, 2]).sum() / sums.sum())
