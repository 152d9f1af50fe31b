"""Make the page of a reward, or its chapter on the page of an examination."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.reporting.pages.frame import (
    drop_reasons,
    inline_svg,
    page_environment,
    page_head,
    page_words,
    settings_rows,
    style_sheet,
)
from voirdire.reporting.pages.reward_record import read_reward_report
from voirdire.reporting.pages.reward_sections import (
    MOST_DRAWN,
    class_rows,
    defined,
    demand_of,
    reward_view,
    short_feature,
)
from voirdire.reporting.pages.speech import Speaker

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from voirdire._types import Language
    from voirdire.reporting.pages.reward_record import RewardReport
    from voirdire.reporting.plots import PlotKind
    from voirdire.studies.reward.result import RewardExamination

__all__ = ["RewardDrawer", "reward_chapter", "reward_report"]


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
    speaker = Speaker(language, "reward")
    head = page_head(title=title, created=created)
    report = read_reward_report(content, source=source)
    template = _environment().get_template("reward_page.html.j2")
    return template.render(
        **_context(report, speaker),
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

    speaker = Speaker(language, "reward")
    report = read_reward_report(content, source=source)
    template = _environment().get_template("reward_chapter.html.j2")
    text = template.render(**_context(report, speaker), h=3, is_chapter=True)
    return Markup(text)  # noqa: S704  # escaped by the template


def _environment() -> Environment:
    return page_environment(
        defined=defined,
        short_feature=short_feature,
        demand_of=demand_of,
        class_rows=class_rows,
    )


def _context(report: RewardReport, speaker: Speaker) -> dict[str, Any]:
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
