"""Gets verdicts on items from files and tables, or from a judge."""

from __future__ import annotations

import asyncio
import tempfile
import weakref
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.io import read_verdicts
from voirdire.io.rows import BROKEN_PARQUET
from voirdire.io.verdict_files import columns_of_file, read_parts
from voirdire.io.verdicts import add_numbers
from voirdire.judging.answering import ajudge_by_plan, judge_by_plan
from voirdire.judging.binding import EngineJudge, JudgingPlan, plan_judging
from voirdire.records import Verdicts
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
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from voirdire._types import Judged, Threshold
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Item
    from voirdire.rewards.model import RewardModel
    from voirdire.rubrics import Rubric

__all__ = [
    "JudgeSource",
    "StoredSource",
    "StoredVerdicts",
    "VerdictSource",
    "choose_source",
    "collect_rests",
    "open_reward_verdicts",
    "open_verdicts",
    "plan_judge",
    "plan_reward_judging",
]


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredSource:
    """Gives the verdicts of one judge that are stored.

    Attributes
    ----------
    verdicts : Verdicts or StoredVerdicts
        In memory, or in a temporary file.
    rubric : Rubric
        What the judge was asked.
    questions : tuple of str
        Scale and choice questions whose answers are needed as numbers.
    notes : tuple of str
        What the reader of the verdicts should know.
    """

    verdicts: Verdicts | StoredVerdicts
    rubric: Rubric = field(repr=False)
    questions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def collect(self, items: Sequence[Item], **_asking: Any) -> Verdicts:
        """Return the verdicts on items, in their order; items without any are missing.

        Refuse verdicts on other responses of the same ids, as far as they say what was judged.
        """
        found = self.verdicts.take([item.id for item in items])
        refuse_other_responses(items, found.response_hashes or (), what="verdicts")
        return found

    async def acollect(self, items: Sequence[Item], **_asking: Any) -> Verdicts:
        """Do what `collect` does, in a thread."""
        return await asyncio.to_thread(self.collect, items)

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

    async def acollect(self, items: Sequence[Item], **asking: Any) -> Verdicts:
        """Do what `collect` does, in the running event loop."""
        judged = await ajudge_by_plan(items, self.plan, **asking)
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

    Files that `voirdire judge` wrote are not held in memory. `judge` is the name of one of several
    judges. A `threshold` is for verdicts without a fingerprint; others have one that is fixed.
    """
    if judge is not None and not isinstance(judge, str):
        msg = (
            "`judge` must be the name of a judge of the verdicts where `verdicts` are given, got "
            f"{type(judge).__name__}. Leave one of the two out."
        )
        raise InputError(msg)

    def read(part: Any) -> Verdicts:
        given = read_verdicts(part, rubric=rubric, judge=judge, numbers_of=questions)
        if threshold is None or select_threshold(threshold, given.questions) == given.threshold:
            return given
        if given.fingerprint:
            msg = (
                "`threshold` must be that of the verdicts, "
                f"{format_threshold(given.threshold)}, got {format_threshold(threshold)}: it is "
                "fixed beforehand, and part of their fingerprint. Leave it out."
            )
            raise InputError(msg)
        return replace(given, threshold=threshold)

    parts = source if isinstance(source, list | tuple) else [source]
    paths = [Path(part) for part in parts if isinstance(part, str | Path) and str(part) != "-"]
    is_ours = (path.is_file() and is_verdict_table(columns_of_file(path)) for path in paths)
    verdicts: Verdicts | StoredVerdicts | None = None
    if parts and len(paths) == len(parts) and all(is_ours):
        # reading the whole file below raises an error that names the place
        with suppress(ValueError, *BROKEN_PARQUET):
            verdicts = StoredVerdicts(map(read, read_parts(paths)))
    if verdicts is None:
        verdicts = read(source)
    notes: tuple[str, ...] = ()
    if isinstance(verdicts, Verdicts) and not verdicts.fingerprint:
        known = verdicts.probabilities[~np.isnan(verdicts.probabilities)]
        if known.size and np.isin(known, (0.0, 1.0)).all():
            whose = f"verdicts of {shorten(verdicts.judge)!r} are labels without probabilities"
            means = "count as 0 and 1: weights for probabilities in between are not for them"
            notes = (f"{whose}, and {means}",)
    return StoredSource(verdicts=verdicts, rubric=rubric, questions=questions, notes=notes)


# The judge of a reward --------------------------------------------------------------------------


def choose_source(
    model: RewardModel, verdicts: Any, *, judge: Any, other_judge: bool
) -> VerdictSource:
    """Choose where the verdicts that a reward weighs come from.

    Where there are `verdicts`, `judge` is the name of one of several, or what has it.
    """
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
    given: JudgingPlan | Verdicts | StoredVerdicts,
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


# Verdicts in a temporary file ------------------------------------------------------------------


class StoredVerdicts:
    """Verdicts in a temporary file, with a row for each item that a hash of its id finds.

    Memory is 16 bytes an item, in whatever order items are asked for.

    Parameters
    ----------
    parts : iterable of Verdicts
        Of one run, each item in one part, the first part on all questions; otherwise a `ValueError`
        is raised.

    Attributes
    ----------
    judge, fingerprint, threshold, questions
        As those of `Verdicts`.
    """

    def __init__(self, parts: Iterable[Verdicts]) -> None:
        self._file = tempfile.TemporaryFile(prefix="voirdire-")  # noqa: SIM115
        weakref.finalize(self, self._file.close)
        codes: dict[str | None, int] = {None: 0}
        hashes: list[NDArray[np.int64]] = []
        first: Verdicts | None = None
        for part in parts:
            if first is None:
                first = part.take(())
                numbers = ("probability", "f8", (len(part.questions),))
                texts = [("behavior", "i4"), ("reason", "i4"), ("response", "u8")]
                self._row = np.dtype([numbers, *texts])
            if _identify_run(part) != _identify_run(first.on(part.questions)):
                raise ValueError("verdicts must be of one run")
            rows = self._make_rows(len(part.items))
            columns = [first.questions.index(name) for name in part.questions]
            rows["probability"][:, columns] = part.probabilities
            rows["behavior"] = [codes.setdefault(name, len(codes)) for name in part.behaviors]
            digits = [
                (known or "0").removeprefix("sha256:") for known in part.response_hashes or "0"
            ]
            rows["response"] = [int(known, 16) for known in digits]
            for item, reason in part.missing.items():
                rows["reason"][part.places[item]] = codes.setdefault(reason, len(codes))
            self._file.write(rows.tobytes())
            hashes.append(_hash_ids(part.items))
        if first is None:
            raise ValueError("there must be verdicts")
        self._file.flush()
        self._about, self._texts = first, list(codes)
        self.judge, self.fingerprint, self.threshold, self.questions = _identify_run(first)
        all_hashes = np.concatenate(hashes)
        self._places = np.argsort(all_hashes)
        self._hashes = all_hashes[self._places]
        if (self._hashes[1:] == self._hashes[:-1]).any():
            raise ValueError("the verdicts on an item must lie together")

    def take(self, items: Sequence[str]) -> Verdicts:
        """Return the verdicts of items, in their order; items without any are missing."""
        hashes = _hash_ids(items)
        at = np.minimum(np.searchsorted(self._hashes, hashes), self._hashes.size - 1)
        is_there = self._hashes[at] == hashes
        # the file is mapped again each time, so that pages of earlier calls leave memory
        stored = np.memmap(self._file, dtype=self._row, mode="r")
        rows = self._make_rows(len(items))
        rows[is_there] = stored[self._places[at[is_there]]]
        found = np.flatnonzero(rows["reason"]).tolist()
        return replace(
            self._about,
            items=tuple(items),
            behaviors=tuple([self._texts[code] for code in rows["behavior"].tolist()]),
            response_hashes=tuple(
                [f"sha256:{known:016x}" if known else None for known in rows["response"].tolist()]
            ),
            probabilities=rows["probability"],
        ).with_reasons({items[row]: self._texts[rows["reason"][row]] or "" for row in found})

    def _make_rows(self, n_items: int) -> NDArray[np.void]:
        rows = np.zeros(n_items, dtype=self._row)
        rows["probability"] = np.nan
        return rows


def _identify_run(verdicts: Verdicts) -> tuple[Any, ...]:
    return verdicts.judge, verdicts.fingerprint, verdicts.threshold, verdicts.questions


def _hash_ids(items: Sequence[str]) -> NDArray[np.int64]:
    """Hash ids with the key of this process, so that no file can be made to confuse them."""
    return np.fromiter(map(hash, items), dtype=np.int64, count=len(items))
