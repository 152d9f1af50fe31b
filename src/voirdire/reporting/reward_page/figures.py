"""The figures of a reward's page: the one place that knows how they are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.reporting.page_frame.figures import inline_svg

if TYPE_CHECKING:
    from markupsafe import Markup

    from voirdire._types import Language
    from voirdire.reporting.plots import PlotKind
    from voirdire.reporting.reward_page.content import RewardReport

__all__ = ["RewardDrawer"]


class RewardDrawer:
    """Draw the figures of one page.

    Parameters
    ----------
    report : RewardReport
        What the page is made from, checked.
    language : {"en", "zh"}
        Of titles and axes.
    """

    def __init__(self, report: RewardReport, language: Language) -> None:
        self._plain: dict[str, Any] = msgspec.to_builtins(report)
        self._language = language

    def __call__(self, kind: PlotKind, *, name: str, behavior: str | None = None) -> Markup | None:
        """Draw a figure as inline SVG; None where the JSON has not what it shows.

        Parameters
        ----------
        kind : str
            One of `voirdire.reporting.plots.PlotKind`.
        name : str
            Prefix of the ids within the figure: unique on the page.
        behavior : str, optional
            Of histograms and drives.
        """
        from voirdire.reporting.plots import plot

        return inline_svg(
            lambda: plot(self._plain, kind=kind, behavior=behavior, language=self._language),
            name=name,
        )
