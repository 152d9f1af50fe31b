"""Makes a local judge from items and labels."""

from __future__ import annotations

import hashlib
import math
import warnings
from collections import Counter
from dataclasses import replace
from importlib.metadata import version
from itertools import zip_longest
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from voirdire._messages import shorten
from voirdire._validation import check_choice, check_count
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.judging.local.card import FEW, JudgeCard, QuestionFigures, TrainingData
from voirdire.judging.local.features import (
    BLOCKS,
    FEATURES_VERSION,
    N_COLUMNS,
    Features,
    compute_ngrams,
    describe_items,
)
from voirdire.judging.local.judge import LocalJudge, calibrate, to_probabilities
from voirdire.judging.local.languages import detect_language
from voirdire.judging.local.tokens import read_texts
from voirdire.judging.local.training import (
    FEATURES,
    TrainingSet,
    choose_thresholds,
    fit_calibrators,
    fit_weights,
)
from voirdire.stats import CalibrationMethod, group_folds, measure_classification

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.records import Item

_UNNAMED = "the labelled items"
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
    training = _make_training_set(
        items, labels, questions=questions, groups=groups, weights=weights, sources=sources,
        about=about,
    )  # fmt: skip
    everything = np.ones(len(items), dtype=np.bool_)
    folds = group_folds(training.groups, n_folds=n_folds, seed=seed)
    scores = np.empty(training.targets.shape)
    for fold in range(n_folds):
        fitted = fit_weights(training, np.flatnonzero(folds != fold), seed=seed)
        inside = np.flatnonzero(folds == fold)
        features = training.features
        scores[inside] = fitted.scores(
            Features(ngrams=features.ngrams[inside], cues=features.cues[inside])
        )
        if progress is not None:
            progress(fold + 1, n_folds)
    # Probabilities and answers come from calibrators and thresholds without the group of the item.
    folds = group_folds(training.groups, n_folds=n_folds, seed=seed + 2)
    probabilities, answers = np.empty_like(scores), np.empty(scores.shape, dtype=np.bool_)
    for inside in (folds == fold for fold in range(n_folds)):
        calibrators = fit_calibrators(scores, training, ~inside, method=calibrator)
        probabilities[inside] = calibrate(scores[inside], calibrators)
    for inside in (folds == fold for fold in range(n_folds)):
        answers[inside] = probabilities[inside] >= choose_thresholds(
            probabilities, training, ~inside
        )
    cuts = choose_thresholds(probabilities, training, everything).tolist()
    thresholds = dict(zip(questions, cuts, strict=True))
    languages = Counter(detect_language(item.response) for item in items)
    libraries = {each: version(each) for each in ("voirdire", "numpy", "scipy", "scikit-learn")}
    card = JudgeCard(
        name=name,
        questions=tuple(questions),
        rubric_name=rubric_name,
        languages=tuple(sorted(each for each, n in languages.items() if n >= len(items) / 20)),
        data=_describe_data(items, training, about),
        figures=_measure(probabilities, answers, scores, training=training, thresholds=thresholds),
        features=dict.fromkeys(questions, FEATURES),
        settings={
            "calibrator": calibrator,
            "n_folds": n_folds,
            "seed": seed,
            "features_version": FEATURES_VERSION,
            "versions": libraries,
        },
    )
    # Of n-grams in items of one group alone no weight is stored.
    group_of = sparse.csr_matrix(
        (np.ones(len(items), dtype=np.float32), (training.groups, np.arange(len(items))))
    )
    n_groups = np.bincount((group_of @ training.features.ngrams).indices, minlength=N_COLUMNS)
    fitted = fit_weights(training, np.arange(len(items)), seed=seed)
    return LocalJudge(
        name=name,
        questions=tuple(questions),
        card=card,
        weights=fitted.quantise(n_groups >= _FEWEST_GROUPS_OF_NGRAM),
        calibrators=fit_calibrators(scores, training, everything, method=calibrator),
        thresholds=thresholds,
        question_texts=question_texts or {},
    )


# Training data ------------------------------------------------------------------------------------


def _make_training_set(
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
    n_items, shape = len(items), (len(items), len(questions))
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
    if len(set(questions)) < len(questions):
        msg = "`questions` must be unique, got one twice. Name each column once."
        raise InputError(msg)
    empty = np.flatnonzero(np.isnan(targets).all(axis=0))
    if len(empty):
        lacking = shorten(questions[int(empty[0])])
        msg = f"`labels` must have a label for every question, got none for {lacking!r}."
        raise InputError(f"{msg} Leave the question out.")
    for name, entries in (("sources", sources), ("groups", groups)):
        if entries is not None and len(entries) != n_items:
            msg = f"`{name}` must have one entry per item, got {len(entries)} for {n_items}."
            raise InputError(f"{msg} Align them by item.")
    item_weights = np.ones(n_items) if weights is None else np.asarray(weights, dtype=np.float64)
    if item_weights.shape != (n_items,) or not ((item_weights > 0) & (item_weights < np.inf)).all():
        msg = f"`weights` must be {n_items} finite numbers above 0, one per item."
        raise InputError(f"{msg} Leave out items without weight.")
    batches = list(describe_items(items))
    sets = np.array([_UNNAMED] * n_items if sources is None else [str(name) for name in sources])
    return TrainingSet(
        features=Features(
            ngrams=sparse.vstack([batch.ngrams for batch in batches], format="csr"),
            cues=np.concatenate([batch.cues for batch in batches]),
        ),
        targets=targets,
        weights=item_weights,
        groups=group_items(items, groups),
        sets=sets,
        home=~np.isin(sets, [row.name for row in about if row.informs_only]),
        calibrates=~np.isin(sets, [row.name for row in about if not row.calibrates]),
    )


def _describe_data(
    items: Sequence[Item], training: TrainingSet, about: Sequence[TrainingData]
) -> tuple[TrainingData, ...]:
    """Count and hash the items and labels of every source, in order of appearance."""
    described = {row.name: row for row in about}
    result = []
    for name in dict.fromkeys(training.sets.tolist()):
        rows = np.flatnonzero(training.sets == name).tolist()
        digest = hashlib.sha256()
        for row in rows:
            digest.update(items[row].content_hash())
            digest.update(np.round(training.targets[row], 6).astype("<f8").tobytes())
        data = described.get(name, TrainingData(name=name, n_items=0))
        content_hash = f"sha256:{digest.hexdigest()}"
        result.append(replace(data, n_items=len(rows), content_hash=content_hash))
    return tuple(result)


# Groups -------------------------------------------------------------------------------------------

_ALIKE = 0.4
_FEW_GRAMS = 24
_BATCH = 64
_MOST_PROMPTS = 20_000


def group_items(items: Sequence[Item], groups: Sequence[object] | None = None) -> NDArray[np.intp]:
    """Join items of one group, of one prompt, and of prompts that are nearly the same.

    Two prompts are nearly the same when two fifths of the shorter one's runs of one to three words
    (of one to three CJK characters) stand in the other as well.

    Parameters
    ----------
    items : sequence of Item
        The prompt is compared by its last message of the user, and whole.
    groups : sequence of hashable, optional
        One per item; the items' own `cluster` or `group` otherwise. None is a group of its own.

    Returns
    -------
    ndarray of int, shape (n_items,)
        Codes from 0.

    Notes
    -----
    Beyond 20,000 distinct prompts only equal ones are joined.
    """
    names = [item.cluster or item.group for item in items] if groups is None else groups
    nodes: dict[tuple[str, object], int] = {}  # behind those of the items: groups and prompts
    pairs = []
    for index, (item, name) in enumerate(zip(items, names, strict=True)):
        texts = [message.content for message in item.prompt if message.role == "user"]
        prompt = texts[-1].strip() if texts else ""
        keys = [("group", name)] if name is not None else []
        keys += [("prompt", prompt)] if prompt else []
        pairs += [(index, nodes.setdefault(key, len(items) + len(nodes))) for key in keys]
    prompts = {str(text): node for (kind, text), node in nodes.items() if kind == "prompt"}
    if 2 <= len(prompts) <= _MOST_PROMPTS:
        pairs += _find_similar_prompts(prompts)
    size = len(items) + len(nodes)
    left, right = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    graph = sparse.coo_matrix((np.ones(len(pairs)), (left, right)), shape=(size, size))
    component = connected_components(graph, directed=False)[1][: len(items)]
    return np.unique(component, return_inverse=True)[1]


def _find_similar_prompts(prompts: Mapping[str, int]) -> list[tuple[int, int]]:
    """Return pairs of the numbers of prompts that are nearly the same."""
    texts, numbers = list(prompts), np.array(list(prompts.values()))
    batches = [read_texts(texts[at : at + _BATCH]) for at in range(0, len(texts), _BATCH)]
    words = BLOCKS["words_3"].stop
    grams = sparse.vstack([compute_ngrams(batch)[:, :words] for batch in batches], format="csr")
    grams.data[:] = 1
    counts = np.asarray(grams.sum(axis=1)).ravel()
    common = sparse.triu(grams @ grams.T, k=1).tocoo()
    shorter = np.minimum(counts[common.row], counts[common.col])
    near = (common.data > _ALIKE * shorter) & (shorter >= _FEW_GRAMS)
    ends = (numbers[common.row[near]].tolist(), numbers[common.col[near]].tolist())
    return list(zip(*ends, strict=True))


# Figures ------------------------------------------------------------------------------------------

_LEAST_AREA = 0.7
_LEAST_MCC = 0.3


def _measure(
    probabilities: NDArray[np.float64],
    answers: NDArray[np.bool_],
    scores: NDArray[np.float64],
    *,
    training: TrainingSet,
    thresholds: Mapping[str, float],
) -> tuple[QuestionFigures, ...]:
    """Compute figures per question: on the deciding set, then on every set.

    The area under the ROC curve is of scores before calibration, since calibrators that differ
    between folds would distort it.
    """
    by_question = []
    for column, (question, threshold) in enumerate(thresholds.items()):
        rows = []
        for data in dict.fromkeys(training.sets.tolist()):
            used = (training.sets == data) & np.isfinite(training.targets[:, column])
            if not used.any():
                continue
            truths, said = training.truths()[used, column], answers[used, column]
            n, n_true = len(truths), int(truths.sum())
            share = n_true / n
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DegenerateDataWarning)
                measured = measure_classification(
                    said.astype(np.int64),
                    truths.astype(np.int64),
                    probabilities=to_probabilities(scores[used, column]),
                ).figures
            area, mcc = measured["auc"], measured["mcc"].estimate
            if math.isnan(mcc) and 0 < n_true < n:
                mcc = 0.0  # the judge's answers are constant
            reason = _find_fault(n_true, n - n_true, low=area.low, mcc=mcc)
            rows.append(
                QuestionFigures(
                    question=question,
                    data=data,
                    n_items=n,
                    n_positives=n_true,
                    sensitivity=_round(measured["sensitivity"].estimate),
                    specificity=_round(measured["specificity"].estimate),
                    mcc=_round(mcc),
                    auc=_round(area.estimate),
                    auc_low=_round(area.low),
                    auc_high=_round(area.high),
                    brier=_round(float(np.mean((probabilities[used, column] - truths) ** 2))),
                    accuracy=_round(float((said == truths).mean())),
                    baseline_brier=_round(share * (1 - share)),
                    baseline_accuracy=_round(max(share, 1 - share)),
                    trusted=not reason,
                    reason=reason,
                    threshold=_round(threshold),
                )
            )
        # The first set with enough of both answers decides, or the one with the most positives.
        enough = [row for row in rows if row.enough]
        deciding = enough[0] if enough else max(rows, key=lambda row: row.n_positives)
        by_question.append([deciding, *(row for row in rows if row is not deciding)])
    return tuple(row for rank in zip_longest(*by_question) for row in rank if row is not None)


def _round(value: float) -> float:
    return math.nan if math.isnan(value) else round(value, _DIGITS)


def _find_fault(n_true: int, n_false: int, *, low: float, mcc: float) -> str:
    """Return why figures are no evidence that the judge is useful; empty where they are."""
    if n_true < FEW:
        return f"only {n_true} positives"
    if n_false < FEW:
        return f"only {n_false} negatives"
    if not low >= _LEAST_AREA:
        return f"the AUC may be as low as {low:.2f}"
    if not mcc >= _LEAST_MCC:
        return f"the Matthews correlation is {mcc:.2f}"
    return ""
