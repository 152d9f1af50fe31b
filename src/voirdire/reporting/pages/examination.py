"""Make the page of an examination: one self-contained HTML file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from voirdire.errors import NoDataError
from voirdire.records.plain import without_nan
from voirdire.reporting.as_json import examination_from_json
from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages import examination_paper as paper
from voirdire.reporting.pages import examination_sections as sections
from voirdire.reporting.pages import examination_verdicts as verdicts
from voirdire.reporting.pages.examination_cautions import collect_cautions
from voirdire.reporting.pages.examination_items import add_texts, make_disputed_cards
from voirdire.reporting.pages.examination_views import (
    annotator_rows,
    count_items,
    group_by_question,
    group_glances,
)
from voirdire.reporting.pages.frame import (
    draw_figure,
    drop_reasons,
    page_environment,
    page_head,
    page_words,
    settings_rows,
    style_sheet,
)
from voirdire.reporting.pages.results_sections import majority_table
from voirdire.reporting.pages.speech import Listing, Margin, Name, Speaker
from voirdire.studies.whole_study import Examination

if TYPE_CHECKING:
    import polars as pl
    from markupsafe import Markup

    from voirdire._types import Language
    from voirdire.studies.reward.result import RewardExamination

__all__ = ["html_report"]


_GLOSSARY = (
    "alternative_annotator_test",
    "item",
    "annotator",
    "judge",
    "alignment",
    "epsilon",
    "advantage_probability",
    "winning_rate",
    "outcome",
    "tie",
    "control",
    "ceiling",
    "kappa",
    "alpha",
    "gwet_ac",
    "false_discovery_rate",
    "interval",
    "stability",
)


def html_report(
    content: dict[str, Any] | Examination | str | bytes,
    *,
    language: Language = "en",
    title: str | None = None,
    created: str | None = None,
    source: str = "report.json",
    reward: dict[str, Any] | RewardExamination | str | bytes | None = None,
    items: pl.DataFrame | None = None,
) -> str:
    """Write an examination as one HTML page that can be read without a statistician.

    Parameters
    ----------
    content : dict, Examination, str or bytes
        An examination, or what `voirdire examine --json` prints: as text, bytes or decoded.
        Missing newer keys are allowed.
    language : {"en", "zh"}, optional
        English or Simplified Chinese.
    title : str, optional
        Heading of the page.
    created : str, optional
        Date to show; none by default, so that the same examination gives the same bytes.
    source : str, optional
        What errors call the content.
    reward : dict, RewardExamination, str or bytes, optional
        The examination of a reward that rests on the judge, as a chapter of the same page.
    items : polars.DataFrame, optional
        What is known of the items in dispute, as `voirdire.io.read_metadata` gives it, beside what
        the content says of them.

    Returns
    -------
    str
        A document of its own: no script, font, picture or style from elsewhere.

    Raises
    ------
    InputError
        If the content is not the JSON of an examination; the message names the place.
    NoDataError
        If it has no examination.

    Notes
    -----
    Names, labels and items are shortened, escaped and isolated; nothing in the content can act on
    the page. Figures are rounded on the page only.

    Examples
    --------
    >>> import voirdire
    >>> from voirdire.studies import Examination
    >>> judge = {i: i % 2 for i in range(60)}
    >>> humans = {
    ...     name: {i: 1 - x if i % 12 == slip else x for i, x in judge.items()}
    ...     for slip, name in enumerate(["ann", "bob", "eve"])
    ... }
    >>> result = voirdire.alt_test(judge, humans)
    >>> html_report(Examination(results=(result,)))[:15]
    '<!doctype html>'
    """
    from voirdire.reporting.pages.reward import reward_chapter

    speaker = Speaker(language, "examination")
    head = page_head(title=title, created=created)
    report = content
    if not isinstance(report, Examination):
        report = examination_from_json(report, source=source)
    if items is not None:
        report = add_texts(report, items)
    if not report.results:
        msg = f"{source}: $.examinations must hold at least one examination, got none."
        raise NoDataError(msg)
    chapter = None if reward is None else reward_chapter(reward, language=speaker.language)
    environment = page_environment(
        is_defined=is_defined,
        Margin=Margin,
        paper=paper,
        sections=sections,
        verdicts=verdicts,
        annotator_rows=annotator_rows,
        collect_cautions=collect_cautions,
        majority_table=majority_table,
        make_disputed_cards=make_disputed_cards,
    )
    return environment.get_template("page.html.j2").render(
        **_collect_content(report, speaker, chapter=chapter),
        **head,
        draw=partial(draw_figure, result=report, language=speaker.language),
        css=style_sheet(),
    )


def _collect_content(
    report: Examination, speaker: Speaker, *, chapter: Markup | None
) -> dict[str, Any]:
    parts = group_by_question(report)
    reasons, n_other_reasons = drop_reasons(report.dropped)
    references = list(dict.fromkeys(verdicts.reference_of(part.main.first) for part in parts))
    has_items = any(part.found.disputed for part in parts)
    [reference, *other_references] = references
    # the title says what all questions are held against, if it is the same
    is_plain = other_references or reference == "leave_one_out"
    named = report.settings.get("real_judges")  # of a demonstration
    real_judges = [x for x in named if isinstance(x, str)] if isinstance(named, list) else []
    return {
        **page_words(speaker),
        "report": report,
        "parts": parts,
        "glances": group_glances(parts),
        "reward": chapter,
        "has_items": has_items or '<div class="items">' in (chapter or ""),
        "n_judges": len({judge.judge for part in parts for judge in part.main.judges}),
        "references": references,
        "heading": "page.title" if is_plain else f"page.title.{reference}",
        "n_annotators": len({name for part in parts for name in part.annotators}),
        "n_items": count_items(parts),
        "families": [part.main for part in parts] + [x for part in parts for x in part.others],
        "drop_reasons": reasons,
        "n_other_reasons": n_other_reasons,
        "run_settings": settings_rows(without_nan(report.settings)),
        "glossary": _GLOSSARY,
        "most_pooled": 200,
        "most_open": 3,
        "most_rows": 1_500,
        "most_warned": 100,
        "most_diagnosed": 8,
        "most_ranked": 20,
        "simulated": report.settings.get("simulated") is True,
        "simulated_base": report.settings.get("simulated_base_rewards") is True,
        "real_judges": real_judges and Listing(tuple(Name(name) for name in real_judges)),
    }
