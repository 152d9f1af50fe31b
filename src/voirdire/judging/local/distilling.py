"""Makes a local judge from items and labels."""

from __future__ import annotations

import hashlib
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from voirdire._messages import shorten
from voirdire._validation import check_choice, check_count
from voirdire.errors import InputError
from voirdire.judging.local.calibrating import (
    answer_held_out,
    calibrate_held_out,
    calibrate_questions,
    choose_thresholds,
)
from voirdire.judging.local.card import JudgeCard, TrainingData
from voirdire.judging.local.features import FEATURES_VERSION, describe_many, is_chinese
from voirdire.judging.local.figures import QuestionFigures, measure_question
from voirdire.judging.local.grouping import group_items
from voirdire.judging.local.judge import LocalJudge
from voirdire.judging.local.languages import detect_language
from voirdire.judging.local.training import FEATURES, TrainingSet, fit_weights, score_held_out
from voirdire.judging.local.weights import quantise
from voirdire.stats import CalibrationMethod

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.records import Item

__all__ = [
    "UNNAMED",
    "describe_data",
    "distill_judge",
    "make_training_set",
]

_FEWEST_GROUPS_OF_NGRAM = 2
_DIGITS = 4


def distill_judge(
    items: Sequence[Item],
    labels: ArrayLike,
    *,
    questions: Sequence[str],
    groups: Sequence[object] | None = None,
    weights: ArrayLike | None = None,
    sources: Sequence[str] | None = None,
    about: Sequence[TrainingData] = (),
    calibrator: CalibrationMethod = "platt",
    n_folds: int = 5,
    seed: int = 0,
    name: str = "distilled",
    rubric_name: str | None = None,
    question_texts: Mapping[str, Mapping[str, str]] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> LocalJudge:
    """Make a judge from labelled items, with a card that says how far to trust it.

    One logistic regression per question over hashed n-grams and cheap cues, calibrated, with the
    threshold that gives a high Matthews correlation. The figures of the card come from grouped
    cross-validation of all three.

    Parameters
    ----------
    items : sequence of Item
        Prompts with responses.
    labels : array_like of float, shape (n_items, n_questions)
        1 and 0 for true and false; a probability is a soft label; nan is a missing one.
    questions : sequence of str
        Ids of the columns.
    groups : sequence of hashable, optional
        Items of one group are never split over folds; by default their `cluster` or `group`. Items
        with the same or nearly the same prompt are joined in any case.
    weights : array_like of float, shape (n_items,), optional
        How much each item counts, above 0. Equal by default.
    sources : sequence of str, optional
        Where each item comes from; figures are given per source.
    about : sequence of TrainingData, optional
        Descriptions of the sources. One with `informs_only` informs the choice of features, not the
        base rates.
    calibrator : {"platt", "temperature"}, optional
        How scores become probabilities; `temperature` does with few items.
    n_folds : int, optional
        Of cross-validation, at least 3.
    seed : int, optional
        The same seed and versions give the same judge.
    name : str, optional
        What verdicts call it.
    rubric_name : str, optional
        The rubric that the questions come from.
    question_texts : mapping of str to mapping, optional
        Wording of the questions, by id and language; stored, to notice a changed rubric.
    progress : callable, optional
        Called with steps done and steps in all.

    Returns
    -------
    LocalJudge
        With its card.

    Raises
    ------
    InputError
        If shapes or values break a rule, or if there are fewer groups than folds.

    Notes
    -----
    Memory is about 10 KB an item, twice as much where some items only inform. Of the texts only
    weights at hashes are stored, of hashes that occur in items of at least two groups.

    Examples
    --------
    >>> from voirdire.records import Item
    >>> texts = [f"{'sorry, no' if i % 2 else 'here you are'} number {i}" for i in range(60)]
    >>> items = [Item(id=str(i), response=text) for i, text in enumerate(texts)]
    >>> judge = distill_judge(items, [[i % 2] for i in range(60)], questions=["apology"])
    >>> judge.probabilities([Item(id="new", response="sorry, no way")]).round().tolist()
    [[1.0]]
    >>> judge.card.of("apology").auc
    1.0
    """
    check_choice("calibrator", calibrator, CalibrationMethod)
    n_folds = check_count("n_folds", n_folds, minimum=3)
    training = make_training_set(
        items, labels, questions=questions, groups=groups, weights=weights, sources=sources,
        about=about,
    )  # fmt: skip
    scores = score_held_out(training, n_folds=n_folds, seed=seed, progress=progress)
    probabilities = calibrate_held_out(
        scores, training, method=calibrator, n_folds=n_folds, seed=seed + 2
    )
    thresholds = dict(
        zip(questions, choose_thresholds(probabilities, training).tolist(), strict=True)
    )
    answers = answer_held_out(probabilities, training, n_folds=n_folds, seed=seed + 2)
    card = JudgeCard(
        name=name,
        questions=tuple(questions),
        rubric_name=rubric_name,
        languages=_languages(items),
        data=describe_data(items, training, about),
        figures=_figures(probabilities, answers, scores, training=training, thresholds=thresholds),
        features=dict.fromkeys(questions, FEATURES),
        settings=_settings(calibrator=calibrator, n_folds=n_folds, seed=seed),
    )
    return LocalJudge(
        name=name,
        questions=tuple(questions),
        card=card,
        weights=quantise(
            fit_weights(training, np.arange(training.n_items), seed=seed),
            kept=_count_groups(training) >= _FEWEST_GROUPS_OF_NGRAM,
        ),
        calibrators=calibrate_questions(scores, training, method=calibrator),
        thresholds=thresholds,
        question_texts=question_texts or {},
    )


def _count_groups(training: TrainingSet) -> NDArray[np.intp]:
    """Count the groups in which each n-gram occurs."""
    n_items, n_groups = training.n_items, int(training.groups.max()) + 1
    one = np.ones(n_items, dtype=np.float32)
    groups = sparse.csr_matrix((one, (training.groups, np.arange(n_items))), (n_groups, n_items))
    found = groups @ training.features.ngrams
    return np.bincount(found.indices, minlength=found.shape[1])


def _figures(
    probabilities: NDArray[np.float64],
    answers: NDArray[np.bool_],
    scores: NDArray[np.float64],
    *,
    training: TrainingSet,
    thresholds: Mapping[str, float],
) -> tuple[QuestionFigures, ...]:
    """Compute figures per question: on the deciding set, then on every set."""
    truths = training.truths()
    names = list(dict.fromkeys(training.sets.tolist()))
    by_question = []
    for column, (question, threshold) in enumerate(thresholds.items()):
        rows = []
        for data in names:
            used = (training.sets == data) & np.isfinite(training.targets[:, column])
            if used.any():
                measured = measure_question(
                    probabilities[used, column],
                    truths[used, column],
                    said=answers[used, column],
                    scores=scores[used, column],
                    question=question,
                    data=data,
                    threshold=threshold,
                )
                rows.append(_round_figures(measured))
        by_question.append(_deciding_first(rows))
    places = range(max(map(len, by_question)))
    return tuple(rows[place] for place in places for rows in by_question if place < len(rows))


def _deciding_first(rows: list[QuestionFigures]) -> list[QuestionFigures]:
    """Put the first set with enough of both answers first, or the one with the most positives."""
    enough = [row for row in rows if row.enough]
    deciding = enough[0] if enough else max(rows, key=lambda row: row.n_positives)
    return [deciding, *(row for row in rows if row is not deciding)]


def _round_figures(figures: QuestionFigures) -> QuestionFigures:
    values = figures.to_dict()
    for name, value in values.items():
        if isinstance(value, float):
            values[name] = round(value, _DIGITS)
    return QuestionFigures.from_dict(values)


def _languages(items: Sequence[Item]) -> tuple[str, ...]:
    """Return the languages of at least one response in twenty."""
    found = Counter(detect_language(item.response) for item in items)
    return tuple(sorted(name for name, n in found.items() if n >= len(items) / 20))


def _settings(**given: Any) -> dict[str, Any]:
    from importlib.metadata import version

    libraries = {name: version(name) for name in ("voirdire", "numpy", "scipy", "scikit-learn")}
    return {**given, "features_version": FEATURES_VERSION, "versions": libraries}


# Training data
# -------------------------------------------------------------------------------------

UNNAMED = "the labelled items"


def make_training_set(
    items: Sequence[Item],
    labels: ArrayLike,
    *,
    questions: Sequence[str],
    groups: Sequence[object] | None,
    weights: ArrayLike | None,
    sources: Sequence[str] | None,
    about: Sequence[TrainingData],
) -> TrainingSet:
    """Check items, labels and weights, and describe the items; see `distill_judge`."""
    n_items = len(items)
    targets = _targets(labels, (n_items, len(questions)))
    _check_questions(questions, targets)
    named = [UNNAMED] * n_items if sources is None else [str(name) for name in sources]
    for name, given in (("sources", named), ("groups", groups)):
        if given is not None and len(given) != n_items:
            msg = f"`{name}` must have one entry per item, got {len(given)} for {n_items}."
            raise InputError(f"{msg} Align them by item.")
    features = describe_many(items)
    informing = {row.name for row in about if row.informs_only}
    silent = {row.name for row in about if not row.calibrates}
    return TrainingSet(
        features=features,
        targets=targets,
        weights=_weights(weights, n_items),
        groups=group_items(items, groups),
        chinese=is_chinese(features),
        home=np.array([name not in informing for name in named], dtype=np.bool_),
        sets=np.array(named),
        calibrates=np.array([name not in silent for name in named], dtype=np.bool_),
    )


def describe_data(
    items: Sequence[Item], training: TrainingSet, about: Sequence[TrainingData]
) -> tuple[TrainingData, ...]:
    """Count and hash the items and labels of every source, in order of appearance.

    Parameters
    ----------
    items : sequence of Item
        The items.
    training : TrainingSet
        The same with labels.
    about : sequence of TrainingData
        What is known of some sources.

    Returns
    -------
    tuple of TrainingData
        One per source.
    """
    known = {row.name: row for row in about}
    result = []
    for name in dict.fromkeys(training.sets.tolist()):
        rows = np.flatnonzero(training.sets == name)
        digest = hashlib.sha256()
        for row in rows.tolist():
            digest.update(items[row].content_hash())
            digest.update(np.round(training.targets[row], 6).astype("<f8").tobytes())
        told = known.get(name, TrainingData(name=name, n_items=0))
        told = replace(told, n_items=len(rows), content_hash=f"sha256:{digest.hexdigest()}")
        result.append(told)
    return tuple(result)


def _targets(labels: ArrayLike, shape: tuple[int, int]) -> NDArray[np.float64]:
    try:
        targets = np.asarray(labels, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = "`labels` must be truth values or probabilities, with nan for missing ones."
        raise InputError(f"{msg} Pass an array of floats.") from error
    if targets.shape != shape or 0 in shape:
        msg = f"`labels` must have one row per item and one column per question, {shape}"
        raise InputError(f"{msg}, got {targets.shape}. Neither may be 0.")
    wrong = ~(np.isnan(targets) | ((targets >= 0) & (targets <= 1)))
    if wrong.any():
        msg = f"`labels` must be in [0, 1] or nan, got {float(targets[wrong][0])!r}."
        raise InputError(f"{msg} Write true as 1 and false as 0.")
    return targets


def _check_questions(questions: Sequence[str], targets: NDArray[np.float64]) -> None:
    if len(set(questions)) < len(questions):
        msg = "`questions` must be unique, got one twice. Name each column once."
        raise InputError(msg)
    empty = np.flatnonzero(np.isnan(targets).all(axis=0))
    if len(empty):
        lacking = shorten(questions[int(empty[0])])
        msg = f"`labels` must have a label for every question, got none for {lacking!r}."
        raise InputError(f"{msg} Leave the question out.")


def _weights(weights: ArrayLike | None, n_items: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(n_items)
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (n_items,) or not (np.isfinite(found) & (found > 0)).all():
        msg = f"`weights` must be {n_items} finite numbers above 0, one per item."
        raise InputError(f"{msg} Leave out items without weight.")
    return found
