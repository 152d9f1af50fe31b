"""Figures of every result, for Python and, as themed inline SVG, for the pages.

Everything is loaded when it is first used: a table needs no plotting library.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.reporting.plots.figure import to_svg
    from voirdire.reporting.plots.kinds import PlotKind, draw_svg, plot
    from voirdire.reporting.plots.style import theme_css

__all__ = ["PlotKind", "draw_svg", "plot", "theme_css", "to_svg"]

_HOME = {"PlotKind": "kinds", "draw_svg": "kinds", "plot": "kinds", "theme_css": "style",
         "to_svg": "figure"}  # fmt: skip

__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOME)
