"""Figures of every result, for Python and, as themed inline SVG, for the pages."""

from voirdire.reporting.plots.plot import PlotKind, draw_svg, plot
from voirdire.reporting.plots.style import theme_css
from voirdire.reporting.plots.svg import to_svg

__all__ = ["PlotKind", "draw_svg", "plot", "theme_css", "to_svg"]
