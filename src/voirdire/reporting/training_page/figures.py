"""The figures of a run's page: the one place that knows how they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.reporting.page_frame.figures import inline_svg

if TYPE_CHECKING:
    from markupsafe import Markup

    from voirdire._types import Language
    from voirdire.reporting.plots import PlotKind
    from voirdire.reporting.plots.training_sheet import TrainingSheet

__all__ = ["TrainingDrawer"]


class TrainingDrawer:
    """Draw the figures of one page.

    Parameters
    ----------
    sheet : TrainingSheet
        The columns of the run.
    language : {"en", "zh"}
        Of titles and axes.
    """

    def __init__(self, sheet: TrainingSheet, language: Language) -> None:
        self._sheet = sheet
        self._language = language

    def __call__(self, kind: PlotKind, *, name: str) -> Markup | None:
        """Draw a figure as inline SVG; None where the run has not what it shows.

        Parameters
        ----------
        kind : str
            One of `voirdire.reporting.plots.PlotKind`.
        name : str
            Prefix of the ids within the figure: unique on the page.
        """
        from voirdire.reporting.plots import plot

        return inline_svg(lambda: plot(self._sheet, kind=kind, language=self._language), name=name)
