"""Gets verdicts on items from files and tables, or from a judge."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.io.rows import BROKEN_PARQUET
from voirdire.io.verdict_files import columns_of_file, read_parts
from voirdire.io.verdicts import add_numbers, read_noted_verdicts
from voirdire.judging.answering import judge_by_plan
from voirdire.judging.binding import EngineJudge, JudgingPlan, plan_judging
from voirdire.records import Verdicts
from voirdire.records.items import split_criteria
from voirdire.records.thresholds import format_threshold, select_threshold
from voirdire.records.verdicts import is_verdict_table, refuse_other_responses
from voirdire.rewards.reward_judge import (
    RewardJudge,
    choose_judge,
    describe_differences,
    describe_judge,
    recognise_judge,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import Judged, Threshold
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Item
    from voirdire.rewards.model import RewardModel
    from voirdire.rubrics import Rubric


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredSource:
    """Gives the verdicts of one judge that are stored.

    Attributes
    ----------
    verdicts : Verdicts
        All of them.
    rubric : Rubric
        What the judge was asked.
    questions : tuple of str
        Scale and choice questions whose answers are needed as numbers.
    notes : tuple of str
        What the reader of the verdicts should know.
    """

    verdicts: Verdicts
    rubric: Rubric = field(repr=False)
    questions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def collect(self, items: Sequence[Item], **_asking: Any) -> Verdicts:
        """Return the verdicts on items, in their order; items without any are missing.

        Of criteria, each is an item of its own, as `split_criteria` names it.
        Refuse verdicts on other responses of the same ids, as far as they say what was judged.
        """
        if self.rubric.of_item:
            items = [part for item in items for part in split_criteria(item)]
        found = self.verdicts.take([item.id for item in items])
        refuse_other_responses(items, found.response_hashes or (), what="verdicts")
        return found

    def check_questions(self) -> None:
        """Refuse verdicts that lack an answer to one of the questions."""
        for name in self.questions:
            if not set(self.rubric.question(name).number_names) <= set(self.verdicts.questions):
                msg = (
                    f"`verdicts` must be on {shorten(name)!r}, which is to be a feature, got none. "
                    "Judge with the rubric that asks it."
                )
                raise InputError(msg)

    def describe_judge(self, *, judged: Judged, **_: Any) -> RewardJudge:
        """Describe the judge, and how it is made again where that is known."""
        judge = RewardJudge(
            name=self.verdicts.judge,
            fingerprint=self.verdicts.fingerprint,
            threshold=select_threshold(self.verdicts.threshold, self.rubric.propositions),
            judged=judged,
        )
        return recognise_judge(judge, self.rubric) if judge.fingerprint else judge


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgeSource:
    """Asks a judge for verdicts.

    Attributes
    ----------
    plan : JudgingPlan
        The judge, and what it is asked.
    rubric : Rubric
        With everything that the judge may be asked.
    questions : tuple of str
        Scale and choice questions whose answers are needed as numbers.
    """

    plan: JudgingPlan
    rubric: Rubric = field(repr=False)
    questions: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of the verdicts should know."""
        return self.plan.notes

    def collect(self, items: Sequence[Item], **asking: Any) -> Verdicts:
        """Judge items; `asking` is for `judge_by_plan`."""
        judged = judge_by_plan(items, self.plan, **asking)
        return add_numbers(judged, self.rubric, self.questions)

    def check_questions(self) -> None:
        """Refuse a judge that cannot answer one of the questions."""
        judge = self.plan.judge
        if self.questions and not isinstance(judge, EngineJudge):
            msg = (
                f"`judge` must be a language model where {shorten(self.questions[0])!r} is a "
                f"feature, got {shorten(judge.name)!r}, which answers propositions only. Name "
                "a model, or give verdicts."
            )
            raise InputError(msg)

    def describe_judge(self, *, made_from: JudgeLike | None, **_: Any) -> RewardJudge:
        """Describe the judge, and how it is made again."""
        return describe_judge(self.plan, made_from=made_from)


VerdictSource: TypeAlias = StoredSource | JudgeSource


def open_verdicts(
    source: Any,
    *,
    rubric: Rubric,
    judge: Any = None,
    threshold: Threshold | None = None,
    questions: tuple[str, ...] = (),
) -> StoredSource:
    """Open what `voirdire.io.read_verdicts` reads.

    `judge` is the name of one of several
    judges. A `threshold` is for verdicts without a fingerprint; others have one that is fixed.
    """
    if judge is not None and not isinstance(judge, str):
        msg = (
            "`judge` must be the name of a judge of the verdicts where `verdicts` are given, got "
            f"{type(judge).__name__}. Leave one of the two out."
        )
        raise InputError(msg)

    def read(part: Any) -> tuple[Verdicts, tuple[str, ...]]:
        return read_noted_verdicts(part, rubric=rubric, judge=judge, numbers_of=questions)

    parts = source if isinstance(source, list | tuple) else [source]
    paths = [Path(part) for part in parts if isinstance(part, str | Path) and str(part) != "-"]
    is_ours = (path.is_file() and is_verdict_table(columns_of_file(path)) for path in paths)
    verdicts: Verdicts | None = None
    notes: tuple[str, ...] = ()
    if parts and len(paths) == len(parts) and all(is_ours):
        # a long table takes much more memory than what it says: it is read part by part; what is
        # wrong with it is found, with its place, by reading it whole below
        with suppress(ValueError, *BROKEN_PARQUET):
            verdicts = _join_parts([read(part)[0] for part in read_parts(paths)])
    if verdicts is None:
        verdicts, notes = read(source)
    if threshold is not None:
        own = select_threshold(threshold, verdicts.questions)
        if own != verdicts.threshold and verdicts.fingerprint:
            msg = (
                "`threshold` must be that of the verdicts, "
                f"{format_threshold(verdicts.threshold)}, got {format_threshold(threshold)}: it is "
                "fixed beforehand, and part of their fingerprint. Leave it out."
            )
            raise InputError(msg)
        verdicts = replace(verdicts, threshold=own)
    known = verdicts.probabilities[~np.isnan(verdicts.probabilities)]
    if not verdicts.fingerprint and known.size and np.isin(known, (0.0, 1.0)).all():
        whose = f"verdicts of {shorten(verdicts.judge)!r} are labels without probabilities"
        means = "count as 0 and 1: weights for probabilities in between are not for them"
        notes += (f"{whose}, and {means}",)
    return StoredSource(verdicts=verdicts, rubric=rubric, questions=questions, notes=notes)


def _join_parts(parts: Sequence[Verdicts]) -> Verdicts:
    """Put parts of one run under each other; a `ValueError` where they are not of one run."""
    whole = Verdicts.concatenate(parts)
    run = [(x.judge, x.fingerprint, x.threshold, x.questions) for x in parts]
    if len(set(map(repr, run))) > 1 or len(whole.places) < len(whole.items):
        raise ValueError("verdicts must be of one run, those on an item together")
    return whole


# The judge of a reward --------------------------------------------------------------------------


def choose_source(
    model: RewardModel, verdicts: Any, *, judge: Any, other_judge: bool
) -> VerdictSource:
    """Choose where the verdicts that a reward weighs come from.

    Where there are `verdicts`, `judge` is the name of one of several, or what has it.
    """
    if isinstance(verdicts, StoredSource):  # it is open
        return verdicts
    if verdicts is None:
        plan = plan_reward_judging(model, judge, other_judge=other_judge)
        return JudgeSource(plan=plan, rubric=model.rubric, questions=model.questions)
    source = open_reward_verdicts(model, verdicts, judge=getattr(judge, "name", judge))
    given = source.verdicts
    notes = _check_judge(
        model, given, name=given.judge, argument="verdicts", other_judge=other_judge
    )
    return replace(source, notes=(*source.notes, *notes))


def collect_rests(
    rests: Sequence[Item], *, model: RewardModel, source: VerdictSource | None, **asking: Any
) -> Verdicts | None:
    """Judge what stands behind refusals; None where verdicts are stored, but for the local judge's.

    The local judge gives at once what nobody has stored.
    """
    if source is None or isinstance(source, StoredSource):
        is_own = source is None or source.verdicts.fingerprint == model.judge.fingerprint
        if not is_own or model.judge.made_by.get("judge") != "local":
            return None
        plan = plan_judge(model, "local")
        source = JudgeSource(plan=plan, rubric=model.rubric, questions=model.questions)
        return source.collect(rests)  # nothing is called, and no replies are kept
    return source.collect(rests, **asking)


def open_reward_verdicts(model: RewardModel, verdicts: Any, *, judge: Any = None) -> StoredSource:
    """Open verdicts on what a reward weighs, whoever gave them."""
    return open_verdicts(verdicts, rubric=model.rubric, judge=judge, questions=model.questions)


def plan_judge(model: RewardModel, judge: JudgeLike | None) -> JudgingPlan:
    """Plan what the judge that is asked for, or the reward's own, is asked."""
    own = model.judge
    return plan_judging(
        choose_judge(own, judge), model.rubric, threshold=own.threshold, judged=own.judged
    )


def plan_reward_judging(
    model: RewardModel, judge: JudgeLike | None, *, other_judge: bool
) -> JudgingPlan:
    """Plan what the judge, by default the reward's own, is asked, and check its fingerprint."""
    plan = plan_judge(model, judge)
    notes = _check_judge(
        model, plan, name=plan.judge.name, argument="judge", other_judge=other_judge
    )
    return replace(plan, notes=(*notes, *plan.notes))


def _check_judge(
    model: RewardModel,
    given: JudgingPlan | Verdicts,
    *,
    name: str,
    argument: str,
    other_judge: bool,
) -> tuple[str, ...]:
    """Refuse verdicts of another judge, or note them where another judge is allowed.

    A reward without the fingerprint of its judge takes any verdicts.
    """
    own = model.judge
    if not own.fingerprint or own.fingerprint == given.fingerprint:
        return ()
    if not given.fingerprint:
        what = "verdicts without a fingerprint, which may be anybody's"
    elif name != own.name:
        what = f"judge {shorten(name)!r} instead of {shorten(own.name)!r}"
    elif given.threshold != own.threshold:
        thresholds = format_threshold(given.threshold), format_threshold(own.threshold)
        what = f"the threshold {' instead of '.join(thresholds)}"
    elif isinstance(given, JudgingPlan) and (changes := describe_differences(own, given)):
        what = f"{shorten(name)!r} with {changes}"
    else:
        what = (
            f"another version or other settings of {shorten(name)!r}, another rubric, or other "
            f"parts of responses judged ({shorten(given.fingerprint, width=19)} instead of "
            f"{shorten(own.fingerprint, width=19)})"
        )
    if not other_judge:
        hint = " The judge of the reward is calibrated: name its `calibration`."
        calibrated = "calibration" in own.made_by
        msg = (
            f"`{argument}` must be of the judge that reward {shorten(model.name)!r} was fitted on, "
            f"got {what}. Judge with that judge, fit again, or allow another judge with "
            f"`other_judge=True`.{hint if calibrated else ''}"
        )
        raise InputError(msg)
    void = " The reward's certificates do not hold for it." if model.certificates else ""
    return (
        f"scored with verdicts of another judge than the weights were fitted on: {what}.{void}",
    )
