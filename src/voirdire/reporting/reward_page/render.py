"""Make the page of a reward, or a chapter of another page: no scripts and no requests."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.reporting.page.appendix import drop_reasons, settings_rows
from voirdire.reporting.page.figures import figures_css
from voirdire.reporting.page.numerals import percent
from voirdire.reporting.page.shown import one_line
from voirdire.reporting.page.speech import Count, Interval, Label, Name, Verbatim
from voirdire.reporting.reward_page.drives import demand_of, short_feature
from voirdire.reporting.reward_page.figures import RewardDrawer
from voirdire.reporting.reward_page.numerals import share
from voirdire.reporting.reward_page.reading import read_reward_report
from voirdire.reporting.reward_page.signals import defined
from voirdire.reporting.reward_page.speaker import RewardSpeaker
from voirdire.reporting.reward_page.speech import Share
from voirdire.reporting.reward_page.use import class_rows
from voirdire.reporting.reward_page.views import MOST_DRAWN, reward_view

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from voirdire._types import Language
    from voirdire.reporting.reward_page.content import RewardReport
    from voirdire.studies.reward.result import RewardExamination

__all__ = ["reward_chapter", "reward_report", "reward_style"]

_TITLE_WIDTH = 200
_MOST_CLASSES = 100
_BESIDE = ("weights", "fit", "certificates")
"""Of the reward: shown as tables, or too long for a list of settings."""
_GLOSSARY = (
    "reward",
    "base_reward",
    "behavior",
    "completion",
    "label",
    "comparison",
    "proposition",
    "feature",
    "weight",
    "error_rate",
    "centred",
    "certificate",
    "router",
    "policy",
    "interval",
)


def reward_report(
    content: RewardExamination | dict[str, Any] | str | bytes,
    *,
    language: Language = "en",
    title: str | None = None,
    created: str | None = None,
    source: str = "reward.json",
) -> str:
    """Write the examination of a reward as one HTML page.

    Parameters
    ----------
    content : RewardExamination, dict, str or bytes
        What `examine_reward` returns, or what ``voirdire examine-reward --json`` prints: as text,
        bytes or decoded.
    language : {"en", "zh"}, optional
        English or Simplified Chinese.
    title : str, optional
        Heading of the page.
    created : str, optional
        Date to show; none by default, so that the same examination gives the same bytes.
    source : str, optional
        What errors call the content.

    Returns
    -------
    str
        A document of its own: no script, no font, picture or style from elsewhere.

    Raises
    ------
    InputError
        If the content is not the JSON of a reward's examination; the message names the place.

    Notes
    -----
    Names, labels and subsets are shortened, escaped and isolated; nothing in the content can act
    on the page. Figures are rounded on the page only.

    Examples
    --------
    >>> page = reward_report(
    ...     {
    ...         "schema": "voirdire.reward_examination/1",
    ...         "reward": {"name": "by hand"},
    ...         "n_items": 0, "n_prompts": 0, "n_comparisons": 0, "is_held_out": True,
    ...     }
    ... )
    >>> page[:15]
    '<!doctype html>'
    """
    speaker = RewardSpeaker(language)
    _check_text("title", title)
    _check_text("created", created)
    report = read_reward_report(content, source=source)
    template = _environment().get_template("reward_page.html.j2")
    return template.render(
        **_context(report, speaker),
        h=2,
        is_chapter=False,
        css=figures_css() + _page_style() + reward_style(),
        title=None if title is None else one_line(title, width=_TITLE_WIDTH),
        created=None if created is None else one_line(created, width=60),
        simulated=report.settings.get("simulated") is True,
    )


def reward_chapter(
    content: RewardExamination | dict[str, Any] | str | bytes,
    *,
    language: Language = "en",
    source: str = "reward.json",
) -> Markup:
    """Write the examination of a reward as a chapter of a page that has voirdire's style sheet.

    Parameters
    ----------
    content : RewardExamination, dict, str or bytes
        As for `reward_report`.
    language : {"en", "zh"}, optional
        That of the page.
    source : str, optional
        What errors call the content.

    Returns
    -------
    Markup
        One ``<article id="reward">``; every id in it begins with ``reward``. The page needs
        `reward_style` beside its own style.

    Raises
    ------
    InputError
        As for `reward_report`.
    """
    from markupsafe import Markup

    speaker = RewardSpeaker(language)
    report = read_reward_report(content, source=source)
    template = _environment().get_template("reward_chapter.html.j2")
    text = template.render(**_context(report, speaker), h=3, is_chapter=True)
    return Markup(text)  # noqa: S704  # escaped by the template


def reward_style() -> Markup:
    """Return the rules that a reward needs beside the style sheet of the page.

    Returns
    -------
    Markup
        CSS.
    """
    return _css("voirdire.reporting.reward_page", "reward.css")


def _page_style() -> Markup:
    return _css("voirdire.reporting.page", "report.css")


def _css(package: str, name: str) -> Markup:
    from markupsafe import Markup

    text = files(package).joinpath("templates", name).read_text("utf-8")
    return Markup(text)  # noqa: S704  # ours, and no other


def _check_text(name: str, value: object) -> None:
    if value is not None and (not isinstance(value, str) or not value.strip()):
        msg = f"`{name}` must be text, got {shorten(repr(value))}."
        raise InputError(msg)


def _environment() -> Environment:
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        loader=ChoiceLoader(
            [
                PackageLoader("voirdire.reporting.reward_page", "templates"),
                PackageLoader("voirdire.reporting.page", "templates"),
            ]
        ),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals |= {
        "Name": Name,
        "Label": Label,
        "Count": Count,
        "Verbatim": Verbatim,
        "Interval": Interval,
        "Share": Share,
        "percent": percent,
        "share": share,
        "defined": defined,
        "short_feature": short_feature,
        "demand_of": demand_of,
        "class_rows": class_rows,
    }
    return environment


def _context(report: RewardReport, speaker: RewardSpeaker) -> dict[str, Any]:
    from voirdire import __version__

    reasons, n_other_reasons = drop_reasons(report.dropped)
    known = {name: each for name, each in report.reward.items() if name not in _BESIDE}
    return {
        "report": report,
        "view": reward_view(report, speaker, version=__version__),
        "t": speaker,
        "draw": RewardDrawer(report, speaker.language),
        "version": __version__,
        "space": speaker.phrases["sentence.space"],
        "language": {"en": "en", "zh": "zh-Hans"}[speaker.language],
        "drop_reasons": reasons,
        "n_other_reasons": n_other_reasons,
        "run_settings": settings_rows(report.settings),
        "reward_settings": settings_rows(known),
        "glossary": _GLOSSARY,
        "most_drawn": MOST_DRAWN,
        "most_classes": _MOST_CLASSES,
    }
