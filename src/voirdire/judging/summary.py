"""Sums up a run of judging: its progress, its calls, shares of answers and classes, notes."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping  # noqa: TC003  # msgspec and pickle read the annotation
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from voirdire._messages import shorten
from voirdire._types import (  # noqa: TC001  # what reads the JSON looks at the types
    Judged,
    ProbabilitySource,
    Threshold,
    VerdictLayout,
)
from voirdire.judging.binding import BoundCascade, EngineJudge
from voirdire.judging.outputs import SetAside
from voirdire.records.items import Dropped  # noqa: TC001  # as above
from voirdire.records.replies import (
    LOW_MASS,
    AnswerSummary,
    CallSummary,
    describe_missing_mass,
)
from voirdire.records.tables import Tabular

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.caller import CallCounts
    from voirdire.judging.combine import ItemVerdict
    from voirdire.records import Item
    from voirdire.records.verdicts import CallDetails, Verdicts


@dataclass(frozen=True, kw_only=True)
class JudgingProgress:
    """Progress of a run of judging.

    Attributes
    ----------
    n_items : int
        Items with verdicts, in finished batches.
    n_reused : int
        How many of them an earlier run had judged.
    n_dropped : int
        Rows that were set aside so far.
    finishing : bool
        Whether every item is judged and the output is being written.
    calls : CallCounts or None
        The calls so far, where the judge is a language model.
    """

    n_items: int
    n_reused: int
    n_dropped: int
    finishing: bool = False
    calls: CallCounts | None = None


@dataclass(frozen=True, kw_only=True)
class QuestionSummary:
    """Share of items for which a proposition is true.

    Attributes
    ----------
    question : str
        Id of the proposition.
    share_true : float
        In [0, 1], of the items that were answered; nan where none was.
    mean_probability : float
        In [0, 1], over the same items.
    n_failed : int
        Items without an answer of the judge.
    trusted : bool
        False where the judge's own card does not trust it on this proposition.
    """

    question: str
    share_true: float
    mean_probability: float
    n_failed: int
    trusted: bool


@dataclass(frozen=True, kw_only=True)
class ClassSummary:
    """Share of a behavior's items in a completion class.

    Attributes
    ----------
    behavior, completion_class : str
        Which class of which behavior.
    share : float
        In [0, 1]: of the items with a known class, by the threshold; nan where there are none.
    mean_probability : float
        In [0, 1]: mean probability of the class; nan where it is known for no item.
    n_items : int
        Items of the behavior.
    """

    behavior: str
    completion_class: str
    share: float
    mean_probability: float
    n_items: int


@dataclass(frozen=True, kw_only=True)
class JudgingSummary(Tabular, rows="questions"):
    """Summary of a run of judging.

    Attributes
    ----------
    output : str
        The file of verdicts; ``"-"`` for standard output.
    layout : {"long", "wide"}
        One row per item and question, or per item.
    judge, source : str
        Name of the judge, and the source of its probabilities.
    rubric, rubric_version, rubric_hash : str
        The rubric.
    fingerprint : str
        Hash of judge, rubric, threshold, judged part and class rule; on every verdict.
    threshold : float, or mapping of str to float
        In (0, 1): a proposition is true from this probability on.
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        Which part of a response was judged.
    n_items : int
        Items with verdicts.
    n_reused : int
        How many of them an earlier, interrupted run had judged.
    n_dropped : int
        Rows of the source that were set aside.
    dropped : tuple of Dropped
        The first of them.
    dropped_output : str or None
        The file that lists all of them.
    questions : tuple of QuestionSummary
        One per proposition.
    classes : tuple of ClassSummary
        One per behavior and completion class.
    notes : tuple of str
        Notes for the reader.
    calls : CallSummary or None
        Summary of the calls, where the judge is a language model.
    asked : mapping or None
        Then also the settings that its replies depend on: its name, the model's settings, mode,
        source, language, seed, version of the prompt.
    """

    output: str
    layout: VerdictLayout
    judge: str
    source: ProbabilitySource
    rubric: str
    rubric_version: str
    rubric_hash: str
    fingerprint: str
    threshold: Threshold
    judged: Judged
    n_items: int
    n_reused: int = 0
    n_dropped: int = 0
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    dropped_output: str | None = None
    questions: tuple[QuestionSummary, ...] = field(default=(), repr=False)
    classes: tuple[ClassSummary, ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    calls: CallSummary | None = None
    asked: Mapping[str, Any] | None = None

    PLAIN: ClassVar = ("untrusted",)

    @property
    def untrusted(self) -> tuple[str, ...]:
        """Propositions on which the judge's own card does not trust it."""
        return tuple(row.question for row in self.questions if not row.trusted)


# Sums ---------------------------------------------------------------------------------------------

_SUMS = ("n_items", "n_reused", "_sums", "_labels", "_failures", "_examples", "_values")
_LANGUAGES = {"en": "English", "zh": "Chinese"}
_ENOUGH = 3


class RunRecord:
    """Sums up a run of judging, batch by batch, and reports its progress.

    Attributes
    ----------
    n_items, n_reused : int
        Items with verdicts, and how many of them needed no call.
    set_aside : SetAside
        Rows that are not judged.
    calls : CallCounts or None
        The calls, as they were last reported; None where the judge makes none.
    """

    def __init__(
        self,
        plan: JudgingPlan,
        progress: Callable[[JudgingProgress], None] | None = None,
        *,
        set_aside: SetAside | None = None,
    ) -> None:
        self._plan, self._progress = plan, progress
        self.set_aside = set_aside or SetAside()
        self.n_items = self.n_reused = 0
        self.calls: CallCounts | None = None
        languages = getattr(getattr(plan.judge, "card", None), "languages", ())
        self._languages = () if "other" in languages else languages
        self._others = [row for row in plan.rubric.questions if row.kind != "boolean"]
        self._sums: defaultdict[str, Any] = defaultdict(int)
        self._labels: Counter[tuple[str, Any]] = Counter()
        self._failures: Counter[str] = Counter()
        self._examples: dict[str, str] = {}
        self._values: set[Any] = set()

    def report(self, calls: CallCounts | None = None, *, finishing: bool = False) -> None:
        """Keep the counts of the calls, and report the progress."""
        self.calls = calls or self.calls
        if self._progress is not None:
            counts: dict[str, Any] = {
                "n_items": self.n_items,
                "n_reused": self.n_reused,
                "calls": self.calls,
            }
            n_dropped = self.set_aside.count
            self._progress(JudgingProgress(**counts, n_dropped=n_dropped, finishing=finishing))

    def add(
        self, items: Sequence[Item], verdicts: Verdicts, answers: Sequence[ItemVerdict] = ()
    ) -> None:
        """Add a batch; `answers` are what its verdicts were made from, where calls were made."""
        sums, rubric, probabilities = self._sums, self._plan.rubric, verdicts.probabilities
        self.n_items += len(verdicts.items)
        reused = (len(x.values) if self._plan.rubric.of_item else 1 for x in answers if x.is_stored)
        self.n_reused += sum(reused)
        sums["no prompt"] += sum([not item.prompt for item in items])
        sums["blank"] += sum([not item.response.strip() for item in items])
        if rubric.behaviors:
            sums["no behavior"] += sum([item.behavior is None for item in items])
        if not self._plan.asks_about_pairs:
            sums["pair"] += sum([item.other is not None for item in items])
        if self._languages:
            from voirdire.judging.local.languages import detect_language

            used = [detect_language(item.response) for item in items]
            sums["other language"] += sum([language not in self._languages for language in used])
        failed = np.isnan(probabilities)
        sums["failed"] += failed.sum(axis=0)
        sums["true"] += verdicts.labels.sum(axis=0, dtype=np.int64)
        sums["probability"] += np.where(failed, 0.0, probabilities).sum(axis=0)
        for row in verdicts.completion_classes:
            known = ~np.isnan(row.probabilities).any(axis=1)
            counts = np.bincount(row.hard[row.hard >= 0], minlength=len(row.classes))
            sums[f"items/{row.behavior}"] += int(row.rows.size)
            sums[f"hard/{row.behavior}"] += counts
            sums[f"known/{row.behavior}"] += int(known.sum())
            sums[f"mean/{row.behavior}"] += row.probabilities[known].sum(axis=0)
        if verdicts.details is not None:
            self._add_answers(answers, verdicts.details)

    def _add_answers(self, answers: Sequence[ItemVerdict], details: CallDetails) -> None:
        sums = self._sums
        for answer in filter(attrgetter("failures"), answers):
            kinds = {why.reason.partition(":")[0]: why.reason for _, why in answer.failures[::-1]}
            self._failures.update(kinds.keys())
            self._examples = kinds | self._examples
        for answer in answers if len(self._values) < 2 else ():
            self._values.update(value for value in answer.values if value is not None)
        if isinstance(self._plan.judge, BoundCascade):
            first = self._plan.judge.answerers[0]
            sums["kept"] += sum([answer.answered_by == first for answer in answers])
        for name, reasons in details.reasons.items():
            sums["reasons"] += sum(map(bool, reasons))
            sums["contradicts"] += sum(details.contradicts[name])
        mass = details.missing_mass
        sums["mass"] += np.nan_to_num(mass).sum(axis=0)
        sums["with mass"] += (~np.isnan(mass)).sum(axis=0)
        sums["low mass"] += int((mass > LOW_MASS).sum())
        for question in self._others:
            given = [x for x in details.labels[question.id] if x is not None]
            sums[f"answered/{question.id}"] += len(given)
            if question.kind == "scale":
                sums[f"total/{question.id}"] += math.fsum(given)
            elif question.kind != "text":
                labels = chain.from_iterable(given) if question.kind == "multilabel" else given
                self._labels.update((question.id, label) for label in labels)

    def state(self) -> dict[str, Any]:
        """Return the sums, for a record of the same plan in another process."""
        kept = {name: getattr(self, name) for name in _SUMS}
        return kept | {"calls": self.calls, "dropped": self.set_aside.first,
                       "n_dropped": self.set_aside.count}  # fmt: skip

    def merge(self, state: Mapping[str, Any]) -> None:
        """Add the sums of another record of the same plan."""
        self.n_items += state["n_items"]
        self.n_reused += state["n_reused"]
        for key, value in state["_sums"].items():
            self._sums[key] = self._sums[key] + value
        self._labels.update(state["_labels"])
        self._failures.update(state["_failures"])
        self._examples = state["_examples"] | self._examples
        self._values |= state["_values"]
        self.set_aside.add(state["dropped"])
        self.set_aside.count += state["n_dropped"] - len(state["dropped"])
        calls = state["calls"]
        self.calls = calls if self.calls is None or calls is None else self.calls + calls

    def notes(self) -> tuple[str, ...]:
        """Write the notes of the plan, and those about the items."""
        sums, n_items = self._sums, self.n_items
        names = [_LANGUAGES[name] for name in self._languages]
        languages = (
            f"in neither {' nor '.join(names)}"
            if len(names) > 1
            else f"not in {names and names[0]}"
        )
        found = {
            "no prompt": "items have no prompt and were judged without it: is it in a column of "
            "another name?",
            "no behavior": "items have no behavior: their questions are judged, but they get no "
            "completion classes. `voirdire judge --behavior ID` sets one for all of them",
            "pair": "items have a second response, but no question of the rubric is about it",
            "blank": "items have an empty response, and verdicts on an empty response mean little",
            "other language": f"responses are {languages}: {shorten(self._plan.judge.name)!r} was "
            "trained on no other language",
        }
        notes = [*self._plan.notes]
        for key, note in found.items():
            if n := sums[key]:
                is_all = n == n_items and key == "no behavior"
                notes.append(f"{'the' if is_all else f'{n:,} of {n_items:,}'} {note}")
        if n := sums["contradicts"]:
            opposed = "reasons say the opposite of their answers, see the column `contradicts`"
            notes.append(f"{n:,} of {sums['reasons']:,} {opposed}")
        return tuple(notes)

    def summarize_calls(self) -> CallSummary | None:
        """Return the summary of the calls; None where the judge makes none."""
        calls, sums = self.calls, self._sums
        if calls is None:
            return None
        questions = self._plan.rubric.propositions
        columns = (np.zeros(len(questions)) + sums[key] for key in ("mass", "with mass"))
        masses = zip(questions, *columns, strict=True)
        missing_mass = {name: float(mass / n) for name, mass, n in masses if n}
        notes = [*calls.adaptations]
        if len(self._values) == 1 and self.n_items >= _ENOUGH and len(questions) > 1:
            notes.append(f"every question of every item has the same answer, {min(self._values)}")
        notes += describe_missing_mass(missing_mass, n_low=sums["low mass"])
        failures = dict(self._failures.most_common())
        answers = []
        for row in self._others:
            n = sums[f"answered/{row.id}"]
            labels = () if row.kind in ("scale", "text") else row.labels or ("A", "B", "tie")
            total = sums[f"total/{row.id}"] if row.kind == "scale" else math.nan
            answers.append(
                AnswerSummary(
                    question=row.id,
                    kind=row.kind,
                    n_answered=n,
                    n_failed=self.n_items - n,
                    shares={label: self._labels[row.id, label] / n for label in labels if n},
                    mean=_ratio(total, n),
                )
            )
        return CallSummary(
            n_calls=calls.n_calls,
            n_retries=calls.n_retries,
            n_reused=self.n_reused,
            prompt_tokens=calls.prompt_tokens,
            cached_tokens=calls.cached_tokens,
            completion_tokens=calls.completion_tokens,
            cost=calls.cost,
            steps_down=tuple(notes),
            failures=failures,
            examples={kind: shorten(self._examples[kind], width=500) for kind in failures},
            missing_mass=missing_mass,
            n_kept=sums["kept"] if isinstance(self._plan.judge, BoundCascade) else None,
            answers=tuple(answers),
        )

    def summarize(self, **outputs: Any) -> JudgingSummary:
        """Compute the shares and means; `outputs` says what was written."""
        plan, sums = self._plan, self._sums
        untrusted = getattr(getattr(plan.judge, "card", None), "untrusted", ())
        columns = (sums[key].tolist() for key in ("failed", "true", "probability"))
        rows = zip(plan.rubric.propositions, *columns, strict=True)
        questions = [
            QuestionSummary(
                question=name,
                share_true=_ratio(n_true, self.n_items - n_failed),
                mean_probability=_ratio(probability, self.n_items - n_failed),
                n_failed=n_failed,
                trusted=name not in untrusted,
            )
            for name, n_failed, n_true, probability in rows
        ]
        classes = []
        for behavior in plan.rubric.behaviors:
            hard, means = (sums[f"{key}/{behavior.id}"].tolist() for key in ("hard", "mean"))
            classes += [
                ClassSummary(
                    behavior=behavior.id,
                    completion_class=row.name,
                    share=_ratio(n_hard, sum(hard)),
                    mean_probability=_ratio(mean, sums[f"known/{behavior.id}"]),
                    n_items=sums[f"items/{behavior.id}"],
                )
                for row, n_hard, mean in zip(behavior.classes, hard, means, strict=True)
            ]
        return JudgingSummary(
            judge=plan.judge.name,
            source=plan.judge.source,
            rubric=plan.rubric.name,
            rubric_version=plan.rubric.version,
            rubric_hash=plan.rubric.content_hash,
            fingerprint=plan.fingerprint,
            threshold=plan.threshold,
            judged=plan.judged,
            n_items=self.n_items,
            n_reused=self.n_reused,
            n_dropped=self.set_aside.count,
            dropped=self.set_aside.first,
            questions=tuple(questions),
            classes=tuple(classes),
            notes=self.notes(),
            calls=self.summarize_calls(),
            asked=plan.judge.asked if isinstance(plan.judge, EngineJudge) else None,
            **outputs,
        )


def _ratio(part: float, whole: int) -> float:
    return part / whole if whole else math.nan
