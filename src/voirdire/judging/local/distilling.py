"""Make a local judge from items and labels: the bundled one, or anybody's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_choice, check_count
from voirdire.judging.local.calibrating import calibrate_questions, held_out_probabilities
from voirdire.judging.local.card import JudgeCard, TrainingData
from voirdire.judging.local.features import FEATURES_VERSION
from voirdire.judging.local.figures import QuestionFigures, measure_question
from voirdire.judging.local.fitting import fit_weights
from voirdire.judging.local.judge import LocalJudge
from voirdire.judging.local.linear_weights import quantise
from voirdire.judging.local.recipes import BLENDS
from voirdire.judging.local.training_input import describe_data, make_training_set
from voirdire.stats import CalibrationMethod

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.judging.local.training_set import TrainingSet
    from voirdire.records import Item

__all__ = ["distill_judge"]

_LEAST_ITEMS_OF_NGRAM = 2
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

    One linear classifier per question over hashed n-grams and cheap cues, calibrated. Which
    features a question gets is chosen by grouped cross-validation; the figures of the card come
    from an outer cross-validation around that choice.

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
        What is known of the sources. One with `informs_only` teaches which features matter, not
        how frequent answers are.
    calibrator : {"platt", "temperature", "isotonic"}, optional
        `isotonic` wants some hundreds of items.
    n_folds : int, optional
        Of cross-validation, at least 3.
    seed : int, optional
        The same seed and versions give the same judge.
    name : str, optional
        What verdicts call it.
    rubric_name : str, optional
        The rubric that the questions come from.
    question_texts : mapping of str to mapping, optional
        Wording of the questions, by id and language: kept, to notice when a rubric changes.
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
    Up to 2,500 items the features are chosen per question; up to 4,000 all questions get the same;
    beyond that each question is fitted alone, in memory of about 10 KB an item. Nothing of the
    texts is kept but weights at hashes that occur in at least two items.

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
    fitted = fit_weights(training, n_folds=n_folds, seed=seed, progress=progress)
    probabilities = held_out_probabilities(
        fitted.scores, training, method=calibrator, n_folds=n_folds, seed=seed + 2
    )
    features = dict(zip(questions, fitted.blends, strict=True))
    card = JudgeCard(
        name=name,
        questions=tuple(questions),
        rubric_name=rubric_name,
        languages=_languages(training),
        data=describe_data(items, training, about),
        figures=_figures(probabilities, fitted.scores, training=training, questions=questions),
        features={question: ", ".join(BLENDS[blend]) for question, blend in features.items()},
        settings=_settings(calibrator=calibrator, n_folds=n_folds, seed=seed),
    )
    ngrams = training.features.ngrams
    present = np.bincount(ngrams.indices, minlength=ngrams.shape[1])
    return LocalJudge(
        name=name,
        questions=tuple(questions),
        card=card,
        weights=quantise(fitted.weights, kept=present >= _LEAST_ITEMS_OF_NGRAM),
        calibrators=calibrate_questions(fitted.scores, training, method=calibrator),
        question_texts=question_texts or {},
    )


def _figures(
    probabilities: NDArray[np.float64],
    scores: NDArray[np.float64],
    *,
    training: TrainingSet,
    questions: Sequence[str],
) -> tuple[QuestionFigures, ...]:
    """Per question the set that decides, then every set."""
    truths = training.truths()
    names = list(dict.fromkeys(training.sets.tolist()))
    by_question = []
    for column, question in enumerate(questions):
        rows = []
        for data in names:
            used = (training.sets == data) & np.isfinite(training.targets[:, column])
            if used.any():
                measured = measure_question(
                    probabilities[used, column],
                    truths[used, column],
                    scores=scores[used, column],
                    question=question,
                    data=data,
                )
                rows.append(_rounded(measured))
        by_question.append(_deciding_first(rows))
    places = range(max(map(len, by_question)))
    return tuple(rows[place] for place in places for rows in by_question if place < len(rows))


def _deciding_first(rows: list[QuestionFigures]) -> list[QuestionFigures]:
    """Put the first set with enough of either answer first, or the one with the most positives."""
    enough = [row for row in rows if row.enough]
    deciding = enough[0] if enough else max(rows, key=lambda row: row.n_positives)
    return [deciding, *(row for row in rows if row is not deciding)]


def _rounded(figures: QuestionFigures) -> QuestionFigures:
    values = figures.to_dict()
    for name, value in values.items():
        if isinstance(value, float):
            values[name] = round(value, _DIGITS)
    return QuestionFigures.from_dict(values)


def _languages(training: TrainingSet) -> tuple[str, ...]:
    chinese = training.domains.chinese
    return (*(("en",) if not chinese.all() else ()), *(("zh",) if chinese.any() else ()))


def _settings(**given: Any) -> dict[str, Any]:
    from importlib.metadata import version

    libraries = {name: version(name) for name in ("voirdire", "numpy", "scipy", "scikit-learn")}
    return {**given, "features_version": FEATURES_VERSION, "versions": libraries}
