"""How a figure gets onto a page: as inline SVG, in colours that follow light and dark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from markupsafe import Markup

from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.figure import Figure

__all__ = ["figures_css", "inline_svg"]


def inline_svg(draw: Callable[[], Figure], *, name: str) -> Markup | None:
    """Draw a figure as inline SVG; None where there is not what it shows.

    Parameters
    ----------
    draw : callable
        Gives the figure, or raises `InputError` where it has nothing to draw.
    name : str
        Prefix of the ids within the figure: unique on the page.

    Returns
    -------
    Markup or None
        One ``<svg>``.
    """
    from voirdire.reporting.plots import to_svg
    from voirdire.reporting.plots.style import DRAWING

    try:
        with DRAWING:
            return Markup(to_svg(draw(), name=name))  # noqa: S704  # escaped there
    except InputError:
        return None


def figures_css() -> Markup:
    """Return the colours of the figures, light and dark, as variables that the page uses too."""
    from voirdire.reporting.plots import theme_css

    return Markup(theme_css())  # noqa: S704  # ours
