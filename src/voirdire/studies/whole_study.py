"""Examine every judge of a study: all questions, alignments and margins in one run."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack, cast

import numpy as np

from voirdire._types import FALSE_WORDS, TRUE_WORDS
from voirdire._validation import shorten
from voirdire.errors import (
    DoubtfulLabelsWarning,
    DroppedRowsWarning,
    InputError,
    NoDataError,
)
from voirdire.io import LabelTable, Reading
from voirdire.io.values import Coded, name_text, plain_value
from voirdire.records import Dropped
from voirdire.stats import Caution
from voirdire.stats.display import html_table, summary_rows, text_table
from voirdire.studies.aligning import align, take_labels
from voirdire.studies.examination import check_alignment, examine_matrix, kind_of
from voirdire.studies.findings import QuestionFindings, find_around
from voirdire.studies.plan import PlanFields, TestPlan
from voirdire.studies.pooling import PooledResult, pool_questions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from voirdire._types import AlignmentName, QuestionKind
    from voirdire.judging import Verdicts
    from voirdire.stats import AltTestResult
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.studies.aligning import LabelMatrix, Labels

__all__ = ["Examination", "examine", "understand"]


@dataclass(frozen=True, kw_only=True)
class Examination:
    """Everything that an examination found.

    Attributes
    ----------
    results : tuple of AltTestResult
        One per question, alignment, judge and ε, in this order.
    pooled : tuple of PooledResult
        Several questions under one false discovery rate; empty with one question.
    dropped : tuple of Dropped
        Every label that was set aside, with its reason.
    settings : dict
        What was fixed before the labels were looked at.
    questions : tuple of QuestionFindings
        What stands around the test, per question: agreement, differences of judges, diagnosis.
    understood : str
        What was understood of the labels, in a line.
    cautions : tuple of Caution
        What a reader should know of the whole: that the best of several judges was looked for.
    """

    results: tuple[AltTestResult, ...]
    pooled: tuple[PooledResult, ...] = ()
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    settings: dict[str, Any] = field(default_factory=dict, repr=False)
    questions: tuple[QuestionFindings, ...] = field(default=(), repr=False)
    understood: str = ""
    cautions: tuple[Caution, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        return text_table(summary_rows(self._ranked())) if self.results else "no results"

    def _repr_html_(self) -> str:
        """Show the results in a notebook, best judges first."""
        return html_table(summary_rows(self._ranked()))

    def _ranked(self) -> list[AltTestResult]:
        """Results by ρ; undefined ones last."""

        def rank(row: AltTestResult) -> tuple[bool, float]:
            return math.isnan(row.advantage_probability), -row.advantage_probability

        return sorted(self.results, key=rank)

    def of_judge(self, judge: str) -> tuple[AltTestResult, ...]:
        """Return one judge's results."""
        return tuple(row for row in self.results if row.judge == judge)

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the judges, in the order given."""
        return tuple(dict.fromkeys(row.judge for row in self.results))

    def __getitem__(self, key: str | tuple[Any, ...]) -> AltTestResult:
        """Return the one result of ``[judge, question, alignment, epsilon]``.

        What names one already needs no more: ``[judge]`` where there is one question, alignment
        and ε; None stands for any.

        Raises
        ------
        KeyError
            If no result, or more than one, is called so.
        """
        wanted = key if isinstance(key, tuple) else (key,)
        found = [
            row
            for row in self.results
            if all(
                each is None or each == own
                for each, own in zip(
                    wanted, (row.judge, row.question, row.alignment, row.epsilon), strict=False
                )
            )
        ]
        if len(found) != 1 or len(wanted) > len(_KEY):
            several = {name: {getattr(row, name): None for row in self.results} for name in _KEY}
            known = "; ".join(f"{name} {', '.join(map(repr, x))}" for name, x in several.items())
            msg = f"[judge, question, alignment, epsilon] must name one result, got {key!r} for "
            raise KeyError(f"{msg}{len(found)} of {len(self.results)}. There are {known}.")
        return found[0]

    def frame(self) -> pl.DataFrame:
        """Return the results as a table: a row each, without what stands below a result.

        Columns `judge`, `question`, `alignment`, `epsilon`, `outcome`, `passed`, `winning_rate`,
        `advantage_probability`, `human_advantage`, `smallest_epsilon`, `n_items`, `n_annotators`
        and `n_failures`, what each is as in `voirdire.stats.AltTestResult`.
        """
        import polars as pl

        columns = {
            name: [getattr(row, name) for row in self.results]
            for name in (*_KEY, *_FIGURES, "n_items", "n_annotators")
        }
        failures = [row.worst_case.n_failures for row in self.results]
        return pl.DataFrame(columns | {"n_failures": failures}, strict=False)


_KEY = ("judge", "question", "alignment", "epsilon")
_FIGURES = (
    *("outcome", "passed", "winning_rate", "advantage_probability"),
    *("human_advantage", "smallest_epsilon"),
)


class _Epsilon(PlanFields, total=False):
    epsilon: float | Sequence[float]


def examine(
    *,
    judges: Labels,
    humans: Labels,
    alignment: AlignmentName
    | VectorizedScore
    | Sequence[AlignmentName | VectorizedScore] = "accuracy",
    kind: QuestionKind | None = None,
    labels: Sequence[Any] | None = None,
    gold: Labels | None = None,
    clusters: Mapping[Any, Any] | bool = False,
    questions: Sequence[str] | None = None,
    reading: Reading | None = None,
    plan: TestPlan | None = None,
    metadata: pl.DataFrame | None = None,
    slices: Sequence[str] | None = None,
    around: bool = True,
    **settings: Unpack[_Epsilon],
) -> Examination:
    """Examine the judges of a study against its annotators.

    Both sides are given by name, since they look alike.

    Parameters
    ----------
    judges, humans : LabelTable, data frame, path, mapping, or list of these
        Labels: files, data frames, or ``{rater: {item: label}}``, as `voirdire.io.read_labels`
        reads them; for one judge also ``{item: label}``. Judges may also be a folder of verdicts,
        or what `voirdire.judge` gave: by itself, in a list, or as ``{name: verdicts}``.
    alignment : str, callable, or sequence of these, optional
        How close two labels are, see `voirdire.alt_test`.
    kind : {"boolean", "choice", "multilabel", "scale", "text", "pairwise"}, optional
        What the question asks for; by default what the alignment needs, or what the labels leave
        no choice about.
    labels : sequence, optional
        The declared label universe. Any other label is set aside, and a judge's is a failure.
    gold : as `judges`, optional
        Gold labels that stand for "the others".
    clusters : mapping or bool, optional
        ``{item: cluster}`` for items that share a source, or true for the tables' own clusters;
        errors become cluster-robust.
    questions : sequence of str, optional
        Which questions; by default all that annotators answered. One alone is also the name of
        the question where labels have none.
    reading : Reading, optional
        How labels are read; `kind` and `labels` count before its own.
    plan : TestPlan, optional
        Margins, method, variants and seed.
    metadata : polars.DataFrame, optional
        What is known about the items, as `voirdire.io.read_metadata` gives it: slices by its
        columns.
    slices : sequence of str, optional
        Which of these columns; by default all.
    around : bool, optional
        Whether to find what stands around the test too, in `Examination.questions`.
    **settings
        Fields of `TestPlan`, such as ``epsilon=0.1``, each of which counts before that of `plan`.

    Returns
    -------
    Examination

    Raises
    ------
    InputError
        If a setting or a label breaks a rule, or a judge is one of its annotators.
    NoDataError
        If nothing is left to examine.

    Warns
    -----
    DegenerateDataWarning
        If no annotator has enough items, so that ω is nan.
    DroppedRowsWarning
        If labels were set aside for more than being missing.
    DoubtfulLabelsWarning
        If a judge or an annotator writes labels that nobody else uses.

    Examples
    --------
    >>> import polars as pl
    >>> people = {n: [(i + (i % 9 == s)) % 2 for i in range(60)] for s, n in enumerate("abc")}
    >>> wide = pl.DataFrame({"item": range(60), **people})
    >>> mine = {item: item % 2 for item in range(60)}
    >>> judges = {"mine": mine, "yours": dict.fromkeys(range(60), 1)}
    >>> found = examine(judges=judges, humans=wide)
    >>> found.understood
    '3 annotators, 2 judges, 60 items, boolean, nothing set aside'
    >>> [(row.judge, row.winning_rate) for row in found.results]
    [('mine', 1.0), ('yours', 0.0)]
    """
    plan = replace(plan or TestPlan(), **settings)
    alignments = _alignments(alignment)
    if questions is not None:
        questions = _distinct("questions", questions)
    reading = replace(reading or Reading(), **_declared(kind, labels))
    study = _Study.of(judges, humans, gold, alignments, reading=reading, questions=questions)
    if not isinstance(clusters, bool):
        study = replace(study, humans=_with_clusters(study.humans, clusters))
    if slices is not None:
        slices = _distinct("slices", slices)
        if metadata is None:
            msg = f"`slices` must name columns of `metadata`, got {slices!r} without metadata."
            raise InputError(msg)
    asked = _questions(study.humans, questions)
    results: list[AltTestResult] = []
    findings: list[QuestionFindings] = []
    for question in asked:
        matrices = list(
            _matrices(study, question, alignments, labels=reading.labels, clustered=bool(clusters))
        )
        for name, matrix in matrices:
            results += examine_matrix(matrix, plan, alignment=name, question=question)
        if around:
            findings.append(
                find_around(
                    matrices,
                    plan,
                    question=question,
                    metadata=metadata,
                    slices=slices,
                )
            )
    _warn(study.dropped, results)
    unmatched = dict.fromkeys(chain.from_iterable(row.dropped for row in results))
    unmatched |= dict.fromkeys(_unanswered(study.judges, asked, results))
    dropped = study.dropped + tuple(unmatched)
    return Examination(
        results=tuple(results),
        understood=understand(study.humans, study.judges, gold=study.gold, questions=asked),
        pooled=_pooled(results, plan) if len(asked) > 1 else (),
        dropped=dropped,
        settings=plan.as_settings()
        | {
            "kind": study.humans.kind,
            "alignments": [check_alignment(name) for name in alignments],
            "questions": asked,
            "labels": None if reading.labels is None else list(reading.labels),
            "gold": study.gold is not None,
            "clustered": bool(clusters),
            "slices": _sliced_by(metadata, slices),
        },
        questions=tuple(findings),
        cautions=_cautions(results, plan),
    )


def _warn(dropped: Sequence[Dropped], results: Sequence[AltTestResult]) -> None:
    """Say what a reader of one figure would not look for elsewhere."""
    lost = [row for row in dropped if row.reason != "missing label"]
    if lost:
        first = f"{lost[0].place()}: {lost[0].reason}"
        msg = f"{_counted(len(lost), 'label')} set aside, the first: {first}; see `dropped`."
        warnings.warn(msg, DroppedRowsWarning, stacklevel=3)
    doubts = {
        caution.sentence: None
        for row in results
        for caution in row.cautions
        if caution.code in ("strange_labels", "strange_annotators")
    }
    for sentence in doubts:
        warnings.warn(f"{sentence}.", DoubtfulLabelsWarning, stacklevel=3)


def _declared(kind: QuestionKind | None, labels: Sequence[Any] | None) -> dict[str, Any]:
    given = {"kind": kind, "labels": labels}
    return {name: value for name, value in given.items() if value is not None}


def _alignments(given: Any) -> list[Any]:
    several = list(given) if isinstance(given, list | tuple | set | frozenset) else [given]
    if not several:
        msg = "`alignment` must name at least one alignment, got none."
        raise InputError(msg)
    for alignment in several:
        check_alignment(alignment)
    return list(dict.fromkeys(several))


@dataclass(frozen=True, kw_only=True)
class _Study:
    """Everyone's labels, of one kind."""

    humans: LabelTable
    judges: LabelTable
    gold: LabelTable | None

    @staticmethod
    def of(
        judges: Labels,
        humans: Labels,
        gold: Labels | None,
        alignments: Sequence[Any],
        *,
        reading: Reading,
        questions: Sequence[str] | None,
    ) -> _Study:
        """Read the three sides, the annotators first: their labels say of what kind they are."""
        verdicts = _given_verdicts(judges)
        kind = _kind_before(reading, (humans, judges, gold), alignments, verdicts, questions)
        reading = replace(reading, kind=kind)
        if verdicts:
            judges = _verdict_frame(
                verdicts, kind=kind or "boolean", questions=questions, labels=reading.labels
            )
            if questions is None and judges["question"].n_unique() == 1:
                questions = [judges["question"][0]]
        people = take_labels(humans, role="annotator", reading=reading, questions=questions or ())
        as_judges = replace(reading, kind=people.kind, raters=None, cluster=None)
        machines = take_labels(judges, role="judge", reading=as_judges, questions=questions or ())
        truth = None
        if gold is not None:
            truth = take_labels(
                gold,
                role="judge",
                reading=replace(as_judges, judge_columns=None),
                questions=questions or (),
                rater_name="gold",
            )
        study = _Study(humans=people, judges=machines, gold=truth)
        study._check_kinds(alignments)
        return study

    def _check_kinds(self, alignments: Sequence[Any]) -> None:
        kinds = {self.humans.kind, self.judges.kind}
        kinds |= set() if self.gold is None else {self.gold.kind}
        if len(kinds) > 1:
            msg = f"`humans`, `judges` and `gold` must be of one kind, got {sorted(kinds)!r}."
            raise InputError(msg)
        for alignment in alignments:
            needed = kind_of(alignment)
            if needed not in ("choice", "text", self.humans.kind):
                msg = f"`alignment` must suit a {self.humans.kind} question, got {alignment!r}."
                raise InputError(msg)

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """What was set aside where labels were read."""
        gold = () if self.gold is None else self.gold.dropped
        return self.humans.dropped + self.judges.dropped + gold


def understand(
    humans: LabelTable,
    judges: LabelTable,
    *,
    gold: LabelTable | None = None,
    questions: Sequence[str] | None = None,
) -> str:
    """Say in a line what was understood of the labels of a study."""
    asked = _questions(humans, questions)
    n_items = max(len(humans.of_questions([each]).item.used()) for each in asked)
    parts = [
        _counted(len(humans.raters), "annotator"),
        _counted(len(judges.raters), "judge"),
        _counted(n_items, "item"),
        humans.kind,
    ]
    if len(asked) > 1:
        parts.insert(2, _counted(len(asked), "question"))
    if humans.kind == "multilabel":
        parts.append(_counted(len(frozenset().union(*humans.label.used())), "label"))
    elif humans.kind == "choice":
        parts.append(_counted(len(humans.label.used()), "label"))
    n_dropped = sum(len(table.dropped) for table in (humans, judges, gold) if table is not None)
    parts.append(f"{_counted(n_dropped, 'row')} set aside" if n_dropped else "nothing set aside")
    notes = dict.fromkeys([*humans.notes, *judges.notes])
    return " ".join(
        [", ".join([*parts, *_others_seen(humans, judges)]), *(f"({x})" for x in notes)]
    )


def _others_seen(humans: LabelTable, judges: LabelTable) -> list[str]:
    """Name what annotators had seen that is no judge of the study: perhaps a slip."""
    known = {*judges.rater.values, *TRUE_WORDS, *FALSE_WORDS}
    seen = [] if humans.seen is None else humans.seen.values
    others = [name for name in seen if not {name, name.strip().casefold()} & known]
    return [f"annotators had seen answers of {shorten(name)!r}" for name in others[:1]]


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _kind_before(
    reading: Reading,
    given: Sequence[Any],
    alignments: Sequence[Any],
    verdicts: Sequence[Any],
    questions: Sequence[str] | None,
) -> QuestionKind | None:
    """Tell the kind before labels are read: declared, a table's, the verdicts', the alignments'."""
    for labels in given:
        if isinstance(labels, LabelTable):
            if reading.kind not in (None, labels.kind):
                msg = f"`kind` must be that of the tables, {labels.kind!r}, got {reading.kind!r}."
                raise InputError(msg)
            return labels.kind
    if reading.kind is not None:
        return reading.kind
    if verdicts:
        return _kind_of_verdicts(verdicts, questions=questions, alignments=alignments)
    implied = {kind_of(alignment) for alignment in alignments} - {"choice"}
    return implied.pop() if len(implied) == 1 else None


def _with_clusters(humans: LabelTable, clusters: Any) -> LabelTable:
    """Give the items their clusters; whether all have one is checked where they are aligned."""
    if not isinstance(clusters, Mapping):
        msg = f"`clusters` must be a mapping {{item: cluster}}, got {shorten(clusters)!r}."
        raise InputError(msg)
    named = {name_text(item): name_text(plain_value(unit)) for item, unit in clusters.items()}
    units: dict[str, int] = {}
    place = []
    for item in humans.item.values:
        unit = named.get(item)
        place.append(-1 if unit is None else units.setdefault(unit, len(units)))
    return replace(
        humans, cluster=Coded(list(units), np.array([*place, -1], np.int32)[humans.item.codes])
    )


def _cautions(results: Sequence[AltTestResult], plan: TestPlan) -> tuple[Caution, ...]:
    n_judges = len({row.judge for row in results})
    if n_judges < 2 or plan.family == "judges":
        return ()
    sentence = (
        f"{n_judges} judges are examined: the best of several passes more easily than one; "
        "confirm the one you choose on fresh items, or correct over all with family='judges'"
    )
    return (Caution(code="several_judges", sentence=sentence, figures={"n_judges": n_judges}),)


def _distinct(name: str, given: Sequence[Any]) -> list[Any]:
    """Take each of several names once; a text is not a sequence of names."""
    if isinstance(given, str):
        msg = f"`{name}` must be a list of names, got {given!r}. Write [{given!r}]."
        raise InputError(msg)
    return list(dict.fromkeys(given))


def _unanswered(
    judges: LabelTable, asked: Sequence[str], results: Sequence[AltTestResult]
) -> Iterator[Dropped]:
    """List judges who were not asked a question, and questions that no annotator answered."""
    names = judges.raters
    examined = {(row.judge, row.question) for row in results}
    for question in asked:
        for name in names:
            if (name, question) not in examined:
                reason = f"judge without labels for {shorten(question)!r}: not examined on it"
                yield Dropped(reason=reason, source="judge", rater=name, question=question)
    for question in judges.questions:
        if question not in asked:
            yield Dropped(
                reason="labels of judges for a question that is not examined",
                source="judge",
                question=question,
                value=f"{len(judges.of_questions([question]))} labels",
            )


def _sliced_by(metadata: pl.DataFrame | None, slices: Sequence[str] | None) -> list[str] | None:
    if metadata is None:
        return None
    return list(slices or [name for name in metadata.columns if name != "item"])


def _questions(humans: LabelTable, wanted: Sequence[str] | None) -> list[str]:
    known = humans.questions
    if not known:
        first = humans.dropped[0] if humans.dropped else None
        why = "" if first is None else f" The first: {first.place()}: {first.reason}."
        msg = f"no annotation is left to examine, {len(humans.dropped):,} are dropped.{why}"
        raise NoDataError(msg)
    if wanted is None:
        return known
    for question in wanted:
        if question not in known:
            listed = ", ".join(repr(shorten(name)) for name in known[:10])
            msg = f"`question` must be one of {listed}, got {shorten(question)!r}."
            raise NoDataError(msg)
    return list(dict.fromkeys(wanted))


def _matrices(
    study: _Study, question: str, alignments: Sequence[Any], **settings: Any
) -> Iterator[tuple[Any, LabelMatrix]]:
    """Yield each alignment with the labels in the form that it needs, aligned once per form."""
    made: dict[bool, LabelMatrix] = {}
    for alignment in alignments:
        numeric = alignment == "neg_rmse"
        if numeric not in made:
            made[numeric] = align(
                study.judges,
                study.humans,
                question=question,
                numeric=numeric,
                gold=study.gold,
                **settings,
            )
        yield alignment, made[numeric]


def _pooled(results: Sequence[AltTestResult], plan: TestPlan) -> tuple[PooledResult, ...]:
    families: dict[Any, list[AltTestResult]] = {}
    for row in results:
        families.setdefault((row.judge, row.alignment, row.epsilon), []).append(row)
    return tuple(
        pool_questions(family, false_discovery_rate=plan.false_discovery_rate)
        for family in families.values()
    )


# Verdicts in memory as the judges ------------------------------------------------------------

_MOST_SHOWN = 10


def _given_verdicts(judges: Any) -> list[tuple[str | None, Verdicts]]:
    """Take verdicts in memory with the names that the caller gave them; empty for anything else."""
    if isinstance(judges, Mapping):
        found: list[tuple[Any, Any]] = [(str(name), one) for name, one in judges.items()]
    else:
        several = judges if isinstance(judges, list | tuple) else [judges]
        found = [(None, one) for one in several]
    return found if all(callable(getattr(one, "frame", None)) for _, one in found) else []


def _kind_of_verdicts(
    verdicts: Sequence[tuple[str | None, Verdicts]],
    *,
    questions: Sequence[str] | None,
    alignments: Sequence[AlignmentName],
) -> QuestionKind:
    """Tell the one kind of question that verdicts answer, or that the alignments imply.

    Raises
    ------
    InputError
        If there are several.
    """
    kinds = _kinds(verdicts)
    asked = {name: kinds.get(name, "boolean") for name in questions or kinds}
    first = {kind: name for name, kind in reversed(asked.items())}
    if len(first) == 1:
        return next(iter(first))
    implied = {kind_of(alignment) for alignment in alignments} - {"choice"}
    if len(implied) == 1 and implied <= set(first):
        return implied.pop()
    kind, name = min(first.items())
    shown = ", ".join(f"{kind} ({shorten(name)!r})" for kind, name in sorted(first.items()))
    msg = (
        f"`kind` must be given for verdicts on several kinds of question, got {shown}. Name it "
        f"with the questions: kind={kind!r}, questions=[{shorten(name)!r}]."
    )
    raise InputError(msg)


def _verdict_frame(
    verdicts: Sequence[tuple[str | None, Verdicts]],
    *,
    kind: QuestionKind,
    questions: Sequence[str] | None,
    labels: Sequence[Any] | None,
) -> pl.DataFrame:
    """Make one frame of verdicts, of the questions asked for, else of those of the kind.

    Raises
    ------
    NoDataError
        If none of the questions asked for was judged.
    """
    import polars as pl

    frames = [
        one.frame() if name is None else one.frame().with_columns(judge=pl.lit(name))
        for name, one in verdicts
    ]
    frame = pl.concat(frames, how="diagonal_relaxed")
    if questions is not None:
        return _asked(frame, questions)
    if labels is not None:
        return frame
    kinds = _kinds(verdicts)
    others = [name for name, found in kinds.items() if found != "boolean"]
    wanted = pl.col("question").is_in([name for name in others if kinds[name] == kind])
    if kind == "boolean":  # also completion classes
        wanted = ~pl.col("question").is_in(others)
    chosen = frame.filter(wanted)
    return frame if chosen.is_empty() else chosen


def _asked(frame: pl.DataFrame, questions: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    chosen = frame.filter(pl.col("question").is_in(list(questions)))
    if chosen.is_empty():
        known = frame["question"].unique(maintain_order=True).head(_MOST_SHOWN).to_list()
        msg = (
            f"`questions` must be among those that were judged, got {shorten(questions[0])!r}. "
            f"Ask for one of {', '.join(repr(shorten(name)) for name in known)}."
        )
        raise NoDataError(msg)
    return chosen


def _kinds(verdicts: Sequence[tuple[str | None, Verdicts]]) -> dict[str, QuestionKind]:
    """Tell the kind of every question; pairs are a choice of A, B and tie."""
    found: dict[str, QuestionKind] = {}
    for _, one in verdicts:
        found |= dict.fromkeys(one.questions, "boolean")
        for row in () if one.calls is None else one.calls.answers:
            kind = "choice" if row.kind == "pairwise" else row.kind
            found[row.question] = cast("QuestionKind", kind)
    return found
