"""The figures of the page: the one place that knows how they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec
from markupsafe import Markup

from voirdire.errors import InputError
from voirdire.reporting.plots.rows import contents_of

if TYPE_CHECKING:
    from voirdire._types import Language
    from voirdire.reporting.page.content import Report

__all__ = ["Drawer", "figures_css"]


class Drawer:
    """Draw the figures of one page.

    Parameters
    ----------
    report : Report
        What the page is made from, checked.
    language : {"en", "zh"}
        Of titles and axes.
    """

    def __init__(self, report: Report, language: Language) -> None:
        self._contents = contents_of(msgspec.to_builtins(report))
        self._language = language

    def __call__(self, kind: str, *, name: str, **which: Any) -> Markup | None:
        """Draw a figure as inline SVG; None where the JSON has not what it shows.

        Parameters
        ----------
        kind : str
            One of `voirdire.reporting.plots.PlotKind`.
        name : str
            Prefix of the ids within the figure: unique on the page.
        **which
            The question, alignment and judge.
        """
        from voirdire.reporting.plots import PlotKind, plot, to_svg
        from voirdire.reporting.plots.style import DRAWING

        if kind not in get_args(PlotKind):
            return None
        try:
            with DRAWING:
                drawn = plot(self._contents, kind=kind, language=self._language, **which)  # type: ignore[arg-type]
                return Markup(to_svg(drawn, name=name))  # noqa: S704  # escaped there
        except InputError:
            return None


def figures_css() -> Markup:
    """Return the colours of the figures, light and dark, as variables that the page uses too."""
    from voirdire.reporting.plots import theme_css

    return Markup(theme_css())  # noqa: S704  # ours
