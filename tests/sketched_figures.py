"""Pages whose figures hold no marks: drawing them is most of a page's time, and few tests look.

Whatever chooses, checks and describes a figure runs as it does for a user; what is left out is what
matplotlib draws. A test that looks at the figures of a page asks for the fixture `drawn`.
"""

import sys

import pytest

from voirdire.reporting import plot, to_svg

_drawn = True


def are_drawn():
    """Whether figures hold their marks: a page that is kept for other tests is kept apart."""
    return _drawn


@pytest.fixture(autouse=True)
def sketched_figures(request, monkeypatch):
    """Leave the marks out of all figures."""
    if "drawn" not in request.fixturenames:
        monkeypatch.setattr("sketched_figures._drawn", False)
        frame = sys.modules[plot.__globals__["Frame"].__module__]
        monkeypatch.setattr(frame, "_draw_panel", lambda *_, **__: None)
        monkeypatch.setitem(to_svg.__globals__, "_draw_figure", lambda *_, **__: "<svg></svg>")


@pytest.fixture
def drawn():
    """Have figures drawn as they are for a user."""
