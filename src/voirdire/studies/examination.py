"""Examines the judges of one aligned label matrix under one alignment."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire import stats
from voirdire._messages import shorten
from voirdire._types import AlignmentName, QuestionKind
from voirdire._validation import check_choice
from voirdire.errors import InputError
from voirdire.io.cells import label_text
from voirdire.records import Dropped
from voirdire.stats.alignment import SET_ALIGNMENTS
from voirdire.stats.cautions import list_names
from voirdire.stats.label_arrays import is_present
from voirdire.stats.results import make_caution

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from voirdire.stats import AltTestResult, Caution
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.studies.label_matrix import LabelMatrix
    from voirdire.studies.plan import TestPlan

__all__ = ["check_alignment", "comparison_settings", "examine_matrix", "kind_of"]

_FEWEST_TO_COMPARE = 3
_MOST_LABELS_LISTED = 100
_MANY_STRANGE = 0.1
_OF_COMPARISON = ("similarity", "weights", "min_items", "min_annotators")


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


def examine_matrix(
    matrix: LabelMatrix,
    plan: TestPlan,
    *,
    alignment: AlignmentName | VectorizedScore,
    question: str,
) -> list[AltTestResult]:
    """Run the test on an aligned matrix: one result per judge and ε, judge by judge."""
    settings = _settings(matrix, plan)
    fields = {name: value for name, value in vars(plan).items() if name != "epsilon_reason"}
    results = [
        result
        for part in _split_by_seen_answers(matrix)
        for result in stats.alt_test(
            part.answers,
            part.humans,
            names=stats.Names(
                judges=part.judges,
                annotators=part.annotators,
                question=question,
                label=part.label_of,
                settings=settings,
            ),
            **fields | comparison_settings(part, plan, alignment),
        )
    ]
    shared = tuple(_panel_cautions(matrix, alignment))
    common = matrix.dropped.get(None, ()) + _thin_items(matrix, plan, question)
    judge_cautions = {
        judge: tuple(_cautions(matrix, alignment, column))
        for column, judge in enumerate(matrix.judges)
    }
    return [
        replace(
            result,
            cautions=result.cautions + shared + judge_cautions[result.judge],
            dropped=common + matrix.dropped.get(result.judge, ()),
        )
        for result in sorted(results, key=lambda result: matrix.judges.index(result.judge))
    ]


def _split_by_seen_answers(matrix: LabelMatrix) -> Iterator[LabelMatrix]:
    """Separate judges whose answers annotators had seen; such labels must not examine them."""
    groups: dict[str | None, list[int]] = {}
    for place, judge in enumerate(matrix.judges):
        groups.setdefault(judge if judge in matrix.seen else None, []).append(place)
    nothing = np.nan if matrix.is_numeric else -1
    for name, places in groups.items():
        humans = matrix.humans
        yield replace(
            matrix,
            humans=humans if name is None else np.where(matrix.seen[name], nothing, humans),
            judges=tuple(matrix.judges[place] for place in places),
            answers=matrix.answers[:, places],
            failed=matrix.failed[:, places],
            probabilities=None if matrix.probabilities is None else matrix.probabilities[:, places],
        )


def comparison_settings(
    matrix: LabelMatrix, plan: TestPlan, alignment: AlignmentName | VectorizedScore
) -> dict[str, Any]:
    """Return the arguments of `voirdire.stats` for comparing labels."""
    ties_half = matrix.kind == "pairwise" and alignment == "accuracy"
    is_counted = matrix.declared and matrix.label_sets is None and matrix.categories
    n_declared = max(len(matrix.universe or ()), len(matrix.categories))
    return {
        "alignment": _ties_half if ties_half else alignment,
        "values": matrix.categories or None,
        "n_codes": n_declared if is_counted else None,
        "quality": _quality(matrix, plan),
        "expert": _expert(matrix, plan),
        **{name: getattr(matrix, name) for name in ("label_sets", "failed", "gold", "clusters")},
        **{name: getattr(plan, name) for name in _OF_COMPARISON},
    }


def _ties_half(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Score A, B and tie: half a point where exactly one of two is a tie."""
    one_tie = (first == "tie") != (second == "tie")
    return np.where(one_tie, 0.5, (first == second).astype(np.float64))


_ties_half.__name__ = "accuracy"  # so results name the alignment of this kind


def _thin_items(matrix: LabelMatrix, plan: TestPlan, question: str) -> tuple[Dropped, ...]:
    """List items with too few annotators, unless there is a reference."""
    if plan.expert is not None or matrix.gold is not None:
        return ()
    n_labels = np.count_nonzero(is_present(matrix.humans), axis=1)
    n_thin = np.count_nonzero(n_labels < plan.min_annotators)
    reason = f"{n_thin} items with fewer than {plan.min_annotators} annotators"
    return (Dropped(reason=reason, source="humans", question=question),) if n_thin else ()


def _quality(matrix: LabelMatrix, plan: TestPlan) -> list[float] | None:
    if plan.quality is None:
        return None
    weights = {str(name): weight for name, weight in plan.quality.items()}
    try:
        return [float(weights[name]) for name in matrix.annotators]
    except KeyError as error:
        msg = f"`quality` must name every annotator, got no weight for {shorten(error.args[0])!r}."
        raise InputError(msg) from None
    except (TypeError, ValueError) as error:
        msg = f"`quality` must map annotators to numbers, got {shorten(dict(plan.quality))}."
        raise InputError(msg) from error


def _expert(matrix: LabelMatrix, plan: TestPlan) -> int | None:
    if plan.expert is None:
        return None
    if str(plan.expert) not in matrix.annotators:
        names = list_names(matrix.annotators, most=10)
        msg = f"`expert` must be one of the annotators {names}, got {shorten(plan.expert)!r}."
        raise InputError(msg)
    return matrix.annotators.index(str(plan.expert))


def _settings(matrix: LabelMatrix, plan: TestPlan) -> dict[str, Any]:
    """Return all settings of a result besides its labels, margin and alignment."""
    told_apart = {"epsilon", "epsilon_mode", "method"}
    fields = {name: value for name, value in plan.as_settings().items() if name not in told_apart}
    n_labels = len(matrix.universe or ())
    return fields | {
        "labels": list(matrix.universe or ()) if 0 < n_labels <= _MOST_LABELS_LISTED else None,
        "n_labels": None if matrix.universe is None else n_labels,
        "labels_declared": matrix.declared,
        "gold": matrix.gold is not None,
    }


# Cautions -------------------------------------------------------------------------------------


def _panel_cautions(
    matrix: LabelMatrix, alignment: AlignmentName | VectorizedScore
) -> Iterator[Caution]:
    """Find the cautions about every judge's figures."""
    n_labels = len(matrix.universe or ())
    if not matrix.declared and alignment in ("jaccard_macro", "jaccard_slots", "hamming"):
        sentence = (
            f"the label universe was not declared: it is the union of the {n_labels} labels that "
            "annotators and judges used; declare it with `labels`"
        )
        yield make_caution("undeclared_labels", sentence, n_labels=n_labels)
    if alignment == "similarity":
        sentence = (
            "the verdict depends on how similarity is measured: choose it beforehand, and look at "
            "pairs of texts that it counts as similar"
        )
        yield make_caution("similarity", sentence)
    strangers = _strange_annotators(matrix) if _is_word_by_word(matrix, alignment) else []
    if strangers:
        names = list_names(strangers)
        sentence = f"share no label with any other annotator: {names}; are they annotators?"
        yield make_caution(
            "strange_annotators", sentence, annotators=strangers[:5], n=len(strangers)
        )


def _cautions(
    matrix: LabelMatrix, alignment: AlignmentName | VectorizedScore, column: int
) -> Iterator[Caution]:
    """Find the cautions about one judge's figures."""
    answers = matrix.answers[:, column]
    if _is_word_by_word(matrix, alignment):
        yield from _strange_labels(matrix, answers)
    n_unjudged = int(np.count_nonzero(~is_present(answers) & ~matrix.failed[:, column]))
    if n_unjudged:
        n_items = len(matrix.items)
        sentence = f"{n_unjudged} of {n_items} annotated items were not judged"
        yield make_caution("not_judged", sentence, n_unjudged=n_unjudged, n_items=n_items)


def _is_word_by_word(matrix: LabelMatrix, alignment: AlignmentName | VectorizedScore) -> bool:
    return not matrix.is_numeric and (alignment == "accuracy" or alignment in SET_ALIGNMENTS)


def _strange_annotators(matrix: LabelMatrix) -> list[str]:
    """Name annotators whose labels no other one uses, such as a column that is not a rater."""
    if len(matrix.annotators) < _FEWEST_TO_COMPARE:
        return []
    codes_by_annotator = [np.unique(column[column >= 0]) for column in matrix.humans.T]
    n_users = np.bincount(np.concatenate(codes_by_annotator), minlength=len(matrix.categories) + 1)
    return [
        name
        for name, codes in zip(matrix.annotators, codes_by_annotator, strict=True)
        if codes.size and (n_users[codes] == 1).all()
    ]


def _strange_labels(matrix: LabelMatrix, answers: NDArray[Any]) -> Iterator[Caution]:
    """Make a caution about a judge with a tenth of its answers in labels that no annotator uses."""
    words = [
        label if isinstance(label, frozenset) else {label_text(label)}
        for label in matrix.categories
    ]
    counts = np.bincount(answers[answers >= 0], minlength=len(words))
    human_codes = np.unique(matrix.humans[matrix.humans >= 0]).tolist()
    human_words = sorted(set().union(*(words[code] for code in human_codes)))
    strange = {
        code: unknown_words
        for code in np.flatnonzero(counts).tolist()
        if (unknown_words := words[code].difference(human_words))
    }
    n_strange, n_answers = int(counts[list(strange)].sum()), int(counts.sum())
    if human_words and strange and n_strange >= _MANY_STRANGE * n_answers:
        label = min(strange[max(strange, key=counts.__getitem__)])
        figures = {
            "label": shorten(label),
            "human_label": shorten(get_close_matches(label, human_words, n=1, cutoff=0)[0]),
            "n_strange": n_strange,
            "n_answers": n_answers,
        }
        sentence = (
            f"{n_strange} of {n_answers} answers of the judge are labels that no annotator ever "
            f"uses (such as {figures['label']!r} beside {figures['human_label']!r}): check that "
            "both write labels in the same way"
        )
        yield make_caution("strange_labels", sentence, **figures)
