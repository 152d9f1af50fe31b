"""Labels that keep apart, and keys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.reporting.plots.canvas import nice_ticks
from voirdire.reporting.plots.marks import mark_style, spread
from voirdire.reporting.plots.style import LIGHT


def test_labels_that_are_apart_stay():
    assert spread([10, 40, 90], gap=15, low=0, high=100) == [10, 40, 90]


def test_labels_at_one_place_fan_out_around_it():
    assert spread([50, 50, 50], gap=10, low=0, high=100) == pytest.approx([40, 50, 60])


def test_labels_stay_within_the_axes():
    assert spread([100, 100, 0], gap=10, low=0, high=100) == pytest.approx([90, 100, 0])


@given(st.lists(st.floats(0, 100), min_size=1, max_size=10))
def test_labels_never_collide_and_keep_their_order(places):
    moved = spread(places, gap=10, low=0, high=100)

    order = np.argsort(places, kind="stable")
    assert (np.diff(np.array(moved)[order]) >= 10 - 1e-9).all()
    assert min(moved) >= 0
    assert max(moved) <= 100 + 1e-9


def test_outcomes_differ_in_shape_not_only_in_colour():
    passed, failed, unsure = (mark_style(o, "#000000") for o in ("passed", "failed", "no_evidence"))

    assert passed["markerfacecolor"] == "#000000"
    assert failed["markerfacecolor"] == LIGHT["paper"]
    assert unsure["marker"] == "X"


def test_ticks_lie_within_the_scale():
    assert nice_ticks(0.31, 1.02) == pytest.approx([0.4, 0.6, 0.8, 1.0])
