"""Examine the judges of one aligned label matrix under one alignment."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire import stats
from voirdire._types import AlignmentName, QuestionKind
from voirdire._validation import check_choice, check_epsilons, shorten
from voirdire.errors import InputError
from voirdire.records import Dropped
from voirdire.studies.label_words import LabelReader

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire._types import EpsilonMode, Method, Normalization, WeightScheme
    from voirdire.stats import AltTestResult
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.studies.label_matrix import LabelMatrix

__all__ = ["TestPlan", "check_alignment", "examine_matrix", "kind_of", "make_reader"]

SET_ALIGNMENTS = ("jaccard", "jaccard_macro", "jaccard_slots", "hamming")
UNIVERSE_ALIGNMENTS = ("jaccard_macro", "jaccard_slots", "hamming")


@dataclass(frozen=True, kw_only=True)
class TestPlan:
    """What was fixed before the labels were looked at.

    The attributes are those of `voirdire.alt_test`.
    """

    epsilon: float | Sequence[float] = 0.2
    epsilon_mode: EpsilonMode = "additive"
    method: Method = "t"
    weights: WeightScheme | None = None
    quality: Mapping[Any, float] | None = None
    expert: str | None = None
    normalize: Normalization | None = None
    similarity: VectorizedScore | None = None
    min_items: int = 30
    min_annotators: int = 2
    false_discovery_rate: float = 0.05
    controls: bool = True
    seed: int = 0

    def as_settings(self) -> dict[str, Any]:
        """Return the plan as plain values, for results and certificates."""
        plain = asdict(replace(self, similarity=None))
        plain["quality"] = None if self.quality is None else dict(self.quality)
        plain["similarity"] = getattr(self.similarity, "__name__", None)
        plain["epsilon"] = list(check_epsilons(self.epsilon))
        return plain


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


def make_reader(
    alignment: AlignmentName | VectorizedScore,
    *,
    kind: QuestionKind | None,
    labels: Sequence[Any] | None,
) -> LabelReader:
    """Make a reader of labels in memory for one alignment."""
    return LabelReader(
        kind=kind,
        numeric=alignment == "neg_rmse",
        sets=alignment in SET_ALIGNMENTS,
        labels=labels,
    )


def examine_matrix(
    matrix: LabelMatrix,
    plan: TestPlan,
    *,
    alignment: AlignmentName | VectorizedScore,
    question: str,
) -> list[AltTestResult]:
    """Run the test on an aligned matrix: one result per judge and ε, judge by judge."""
    check_alignment(alignment)
    results = stats.alt_test(
        matrix.answers,
        matrix.humans,
        alignment=alignment,
        epsilon=plan.epsilon,
        epsilon_mode=plan.epsilon_mode,
        method=plan.method,
        label_sets=matrix.label_sets,
        values=matrix.categories or None,
        similarity=plan.similarity,
        n_codes=_declared_codes(matrix),
        failed=matrix.failed,
        weights=plan.weights,
        quality=_quality(matrix, plan),
        expert=_expert(matrix, plan),
        gold=matrix.gold,
        normalize=plan.normalize,
        clusters=matrix.clusters,
        min_items=plan.min_items,
        min_annotators=plan.min_annotators,
        false_discovery_rate=plan.false_discovery_rate,
        controls=plan.controls,
        seed=plan.seed,
        names=stats.Names(
            judges=matrix.judges,
            annotators=matrix.annotators,
            question=question,
            label=_label_namer(matrix),
            settings=_settings(plan, matrix),
        ),
    )
    dropped = matrix.dropped + _thin_items(matrix, plan, question)
    cautions = {judge: _cautions(matrix, alignment, judge) for judge in matrix.judges}
    drops = {
        judge: tuple(row for row in dropped if _concerns(row, judge, matrix))
        for judge in matrix.judges
    }
    return [_completed(row, cautions[row.judge], drops[row.judge]) for row in results]


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


def _concerns(row: Dropped, judge: str, matrix: LabelMatrix) -> bool:
    """Whether a drop belongs to this judge's results: not if it is another judge's."""
    return row.source == "humans" or row.rater == judge or row.rater not in matrix.judges


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
    return [float(weights[name]) for name in matrix.annotators]


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


def label_text(label: Any) -> str:
    """Show a label; a set in braces, in order."""
    if isinstance(label, frozenset):
        return "{" + ", ".join(sorted(label)) + "}"
    if isinstance(label, bool):
        return "true" if label else "false"
    return str(label)


def _settings(plan: TestPlan, matrix: LabelMatrix) -> dict[str, Any]:
    """Everything that determines a result besides its labels, margin, method and alignment."""
    universe = matrix.universe if matrix.declared or matrix.label_sets is not None else None
    told_apart = {"epsilon", "epsilon_mode", "method"}
    fixed = {name: value for name, value in plan.as_settings().items() if name not in told_apart}
    return fixed | {
        "labels": None if universe is None else list(universe),
        "labels_declared": matrix.declared,
        "gold": matrix.gold is not None,
        "n_clusters": None if matrix.clusters is None else int(matrix.clusters.max()) + 1,
    }


def _cautions(
    matrix: LabelMatrix, alignment: AlignmentName | VectorizedScore, judge: str
) -> tuple[stats.Caution, ...]:
    found = []
    if not matrix.declared and alignment in UNIVERSE_ALIGNMENTS:
        sentence = (
            f"the label universe was not declared: it is the union of the "
            f"{len(matrix.universe or ())} labels that annotators and judges used; declare it "
            "with `labels`"
        )
        found.append(stats.Caution(code="undeclared_labels", sentence=sentence))
    words = alignment == "accuracy" or alignment in SET_ALIGNMENTS
    strange = _strange_labels(matrix, judge) if words else None
    if strange is not None:
        found.append(stats.Caution(code="strange_labels", sentence=strange))
    unjudged = matrix.n_unjudged.get(judge, 0)
    if unjudged:
        sentence = f"{unjudged} of {len(matrix.items)} annotated items were not judged"
        found.append(stats.Caution(code="not_judged", sentence=sentence))
    return tuple(found)


def _strange_labels(matrix: LabelMatrix, judge: str) -> str | None:
    """Notice a judge whose words no annotator ever uses, such as '3.0' beside '3'."""
    if matrix.humans.dtype.kind == "f":
        return None
    answers = matrix.answers[:, matrix.judges.index(judge)]
    used = np.unique(answers[answers >= 0])
    known = np.unique(matrix.humans[matrix.humans >= 0])
    if not used.size or np.isin(used, known).any():
        return None
    mine, theirs = (shorten(label_text(matrix.categories[code[0]])) for code in (used, known))
    return (
        f"no label of the judge is ever used by an annotator (such as {mine!r} beside {theirs!r}): "
        "check that both write labels alike"
    )
