"""Measures judges against one gold label per item, without annotators or a test."""

from __future__ import annotations

import warnings
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from voirdire._messages import shorten
from voirdire._validation import check_fraction
from voirdire.errors import DegenerateDataWarning, InputError, NoDataError
from voirdire.io import read_labels
from voirdire.io.cells import label_text
from voirdire.io.labels import hash_labels, match_pairs
from voirdire.judging import JudgeCalibration, QuestionCalibration
from voirdire.records import Dropped  # noqa: TC001  # what reads the JSON looks at the types
from voirdire.records.tables import Tabular
from voirdire.records.thresholds import select_threshold
from voirdire.stats import (
    BrierDecomposition,
    CalibrationBin,
    CalibrationMethod,
    ClassificationResult,
    CrossFittedThreshold,
    cross_calibrate,
    cross_threshold,
    decompose_brier,
    fit_calibrator,
    measure_calibration,
    measure_classification,
)
from voirdire.stats.cautions import list_names
from voirdire.stats.intervals import take_units
from voirdire.studies.label_matrix import align
from voirdire.studies.study import declare, format_count, format_set_aside, read_side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire._types import QuestionKind
    from voirdire.io import LabelTable, Reading
    from voirdire.studies.label_matrix import LabelMatrix
    from voirdire.studies.study import Labels

_FEWEST_FOLDS = 5
_METHODS: tuple[CalibrationMethod, ...] = ("platt", "temperature")


@dataclass(frozen=True, kw_only=True)
class GoldResult:
    """One judge on one question, against gold labels.

    Attributes
    ----------
    question, judge : str
        Which.
    labels : tuple of str
        The label of each code in `classification`; ``"false"`` and ``"true"`` for booleans.
    classification : ClassificationResult
        Its figures as a classifier.
    threshold : CrossFittedThreshold or None
        For booleans with probabilities: the threshold that does best, measured on other items.
    calibration : tuple of CalibrationBin or None
        For booleans with probabilities: shares of true items beside them.
    brier : BrierDecomposition or None
        The parts of their Brier score, and the debiased calibration error.
    recalibrated : dict of str to BrierDecomposition
        The same after each calibrator (``"platt"``, ``"temperature"``) fitted to other items: what
        calibration would help; empty beside the annotators' majority.
    recommended : QuestionCalibration or None
        The one of them that leaves the lower Brier score, fitted to all items; None where
        neither lowers it, or the judge's order is of no use.
    """

    question: str
    judge: str
    labels: tuple[str, ...]
    classification: ClassificationResult
    threshold: CrossFittedThreshold | None = field(default=None, repr=False)
    calibration: tuple[CalibrationBin, ...] | None = field(default=None, repr=False)
    brier: BrierDecomposition | None = field(default=None, repr=False)
    recalibrated: dict[str, BrierDecomposition] = field(default_factory=dict, repr=False)
    recommended: QuestionCalibration | None = field(default=None, repr=False)


@dataclass(frozen=True, kw_only=True)
class GoldExamination(Tabular, rows="gold"):
    """Results of judges against gold labels.

    Attributes
    ----------
    results : tuple of GoldResult
        One per question and judge.
    dropped : tuple of Dropped
        Every label that was set aside, with its reason.
    understood : str
        One line about the labels that were read.
    fingerprints : mapping of str to tuple of str
        For each judge that has any: the fingerprints of its verdicts.
    thresholds : mapping of str to tuple of float
        By question the thresholds that the judges' labels were made with.
    gold_hash : str
        SHA-256 over the gold labels.
    """

    results: tuple[GoldResult, ...] = field(metadata={"key": "gold"})
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    understood: str = ""
    fingerprints: Mapping[str, tuple[str, ...]] = field(default_factory=dict, repr=False)
    thresholds: Mapping[str, tuple[float, ...]] = field(default_factory=dict, repr=False)
    gold_hash: str = field(default="", repr=False)

    def calibration(self, judge: str | None = None) -> JudgeCalibration:
        """Return the recommended calibration of a judge.

        Parameters
        ----------
        judge : str, optional
            Which; may be left out where there is one.

        Returns
        -------
        JudgeCalibration
            A calibrator for each question where one helps, for `voirdire.judging.LlmJudge`.

        Raises
        ------
        InputError
            If there are several judges and none is named, the verdicts carry no fingerprint or
            several, or no calibrator helps.
        """
        judges = list(dict.fromkeys(row.judge for row in self.results))
        name = judges[0] if judge is None and len(judges) == 1 else judge
        if name is None or name not in judges:
            msg = (
                f"`judge` must be one of {list_names(judges)}, got {judge!r}. Give verdicts of one."
            )
            raise InputError(msg)
        fingerprints = self.fingerprints.get(name, ())
        if len(fingerprints) != 1:
            msg = (
                f"`judges` must carry one fingerprint for a calibration of {shorten(name)!r}, got "
                f"{len(fingerprints)}. Give the verdicts of one run of `voirdire judge`."
            )
            raise InputError(msg)
        results = (row for row in self.results if row.judge == name)
        rows = {row.question: row.recommended for row in results if row.recommended is not None}
        if not rows:
            msg = (
                f"a calibration of {shorten(name)!r} must lower the Brier score of a question on "
                "items that it was not fitted to, got none that does. Use the judge without "
                "calibration, or label more items."
            )
            raise InputError(msg)
        thresholds = {question: values[0] for question, values in self.thresholds.items()}
        return JudgeCalibration(
            judge=name,
            fingerprint=fingerprints[0],
            threshold=select_threshold(thresholds, list(thresholds)),
            gold_hash=self.gold_hash,
            questions=rows,
        )


def examine_gold(
    *,
    judges: Labels,
    gold: Labels,
    kind: QuestionKind | None = None,
    labels: Sequence[Any] | None = None,
    questions: Sequence[str] | None = None,
    clustered: bool = False,
    reading: Reading | None = None,
    confidence_level: float = 0.95,
    seed: int = 0,
) -> GoldExamination:
    """Measure judges against one gold label per item, for every question that has them.

    Parameters
    ----------
    judges, gold : LabelTable, data frame, path, mapping, or list of these
        Labels, as `voirdire.examine` takes them; gold labels are of one rater.
    kind : {"boolean", "choice", "pairwise"}, optional
        What the question asks for; by default what the gold labels leave no choice about.
    labels : sequence, optional
        The declared labels. Any other is set aside, and a judge's is a failure.
    questions : sequence of str, optional
        Which questions; by default all that have gold labels.
    clustered : bool, optional
        Whether the tables' clusters are the independent units.
    reading : Reading, optional
        How labels are read; `kind` and `labels` count before its own.
    confidence_level : float, optional
        Of the intervals, in (0, 1).
    seed : int, optional
        Of the folds.

    Returns
    -------
    GoldExamination

    Raises
    ------
    InputError
        If a setting or a label breaks a rule, or the question asks for sets, numbers or texts.
    NoDataError
        If no judge answered a question that has gold labels.

    Warns
    -----
    DegenerateDataWarning
        If figures of some questions are undefined, since a label is nobody's gold label.

    Examples
    --------
    >>> gold = {item: item % 4 == 0 for item in range(80)}
    >>> judge = {item: item % 4 == 0 or item < 12 for item in range(80)}
    >>> found = examine_gold(judges={"mine": judge}, gold=gold, kind="boolean")
    >>> found.understood
    '1 judge, 1 question, 80 items with gold labels, boolean, nothing set aside'
    >>> figures = found.results[0].classification.figures
    >>> round(figures["sensitivity"].estimate, 2), round(figures["precision"].estimate, 2)
    (1.0, 0.69)
    """
    check_fraction("confidence_level", confidence_level)
    reading = declare(reading, kind, labels)
    names = tuple(questions or ())
    as_gold = replace(reading, raters=None, judge_columns=None, threshold=None)
    truth = read_side("gold", gold, as_gold, names)
    if truth.kind not in ("boolean", "choice", "pairwise"):
        msg = (
            f"`gold` without `humans` must answer a boolean or a choice, got a {truth.kind} "
            "question. With annotators in `humans` gold labels may be of any kind."
        )
        raise InputError(msg)
    if len(truth.raters) > 1:
        msg = (
            f"`gold` must hold one label per item, got {len(truth.raters)} raters "
            f"({list_names(truth.raters)}). Give labels of several annotators as `humans`."
        )
        raise InputError(msg)
    answered = names or tuple(truth.questions)
    machines = read_side("judges", judges, replace(reading, kind=truth.kind), names)
    truth, machines = match_pairs([truth, machines])
    shared = [name for name in answered if name in machines.questions and name in truth.questions]
    if not shared:
        msg = (
            f"no judge answered a question that has gold labels ({list_names(truth.questions)}); "
            f"judges answered {list_names(machines.questions)}."
        )
        raise NoDataError(msg)
    unanswered = [name for name in answered if name not in shared]
    results: list[GoldResult] = []
    dropped = [*truth.dropped, *machines.dropped]
    for question in shared:
        matrix = align(
            machines, truth, question=question, labels=reading.labels, clusters=clustered
        )
        dropped += [row for rows in matrix.dropped.values() for row in rows]
        results += measure_matrix(
            matrix,
            matrix.humans[:, 0],
            confidence_level=confidence_level,
            seed=seed,
            with_calibrators=True,
        )
    reasons = [
        row.classification.reason
        for row in results
        if any(np.isnan(each.estimate) for each in row.classification.figures.values())
    ]
    if reasons:
        msg = f"figures of {len(reasons)} of {len(results)} results are undefined: {reasons[0]}."
        warnings.warn(msg, DegenerateDataWarning, stacklevel=2)
    n_items = max(len(truth.of_questions([name]).item.used()) for name in shared)
    parts = [
        format_count(len(machines.raters), "judge"),
        format_count(len(shared), "question"),
        f"{format_count(n_items, 'item')} with gold labels",
        truth.kind,
        format_set_aside(len(set(dropped))),
    ]
    without = f"no judge answered {list_names(unanswered)}"
    return GoldExamination(
        results=tuple(results),
        dropped=tuple(dict.fromkeys(dropped)),
        understood=f"{', '.join(parts)}; {without}" if unanswered else ", ".join(parts),
        fingerprints=machines.fingerprints,
        thresholds=machines.thresholds,
        gold_hash=hash_labels(truth.frame),
    )


def majority_labels(humans: LabelTable) -> LabelTable:
    """Return what most annotators of each item say, as labels of one rater.

    Parameters
    ----------
    humans : LabelTable
        Labels of annotators.

    Returns
    -------
    LabelTable
        Without the items on which no label is ahead of all others.

    Examples
    --------
    >>> from voirdire.io import read_labels
    >>> humans = {"a": {1: True, 2: True}, "b": {1: True, 2: False}, "c": {1: False}}
    >>> table = read_labels(humans, role="annotator", kind="boolean")
    >>> majority_labels(table).frame.select("item", "label").rows()
    [('1', 'true')]
    """
    item = ("question", "item")
    votes = humans.frame.drop_nulls("label").group_by(*item, "label", maintain_order=True).len()
    ahead = votes.filter(pl.col("len") == pl.col("len").max().over(item))
    alone = ahead.filter(pl.len().over(item) == 1).drop("len")
    rows = alone.with_columns(annotator=pl.lit("majority"))
    return read_labels(rows, role="annotator", kind=humans.kind, source_name="the majority")


def measure_matrix(
    matrix: LabelMatrix,
    gold: NDArray[np.intp],
    *,
    confidence_level: float,
    seed: int,
    with_calibrators: bool = False,
) -> list[GoldResult]:
    """Measure every judge of an aligned question against one label per item, in its codes."""
    names: list[Any] = [False, True]
    if matrix.kind != "boolean":  # sorted, so that the order of rows changes no figure
        names = sorted(matrix.categories, key=label_text)
    code_of = np.array([*map(names.index, matrix.categories), -1], np.int64)
    true, labels = code_of[gold], tuple(map(label_text, names))
    is_stated = matrix.kind == "boolean" and matrix.probabilities is not None
    results = []
    for column, judge in enumerate(matrix.judges):
        stated = matrix.probabilities[:, column] if is_stated else None  # type: ignore[index]
        if stated is not None and np.isnan(stated).all():
            stated = None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)
            classification = measure_classification(
                code_of[matrix.answers[:, column]],
                true,
                n_labels=max(len(names), 2),
                names=[*labels, "another label"],
                probabilities=stated,
                failed=matrix.failed[:, column],
                clusters=matrix.clusters,
                confidence_level=confidence_level,
            )
            result = GoldResult(
                question=matrix.question, judge=judge, labels=labels, classification=classification
            )
            if stated is not None:
                is_known = ~np.isnan(stated) & (true >= 0)
                figures = _measure_probabilities(
                    stated[is_known],
                    true[is_known] == 1,
                    take_units(matrix.clusters, is_known),
                    confidence_level=confidence_level,
                    seed=seed,
                    methods=_METHODS if with_calibrators else (),
                )
                result = replace(result, **figures)
        results.append(result)
    return results


def _measure_probabilities(
    stated: NDArray[np.float64],
    true: NDArray[np.bool_],
    clusters: NDArray[np.intp] | None,
    *,
    confidence_level: float,
    seed: int,
    methods: Sequence[CalibrationMethod],
) -> dict[str, Any]:
    """Measure probabilities, with a cross-fitted threshold, and what calibrators would help.

    The calibrator with the best figures on other items is fitted to all, where it helps.
    """
    n_units = len(true) if clusters is None else len(np.unique(clusters))
    if n_units < _FEWEST_FOLDS or not 0 < true.mean() < 1:
        return {}
    settings: dict[str, Any] = {"groups": clusters, "confidence_level": confidence_level}
    before = decompose_brier(stated, true, **settings)
    after: dict[CalibrationMethod, BrierDecomposition] = {}
    with suppress(InputError):  # the items outside of a fold all have one label
        for method in methods:
            better = cross_calibrate(stated, true, groups=clusters, method=method, seed=seed)
            after[method] = decompose_brier(better, true, **settings)
    recommended = None
    if after:
        best = min(after, key=lambda name: after[name].brier)
        calibrator = fit_calibrator(stated, true, method=best)
        keeps_order = calibrator.apply_one(0.25) < calibrator.apply_one(0.75)
        if after[best].brier < before.brier and keeps_order:
            recommended = QuestionCalibration(
                calibrator=calibrator,
                n_items=before.n_items,
                brier=before.brier,
                calibrated_brier=after[best].brier,
                calibration_error=before.calibration_error.estimate,
                calibrated_error=after[best].calibration_error.estimate,
            )
    return {
        "threshold": cross_threshold(stated, true.astype(np.int64), seed=seed, **settings),
        "calibration": measure_calibration(stated, true, **settings),
        "brier": before,
        "recalibrated": after,
        "recommended": recommended,
    }
