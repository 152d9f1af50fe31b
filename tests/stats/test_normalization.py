"""Rescaled labels against SciPy's ranks and z-scores."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from voirdire import InputError
from voirdire.stats import normalize_scale

labels = st.lists(st.integers(-5, 5).map(float) | st.just(np.nan), max_size=30)


@given(labels)
def test_ranks_are_those_of_scipy(values):
    n = np.count_nonzero(~np.isnan(values))
    expected = (stats.rankdata(values, nan_policy="omit") - 0.5) / max(n, 1)

    np.testing.assert_allclose(normalize_scale(values, method="rank"), expected, atol=1e-15)


@given(labels)
def test_zscores_are_those_of_scipy(values):
    known = np.asarray(values, dtype=float)
    known = known[~np.isnan(known)]

    scaled = normalize_scale(values, method="zscore")

    assert np.isnan(scaled).tolist() == np.isnan(np.asarray(values, dtype=float)).tolist()
    got = scaled[~np.isnan(scaled)]
    if len(np.unique(known)) > 1:
        np.testing.assert_allclose(got, stats.zscore(known), atol=1e-12)
    else:
        assert (got == 0).all()


@given(labels, st.sampled_from((0.5, 2.0, 64.0)), st.sampled_from((-8.0, 0.0, 3.0)))
def test_a_linear_change_of_scale_is_undone(values, factor, shift):
    moved = np.asarray(values, dtype=float) * factor + shift

    for method in ("zscore", "rank"):
        np.testing.assert_allclose(
            normalize_scale(moved, method=method),
            normalize_scale(values, method=method),
            atol=1e-12,
        )


def test_the_input_is_left_alone():
    values = np.array([1.0, 2.0, 3.0])

    normalize_scale(values, method="zscore")

    assert values.tolist() == [1.0, 2.0, 3.0]


def test_a_method_is_one_of_two_words():
    with pytest.raises(InputError, match="`method` must be one of 'zscore', 'rank'"):
        normalize_scale([1.0], method="minmax")
