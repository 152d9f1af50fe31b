"""Make the page of a reward, or a chapter of another page: no scripts and no requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.reporting.page_frame.document import (
    page_environment,
    page_head,
    page_words,
    style_sheet,
)
from voirdire.reporting.page_frame.dropped import drop_reasons
from voirdire.reporting.page_frame.settings import settings_rows
from voirdire.reporting.reward_page.drives import demand_of, short_feature
from voirdire.reporting.reward_page.figures import RewardDrawer
from voirdire.reporting.reward_page.reading import read_reward_report
from voirdire.reporting.reward_page.signals import defined
from voirdire.reporting.reward_page.speaker import RewardSpeaker
from voirdire.reporting.reward_page.use import class_rows
from voirdire.reporting.reward_page.views import MOST_DRAWN, reward_view

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from voirdire._types import Language
    from voirdire.reporting.reward_page.content import RewardReport
    from voirdire.studies.reward.result import RewardExamination

__all__ = ["reward_chapter", "reward_report", "reward_style"]

_STYLE = ("voirdire.reporting.reward_page", "reward.css")
_MOST_CLASSES = 100
_BESIDE = ("weights", "fit", "against_demands", "certificates")
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
    head = page_head(title=title, created=created)
    report = read_reward_report(content, source=source)
    template = _environment().get_template("reward_page.html.j2")
    return template.render(
        **_context(report, speaker),
        **head,
        heading="reward.page.title",
        h=2,
        is_chapter=False,
        css=style_sheet(_STYLE),
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
    return style_sheet(_STYLE, is_page=False)


def _environment() -> Environment:
    return page_environment(
        "voirdire.reporting.reward_page",
        defined=defined,
        short_feature=short_feature,
        demand_of=demand_of,
        class_rows=class_rows,
    )


def _context(report: RewardReport, speaker: RewardSpeaker) -> dict[str, Any]:
    words = page_words(speaker)
    reasons, n_other_reasons = drop_reasons(report.dropped)
    known = {name: each for name, each in report.reward.items() if name not in _BESIDE}
    return {
        **words,
        "report": report,
        "view": reward_view(report, speaker, version=words["version"]),
        "draw": RewardDrawer(report, speaker.language),
        "drop_reasons": reasons,
        "n_other_reasons": n_other_reasons,
        "run_settings": settings_rows(report.settings),
        "reward_settings": settings_rows(known),
        "glossary": _GLOSSARY,
        "most_drawn": MOST_DRAWN,
        "most_classes": _MOST_CLASSES,
    }
