"""The page of a reward, and its chapter on the page of an examination."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from voirdire.reporting.pages.frame import (
    draw_figure,
    page_environment,
    page_head,
    page_words,
    style_sheet,
)
from voirdire.reporting.pages.reward_facts import name_rules
from voirdire.reporting.pages.reward_sections import reward_view
from voirdire.reporting.pages.speech import Speaker
from voirdire.reporting.reward_json import reward_examination_as_dict, reward_examination_from_json
from voirdire.studies.reward.result import RewardExamination

if TYPE_CHECKING:
    from markupsafe import Markup

    from voirdire._types import Language

__all__ = ["reward_chapter", "reward_report"]


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
        A document of its own: no font, picture, style or script from elsewhere.

    Raises
    ------
    InputError
        If the content is not the JSON of a reward's examination; the message names the place.

    Notes
    -----
    Names, labels, subsets and texts are shortened, escaped and isolated; nothing in the content can
    act on the page. Figures are rounded on the page only.

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
    speaker = Speaker(language, "reward")
    head = page_head(title=title, created=created)
    report = _read(content, source=source)
    return _render(
        "reward_page.html.j2",
        report,
        speaker,
        **head,
        heading="reward.page.title",
        h=2,
        is_chapter=False,
        css=style_sheet(),
        simulated=report.settings.get("simulated") is True,
    )


def reward_chapter(
    content: RewardExamination | dict[str, Any] | str | bytes,
    *,
    language: Language = "en",
    source: str = "reward.json",
) -> Markup:
    """Write the examination of a reward as a chapter of a page that has the style sheet.

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
        One ``<article id="reward">``; every id in it begins with ``reward``.

    Raises
    ------
    InputError
        As for `reward_report`.
    """
    from markupsafe import Markup

    report, speaker = _read(content, source=source), Speaker(language, "reward")
    text = _render("reward_body.html.j2", report, speaker, h=3, is_chapter=True)
    return Markup(text)  # noqa: S704  # escaped by the template


def _read(content: Any, *, source: str) -> RewardExamination:
    if isinstance(content, RewardExamination):
        content = reward_examination_as_dict(content)
    return name_rules(reward_examination_from_json(content, source=source))


def _render(template: str, report: RewardExamination, speaker: Speaker, **more: Any) -> str:
    return (
        page_environment()
        .get_template(template)
        .render(
            **page_words(speaker),
            view=reward_view(report, speaker),
            draw=partial(draw_figure, result=report, language=speaker.language),
            **more,
        )
    )
