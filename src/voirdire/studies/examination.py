"""Examine the judges of one aligned label matrix under one alignment."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire import stats
from voirdire._types import AlignmentName, QuestionKind
from voirdire._validation import check_choice, shorten
from voirdire.errors import InputError
from voirdire.io.cells import label_text
from voirdire.records import Dropped
from voirdire.stats.alignment import SET_ALIGNMENTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from voirdire._types import Normalization
    from voirdire.stats import AltTestResult
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.studies.aligning import LabelMatrix
    from voirdire.studies.plan import TestPlan

__all__ = [
    "check_alignment",
    "comparison_settings",
    "examine_matrix",
    "kind_of",
]

_FEWEST_TO_COMPARE = 3
_MOST_LABELS_LISTED = 100
_MANY_STRANGE = 0.1
UNIVERSE_ALIGNMENTS = ("jaccard_macro", "jaccard_slots", "hamming")


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
    check_alignment(alignment)
    normalize = plan.normalize
    if normalize is not None and plan.weights is None and matrix.humans.dtype.kind == "f":
        matrix, normalize = _normalized(matrix, normalize), None
    results = [
        row
        for part in _by_what_was_seen(matrix)
        for row in _results(part, plan, alignment=alignment, normalize=normalize, question=question)
    ]
    order = {judge: place for place, judge in enumerate(matrix.judges)}
    results.sort(key=lambda row: order[row.judge])
    dropped = matrix.dropped + _thin_items(matrix, plan, question)
    shared = _panel_cautions(matrix, alignment)
    cautions = {judge: shared + _cautions(matrix, alignment, judge) for judge in matrix.judges}
    judges = frozenset(matrix.judges)
    common = tuple(row for row in dropped if _concerns_all(row, judges))
    drops = {
        judge: common
        + tuple(row for row in dropped if row.rater == judge and not _concerns_all(row, judges))
        for judge in matrix.judges
    }
    return [_completed(row, cautions[row.judge], drops[row.judge]) for row in results]


def _normalized(matrix: LabelMatrix, method: Normalization) -> LabelMatrix:
    """Rescale every rater over all items that the rater labelled, whoever else did."""

    def rescaled(labels: NDArray[Any]) -> NDArray[Any]:
        columns = [stats.normalize_scale(column, method=method) for column in labels.T]
        return np.stack(columns, axis=1)

    gold = matrix.gold
    return replace(
        matrix,
        humans=rescaled(matrix.humans),
        answers=rescaled(matrix.answers),
        gold=None if gold is None else stats.normalize_scale(gold, method=method),
    )


def _by_what_was_seen(matrix: LabelMatrix) -> Iterator[LabelMatrix]:
    """Split off judges whose answers annotators had seen: such labels never examine them."""
    others = [place for place, name in enumerate(matrix.judges) if name not in matrix.seen]
    if others:
        yield _of_judges(matrix, others) if matrix.seen else matrix
    for name, mask in matrix.seen.items():
        nothing = np.nan if matrix.humans.dtype.kind == "f" else -1
        one = _of_judges(matrix, [matrix.judges.index(name)])
        yield replace(one, humans=np.where(mask, nothing, matrix.humans))


def _of_judges(matrix: LabelMatrix, places: list[int]) -> LabelMatrix:
    return replace(
        matrix,
        judges=tuple(matrix.judges[place] for place in places),
        answers=matrix.answers[:, places],
        failed=matrix.failed[:, places],
        probabilities=None if matrix.probabilities is None else matrix.probabilities[:, places],
    )


def _results(
    matrix: LabelMatrix,
    plan: TestPlan,
    *,
    alignment: AlignmentName | VectorizedScore,
    normalize: Normalization | None,
    question: str,
) -> list[AltTestResult]:
    return stats.alt_test(
        matrix.answers,
        matrix.humans,
        epsilon=plan.epsilon,
        epsilon_mode=plan.epsilon_mode,
        method=plan.method,
        false_discovery_rate=plan.false_discovery_rate,
        family=plan.family,
        n_resamples=plan.n_resamples,
        confidence_level=plan.confidence_level,
        seed=plan.seed,
        names=stats.Names(
            judges=matrix.judges,
            annotators=matrix.annotators,
            question=question,
            label=_label_namer(matrix),
            settings=_settings(plan, matrix),
        ),
        **comparison_settings(matrix, plan, alignment) | {"normalize": normalize},
    )


def comparison_settings(
    matrix: LabelMatrix, plan: TestPlan, alignment: AlignmentName | VectorizedScore
) -> dict[str, Any]:
    """Return the arguments of `voirdire.stats` that say how labels are compared."""
    return {
        "alignment": _ties_half if _is_pairwise(matrix, alignment) else alignment,
        "label_sets": matrix.label_sets,
        "values": matrix.categories or None,
        "similarity": plan.similarity,
        "n_codes": _declared_codes(matrix),
        "failed": matrix.failed,
        "weights": plan.weights,
        "quality": _quality(matrix, plan),
        "expert": _expert(matrix, plan),
        "gold": matrix.gold,
        "normalize": plan.normalize,
        "clusters": matrix.clusters,
        "min_items": plan.min_items,
        "min_annotators": plan.min_annotators,
    }


def _is_pairwise(matrix: LabelMatrix, alignment: AlignmentName | VectorizedScore) -> bool:
    return matrix.kind == "pairwise" and alignment == "accuracy"


def _ties_half(first: NDArray[Any], second: NDArray[Any]) -> NDArray[np.float64]:
    """Score A, B and tie: half a point where exactly one of two is a tie."""
    one_tie = (first == "tie") != (second == "tie")
    return np.where(one_tie, 0.5, (first == second).astype(np.float64))


_ties_half.__name__ = "accuracy"  # which is what it is for this kind, in every result


def _completed(
    result: AltTestResult, cautions: tuple[stats.Caution, ...], dropped: tuple[Dropped, ...]
) -> AltTestResult:
    if not cautions and not dropped:
        return result
    return replace(result, cautions=result.cautions + cautions, dropped=dropped)


def _thin_items(matrix: LabelMatrix, plan: TestPlan, question: str) -> tuple[Dropped, ...]:
    """List how many items too few annotators labelled, unless a reference stands for the others."""
    if plan.expert is not None or matrix.gold is not None:
        return ()
    missing = np.isnan(matrix.humans) if matrix.humans.dtype.kind == "f" else matrix.humans < 0
    n_labels = matrix.humans.shape[1] - np.count_nonzero(missing, axis=1)
    n_thin = int(np.count_nonzero(n_labels < plan.min_annotators))
    reason = f"{n_thin} items with fewer than {plan.min_annotators} annotators"
    return (Dropped(reason=reason, source="humans", question=question),) if n_thin else ()


def _concerns_all(row: Dropped, judges: frozenset[str]) -> bool:
    """Whether a drop belongs to every judge's results: not if it is one judge's own."""
    return row.source in ("humans", "gold") or row.rater not in judges


def _declared_codes(matrix: LabelMatrix) -> int | None:
    if not matrix.declared or matrix.label_sets is not None or not matrix.categories:
        return None
    return max(len(matrix.universe or ()), len(matrix.categories))


def _quality(matrix: LabelMatrix, plan: TestPlan) -> list[float] | None:
    if plan.quality is None:
        return None
    weights = {str(name): weight for name, weight in plan.quality.items()}
    lost = [name for name in matrix.annotators if name not in weights]
    if lost:
        msg = f"`quality` must name every annotator, got no weight for {shorten(lost[0])!r}."
        raise InputError(msg)
    try:
        return [float(weights[name]) for name in matrix.annotators]
    except (TypeError, ValueError) as error:
        msg = f"`quality` must map annotators to numbers, got {shorten(dict(plan.quality))}."
        raise InputError(msg) from error


def _expert(matrix: LabelMatrix, plan: TestPlan) -> int | None:
    if plan.expert is None:
        return None
    if str(plan.expert) not in matrix.annotators:
        known = ", ".join(repr(shorten(name)) for name in matrix.annotators[:10])
        msg = f"`expert` must be one of the annotators {known}, got {shorten(plan.expert)!r}."
        raise InputError(msg)
    return matrix.annotators.index(str(plan.expert))


def _label_namer(matrix: LabelMatrix) -> Any:
    if not matrix.categories:
        return lambda number: f"{float(number):g}"
    return lambda code: label_text(matrix.categories[int(code)])


def _settings(plan: TestPlan, matrix: LabelMatrix) -> dict[str, Any]:
    """Everything that determines a result besides its labels, margin, method and alignment."""
    universe = matrix.universe if matrix.declared or matrix.label_sets is not None else None
    told_apart = {"epsilon", "epsilon_mode", "method"}
    fixed = {name: value for name, value in plan.as_settings().items() if name not in told_apart}
    return fixed | {
        "labels": list(universe) if universe and len(universe) <= _MOST_LABELS_LISTED else None,
        "n_labels": None if universe is None else len(universe),
        "labels_declared": matrix.declared,
        "gold": matrix.gold is not None,
    }


def _panel_cautions(
    matrix: LabelMatrix, alignment: AlignmentName | VectorizedScore
) -> tuple[stats.Caution, ...]:
    """Find what weakens every judge's figures."""
    found = []
    if not matrix.declared and alignment in UNIVERSE_ALIGNMENTS:
        sentence = (
            f"the label universe was not declared: it is the union of the "
            f"{len(matrix.universe or ())} labels that annotators and judges used; declare it "
            "with `labels`"
        )
        figures: dict[str, Any] = {"n_labels": len(matrix.universe or ())}
        found.append(stats.Caution(code="undeclared_labels", sentence=sentence, figures=figures))
    if alignment == "similarity":
        sentence = (
            "the verdict hangs on how similarity is measured: choose it beforehand, and look at "
            "pairs of texts that it calls alike"
        )
        found.append(stats.Caution(code="similarity", sentence=sentence))
    strangers = _strange_annotators(matrix) if _is_word_by_word(alignment) else []
    if strangers:
        names = ", ".join(repr(shorten(name)) for name in strangers[:5])
        sentence = f"share no label with any other annotator: {names}; are they annotators at all?"
        figures = {"annotators": strangers[:5], "n": len(strangers)}
        found.append(stats.Caution(code="strange_annotators", sentence=sentence, figures=figures))
    return tuple(found)


def _cautions(
    matrix: LabelMatrix, alignment: AlignmentName | VectorizedScore, judge: str
) -> tuple[stats.Caution, ...]:
    """Find what weakens one judge's figures."""
    found = []
    strange = _strange_labels(matrix, judge) if _is_word_by_word(alignment) else None
    if strange is not None:
        sentence = (
            f"{strange['n_strange']} of {strange['n_answers']} answers of the judge are labels "
            f"that no annotator ever uses (such as {strange['label']!r} beside "
            f"{strange['human_label']!r}): check that both write labels alike"
        )
        found.append(stats.Caution(code="strange_labels", sentence=sentence, figures=strange))
    unjudged = matrix.n_unjudged.get(judge, 0)
    if unjudged:
        sentence = f"{unjudged} of {len(matrix.items)} annotated items were not judged"
        figures = {"n_unjudged": unjudged, "n_items": len(matrix.items)}
        found.append(stats.Caution(code="not_judged", sentence=sentence, figures=figures))
    return tuple(found)


def _is_word_by_word(alignment: AlignmentName | VectorizedScore) -> bool:
    return alignment == "accuracy" or alignment in SET_ALIGNMENTS


def _strange_annotators(matrix: LabelMatrix) -> list[str]:
    """Name annotators whose labels nobody else uses, such as a column taken for one."""
    if matrix.humans.dtype.kind == "f" or len(matrix.annotators) < _FEWEST_TO_COMPARE:
        return []
    used = [np.unique(column[column >= 0]) for column in matrix.humans.T]
    n_users = np.bincount(np.concatenate(used), minlength=len(matrix.categories) + 1)
    return [
        name
        for name, codes in zip(matrix.annotators, used, strict=True)
        if codes.size and (n_users[codes] == 1).all()
    ]


def _strange_labels(matrix: LabelMatrix, judge: str) -> dict[str, Any] | None:
    """Notice a judge a tenth of whose answers hold labels that no annotator ever gives."""
    if matrix.humans.dtype.kind == "f":
        return None
    answers = matrix.answers[:, matrix.judges.index(judge)]
    used, counts = np.unique(answers[answers >= 0], return_counts=True)
    given = np.unique(matrix.humans[matrix.humans >= 0]).tolist()
    known = sorted(set().union(*(_labels_in(matrix, code) for code in given)))
    strange = {
        code: found
        for code in used.tolist()
        if (found := _labels_in(matrix, code).difference(known))
    }
    n_strange = int(counts[np.isin(used, list(strange))].sum())
    if not known or not strange or n_strange < _MANY_STRANGE * counts.sum():
        return None
    most = max(strange, key=lambda code: counts[used == code].item())
    label = min(strange[most])
    return {
        "label": shorten(label),
        "human_label": shorten(get_close_matches(label, known, n=1, cutoff=0)[0]),
        "n_strange": n_strange,
        "n_answers": int(counts.sum()),
    }


def _labels_in(matrix: LabelMatrix, code: int) -> set[str]:
    label = matrix.categories[code]
    return set(label) if matrix.kind == "multilabel" else {label_text(label)}
