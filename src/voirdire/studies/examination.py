"""Examines the judges of one aligned label matrix under one alignment."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire import stats
from voirdire._messages import shorten
from voirdire._types import AlignmentName, QuestionKind
from voirdire._validation import check_choice
from voirdire.io.cells import label_text
from voirdire.io.raters import find_loners
from voirdire.records import Dropped
from voirdire.records.items import IS_MET
from voirdire.stats.alignment import SET_ALIGNMENTS
from voirdire.stats.cautions import list_names
from voirdire.stats.label_arrays import count_items, is_present
from voirdire.stats.results import make_caution
from voirdire.studies.diagnosis import diagnose_annotators

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire.stats import AltTestResult, Caution
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.plan import TestPlan
    from voirdire.studies.label_matrix import LabelMatrix

_FEWEST_TO_COMPARE = 3
_MOST_LABELS_LISTED = 100
_NEARLY_ALL, _FEWEST_ANSWERS, _FARTHER = 0.9, 5, 7
"""Share of a judge's answers in unknown labels, and their least number, without evidence."""

_TURNED, _FEWEST_TURNED = -0.5, 20
"""Correlation with the majority, and items, of a judge whose labels may be turned round."""
_FEWEST_CONTESTED, _MOST_LABELS = 40, 100
"""Items where annotators split on which a good judge will differ from their majority once."""


def check_alignment(alignment: AlignmentName | VectorizedScore) -> str:
    """Return the name of an alignment, checked."""
    if callable(alignment):
        return str(getattr(alignment, "__name__", "custom"))
    return check_choice("alignment", alignment, AlignmentName)


def kind_of(alignment: AlignmentName | VectorizedScore) -> QuestionKind:
    """Return the kind of question that an alignment declares where nothing else does."""
    if alignment == "neg_rmse":
        return "scale"
    if alignment in SET_ALIGNMENTS:
        return "multilabel"
    return "text" if alignment == "similarity" else "choice"


def choose_alignment(kind: QuestionKind) -> AlignmentName:
    """Return the alignment of a kind where none is named: numbers of a scale have a distance."""
    return "neg_rmse" if kind == "scale" else "accuracy"


def examine_matrix(
    matrix: LabelMatrix, plan: TestPlan, *, alignment: AlignmentName | VectorizedScore
) -> list[AltTestResult]:
    """Run the test on an aligned matrix: one result per judge and ε, judge by judge."""
    told_apart = {"epsilon", "epsilon_mode", "method"}
    settings = {name: x for name, x in plan.as_settings().items() if name not in told_apart}
    n_labels = len(matrix.universe or ())
    settings |= {
        "labels": list(matrix.universe or ()) if 0 < n_labels <= _MOST_LABELS_LISTED else None,
        "n_labels": None if matrix.universe is None else n_labels,
        "labels_declared": matrix.declared,
        "gold": matrix.gold is not None,
    }
    shared = tuple(_panel_cautions(matrix, alignment))
    common = matrix.dropped.get(None, ())
    is_thin = is_present(matrix.humans).sum(axis=1) < plan.min_annotators
    n_thin = int(count_items(is_thin, matrix.copies))
    if n_thin and plan.expert is None and matrix.gold is None:
        reason = f"{n_thin} items with fewer than {plan.min_annotators} annotators"
        common += (Dropped(reason=reason, source="humans", question=matrix.question),)
    names = stats.Names(
        annotators=matrix.annotators,
        question=matrix.question,
        label=matrix.label_of,
        settings=settings,
        cautions={
            judge: shared + tuple(_judge_cautions(matrix, alignment, column))
            for column, judge in enumerate(matrix.judges)
        },
        dropped={judge: common + matrix.dropped.get(judge, ()) for judge in matrix.judges},
    )
    results = [
        result
        for part in _split_by_seen_answers(matrix)
        for result in stats.alt_test(
            part.answers,
            part.humans,
            names=replace(names, judges=part.judges),
            plan=plan,
            **part.arrays(alignment),
        )
    ]
    careless: list[str] = []
    # with more than that shown, most annotators would have to stand apart
    if any(row.outcome == "passed" and 4 * row.n_shown < 3 * row.n_annotators for row in results):
        annotators = diagnose_annotators(matrix.sample, plan.false_discovery_rate)
        careless = [row.annotator for row in annotators if row.outlier]
    return [
        _qualify(result, careless)
        for result in sorted(results, key=lambda result: matrix.judges.index(result.judge))
    ]


def _split_by_seen_answers(matrix: LabelMatrix) -> Iterator[LabelMatrix]:
    """Separate judges whose answers annotators had seen; such labels must not examine them."""
    if others := [judge for judge in matrix.judges if judge not in matrix.seen]:
        yield matrix.of_judges(others)
    nothing = np.nan if matrix.is_numeric else -1
    for judge in matrix.judges:
        if judge in matrix.seen:
            humans = np.where(matrix.seen[judge], nothing, matrix.humans)
            yield replace(matrix.of_judges([judge]), humans=humans)


def _qualify(result: AltTestResult, careless: Sequence[str]) -> AltTestResult:
    """Say of a judge that passes by annotators who stand apart from the others that it does so.

    Take the outcome back where judge and annotators have no vocabulary in common.
    """
    rows = result.annotators if careless and result.outcome == "passed" else ()
    beaten = [row.annotator for row in rows if row.shown and row.annotator in careless]
    others = [row for row in rows if row.annotator not in careless]
    n_shown = sum(row.shown for row in others)
    if beaten and 2 * n_shown < len(others):
        figures = {"annotators": beaten[:5], "n_shown": n_shown, "n_others": len(others)}
        words = {"whom": list_names(beaten)}
        caution = make_caution("careless_annotators", words, **figures)
        sentence = f"{result.because.sentence} But {caution.sentence}."
        because = replace(result.because, sentence=sentence)
        result = replace(result, because=because, cautions=(caution, *result.cautions))
    for reason in [row for row in result.cautions if row.code == "vocabulary"]:
        result = replace(
            result,
            because=replace(reason, sentence=f"{reason.sentence}."),
            cautions=tuple(row for row in result.cautions if row is not reason),
            outcome="no_evidence",
            finding="no_evidence",
            passed=False,
        )
    return result


# Cautions -------------------------------------------------------------------------------------


def _panel_cautions(
    matrix: LabelMatrix, alignment: AlignmentName | VectorizedScore
) -> Iterator[Caution]:
    """Find the cautions about every judge's figures."""
    if matrix.copies is not None:
        sides = (matrix.humans, matrix.answers)
        n_given = int(sum(count_items(is_present(x).T, matrix.copies).sum() for x in sides))
        yield make_caution("counted", n_given=n_given)
    matrix = matrix.sample
    if matrix.question == IS_MET and matrix.clusters is None:
        yield make_caution("unclustered_criteria")
    if not matrix.declared and alignment in ("jaccard_macro", "jaccard_slots", "hamming"):
        yield make_caution("undeclared_labels", n_labels=len(matrix.universe or ()))
    if alignment == "similarity":
        yield make_caution("similarity")
    strangers: list[str] = []
    if _is_word_by_word(matrix, alignment) and len(matrix.annotators) >= _FEWEST_TO_COMPARE:
        used = [np.unique(column[column >= 0]) for column in matrix.humans.T]
        n_users = np.bincount(np.concatenate(used), minlength=1)
        strangers = [
            name
            for name, codes in zip(matrix.annotators, used, strict=True)
            if codes.size and (n_users[codes] == 1).all()  # such as a column that is not a rater
        ]
    if strangers:
        yield make_caution("strange_annotators", annotators=strangers[:5], n=len(strangers))
    places = [] if matrix.label_sets is not None else find_loners(matrix.humans)
    if loners := [matrix.annotators[place] for place in places]:
        yield make_caution("chance_annotators", annotators=loners[:5], n=len(loners))


def _judge_cautions(
    matrix: LabelMatrix, alignment: AlignmentName | VectorizedScore, column: int
) -> Iterator[Caution]:
    """Find the cautions about one judge's figures."""
    n_items, answers = matrix.n_items, matrix.answers[:, column]
    is_unjudged = ~is_present(answers) & ~matrix.failed[:, column]
    n_unjudged = int(count_items(is_unjudged, matrix.copies))
    matrix = matrix.sample
    answers = matrix.answers[:, column]
    if _is_word_by_word(matrix, alignment):
        yield from _strange_labels(matrix, answers)
    elif matrix.is_numeric:
        yield from _other_scale(matrix.humans, answers)
    if n_unjudged:
        yield make_caution("not_judged", n_unjudged=n_unjudged, n_items=n_items)
    if not matrix.is_numeric and matrix.label_sets is None and alignment == "accuracy":
        yield from _compare_with_majority(matrix, answers)


def _compare_with_majority(matrix: LabelMatrix, answers: NDArray[Any]) -> Iterator[Caution]:
    """Notice a judge that says the opposite of the annotators, and one that copies their majority.

    The first is told by Matthews' correlation of two labels, the second by the items on which
    annotators split with one most frequent label.
    """
    if len(matrix.categories) > _MOST_LABELS:  # an id or a text, and a table too large
        return
    majority = matrix.majority
    both = (majority >= 0) & (answers >= 0)
    one, other = majority[both], answers[both]
    n, n_opposite = len(one), int(np.count_nonzero(one != other))
    # such a correlation of two labels needs more opposite items than equal ones
    if n >= _FEWEST_TURNED and 2 * n_opposite > n and len({*one.tolist()}) == 2:
        are_same = {*one.tolist()} == {*other.tolist()}
        if are_same and np.corrcoef(one, other)[0, 1] <= _TURNED:
            yield make_caution("turned_round", n_opposite=n_opposite, n_items=n)
    contested = both & matrix.is_contested
    n_contested = int(np.count_nonzero(contested))
    if n_contested >= _FEWEST_CONTESTED and (answers == majority)[contested].all():
        yield make_caution("majority_copy", n_items=n_contested)


def _is_word_by_word(matrix: LabelMatrix, alignment: AlignmentName | VectorizedScore) -> bool:
    return not matrix.is_numeric and (alignment == "accuracy" or alignment in SET_ALIGNMENTS)


def _strange_labels(matrix: LabelMatrix, answers: NDArray[Any]) -> Iterator[Caution]:
    """Count a judge's answers in labels that no annotator uses.

    Where nearly all are such, judge and annotators have no vocabulary in common.
    """
    words = [
        label if isinstance(label, frozenset) else {label_text(label)}
        for label in matrix.categories
    ]
    counts = np.bincount(answers[answers >= 0], minlength=len(words))
    human_words = sorted(set().union(*(words[code] for code in matrix.human_codes)))
    strange = {
        code: unknown_words
        for code in np.flatnonzero(counts).tolist()
        if (unknown_words := words[code].difference(human_words))
    }
    n_strange, n_answers = int(counts[list(strange)].sum()), int(counts.sum())
    if not human_words or not strange:
        return
    ordered = sorted(strange, key=lambda code: (-counts[code], code))
    apart = [code for code in ordered if words[code].isdisjoint(human_words)]
    n_apart = int(counts[apart].sum())  # a set may hold known labels beside unknown ones
    if n_apart >= _NEARLY_ALL * n_answers and n_answers >= _FEWEST_ANSWERS:
        yield make_caution(
            "vocabulary",
            n_strange=n_apart,
            n_answers=n_answers,
            labels=list_names([min(strange[code]) for code in apart]),
            human_labels=list_names(human_words),
        )
        return
    label = min(strange[ordered[0]])
    near = _find_nearest(label, tuple(human_words))
    yield make_caution(
        "strange_labels",
        {"are": "is a label" if n_strange == 1 else "are labels"},
        n_strange=n_strange,
        n_answers=n_answers,
        label=shorten(label),
        human_label=shorten(near),
    )


@lru_cache(maxsize=64)
def _find_nearest(label: str, words: tuple[str, ...]) -> str:
    """Return the word that looks most like a label; judges often share their strange ones."""
    return get_close_matches(label, words, n=1, cutoff=0)[0]


def _other_scale(humans: NDArray[Any], answers: NDArray[Any]) -> Iterator[Caution]:
    """Notice numbers of a judge, most of them beyond those of all annotators, or the reverse.

    Where one side goes up to a multiple of the other, as 0 to 100 beside 0 to 1, they have no
    vocabulary in common.
    """
    theirs, own = humans[~np.isnan(humans)], answers[~np.isnan(answers)]
    if not own.size or not theirs.size:
        return
    spans = [(f"{side.min():g}", f"{side.max():g}") for side in (own, theirs)]
    low, high = sorted((theirs, own), key=lambda side: side.max())
    is_multiple = high.max() >= _FARTHER * low.max() > 0 and len(own) >= _FEWEST_ANSWERS
    if is_multiple and np.mean(high > low.max()) > 0.5:
        n_strange = int(np.count_nonzero(~np.isin(own, theirs)))
        names = zip(("labels", "human_labels"), map("–".join, spans), strict=True)
        yield make_caution("vocabulary", n_strange=n_strange, n_answers=len(own), **dict(names))
    elif np.mean((own < theirs.min()) | (own > theirs.max())) > 0.5:
        its_range, their_range = (" to ".join(span) for span in spans)
        yield make_caution("other_scale", its_range=its_range, range=their_range)
