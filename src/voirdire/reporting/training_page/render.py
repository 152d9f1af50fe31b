"""Make the page of a training run: one file, no scripts and no requests."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.reporting.page.figures import figures_css
from voirdire.reporting.page.numerals import percent
from voirdire.reporting.page.shown import one_line
from voirdire.reporting.page.speech import Count, Name, Verbatim
from voirdire.reporting.plots.training_sheet import training_sheet
from voirdire.reporting.reward_page.numerals import share
from voirdire.reporting.training_page.figures import TrainingDrawer
from voirdire.reporting.training_page.speaker import TrainingSpeaker
from voirdire.reporting.training_page.speech import argument_of
from voirdire.reporting.training_page.views import training_view

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from voirdire._types import Language
    from voirdire.rewards.training.run import TrainingRun

__all__ = ["training_report"]

_TITLE_WIDTH = 200
_STYLES = (
    ("voirdire.reporting.page", "report.css"),
    ("voirdire.reporting.reward_page", "reward.css"),
    ("voirdire.reporting.training_page", "training.css"),
)
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
    for name, value in (("title", title), ("created", created), ("source", source)):
        _check_text(name, value)
    if not run.steps:
        msg = f"`run` must hold at least one step, got none in {shorten(str(run.folder))!r}."
        raise NoDataError(msg)
    sheet = training_sheet(run)
    named = argument_of(str(run.folder) if source is None else source)
    return (
        _environment()
        .get_template("training_page.html.j2")
        .render(
            **_context(speaker),
            view=training_view(run, sheet, source=named),
            run=run,
            draw=TrainingDrawer(sheet, speaker.language),
            title=None if title is None else one_line(title, width=_TITLE_WIDTH),
            created=None if created is None else one_line(created, width=60),
        )
    )


def _check_text(name: str, value: object) -> None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        msg = f"`{name}` must be text, got {shorten(repr(value))}."
        raise InputError(msg)


def _context(speaker: TrainingSpeaker) -> dict[str, Any]:
    from voirdire import __version__

    return {
        "t": speaker,
        "css": figures_css() + _styles(),
        "version": __version__,
        "space": speaker.phrases["sentence.space"],
        "language": {"en": "en", "zh": "zh-Hans"}[speaker.language],
        "glossary": _GLOSSARY,
    }


def _styles() -> Markup:
    from markupsafe import Markup

    texts = (files(each).joinpath("templates", name).read_text("utf-8") for each, name in _STYLES)
    return Markup("").join(map(Markup, texts))  # ours, and no other


def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        loader=ChoiceLoader(
            [
                PackageLoader("voirdire.reporting.training_page", "templates"),
                PackageLoader("voirdire.reporting.page", "templates"),
            ]
        ),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "Name": Name,
        "Count": Count,
        "Verbatim": Verbatim,
        "percent": percent,
        "share": share,
    }
    return environment
