"""Make the page of a training run: one self-contained HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import NoDataError
from voirdire.reporting.pages.frame import (
    check_text,
    inline_svg,
    page_environment,
    page_head,
    page_words,
    style_sheet,
)
from voirdire.reporting.pages.speech import Speaker, argument_of
from voirdire.reporting.pages.training_sections import training_view
from voirdire.reporting.plots.training_sheet import training_sheet

if TYPE_CHECKING:
    from markupsafe import Markup

    from voirdire._types import Language
    from voirdire.reporting.plots import PlotKind
    from voirdire.reporting.plots.training_sheet import TrainingSheet
    from voirdire.rewards.training.run import TrainingRun

__all__ = ["TrainingDrawer", "training_report"]


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


_GLOSSARY = ("step", "reward", "proposition", "class", "group", "reference")


def training_report(
    run: TrainingRun,
    *,
    language: Language = "en",
    title: str | None = None,
    created: str | None = None,
    source: str | None = None,
) -> str:
    """Write a training run as one HTML page.

    Parameters
    ----------
    run : TrainingRun
        What `read_training_run` returns.
    language : {"en", "zh"}, optional
        English or Simplified Chinese.
    title : str, optional
        Heading of the page.
    created : str, optional
        Date to show; none by default, so that the same run gives the same bytes.
    source : str, optional
        What commands on the page call the run's folder; by default as it was read.

    Returns
    -------
    str
        A document of its own: no script, no font, picture or style from elsewhere.

    Raises
    ------
    InputError
        If an argument breaks a rule.
    NoDataError
        If the run has no steps.

    Notes
    -----
    Names and paths are shortened, escaped and isolated; nothing in the run can act on the page. No
    text of a prompt or a response is on it. Figures are rounded on the page only.
    """
    speaker = Speaker(language, "training")
    head = page_head(title=title, created=created)
    check_text("source", source)
    if not run.steps:
        msg = f"`run` must hold at least one step, got none in {shorten(str(run.folder))!r}."
        raise NoDataError(msg)
    sheet = training_sheet(run)
    named = argument_of(str(run.folder) if source is None else source)
    template = page_environment().get_template("training_page.html.j2")
    return template.render(
        **page_words(speaker),
        **head,
        heading="training.page.title",
        css=style_sheet(),
        view=training_view(run, sheet, source=named),
        run=run,
        draw=TrainingDrawer(sheet, speaker.language),
        glossary=_GLOSSARY,
    )
