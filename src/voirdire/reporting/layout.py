"""Lay a result out once, for its page, a terminal and pictures."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from voirdire._types import Language
    from voirdire.reporting.pages.view import View

_VIEWS = {
    "AltTestResult": "examination.examination_view",
    "BatchRun": "verdicts.batches_view",
    "Certificate": "results.certificate_view",
    "CriteriaScores": "reward.criteria_view",
    "Examination": "examination.examination_view",
    "FolderScores": "reward.folder_view",
    "FolderSummary": "verdicts.folder_view",
    "GoldExamination": "results_sections.gold_view",
    "JudgingSummary": "verdicts.judging_view",
    "LabellingProgress": "labelling.labelling_view",
    "PowerResult": "results.power_view",
    "ProbeReport": "results_sections.probes_view",
    "RateReport": "results_sections.rates_view",
    "ReplyListing": "verdicts.replies_view",
    "RewardExamination": "reward.reward_view",
    "RewardFit": "reward.fit_view",
    "RewardModel": "reward.model_view",
    "RubricCheck": "verdicts.check_view",
    "ScoringSummary": "reward.score_view",
    "SeveralJudged": "verdicts.several_view",
    "SynthesisSummary": "reward.synthesis_view",
    "TrainingRun": "training.training_view",
    "TrainingSample": "training.sample_view",
}
"""What lays out a result, by the name of its type: only what is used is loaded."""


def rows(result: Any, **options: Any) -> View:
    """Lay out what a result says: sentences, tables and charts in order.

    Parameters
    ----------
    result : Examination, JudgingSummary, RewardModel or other
        What was found: whatever `alt_test`, `examine`, `power`, `judge`, `fit`, `score`, their like
        and their readers return.
    **options
        What belongs to a kind of result: `changes` of a certificate; `reward` of an examination,
        the examination of one that rests on its judges; of a training run `source`, what commands
        call its folder, and `texts`, whether its completions with the highest and the lowest
        rewards are shown.

    Returns
    -------
    View
        What a page shows, and a terminal.

    Raises
    ------
    InputError
        If the result is of another type.
    """
    place = _VIEWS.get(type(result).__name__)
    if place is None:
        msg = f"`result` must be one of {', '.join(_VIEWS)}, got {shorten(repr(result))}."
        raise InputError(msg)
    module, _, name = place.partition(".")
    view: Callable[..., View] = getattr(import_module(f"voirdire.reporting.pages.{module}"), name)
    return view(result, **options)


def html_page(
    result: Any,
    *,
    language: Language = "en",
    title: str | None = None,
    **options: Any,
) -> str:
    """Write a result as one HTML page that can be read without a statistician.

    Parameters
    ----------
    result : Examination, AltTestResult, GoldExamination, RateReport or other
        What was found: whatever `rows` takes; of a file what `from_json` reads.
    language : {"en", "zh"}, optional
        English or Simplified Chinese.
    title : str, optional
        Heading of the page.
    **options
        What belongs to a kind of result, as of `rows`.

    Returns
    -------
    str
        A document of its own: no font, picture or style from elsewhere, and a script only where
        there are items to filter.

    Raises
    ------
    InputError
        If the result is of another type.

    Notes
    -----
    Names and texts are shortened, escaped and isolated; nothing in the result can act on the page.
    Figures are rounded on the page only.

    Examples
    --------
    >>> from voirdire.reporting import html_page
    >>> from voirdire.stats import power
    >>> found = power(human_noise=0.1, judge_noise=0.1, n_items=50, n_simulations=50)
    >>> html_page(found)[:15]
    '<!doctype html>'
    """
    from voirdire.reporting.pages.frame import render_page

    view = rows(result, **options)
    return render_page(view, language=language, title=title)
