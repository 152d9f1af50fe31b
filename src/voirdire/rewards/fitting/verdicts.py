"""The verdicts that a fit rests on: read, or given by a judge now."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.io import read_verdicts
from voirdire.io.rbr_files import is_rbr_file, read_rbr_verdicts
from voirdire.judging.answering import judge_by_plan
from voirdire.records.thresholds import threshold_on, threshold_words
from voirdire.rewards.fitting.result import FitProgress
from voirdire.rewards.reward_judge import RewardJudge, reward_judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from voirdire._types import Judged, Threshold
    from voirdire.judging import JudgingProgress, LlmJudge
    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item, Verdicts
    from voirdire.rubrics import Rubric

__all__ = ["FitVerdicts", "fit_verdicts"]


@dataclass(frozen=True, kw_only=True, eq=False)
class FitVerdicts:
    """Where the verdicts of a fit come from: a plan to judge by, or verdicts that there are.

    Attributes
    ----------
    given : Verdicts or None
        Verdicts that there are.
    rbr_file : object
        A file of the authors of rule-based rewards, whose rows are found by their texts.
    rubric : Rubric
        What is asked.
    plan : JudgingPlan or None
        Judge and rubric, where items are to be judged.
    made_from : object
        What the judge of the plan was named by.
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        What of a response is judged.
    threshold : float, mapping of str to float, or None
        Of a file of the authors.
    """

    given: Verdicts | None = None
    rbr_file: Any = field(default=None, repr=False)
    rubric: Rubric = field(repr=False)
    plan: JudgingPlan | None = None
    made_from: Any = field(default=None, repr=False)
    judged: Judged = "final_answer"
    threshold: Threshold | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of the verdicts should know."""
        return () if self.plan is None else self.plan.notes

    def on(
        self,
        items: Sequence[Item],
        *,
        store: str | Path | None,
        retry_failures: bool,
        progress: Callable[[FitProgress], None] | None,
    ) -> Verdicts:
        """Give verdicts on items: those that there are, or new ones."""
        if self.rbr_file is not None:
            found = read_rbr_verdicts(self.rbr_file, items, rubric=self.rubric)
            return found if self.threshold is None else replace(found, threshold=self.threshold)
        if self.plan is None:
            if self.given is None:
                msg = "verdicts come from a plan, or are given"
                raise TypeError(msg)
            return self.given
        return judge_by_plan(
            items,
            self.plan,
            store=store,
            retry_failures=retry_failures,
            progress=_telling(items, progress),
        )

    def described(self, told: Verdicts, rubric: Rubric) -> RewardJudge:
        """Describe the judge, and how it is made again where that is known."""
        if self.plan is not None:
            return reward_judge(self.plan, made_from=self.made_from)
        found = RewardJudge(
            name=told.judge,
            fingerprint=told.fingerprint,
            threshold=told.threshold,
            judged=self.judged,
        )
        return _recognised(found, rubric) if told.fingerprint else found


def fit_verdicts(
    judge: JudgeLike | None,
    rubric: Rubric,
    *,
    verdicts: Any,
    threshold: Threshold | None,
    judged: Judged,
) -> FitVerdicts:
    """Settle where verdicts come from, before anything is spent.

    Parameters
    ----------
    judge : Judge, LlmJudge, str, path or None
        Who judges, ``"local"`` by default; or the name of the judge of `verdicts`.
    rubric : Rubric
        What is asked.
    verdicts : object or None
        What `read_verdicts` reads.
    threshold : float, mapping of str to float, or None
        A proposition is true from this probability on.
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        What of a response is judged.

    Returns
    -------
    FitVerdicts
        Verdicts, or a plan.

    Raises
    ------
    InputError
        If judge and rubric do not suit each other, or verdicts cannot be read, or were made under
        another threshold.
    """
    if verdicts is None:
        from voirdire.judging.plan import plan_judging

        asked = "local" if judge is None else judge
        plan = plan_judging(asked, rubric, threshold=threshold, judged=judged)
        return FitVerdicts(rubric=rubric, plan=plan, made_from=asked, judged=judged)
    if judge is not None and not isinstance(judge, str):
        msg = (
            "`judge` must be the name of a judge of the verdicts where `verdicts` are given, got "
            f"{type(judge).__name__}. Leave one of the two out."
        )
        raise InputError(msg)
    if is_rbr_file(verdicts):
        return FitVerdicts(rubric=rubric, rbr_file=verdicts, judged=judged, threshold=threshold)
    given = read_verdicts(verdicts, rubric=rubric, judge=judge)
    return FitVerdicts(rubric=rubric, given=_under(given, threshold), judged=judged)


def _under(given: Verdicts, threshold: Threshold | None) -> Verdicts:
    if threshold is None or threshold_on(threshold, given.questions) == given.threshold:
        return given
    if given.fingerprint:
        msg = (
            f"`threshold` must be that of the verdicts, {threshold_words(given.threshold)}, got "
            f"{threshold_words(threshold)}: "
            "it is fixed beforehand, and part of their fingerprint. Leave it out."
        )
        raise InputError(msg)
    return replace(given, threshold=threshold)


def _recognised(found: RewardJudge, rubric: Rubric) -> RewardJudge:
    """Say how a judge is made again, where a judge of that name has the same fingerprint."""
    from voirdire.judging import LlmJudge
    from voirdire.judging.plan import plan_judging
    from voirdire.models import is_model_name, load_model

    try:
        judge: LlmJudge | str = "local"
        if is_model_name(found.name):
            judge = LlmJudge(model=load_model(found.name, reads_keys=False))
        elif found.name != "local":
            return found
        plan = plan_judging(judge, rubric, threshold=found.threshold, judged=found.judged)
    except InputError:  # no such judge here: it can still be named when it is needed
        return found
    if plan.fingerprint != found.fingerprint:
        return found
    return replace(found, made_by=reward_judge(plan, made_from=judge).made_by)


def _telling(
    items: Sequence[Item], progress: Callable[[FitProgress], None] | None
) -> Callable[[JudgingProgress], None] | None:
    if progress is None:
        return None
    return lambda state: progress(
        FitProgress(doing="judging", n_done=state.n_items, n_total=len(items))
    )
