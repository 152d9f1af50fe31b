r"""Decides whether a judge passed, failed, or could not be distinguished from a useless one.

Failures count as lost, and ω is from the exact test:

1. ``no_evidence`` where no annotator can be tested.
2. Where ω is below .5, ``failed``; but ``no_evidence`` where the judge's estimate is within ε for
   at least half of the annotators and their majority vote (with an expert or gold: those labels)
   fails too, since no judge could pass on these labels.
3. Otherwise ``passed`` if the judge is shown closer to the annotators than the constant answer
   with the largest ρ (see `PairedGap.p_value`; one-sided p at most .05), else ``no_evidence``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import shorten
from voirdire.stats.agreement import measure_alpha
from voirdire.stats.exact_test import cached_p_value
from voirdire.stats.figures import passes
from voirdire.stats.judge_difference import MOST_FLIPPED
from voirdire.stats.results import make_caution

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from voirdire._types import Finding
    from voirdire.stats.agreement import KrippendorffResult, Level
    from voirdire.stats.comparison import Comparison
    from voirdire.stats.figures import Figures, TestSettings
    from voirdire.stats.judge_difference import PairedGap
    from voirdire.stats.results import Caution

CONSTANT_LEVEL = 0.05
_MOST_TRIED = 20


@dataclass(frozen=True, kw_only=True)
class Yardsticks:
    """What judges of the same items are measured by.

    The constant answer with the largest ρ; the figures of the majority vote (or the reference) and
    of that constant.
    """

    constant: str
    figures: Figures


def decide_outcome(
    lost: Figures, judge: int, number: int, *, yardsticks: Yardsticks | None, gap: PairedGap | None
) -> tuple[Finding, Caution]:
    """Decide what is found of one judge at one ε, with the reason."""
    tested, settings = lost.tested[judge], lost.settings
    n_tested = int(np.count_nonzero(tested))
    if not n_tested or yardsticks is None or gap is None:
        other = "the reference" if settings.has_reference else "another annotator"
        caution = make_caution("untestable", {"other": other}, min_items=settings.min_items)
        return "no_evidence", caution
    if np.isnan(lost.exact_p_values[judge, number][tested]).all():
        return "no_evidence", make_caution("no_p_values")
    epsilon = float(settings.epsilons[number])
    rate = float(lost.exact_winning_rate[judge, number])
    facts: dict[str, Any] = {"epsilon": epsilon, "winning_rate": rate}
    facts["n_shown"] = int(np.count_nonzero(lost.exact_rejected[judge, number]))
    facts["n_annotators"] = n_tested
    constant = yardsticks.constant
    if passes(rate):
        facts |= {"constant": constant, "advantage_probability": gap.advantage}
        facts |= {"constant_advantage": gap.other, "p_value": gap.p_value}
        words = {"differ": ""}
        if 0 < gap.n_differ <= MOST_FLIPPED:
            facts["n_differ"] = gap.n_differ
            words["differ"] = (
                f"; {gap.n_differ} item{' differs' if gap.n_differ == 1 else 's differ'}"
            )
        if gap.p_value <= CONSTANT_LEVEL:
            return "passed", make_caution("shown", words, **facts)
        return "no_evidence", make_caution("like_constant", words, **facts)

    facts["n_within"] = n_within = int(np.count_nonzero(lost.within[judge, number]))
    is_close = bool(passes(lost.within_rate[judge, number]))
    ceiling, constant_rate = yardsticks.figures.exact_winning_rate[:, number].tolist()
    if is_close and not passes(ceiling):
        facts |= {"n_items": int(lost.sums.n_items[judge][tested].max()), "ceiling": ceiling}
        return "no_evidence", _unpassable(facts, settings)
    facts |= {"constant": constant, "constant_winning_rate": constant_rate}
    useless = f" Always {shorten(constant)!r} has ω = {constant_rate:.2f}, no evidence."
    words = {"useless": useless if passes(constant_rate) else ""}
    if is_close:
        return "not_shown", make_caution("not_shown", words, **facts)
    return "worse", make_caution("missed", words | {"n_missed": n_tested - n_within}, **facts)


def _unpassable(facts: dict[str, Any], settings: TestSettings) -> Caution:
    """Say that no judge could pass, and how many items one that always ties needs.

    Under the null hypothesis all n items are ties with a probability of at most (1 - ε)^n.
    """
    epsilon, needed = facts["epsilon"], None
    if epsilon > 0:
        harmonic = sum(1 / rank for rank in range(1, facts["n_annotators"] + 1))
        level = settings.false_discovery_rate / harmonic
        fewest = math.ceil(math.log(level) / math.log1p(-epsilon))
        for n_ties in range(fewest, 2 * fewest + _MOST_TRIED):
            if cached_p_value(0, n_ties, 0, epsilon, settings.mode) <= level:
                needed = n_ties
                break
    is_more = needed is not None and needed > facts["n_items"]
    words = {
        "who": "even a judge that gives the reference labels"
        if settings.has_reference
        else "even the majority vote",
        "needs": f"; a judge that always ties needs {needed}" if is_more else "",
    }
    return make_caution("unpassable", words, n_needed=needed, **facts)


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Facts about the annotators' labels.

    For two labels the items of each by majority (or by the reference); α among the annotators;
    their most frequent label with its share, nan where labels are not words; whether there is a
    reference (an expert or gold); and the number of clusters.
    """

    sides: tuple[int, int] | None
    agreement: KrippendorffResult | None
    has_reference: bool
    n_clusters: int | None
    top_share: float
    top_label: str | None


def describe_panel(labels: Comparison, *, label: Callable[[Any], str]) -> Panel:
    """Compute the facts about the annotators; `label` returns the name of a label code."""
    humans, alignment = labels.humans, labels.alignment
    level: Level | None = None
    if labels.label_sets is not None:
        level = "sets"
    elif alignment == "neg_rmse":
        level = "interval"
    elif alignment == "accuracy" or (
        # free text has many labels, and exact agreement on it means nothing
        callable(alignment) and labels.n_codes <= labels.count((humans >= 0).T).sum() / 2
    ):
        level = "nominal"
    agreement = sides = None
    top_share, top_label = math.nan, None
    if level is not None:
        agreement = measure_alpha(
            humans,
            level=level,
            label_sets=labels.label_sets,
            clusters=labels.clusters,
            copies=labels.copies,
        )
    if level == "nominal":
        counts = _count_labels(humans, labels)
        sides = _count_sides(labels, counts)
        if counts.any():
            top = int(counts.argmax())
            top_share, top_label = float(counts[top] / counts.sum()), label(top)
    return Panel(
        sides=sides,
        agreement=agreement,
        has_reference=labels.settings.has_reference,
        n_clusters=None if labels.clusters is None else len(np.unique(labels.clusters)),
        top_share=top_share,
        top_label=top_label,
    )


def _count_labels(matrix: NDArray[Any], labels: Comparison) -> NDArray[np.int64]:
    counts = np.zeros(labels.n_codes + 1, dtype=np.int64)
    for column in matrix.T:  # code -1 comes first and is left out
        each = np.bincount(column.astype(np.int64) + 1, labels.copies, len(counts))
        counts += each.astype(np.int64)
    return counts[1:]


def _count_sides(labels: Comparison, counts: NDArray[np.int64]) -> tuple[int, int] | None:
    """Count the items by which of two labels has the majority.

    A tied item counts for neither; None for questions with more labels.
    """
    votes, fewest = labels.humans, labels.min_annotators
    if labels.reference is not None:
        votes, fewest = labels.reference[:, np.newaxis], 1
        counts = _count_labels(votes, labels)
    used = np.flatnonzero(counts)
    if len(used) > 2 or (labels.is_declared and labels.n_codes != 2):
        return None
    one, other = [*used, -2, -2][:2]
    lean = np.zeros(len(votes), dtype=np.int32)
    known = np.zeros(len(votes), dtype=np.int32)
    for column in votes.T:
        lean += (column == other).astype(np.int32) - (column == one)
        known += column >= 0
    enough = known >= fewest
    one_side, other_side = (labels.count(enough & side) for side in (lean < 0, lean > 0))
    return int(one_side), int(other_side)
