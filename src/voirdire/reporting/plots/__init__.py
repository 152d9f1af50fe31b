"""Figures of an examination, for Python and, as themed inline SVG, for the report."""

from voirdire.reporting.plots.plot import PlotKind, draw_power, plot
from voirdire.reporting.plots.style import theme_css
from voirdire.reporting.plots.svg import to_svg

__all__ = ["PlotKind", "draw_power", "plot", "theme_css", "to_svg"]
