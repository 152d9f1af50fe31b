"""Make the page of an examination: one self-contained HTML file."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from voirdire.errors import NoDataError
from voirdire.records.plain import without_nan
from voirdire.reporting.as_json import examination_from_json
from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.examination_items import add_texts
from voirdire.reporting.pages.examination_paper import alignment_words
from voirdire.reporting.pages.examination_sections import is_clear, worst_controls
from voirdire.reporting.pages.examination_verdicts import against, is_close, reference_of
from voirdire.reporting.pages.examination_views import (
    EXPLORED,
    MOST_JUDGES,
    count_items,
    explore_margins,
    family_tables,
    group_by_question,
    group_glances,
    question_view,
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
from voirdire.reporting.pages.speech import Listing, Margin, Name, Speaker, say
from voirdire.studies.whole_study import Examination

if TYPE_CHECKING:
    import polars as pl
    from jinja2 import Environment
    from markupsafe import Markup

    from voirdire._types import Language
    from voirdire.reporting.pages.examination_views import QuestionPart, QuestionView
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
    explore: bool = False,
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
    explore : bool, optional
        Let readers look at ω under other margins ε, which is exploratory.

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
    parts = group_by_question(report)
    template = _make_environment().get_template("page.html.j2")
    chapter = None if reward is None else reward_chapter(reward, language=speaker.language)
    return template.render(
        **_collect_content(report, parts, speaker, explore=explore, chapter=chapter),
        **head,
        draw=partial(
            draw_figure,
            result=report,
            language=speaker.language,
        ),
        css=style_sheet(),
    )


def _make_environment() -> Environment:
    return page_environment(
        say=say,
        is_defined=is_defined,
        Margin=Margin,
        against=against,
        is_close=is_close,
        worst_controls=worst_controls,
        is_clear=is_clear,
        alignment_words=alignment_words,
        majority_table=majority_table,
    )


def _collect_content(
    report: Examination,
    parts: tuple[QuestionPart, ...],
    speaker: Speaker,
    *,
    explore: bool,
    chapter: Markup | None,
) -> dict[str, Any]:
    words = page_words(speaker)
    reasons, n_other_reasons = drop_reasons(report.dropped)
    references: list[str] = list(dict.fromkeys(reference_of(part.main.first) for part in parts))
    shown = {"version": words["version"], "n_questions": len(parts)}
    views = [question_view(part, report, **shown) for part in parts]
    glances = group_glances(views)
    explored = {
        view.anchor: _write_explored_rates(view, speaker) if explore else {} for view in views
    }
    real_judges = _list_real_judges(report.settings)
    return {
        **words,
        "report": report,
        "views": views,
        "glances": glances,
        "reward": chapter,
        "has_items": any(view.items for view in views)
        or any(explored.values())
        or '<div class="items">' in (chapter or ""),
        "explored": explored,
        "examined_margins": {view.anchor: speaker.margin(view.main.epsilons[0]) for view in views},
        "explored_margins": json.dumps([speaker.margin(epsilon) for epsilon in EXPLORED]),
        "n_judges": len(_list_judges(parts)),
        "references": references,
        "heading": _choose_title(references),
        "n_annotators": len(_list_annotators(parts)),
        "n_items": count_items(parts),
        "tables": family_tables(parts),
        "drop_reasons": reasons,
        "n_other_reasons": n_other_reasons,
        "run_settings": settings_rows(without_nan(report.settings)),
        "glossary": _GLOSSARY,
        "most_pooled": 200,
        "most_open": 3,
        "most_ranked": 20,
        "most_drawn": 3,
        "simulated": report.settings.get("simulated") is True,
        "simulated_base": report.settings.get("simulated_base_rewards") is True,
        "real_judges": real_judges and Listing(tuple(Name(name) for name in real_judges)),
    }


def _write_explored_rates(view: QuestionView, speaker: Speaker) -> dict[str, str]:
    """Write ω of each judge at other margins, for the script."""
    found = explore_margins(view.main)
    return {name: json.dumps([*map(speaker.number, rates)]) for name, rates in found.items()}


def _choose_title(references: list[str]) -> str:
    """Give the key of the title: what all questions are held against, if it is the same."""
    [first, *others] = references
    return "page.title" if others or first == "leave_one_out" else f"page.title.{first}"


def _list_judges(parts: tuple[QuestionPart, ...]) -> list[str]:
    return list(dict.fromkeys(judge.judge for part in parts for judge in part.main.judges))


def _list_annotators(parts: tuple[QuestionPart, ...]) -> list[str]:
    names = (
        name
        for part in parts
        for judge in part.main.judges
        for name in (*(row.annotator for row in judge.rows[0].annotators), *judge.rows[0].untested)
    )
    return list(dict.fromkeys(names))


def _list_real_judges(settings: dict[str, Any]) -> list[str]:
    """Name the judges of a demonstration that are real."""
    named = settings.get("real_judges")
    found = named if isinstance(named, list) else []
    return [name for name in found if isinstance(name, str)][:MOST_JUDGES]
