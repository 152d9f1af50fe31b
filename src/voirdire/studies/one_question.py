"""The alternative annotator test for a user with two dicts or two data frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack, overload

from voirdire._validation import check_epsilons, shorten
from voirdire.errors import InputError
from voirdire.studies.examination import check_alignment, examine_matrix, kind_of, make_reader
from voirdire.studies.from_frames import InMemory, holds_frames, read_frames
from voirdire.studies.from_mappings import matrix_from_mappings
from voirdire.studies.plan import PlanFields, TestPlan

if TYPE_CHECKING:
    from voirdire._types import (
        AlignmentName,
        QuestionKind,
    )
    from voirdire.stats import AltTestResult
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.studies.label_matrix import LabelMatrix

__all__ = ["alt_test", "outperforms_humans"]

DEFAULT_JUDGE = "judge"


class _Settings(PlanFields, total=False):
    """Every keyword but ε, for type checkers."""

    alignment: AlignmentName | VectorizedScore
    kind: QuestionKind | None
    labels: Sequence[Any] | None
    gold: Any
    clusters: Mapping[Any, Any] | None
    question: str
    plan: TestPlan | None


@overload
def alt_test(
    judge: Any, humans: Any, *, epsilon: float = ..., **settings: Unpack[_Settings]
) -> AltTestResult: ...
@overload
def alt_test(
    judge: Any, humans: Any, *, epsilon: Sequence[float], **settings: Unpack[_Settings]
) -> list[AltTestResult]: ...
@overload
def alt_test(
    *, judges: Any, humans: Any, epsilon: float = ..., **settings: Unpack[_Settings]
) -> dict[str, AltTestResult]: ...
@overload
def alt_test(
    *, judges: Any, humans: Any, epsilon: Sequence[float], **settings: Unpack[_Settings]
) -> dict[str, list[AltTestResult]]: ...
def alt_test(
    judge: Any = None,
    humans: Any = None,
    *,
    judges: Any = None,
    alignment: AlignmentName | VectorizedScore = "accuracy",
    kind: QuestionKind | None = None,
    labels: Sequence[Any] | None = None,
    gold: Any = None,
    clusters: Mapping[Any, Any] | None = None,
    question: str = "label",
    plan: TestPlan | None = None,
    **settings: Any,
) -> Any:
    """Examine whether a judge may replace human annotators.

    One annotator at a time is left out, and the judge is asked to be at least as close to the
    others as that annotator is, up to a margin ε for being cheaper [1]_. The judge passes if it
    wins at least half of the annotators; read `outcome`, which also says when a pass means
    nothing.

    Parameters
    ----------
    judge : mapping or data frame, optional
        The judge's labels, ``{item: label}``, or a pandas, polars or pyarrow frame with columns
        `item` and `label`.
    humans : mapping or data frame
        The annotators' labels, ``{annotator: {item: label}}``, or a frame: long (`item`,
        `annotator`, `label`) or wide (`item` and one column per annotator). A label is a text, a
        number, a truth value, or a list or set of texts for multi-label questions; None, nan,
        empty text and "can't tell" are missing.
    judges : mapping or data frame, optional
        Several judges at once, ``{name: {item: label}}``; instead of `judge`.
    alignment : str or callable, optional
        How close two labels are: ``"accuracy"``, ``"neg_rmse"`` (numbers), ``"similarity"``
        (texts), ``"jaccard"``, ``"jaccard_macro"``, ``"jaccard_slots"``, ``"hamming"`` (sets), or
        a function of two arrays of labels that returns the score of each pair.
    kind : {"boolean", "choice", "multilabel", "scale", "text"}, optional
        Declares how labels are read: ``"choice"`` reads numbers as text, ``"scale"`` text as
        numbers, ``"boolean"`` words such as yes and no as truth values. By default labels are
        what they are, and labels of different types are an error.
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
        Margins, method, weights and sizes of the test.
    **settings
        Fields of `TestPlan`, each of which counts before that of `plan`: `epsilon` (.2),
        `epsilon_mode`, `method`, `weights`, `quality`, `expert`, `normalize`, `similarity`,
        `min_items` (30), `min_annotators`, `false_discovery_rate`, `family`, `n_resamples`,
        `confidence_level`, `seed`. See `voirdire.studies.TestPlan`.

    Returns
    -------
    AltTestResult, list of AltTestResult, or dict of either
        One result; with a sequence of ε, or a `plan` of several, a list, one result per ε in
        order; with `judges` a dict of these by judge.

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

    Notes
    -----
    A judge's missing label and a `voirdire.records.Failure` count as failures: left out of
    the main figures, lost in `worst_case`, which decides the outcome. Annotated items that the
    judge was not asked about are counted in `cautions`; labels that were set aside are listed in
    `dropped`. Data frames take their columns by these names and are read as `kind`, or as the kind
    that the alignment implies; `voirdire.io.table_from_frame` and `voirdire.studies.examine` take
    other names, thresholds and several questions.

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
    plan = replace(plan or TestPlan(), **settings)
    check_alignment(alignment)
    _check_given(judge, judges, humans)
    matrix = _align(
        {DEFAULT_JUDGE: judge} if judges is None else judges,
        humans,
        gold,
        alignment=alignment,
        kind=kind,
        labels=labels,
        clusters=clusters,
    )
    results = examine_matrix(matrix, plan, alignment=alignment, question=question)
    is_one = (
        not _is_sequence(settings["epsilon"])
        if "epsilon" in settings
        else len(check_epsilons(plan.epsilon)) == 1
    )
    return _shaped(results, several=judges is not None, one_epsilon=is_one)


def outperforms_humans(judge: Any, humans: Any, *, gold: Any, **settings: Any) -> AltTestResult:
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


def _check_given(judge: Any, judges: Any, humans: Any) -> None:
    if (judge is None) == (judges is None):
        given = "neither" if judge is None else "both"
        msg = f"exactly one of `judge` and `judges` must be given, got {given}."
        raise InputError(msg)
    if humans is None:
        msg = "`humans` must be a mapping {annotator: {item: label}} or a data frame, got None."
        raise InputError(msg)
    if isinstance(judge, Mapping) and judge and all(isinstance(x, Mapping) for x in judge.values()):
        msg = "`judge` must map items to labels, got a mapping of mappings. Pass it as `judges`."
        raise InputError(msg)


def _align(
    judges: Any,
    humans: Any,
    gold: Any,
    *,
    alignment: AlignmentName | VectorizedScore,
    kind: QuestionKind | None,
    labels: Sequence[Any] | None,
    clusters: Any,
) -> LabelMatrix:
    if clusters is not None and not isinstance(clusters, Mapping):
        msg = f"`clusters` must be a mapping {{item: cluster}}, got {shorten(clusters)!r}."
        raise InputError(msg)
    given = InMemory(judges=judges, humans=humans, gold=gold)
    if holds_frames(judges, humans, gold):
        kind = kind or kind_of(alignment)  # frames are read as declared; dicts beside them too
        given = read_frames(judges, humans, gold, kind=kind)
        clusters = None if clusters is None else {str(x): unit for x, unit in clusters.items()}
    matrix = matrix_from_mappings(
        given.judges,
        given.humans,
        reader=make_reader(alignment, kind=kind, labels=labels),
        numeric=alignment == "neg_rmse",
        gold=given.gold,
        clusters=clusters,
    )
    return replace(matrix, dropped=given.dropped + matrix.dropped)


def _shaped(results: list[AltTestResult], *, several: bool, one_epsilon: bool) -> Any:
    by_judge: dict[str, list[AltTestResult]] = {}
    for result in results:
        by_judge.setdefault(result.judge, []).append(result)
    shaped = {name: rows[0] if one_epsilon else rows for name, rows in by_judge.items()}
    return shaped if several else next(iter(shaped.values()))


def _is_sequence(epsilon: float | Sequence[float]) -> bool:
    return hasattr(epsilon, "__iter__") and getattr(epsilon, "ndim", 1) > 0
