"""Make the page of a training run: one self-contained HTML file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.errors import NoDataError
from voirdire.reporting.pages.frame import (
    check_text,
    draw_figure,
    page_environment,
    page_head,
    page_words,
    style_sheet,
)
from voirdire.reporting.pages.speech import Speaker, argument_of
from voirdire.reporting.pages.training_completions import make_end_cards
from voirdire.reporting.pages.training_sections import training_view
from voirdire.reporting.plots.training_sheet import make_training_sheet

if TYPE_CHECKING:
    from voirdire._types import Language
    from voirdire.rewards.training.run import TrainingRun

__all__ = ["training_report"]


def training_report(
    run: TrainingRun,
    *,
    language: Language = "en",
    title: str | None = None,
    created: str | None = None,
    source: str | None = None,
    texts: bool = False,
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
    texts : bool, optional
        Show the 20 completions with the highest and the 20 with the lowest rewards, with prompt
        and response as they stand in the run's folder; by default no text is on the page.

    Returns
    -------
    str
        A document of its own: no font, picture or style from elsewhere, and no script but the
        search and the filter of the completions.

    Raises
    ------
    InputError
        If an argument breaks a rule, or the completions cannot be read.
    NoDataError
        If the run has no steps.

    Notes
    -----
    Names, paths and texts are escaped and isolated, names and paths shortened too; nothing in the
    run can act on the page. Figures are rounded on the page only. With `texts`, memory is that of
    one batch of completions.
    """
    speaker = Speaker(language, "training")
    head = page_head(title=title, created=created)
    check_text("source", source)
    if not run.steps:
        msg = f"`run` must hold at least one step, got none in {shorten(str(run.folder))!r}."
        raise NoDataError(msg)
    sheet = make_training_sheet(run)
    named = argument_of(str(run.folder) if source is None else source)
    cards = make_end_cards(run, speaker) if texts else None
    template = page_environment().get_template("training_page.html.j2")
    return template.render(
        **page_words(speaker),
        **head,
        heading="training.page.title",
        css=style_sheet(),
        view=training_view(run, sheet, source=named, cards=cards),
        h=2,
        has_items=bool(cards),
        draw=partial(draw_figure, result=sheet, language=speaker.language),
    )
