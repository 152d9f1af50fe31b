"""Cautions about the figures, each with its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.stats.figures import passes
from voirdire.stats.results import Caution, make_caution

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.stats.outcome import Panel
    from voirdire.stats.results import AnnotatorResult, Uncertainty, WorstCase

MANY_TIES = 0.6
FEW_ANNOTATORS = 3
WEAK_ALPHA = 0.4
FEW_ITEMS = 50
FEW_CLUSTERS = 20
SKEWED = 0.9
FEW_PER_SIDE = 10
LEAST_ALPHA = 0.2
MOST_ITEMS_FOR_T = 2_000
UNSTABLE = 0.1
MOST_NAMED = 5


def cautions_of_judge(
    annotators: Sequence[AnnotatorResult],
    untested: Sequence[str],
    panel: Panel,
    *,
    min_items: int,
    in_crowd: bool,
) -> Iterator[Caution]:
    """Find the cautions about a judge that hold for every ε."""
    n_annotators, few = len(annotators), [x.annotator for x in annotators if x.n_items < FEW_ITEMS]
    if in_crowd:  # where nobody is tested
        yield make_caution("random_person")
    elif n_annotators < FEW_ANNOTATORS:
        yield make_caution("few_annotators", n_annotators=n_annotators, needed=FEW_ANNOTATORS)
    if untested and not in_crowd:
        yield make_caution("untested_annotators", **_name_figures(untested), min_items=min_items)
    if few and not in_crowd:
        fewest = min(row.n_items for row in annotators)
        yield make_caution("few_items", **_name_figures(few), fewest=fewest, few=FEW_ITEMS)
    if panel.n_clusters is not None and panel.n_clusters < FEW_CLUSTERS:
        yield make_caution("few_clusters", n_clusters=panel.n_clusters, needed=FEW_CLUSTERS)
    if panel.top_share >= SKEWED:
        label = shorten(panel.top_label)
        yield make_caution("skewed_labels", share=panel.top_share, label=label)
    if panel.sides is not None and min(panel.sides) < FEW_PER_SIDE:
        one, other = panel.sides
        yield make_caution("one_sided", one=one, other=other, needed=FEW_PER_SIDE)
    # with many items the t-test's size is correct for any share of ties
    tied = [
        row.annotator
        for row in annotators
        if row.tie_share > MANY_TIES and row.n_items <= MOST_ITEMS_FOR_T
    ]
    if tied:
        yield make_caution("many_ties", share=MANY_TIES, **_name_figures(tied))


def cautions_at_epsilon(
    worst_case: WorstCase,
    panel: Panel,
    uncertainty: Uncertainty | None,
    *,
    winning_rate_bh: float,
    is_above_constant: bool,
) -> Iterator[Caution]:
    """Find the cautions at one ε, and about low agreement of the annotators."""
    rate, answered = worst_case.winning_rate, worst_case.winning_rate_answered
    if passes(rate) != passes(winning_rate_bh) and is_above_constant:
        yield make_caution("correction", winning_rate=rate, winning_rate_bh=winning_rate_bh)
    if n_failures := worst_case.n_failures:
        but = f": the winning rate is {rate:.2f}, and {answered:.2f} without them"
        words = {"but": but if passes(rate) != passes(answered) else ""}
        yield make_caution("failures", words, n_failures=n_failures, winning_rate=rate)
    if panel.agreement is not None:
        low, alpha, reason = panel.agreement.low, panel.agreement.alpha, panel.agreement.reason
        if not panel.has_reference and not low > LEAST_ALPHA:
            if reason is not None:
                yield make_caution("undefined_agreement", reason=reason)
            else:
                yield make_caution("weak_agreement", low=low, needed=LEAST_ALPHA)
        if alpha < WEAK_ALPHA:
            yield make_caution("weak_annotators", alpha=alpha)
    # ω reaches .5 on some resamples, and not on many others
    if uncertainty is not None and UNSTABLE <= uncertainty.stability <= 1 - UNSTABLE:
        yield make_caution(
            "unstable",
            {"what": "clusters" if uncertainty.clustered else "items"},
            stability=uncertainty.stability,
            n_resamples=uncertainty.n_resamples,
            clustered=uncertainty.clustered,
        )


def _name_figures(names: Sequence[str]) -> dict[str, Any]:
    """Return the first few names of annotators, and their number."""
    return {"annotators": [shorten(name) for name in names[:MOST_NAMED]], "n": len(names)}


def list_names(names: Sequence[str], *, most: int = MOST_NAMED) -> str:
    """List the first few names, and count the others."""
    shown = ", ".join(repr(shorten(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
