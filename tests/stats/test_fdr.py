"""Benjamini-Yekutieli and Benjamini-Hochberg against SciPy and by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from alt_test_oracle import benjamini
from voirdire import InputError
from voirdire.stats import benjamini_hochberg, benjamini_yekutieli

p_values = st.lists(st.floats(0, 1) | st.sampled_from((0.0, 0.01, 0.05, 1.0)), min_size=1)


@given(p_values, st.sampled_from((0.01, 0.05, 0.2)))
def test_rejections_are_those_of_the_oracle(p, q):
    assert benjamini_yekutieli(p, false_discovery_rate=q).tolist() == benjamini(
        p, q, yekutieli=True
    )
    assert benjamini_hochberg(p, false_discovery_rate=q).tolist() == benjamini(
        p, q, yekutieli=False
    )


@pytest.mark.parametrize(
    ("method", "mine"), [("by", benjamini_yekutieli), ("bh", benjamini_hochberg)]
)
def test_rejections_are_those_of_scipy(method, mine):
    rng = np.random.default_rng(3)
    for _ in range(200):
        p = rng.beta(0.3, 3.0, rng.integers(1, 12))

        assert mine(p).tolist() == (false_discovery_control(p, method=method) <= 0.05).tolist()


def test_thresholds_by_hand():
    # m = 3, H = 11/6: BY rejects up to i * .05 / 5.5 = .00909, .01818, .02727; BH .01667, ...
    assert benjamini_yekutieli([0.027, 0.012, 0.019]).tolist() == [True, True, True]
    assert benjamini_yekutieli([0.028, 0.012, 0.019]).tolist() == [False, False, False]
    assert benjamini_hochberg([0.9, 0.012, 0.034]).tolist() == [False, True, False]
    # a p-value at its threshold is rejected
    assert benjamini_hochberg([0.05], false_discovery_rate=0.05).tolist() == [True]
    assert benjamini_yekutieli([0.05], false_discovery_rate=0.05).tolist() == [True]


def test_an_untested_hypothesis_does_not_count():
    # Alone .04 is rejected at .05; among two, BY asks for .05 / (2 * 1.5).
    assert benjamini_yekutieli([0.04, math.nan]).tolist() == [True, False]
    assert benjamini_yekutieli([0.04, 1.0]).tolist() == [False, False]
    assert not benjamini_yekutieli([math.nan, math.nan]).any()


def test_leading_axes_are_separate_families():
    families = [[[0.04, math.nan], [0.04, 0.9]], [[0.001, 0.02], [math.nan, math.nan]]]

    together = benjamini_yekutieli(families)

    assert together.shape == (2, 2, 2)
    for place in np.ndindex(2, 2):
        alone = benjamini_yekutieli(np.asarray(families)[place])
        assert together[place].tolist() == alone.tolist()


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4)])
def test_no_hypotheses_no_rejections(shape):
    assert benjamini_yekutieli(np.zeros(shape)).shape == shape


@pytest.mark.parametrize("rate", [0, 1, -0.1, 5, math.nan])
@pytest.mark.parametrize("function", [benjamini_yekutieli, benjamini_hochberg])
def test_a_rate_is_a_fraction(rate, function):
    with pytest.raises(InputError, match="`false_discovery_rate` must be"):
        function([0.1], false_discovery_rate=rate)
