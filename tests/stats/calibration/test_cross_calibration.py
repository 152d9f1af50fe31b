import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit

from voirdire.errors import InputError
from voirdire.stats import cross_calibrate, fit_calibrator, group_folds


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=60),
    st.integers(2, 5),
    st.integers(0, 3),
)
def test_folds_part_the_items_and_split_no_group(groups, n_folds, seed):
    if len(set(groups)) < n_folds:
        groups = [*groups, *range(100, 100 + n_folds)]

    folds = group_folds(groups, n_folds=n_folds, seed=seed)

    assert set(folds.tolist()) == set(range(n_folds))
    assert len({(group, fold) for group, fold in zip(groups, folds.tolist(), strict=True)}) == len(
        set(groups)
    )
    largest = max(groups.count(group) for group in groups)
    assert np.ptp(np.bincount(folds)) <= largest


def test_the_same_seed_gives_the_same_folds():
    first, second, other = (group_folds(range(50), seed=seed) for seed in (3, 3, 4))

    assert (first == second).all()
    assert (first != other).any()


def test_a_group_does_not_see_its_own_truth():
    rng = np.random.default_rng(5)
    p = rng.random(120)
    groups = np.repeat(np.arange(40), 3)
    truths = rng.random(120) < p
    turned = truths.copy()
    turned[groups == 7] = ~turned[groups == 7]

    before = cross_calibrate(p, truths, groups=groups)
    after = cross_calibrate(p, turned, groups=groups)

    fold = group_folds(groups)
    same = fold == fold[groups == 7][0]
    np.testing.assert_array_equal(before[same], after[same])
    assert (before[~same] != after[~same]).all()


def test_each_fold_is_calibrated_by_the_others():
    rng = np.random.default_rng(8)
    p = rng.random(90)
    truths = rng.random(90) < expit(0.5 * logit(p))
    folds = group_folds(np.arange(90), n_folds=3, seed=2)

    found = cross_calibrate(p, truths, method="temperature", n_folds=3, seed=2)

    for fold in range(3):
        others = fit_calibrator(p[folds != fold], truths[folds != fold], method="temperature")
        np.testing.assert_array_equal(found[folds == fold], others.apply(p[folds == fold]))


def test_too_few_groups_are_named():
    with pytest.raises(InputError, match="at least as many as folds, got 2 for 5 folds"):
        group_folds(["a", "a", "b"])
