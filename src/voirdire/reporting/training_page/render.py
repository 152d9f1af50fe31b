"""Make the page of a training run: one file, no scripts and no requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import NoDataError
from voirdire.reporting.page_frame.document import (
    check_text,
    page_environment,
    page_head,
    page_words,
    style_sheet,
)
from voirdire.reporting.plots.training_sheet import training_sheet
from voirdire.reporting.training_page.figures import TrainingDrawer
from voirdire.reporting.training_page.speaker import TrainingSpeaker
from voirdire.reporting.training_page.speech import argument_of
from voirdire.reporting.training_page.views import training_view

if TYPE_CHECKING:
    from voirdire._types import Language
    from voirdire.rewards.training.run import TrainingRun

__all__ = ["training_report"]

_PACKAGE = "voirdire.reporting.training_page"
_STYLES = (("voirdire.reporting.reward_page", "reward.css"), (_PACKAGE, "training.css"))
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
    speaker = TrainingSpeaker(language)
    head = page_head(title=title, created=created)
    check_text("source", source)
    if not run.steps:
        msg = f"`run` must hold at least one step, got none in {shorten(str(run.folder))!r}."
        raise NoDataError(msg)
    sheet = training_sheet(run)
    named = argument_of(str(run.folder) if source is None else source)
    template = page_environment(_PACKAGE).get_template("training_page.html.j2")
    return template.render(
        **page_words(speaker),
        **head,
        heading="training.page.title",
        css=style_sheet(*_STYLES),
        view=training_view(run, sheet, source=named),
        run=run,
        draw=TrainingDrawer(sheet, speaker.language),
        glossary=_GLOSSARY,
    )
