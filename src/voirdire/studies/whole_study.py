"""Examines the judges of a study: all questions, alignments and margins, or one alone."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import did_you_mean, shorten
from voirdire._types import EpsilonMode, Margin, Share  # noqa: TC001  # what reads the JSON looks at the types
from voirdire._validation import change_fields, check_epsilons
from voirdire.errors import DoubtfulLabelsWarning, DroppedRowsWarning, InputError
from voirdire.io.metadata import read_metadata
from voirdire.records import Dropped
from voirdire.records.tables import Tabular
from voirdire.stats import AltTestResult, Caution, benjamini_yekutieli
from voirdire.stats.plan import TestPlan
from voirdire.stats.results import make_caution
from voirdire.studies.examination import check_alignment, choose_alignment, examine_matrix
from voirdire.studies.findings import QuestionFindings, find_around
from voirdire.studies.label_matrix import align
from voirdire.studies.pattern_study import read_patterns
from voirdire.studies.study import (
    declare,
    format_count,
    is_column,
    join_column,
    name_rows,
    read_study,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import polars as pl

    from voirdire._types import AlignmentName, QuestionKind
    from voirdire.io import Reading
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.studies.study import Labels, Study


@dataclass(frozen=True, kw_only=True)
class PooledQuestion:
    """One question's share of a pooled result.

    Attributes
    ----------
    question : str
        Which one.
    winning_rate : float
        ω with the deciding p-values of all questions under one Benjamini-Yekutieli; nan without
        annotators.
    winning_rate_alone : float
        ω of the question by itself.
    """

    question: str
    winning_rate: Share
    winning_rate_alone: Share


@dataclass(frozen=True, kw_only=True)
class PooledResult:
    """One judge, alignment and ε over several questions.

    Attributes
    ----------
    judge, alignment : str
        Judge and alignment.
    epsilon : float
        The margin.
    epsilon_mode : str
        How it enters.
    n_tests : int
        p-values in the pool: questions times tested annotators.
    questions : tuple of PooledQuestion
        In the order given.
    """

    judge: str
    alignment: str
    epsilon: Margin
    epsilon_mode: EpsilonMode
    n_tests: int
    questions: tuple[PooledQuestion, ...]


@dataclass(frozen=True, kw_only=True)
class Examination(Tabular, rows="examinations"):
    """Everything that an examination found: what `voirdire examine --json` prints.

    Attributes
    ----------
    results : tuple of AltTestResult
        One per question, alignment, judge and ε, in this order.
    pooled : tuple of PooledResult
        Several questions under one false discovery rate; empty with one question.
    dropped : tuple of Dropped
        Every label that was set aside, with its reason.
    settings : dict
        Settings that were fixed before the labels were seen.
    questions : tuple of QuestionFindings
        Further findings per question: agreement, differences of judges, diagnosis.
    understood : str
        One line about the labels that were read.
    cautions : tuple of Caution
        Cautions about the whole, such as selection of the best of several judges.
    """

    results: tuple[AltTestResult, ...] = field(metadata={"key": "examinations"})
    pooled: tuple[PooledResult, ...] = ()
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    settings: dict[str, Any] = field(default_factory=dict, repr=False)
    questions: tuple[QuestionFindings, ...] = field(default=(), repr=False)
    understood: str = ""
    cautions: tuple[Caution, ...] = field(default=(), repr=False)

    def of_judge(self, judge: str) -> tuple[AltTestResult, ...]:
        """Return one judge's results."""
        return tuple(row for row in self.results if row.judge == judge)

    @property
    def judges(self) -> tuple[str, ...]:
        """Names of the judges, in the order given."""
        return tuple(dict.fromkeys(row.judge for row in self.results))

    def __getitem__(self, key: str | tuple[Any, ...]) -> AltTestResult:
        """Return the one result of ``[judge, question, alignment, epsilon]``.

        Parts with only one value may be left out: ``[judge]`` where there is one question,
        alignment and ε; None means any.

        Raises
        ------
        KeyError
            If no result, or more than one, is called so.
        """
        parts = key if isinstance(key, tuple) else (key,)
        names = ("judge", "question", "alignment", "epsilon")
        rows = [
            row
            for row in self.results
            if all(x in (None, getattr(row, name)) for name, x in zip(names, parts, strict=False))
        ]
        if len(rows) != 1 or len(parts) > len(names):
            values = {name: {getattr(row, name): None for row in self.results} for name in names}
            listing = "; ".join(f"{name} {', '.join(map(repr, x))}" for name, x in values.items())
            msg = f"[judge, question, alignment, epsilon] must name one result, got {key!r} for "
            raise KeyError(f"{msg}{len(rows)} of {len(self.results)} results. There are {listing}.")
        return rows[0]


def examine(
    table: Labels | None = None,
    *,
    judges: Labels,
    humans: Labels | None = None,
    alignment: AlignmentName
    | VectorizedScore
    | Sequence[AlignmentName | VectorizedScore]
    | None = None,
    kind: QuestionKind | None = None,
    labels: Sequence[Any] | None = None,
    gold: Labels | None = None,
    clusters: Mapping[Any, Any] | bool = False,
    questions: Sequence[str] | None = None,
    reading: Reading | None = None,
    plan: TestPlan | None = None,
    metadata: pl.DataFrame | None = None,
    around: bool = True,
    large: bool | None = None,
    **settings: Any,
) -> Examination:
    """Examine the judges of a study against its annotators.

    Both sides are keyword arguments, since they have the same form.

    Parameters
    ----------
    table : data frame or path, optional
        Labels of people and judges in one, in place of `humans`: `judges` then names which of its
        raters are judges.
    judges, humans : LabelTable, data frame, path, mapping, or list of these
        Labels: files, data frames, or ``{rater: {item: label}}``, as `voirdire.io.read_labels`
        reads them; for one judge also ``{item: label}``. In pandas an index that is no range
        names the items of a frame that has no such column. Judges may also be a folder of verdicts,
        or what `voirdire.judge` gave: by itself, in a list, or as ``{name: verdicts}``.
    alignment : str, callable, or sequence of these, optional
        How close two labels are, see `voirdire.alt_test`; by default ``"neg_rmse"`` for a scale,
        else ``"accuracy"``.
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
        Margins, variants and seed.
    metadata : polars.DataFrame, optional
        What is known about the items, as `voirdire.io.read_metadata` gives it: slices by each of
        its columns.
    around : bool, optional
        Whether to find what stands around the test too, in `Examination.questions`.
    large : bool, optional
        Whether labels of Parquet files are counted instead of held: files may be larger than
        memory, and what needs every item is left out, which a caution says. By default beyond ten
        million labels, without gold, metadata and a mapping of clusters.
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
    '3 annotators (a, b, c), 2 judges (mine, yours), 60 items, boolean, nothing set aside'
    >>> [(row.judge, row.winning_rate) for row in found.results]
    [('mine', 1.0), ('yours', 0.0)]
    """
    plan = change_fields(plan or TestPlan(), settings, of=examine)
    is_one = not isinstance(alignment, list | tuple | set | frozenset | None)
    named: Any = [alignment] if is_one else alignment
    if named is not None and not named:
        msg = "`alignment` must name at least one alignment, got none."
        raise InputError(msg)
    alignments = {each: check_alignment(each) for each in named or ()}
    reading = declare(reading, kind, labels)
    humans, judges, reading = _name_sides(table, humans, judges, reading)
    if metadata is not None:
        metadata = read_metadata(metadata)
    units: Any = clusters
    if not isinstance(units, bool | Mapping):
        msg = f"`clusters` must be a mapping {{item: cluster}}, got {shorten(clusters)!r}."
        raise InputError(msg)
    if isinstance(questions, str):
        msg = f"`questions` must be a list of names, got {questions!r}. Write [{questions!r}]."
        raise InputError(msg)
    study = read_any_study(
        humans,
        judges,
        gold,
        reading=reading,
        alignments=list(alignments),
        questions=questions,
        clusters=clusters,
        metadata=metadata,
        large=large,
    )
    return examine_study(
        study,
        alignments=alignments,
        labels=reading.labels,
        clusters=clusters,
        plan=plan,
        metadata=metadata,
        around=around,
    )


def read_any_study(
    humans: Labels,
    judges: Labels,
    gold: Labels | None = None,
    *,
    reading: Reading,
    alignments: Sequence[Any],
    questions: Sequence[str] | None,
    clusters: Mapping[Any, Any] | bool,
    metadata: object = None,
    large: bool | None = None,
) -> Study:
    """Read a study: hold its labels, or count them where they are many."""
    beside = {"gold": gold, "metadata": metadata}
    if isinstance(clusters, Mapping):
        beside["clusters"] = clusters
    given = [name for name, x in beside.items() if x is not None]
    if large and given:
        msg = f"`large` counts labels, and `{given[0]}` needs every item. Leave one of them out."
        raise InputError(msg)
    asked: dict[str, Any] = {"reading": reading, "alignments": alignments, "questions": questions}
    counted = None
    if not given:
        counted = read_patterns(humans, judges, **asked, clusters=bool(clusters), large=large)
    return counted or read_study(humans, judges, gold, **asked)


def examine_study(
    study: Study,
    *,
    alignments: Mapping[Any, str],
    labels: Sequence[Any] | None,
    clusters: Mapping[Any, Any] | bool,
    plan: TestPlan,
    metadata: pl.DataFrame | None = None,
    around: bool = True,
) -> Examination:
    """Examine the judges of a study that was read, by alignments with their names."""
    if not alignments:
        by_kind = choose_alignment(study.humans.kind)
        alignments = {by_kind: by_kind}
    results: list[AltTestResult] = []
    findings: list[QuestionFindings] = []
    for question in study.questions:
        matrix = (
            align(
                study.judges,
                study.humans,
                question=question,
                labels=labels,
                gold=study.gold,
                clusters=clusters,
            )
            if study.matrices is None
            else study.matrices[question]
        )
        matrices = [
            (name, matrix.as_numbers() if name == "neg_rmse" else matrix) for name in alignments
        ]
        for name, labelled in matrices:
            results += examine_matrix(labelled, plan, alignment=name)
        if around and study.matrices is None:
            sides = [side.of_questions([question]) for side in (study.humans, study.judges)]
            findings.append(find_around(matrices, plan, sides, metadata))
    _warn(study, results)
    unmatched = chain(*(row.dropped for row in results), _list_unanswered(study, results))
    families: dict[Any, list[AltTestResult]] = {}
    for row in results if len(study.questions) > 1 else ():
        families.setdefault((row.judge, row.alignment, row.epsilon), []).append(row)
    n_judges, rate = len({row.judge for row in results}), plan.false_discovery_rate
    is_choice = n_judges > 1 and plan.family != "judges"
    return Examination(
        results=tuple(results),
        understood=study.understood(),
        pooled=tuple(pool_questions(x, false_discovery_rate=rate) for x in families.values()),
        dropped=study.dropped + tuple(dict.fromkeys(unmatched)),
        settings=plan.as_settings()
        | {
            "kind": study.humans.kind,
            "alignments": list(alignments.values()),
            "questions": study.questions,
            "labels": None if labels is None else list(labels),
            "gold": study.gold is not None,
            "clustered": bool(clusters),
            "slices": None if metadata is None else metadata.columns[1:],
        },
        questions=tuple(findings),
        cautions=(make_caution("several_judges", n_judges=n_judges),) if is_choice else (),
    )


def _warn(study: Study, results: Sequence[AltTestResult]) -> None:
    """Issue the warnings of an examination."""
    set_aside = [row for row in study.dropped if row.reason != "missing label"]
    if set_aside:
        first = f"{set_aside[0].place()}: {set_aside[0].reason}"
        count = format_count(sum(row.n_rows for row in set_aside), "label")
        msg = f"{count} set aside, the first: {first}; see `dropped`."
        warnings.warn(msg, DroppedRowsWarning, stacklevel=3)
    doubts = {
        caution.sentence: None
        for row in results
        for caution in (row.because, *row.cautions)
        if caution.code in ("vocabulary", "strange_labels", "strange_annotators")
    }
    for sentence in doubts:
        warnings.warn(f"{sentence.rstrip('.')}.", DoubtfulLabelsWarning, stacklevel=3)


def _list_unanswered(study: Study, results: Sequence[AltTestResult]) -> Iterator[Dropped]:
    """List judges without labels on a question, and questions without annotations."""
    judges, asked = study.judges, study.questions
    examined = {(row.judge, row.question) for row in results}
    for question in asked:
        for name in judges.raters:
            if (name, question) not in examined:
                reason = f"judge without labels for {shorten(question)!r}: not examined on it"
                yield Dropped(reason=reason, source="judge", rater=name, question=question)
    for question in judges.questions:
        if question not in asked:
            reason = "labels of judges for a question that is not examined"
            value = f"{len(judges.of_questions([question]))} labels"
            yield Dropped(reason=reason, source="judge", question=question, value=value)


# Several questions -----------------------------------------------------------------------------


def pool_questions(
    results: Iterable[AltTestResult], *, false_discovery_rate: float = 0.05
) -> PooledResult:
    """Control the false discovery rate over all questions and annotators at once.

    Parameters
    ----------
    results : iterable of AltTestResult
        One per question, all of the same judge, alignment and ε.
    false_discovery_rate : float, optional
        q, in (0, 1).

    Returns
    -------
    PooledResult

    Raises
    ------
    InputError
        If there is no result, or judges, alignments or ε differ.

    Examples
    --------
    >>> import voirdire
    >>> judge = {i: i % 2 for i in range(60)}
    >>> humans = {
    ...     name: {i: 1 - x if i % 12 == slip else x for i, x in judge.items()}
    ...     for slip, name in enumerate(["ann", "bob", "eve"])
    ... }
    >>> results = [voirdire.alt_test(judge, humans, question=name) for name in ("q1", "q2")]
    >>> pool_questions(results).n_tests
    6
    """
    listed = list(results)
    keys = {(row.judge, row.alignment, row.epsilon, row.epsilon_mode) for row in listed}
    if len(keys) != 1:
        msg = (
            "`results` must be of one judge, alignment and epsilon, got "
            f"{len(keys)} combinations. Pool each by itself."
        )
        raise InputError(msg)
    # an undefined p-value of a tested annotator counts as 1
    p_values = [row.deciding_p_value for result in listed for row in result.annotators]
    family = np.nan_to_num(p_values, nan=1.0)
    rejected = benjamini_yekutieli(family, false_discovery_rate=false_discovery_rate)
    ends = np.cumsum([len(result.annotators) for result in listed])[:-1]
    questions = []
    for result, shown in zip(listed, np.split(rejected, ends), strict=True):
        quality = result.settings.get("quality")
        weights = [1.0 if not quality else quality[row.annotator] for row in result.annotators]
        question = PooledQuestion(
            question=result.question,
            winning_rate=float(np.average(shown, weights=weights)) if weights else math.nan,
            winning_rate_alone=result.winning_rate,
        )
        questions.append(question)
    judge, alignment, epsilon, mode = keys.pop()
    return PooledResult(
        judge=judge,
        alignment=alignment,
        epsilon=epsilon,
        epsilon_mode=mode,
        n_tests=len(family),
        questions=tuple(questions),
    )


# One question ---------------------------------------------------------------------------------


def _name_sides(
    table: Labels | None, humans: Labels | None, judges: Labels, reading: Reading
) -> tuple[Labels, Labels, Reading]:
    """Tell people from judges, where `judges` may name those among the raters of one table."""
    if table is None and humans is not None:
        return humans, judges, reading
    if table is None or humans is not None:
        msg = "`humans` must be given, or one table of people and judges before `judges`."
        raise InputError(msg)
    names: Any = [judges] if isinstance(judges, str) else judges
    columns = [str(name) for name in getattr(table, "columns", names)]
    lost = [name for name in names if name not in columns]
    if lost and {"rater", "annotator", "judge"}.isdisjoint(columns):
        msg = f"`judges` must name columns of the table, got {shorten(lost[0])!r}."
        raise InputError(f"{msg}{did_you_mean(lost[0], columns)}")
    return table, table, replace(reading, judge_columns=list(names))


def alt_test(
    judge: Labels,
    humans: Labels,
    *,
    epsilon: float | None = None,
    alignment: AlignmentName | VectorizedScore | None = None,
    kind: QuestionKind | None = None,
    labels: Sequence[Any] | None = None,
    gold: Labels | None = None,
    clusters: Mapping[Any, Any] | None = None,
    question: str = "label",
    plan: TestPlan | None = None,
    **settings: Any,
) -> AltTestResult:
    """Examine whether a judge may replace human annotators.

    One annotator at a time is left out, and the judge is asked to be at least as close to the
    others as that annotator is, up to a margin ε for being cheaper [1]_. To pass it must be
    shown so for half of the annotators, and to be closer to them than a constant answer is: see
    `outcome`.

    Parameters
    ----------
    judge : mapping, data frame, column or file
        The judge's labels, ``{item: label}``, a pandas, polars or pyarrow frame with columns
        `item` and `label`, or a column of the frame of the annotators: ``df["gpt"]`` beside
        ``df[["ann", "bob"]]``, by the index of pandas, or row by row in polars.
    humans : mapping, data frame or file
        The annotators' labels, ``{annotator: {item: label}}``, or a frame: long (`item`,
        `annotator`, `label`) or wide (`item` and one column per annotator). A label is a text, a
        number, a truth value, or a list or set of texts for multi-label questions; None, nan,
        empty text and "can't tell" are missing.
    epsilon : float, optional
        The margin; .2 for experts, .15 for skilled annotators, .1 for crowd workers.
    alignment : str or callable, optional
        How close two labels are: ``"accuracy"`` (equal or not), ``"neg_rmse"`` (the distance of
        numbers; the default for a scale), ``"similarity"`` (texts), ``"jaccard"``,
        ``"jaccard_macro"``, ``"jaccard_slots"``, ``"hamming"`` (sets), or a function of two arrays
        of labels that returns the score of each pair.
    kind : {"boolean", "choice", "multilabel", "scale", "text"}, optional
        What the question asks for: ``"choice"`` reads numbers as names, ``"scale"`` text as
        numbers, ``"boolean"`` words such as yes and no as truth values. By default what the
        alignment needs, or what the labels leave no choice about.
    labels : sequence, optional
        The label universe. An annotator's label outside it is dropped and listed; a judge's is a
        failure. Without it the universe is the union over annotators and judges.
    gold : mapping or data frame, optional
        Gold labels ``{item: label}`` that do so; see `outperforms_humans`.
    clusters : mapping, optional
        ``{item: cluster}`` for items that share a source; errors become cluster-robust.
    question : str, optional
        Name of the question, for the results.
    plan : TestPlan, optional
        Margins, weights and sizes of the test.
    **settings
        Fields of `TestPlan`, each of which counts before that of `plan`: `epsilon_mode`,
        `weights`, `quality`, `expert`, `similarity`, `min_items` (30), `min_annotators`,
        `false_discovery_rate`, `family`, `n_resamples`, `confidence_level`, `seed`. See
        `voirdire.studies.TestPlan`.

    Returns
    -------
    AltTestResult
        Of one judge at one ε; `voirdire.examine` takes several of each.

    Raises
    ------
    InputError
        If labels, names or settings break a rule above; the message says which.
    NoDataError
        If nothing is left to examine: no annotations, or no item in common with a judge.

    Warns
    -----
    DegenerateDataWarning
        If no annotator has enough items, so that ω is nan and the outcome ``"no_evidence"``.
    DroppedRowsWarning, DoubtfulLabelsWarning
        As `voirdire.examine` does.

    Notes
    -----
    A judge's missing label and a `voirdire.records.Failure` count as failures: left out of
    the main figures, lost in `worst_case`, which decides the outcome. Annotated items that the
    judge was not asked about are counted in `cautions`; labels that were set aside are listed in
    `dropped`. `voirdire.examine` takes other names of columns, thresholds, several questions, and
    finds what stands around the test.

    References
    ----------
    .. [1] N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for
       LLM-as-a-Judge: How to Statistically Justify Replacing Human Annotators with LLMs",
       ACL 2025, arXiv 2501.10970.

    Examples
    --------
    >>> import voirdire
    >>> truth = {f"t{i}": "yes" if i % 3 else "no" for i in range(60)}
    >>> wrong = {"yes": "no", "no": "yes"}
    >>> humans = {
    ...     name: {t: wrong[x] if int(t[1:]) % 10 == slip else x for t, x in truth.items()}
    ...     for slip, name in enumerate(["ann", "bob", "eve"])
    ... }
    >>> result = voirdire.alt_test(truth, humans, epsilon=0.2)
    >>> result.winning_rate, result.advantage_probability, result.outcome
    (1.0, 1.0, 'passed')
    """
    if isinstance(judge, Mapping) and judge and all(isinstance(x, Mapping) for x in judge.values()):
        msg = (
            "`judge` must map items to labels, got a mapping of mappings. Examine several judges "
            "with examine(judges=..., humans=...)."
        )
        raise InputError(msg)
    plan = change_fields(plan or TestPlan(), settings, of=alt_test)
    beside = humans
    if is_column(judge):
        judge, humans = join_column("judge", judge, beside), name_rows(beside)
    gold = next(iter(join_column("gold", gold, beside).values())) if is_column(gold) else gold
    margins = check_epsilons(plan.epsilon if epsilon is None else epsilon)
    if len(margins) > 1:
        msg = (
            f"`epsilon` must be one number, got {len(margins)}. Examine several margins with "
            "examine(judges=..., humans=..., epsilon=[...])."
        )
        raise InputError(msg)
    examination = examine(
        judges=judge,
        humans=humans,
        alignment=alignment,
        kind=kind,
        labels=labels,
        gold=gold,
        clusters=False if clusters is None else clusters,
        questions=[question],
        plan=plan,
        around=False,
        epsilon=margins[0],
    )
    if len(examination.results) > 1:
        names = ", ".join(repr(shorten(name)) for name in examination.judges)
        msg = f"`judge` must hold one judge's labels, got {names}. Use examine(judges=...)."
        raise InputError(msg)
    return replace(examination.results[0], dropped=examination.dropped)


def outperforms_humans(
    judge: Labels, humans: Labels, *, gold: Labels, **settings: Any
) -> AltTestResult:
    """Examine whether a judge is closer to gold labels than the annotators are.

    The gold labels stand for "the others", and ε is 0: what is tested is superiority, not
    replaceability.

    Parameters
    ----------
    judge, humans
        As in `alt_test`.
    gold : mapping or data frame
        Gold labels ``{item: label}``.
    **settings
        Any other argument of `alt_test` but `epsilon`.

    Returns
    -------
    AltTestResult
        With `epsilon` 0.

    Raises
    ------
    InputError
        As `alt_test` does.

    Examples
    --------
    >>> gold = {f"t{i}": i % 2 for i in range(200)}
    >>> humans = {
    ...     name: {t: 1 - x if int(t[1:]) % 5 == slip else x for t, x in gold.items()}
    ...     for slip, name in enumerate(["ann", "bob", "eve"])
    ... }
    >>> outperforms_humans(gold, humans, gold=gold).outcome
    'passed'
    """
    if "epsilon" in settings:
        msg = (
            f"`epsilon` must be left out: it is 0 here, got {settings['epsilon']!r}. Use alt_test."
        )
        raise InputError(msg)
    return alt_test(judge, humans, gold=gold, epsilon=0.0, **settings)
