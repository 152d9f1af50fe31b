"""Figures drawn by several threads at once: matplotlib's settings belong to the whole process."""

import io
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import matplotlib as mpl
import pytest

from voirdire.reporting import plot, to_svg

KINDS = ("advantage", "winning_rate", "scatter")


@pytest.fixture
def impatient():
    """Let threads take turns so often that they meet within a figure."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(interval)


def in_threads(draw, n=4):
    with ThreadPoolExecutor(4) as threads:
        return list(threads.map(lambda _: draw(), range(n)))


def draw_figures(study):
    return "".join(to_svg(plot(study, kind=kind), name=kind) for kind in KINDS)


@pytest.mark.ci
def test_four_threads_give_the_bytes_of_one_and_leave_no_trace(make_study, impatient):
    study = make_study(("best", "评判员"))
    alone = draw_figures(study)
    settings, filters = dict(mpl.rcParams), list(warnings.filters)

    drawn = in_threads(lambda: draw_figures(study))

    assert set(drawn) == {alone}
    assert dict(mpl.rcParams) == settings
    assert list(warnings.filters) == filters


@pytest.mark.ci
def test_pictures_may_be_saved_while_pages_are_drawn(make_study, make_power, impatient):
    study, power = make_study(), make_power()

    def draw():
        saved = io.BytesIO()
        plot(power).savefig(saved, format="svg", metadata={"Date": None})
        return (
            to_svg(plot(study), name="x"),
            "<text" in saved.getvalue().decode(),  # a page's text stays text, a picture's does not
        )

    alone = draw()
    settings, filters = dict(mpl.rcParams), list(warnings.filters)

    drawn = in_threads(draw)

    assert set(drawn) == {alone}
    assert dict(mpl.rcParams) == settings
    assert list(warnings.filters) == filters
