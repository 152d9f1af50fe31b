"""Examine every judge of a study: all questions, alignments and margins in one run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, Unpack

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.records import Dropped
from voirdire.stats import Caution
from voirdire.stats.display import html_table, summary_rows, text_table
from voirdire.studies.examination import check_alignment, examine_matrix, kind_of
from voirdire.studies.findings import QuestionFindings, find_around
from voirdire.studies.from_tables import matrix_from_tables
from voirdire.studies.given_labels import kind_of_given, take_labels
from voirdire.studies.given_verdicts import given_verdicts, kind_of_verdicts, verdict_frame
from voirdire.studies.plan import PlanFields, TestPlan
from voirdire.studies.pooling import PooledResult, pool_questions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from voirdire._types import AlignmentName, QuestionKind
    from voirdire.io import LabelTable
    from voirdire.stats import AltTestResult

__all__ = ["Examination", "examine"]


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
    cautions : tuple of Caution
        What a reader should know of the whole: that the best of several judges was looked for.
    """

    results: tuple[AltTestResult, ...]
    pooled: tuple[PooledResult, ...] = ()
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    settings: dict[str, Any] = field(default_factory=dict, repr=False)
    questions: tuple[QuestionFindings, ...] = field(default=(), repr=False)
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


class _Epsilon(PlanFields, total=False):
    epsilon: float | Sequence[float]


def examine(
    humans: Any,
    judges: Any,
    *,
    kind: QuestionKind | None = None,
    alignments: Sequence[AlignmentName] = ("accuracy",),
    plan: TestPlan | None = None,
    questions: Sequence[str] | None = None,
    labels: Sequence[Any] | None = None,
    gold: Any = None,
    clustered: bool = False,
    metadata: pl.DataFrame | None = None,
    slices: Sequence[str] | None = None,
    around: bool = True,
    **settings: Unpack[_Epsilon],
) -> Examination:
    """Examine the judges of a study against its annotators.

    Parameters
    ----------
    humans, judges : LabelTable, data frame, path, list of paths, or mapping
        Labels as `voirdire.io.read_labels` gives them; or what it, or
        `voirdire.io.table_from_frame`, can read without further settings; or
        ``{rater: {item: label}}``, for one judge also ``{item: label}``. Judges may also be a
        folder of verdicts, or what `voirdire.judge` gave: by itself, in a list, or as
        ``{name: verdicts}``.
    kind : {"boolean", "choice", "multilabel", "scale", "text"}, optional
        How labels that are in no table yet are read; by default as the questions are of what
        `voirdire.judge` gave, else as the alignments imply.
    alignments : sequence of str, optional
        See `voirdire.alt_test`.
    plan : TestPlan, optional
        Margins, method, variants and seed.
    questions : sequence of str, optional
        Which questions; by default all that annotators answered. One alone is also the name of
        the question where labels have none.
    labels : sequence, optional
        The declared label universe.
    gold : LabelTable, data frame, path, or mapping, optional
        Gold labels that stand for "the others".
    clustered : bool, optional
        Whether the tables' clusters are the independent units.
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
        If a setting or a label breaks a rule.
    NoDataError
        If nothing is left to examine.

    Examples
    --------
    >>> import polars as pl
    >>> wide = pl.DataFrame({"item": range(60), **{n: [0, 1] * 30 for n in ("ann", "bob", "eve")}})
    >>> mine = {item: item % 2 for item in range(60)}
    >>> judges = {"mine": mine, "yours": dict.fromkeys(range(60), 1)}
    >>> found = examine(wide, judges)
    >>> [(row.judge, row.winning_rate) for row in found.results]
    [('mine', 1.0), ('yours', 0.0)]
    """
    plan = replace(plan or TestPlan(), **settings)
    alignments = _distinct("alignments", alignments)
    if questions is not None:
        questions = _distinct("questions", questions)
    verdicts = given_verdicts(judges)
    kind = kind_of_given(
        (humans, judges, gold),
        kind,
        alignments,
        implied_by=partial(kind_of_verdicts, verdicts, questions=questions, alignments=alignments)
        if verdicts
        else None,
    )
    if verdicts:
        judges = verdict_frame(verdicts, kind=kind, questions=questions, labels=labels)
        if questions is None and judges["question"].n_unique() == 1:
            questions = [judges["question"][0]]
    taken = partial(take_labels, kind=kind, labels=labels, questions=questions or ())
    humans = taken(humans, role="annotator")
    judges = taken(judges, role="judge")
    gold = None if gold is None else taken(gold, role="judge")
    _check_fit(humans, judges, gold, alignments)
    if slices is not None:
        slices = _distinct("slices", slices)
        if metadata is None:
            msg = f"`slices` must name columns of `metadata`, got {slices!r} without metadata."
            raise InputError(msg)
    asked = _questions(humans, questions)
    results: list[AltTestResult] = []
    findings: list[QuestionFindings] = []
    for question in asked:
        matrices = list(
            _matrices(
                humans, judges, question, alignments, labels=labels, gold=gold, clustered=clustered
            )
        )
        for alignment, matrix in matrices:
            results += examine_matrix(matrix, plan, alignment=alignment, question=question)
        if around:
            findings.append(
                find_around(
                    matrices,
                    plan,
                    question=question,
                    kind=humans.kind,
                    metadata=metadata,
                    slices=slices,
                )
            )
    unmatched = dict.fromkeys(chain.from_iterable(row.dropped for row in results))
    unmatched |= dict.fromkeys(_unanswered(judges, asked, results))
    return Examination(
        results=tuple(results),
        pooled=_pooled(results, plan) if len(asked) > 1 else (),
        dropped=humans.dropped
        + judges.dropped
        + (() if gold is None else gold.dropped)
        + tuple(unmatched),
        settings=plan.as_settings()
        | {
            "kind": humans.kind,
            "alignments": list(alignments),
            "questions": asked,
            "labels": None if labels is None else list(labels),
            "gold": gold is not None,
            "clustered": clustered,
            "slices": _sliced_by(metadata, slices),
        },
        questions=tuple(findings),
        cautions=_cautions(results, plan),
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


def _check_fit(
    humans: LabelTable,
    judges: LabelTable,
    gold: LabelTable | None,
    alignments: Sequence[AlignmentName],
) -> None:
    kinds = {humans.kind, judges.kind} | ({gold.kind} if gold is not None else set())
    if len(kinds) > 1:
        msg = f"`humans`, `judges` and `gold` must be of one kind, got {sorted(kinds)!r}."
        raise InputError(msg)
    if not alignments:
        msg = "`alignments` must name at least one alignment, got none."
        raise InputError(msg)
    for alignment in alignments:
        check_alignment(alignment)
        needed = kind_of(alignment)
        if needed not in ("choice", "text", humans.kind):
            msg = f"`alignments` must suit a {humans.kind} question, got {alignment!r}."
            raise InputError(msg)


def _unanswered(
    judges: LabelTable, asked: Sequence[str], results: Sequence[AltTestResult]
) -> Iterator[Dropped]:
    """List judges who were not asked a question, and questions that no annotator answered."""
    import polars as pl

    names = judges.frame["rater"].cast(pl.String).unique(maintain_order=True).to_list()
    examined = {(row.judge, row.question) for row in results}
    for question in asked:
        for name in names:
            if (name, question) not in examined:
                reason = f"judge without labels for {shorten(question)!r}: not examined on it"
                yield Dropped(reason=reason, source="judge", rater=name, question=question)
    counts = judges.frame.group_by("question", maintain_order=True).len()
    for question, count in counts.filter(~pl.col("question").is_in(list(asked))).iter_rows():
        yield Dropped(
            reason="labels of judges for a question that is not examined",
            source="judge",
            question=question,
            value=f"{count} labels",
        )


def _sliced_by(metadata: pl.DataFrame | None, slices: Sequence[str] | None) -> list[str] | None:
    if metadata is None:
        return None
    return list(slices or [name for name in metadata.columns if name != "item"])


def _questions(humans: LabelTable, wanted: Sequence[str] | None) -> list[str]:
    known = humans.frame["question"].unique(maintain_order=True).to_list()
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
    humans: LabelTable,
    judges: LabelTable,
    question: str,
    alignments: Sequence[AlignmentName],
    **settings: Any,
) -> Any:
    """Yield each alignment with the labels in the form that it needs, aligned once per form."""
    made: dict[bool, Any] = {}
    for alignment in alignments:
        numeric = alignment == "neg_rmse"
        if numeric not in made:
            made[numeric] = matrix_from_tables(
                judges, humans, question=question, numeric=numeric, **settings
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
