"""The figures of the page: the one place that knows how they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import msgspec

from voirdire.reporting.page_frame.figures import inline_svg
from voirdire.reporting.plots.rows import contents_of

if TYPE_CHECKING:
    from markupsafe import Markup

    from voirdire._types import Language
    from voirdire.reporting.page.content import Report

__all__ = ["Drawer"]


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
        from voirdire.reporting.plots import PlotKind, plot

        if kind not in get_args(PlotKind):
            return None
        return inline_svg(
            lambda: plot(self._contents, kind=kind, language=self._language, **which),  # type: ignore[arg-type]
            name=name,
        )
