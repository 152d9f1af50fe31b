"""What a reader should mind before trusting the figures, each thing with its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.stats.figures import passes
from voirdire.stats.results import Caution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.stats.figures import TestSettings
    from voirdire.stats.outcome import Panel
    from voirdire.stats.results import AnnotatorResult, Uncertainty, WorstCase

__all__ = ["caution", "find_cautions", "listed"]

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


def find_cautions(
    panel: Panel,
    annotators: Sequence[AnnotatorResult],
    *,
    untested: Sequence[str],
    winning_rate: float,
    winning_rate_bh: float,
    worst_case: WorstCase,
    settings: TestSettings,
    uncertainty: Uncertainty | None,
) -> tuple[Caution, ...]:
    """Say in sentences what weakens the figures."""
    found = [
        _few_annotators(annotators),
        _untested(untested, settings.min_items),
        _few_items(annotators),
        _few_clusters(panel),
        _skewed(panel),
        _one_sided(panel),
        _many_ties(annotators) if settings.method == "t" else None,
        _correction(winning_rate, winning_rate_bh),
        _failures(worst_case),
        _weak_agreement(panel),
        _weak_annotators(panel),
        _instability(uncertainty),
    ]
    return tuple(caution for caution in found if caution is not None)


def caution(code: str, sentence: str, **figures: Any) -> Caution:
    """Make a caution with its figures by name."""
    return Caution(code=code, sentence=sentence, figures=figures)


def _few_annotators(annotators: Sequence[AnnotatorResult]) -> Caution | None:
    if len(annotators) >= FEW_ANNOTATORS:
        return None
    sentence = (
        f"{len(annotators)} annotators were tested; with fewer than {FEW_ANNOTATORS} the "
        "winning rate says little"
    )
    return caution("few_annotators", sentence, n_annotators=len(annotators), needed=FEW_ANNOTATORS)


def _untested(untested: Sequence[str], min_items: int) -> Caution | None:
    if not untested:
        return None
    sentence = f"not tested, fewer than {min_items} items each: {listed(untested)}"
    shown = _named(untested)
    return caution(
        "untested_annotators", sentence, annotators=shown, n=len(untested), min_items=min_items
    )


def _few_items(annotators: Sequence[AnnotatorResult]) -> Caution | None:
    few = [row.annotator for row in annotators if row.n_items < FEW_ITEMS]
    if not few:
        return None
    fewest = min(row.n_items for row in annotators)
    sentence = (
        f"fewer than {FEW_ITEMS} items for {listed(few)}, the fewest {fewest}: the test has little "
        "power, and a judge that fails may be fit"
    )
    return caution(
        "few_items", sentence, annotators=_named(few), n=len(few), fewest=fewest, few=FEW_ITEMS
    )


def _few_clusters(panel: Panel) -> Caution | None:
    if panel.n_clusters is None or panel.n_clusters >= FEW_CLUSTERS:
        return None
    sentence = (
        f"the items come from {panel.n_clusters} clusters; with fewer than {FEW_CLUSTERS} "
        "cluster-robust errors are themselves uncertain"
    )
    return caution("few_clusters", sentence, n_clusters=panel.n_clusters, needed=FEW_CLUSTERS)


def _skewed(panel: Panel) -> Caution | None:
    if not panel.top_share >= SKEWED:
        return None
    label = shorten(panel.top_label)
    sentence = (
        f"{panel.top_share:.0%} of the annotators' labels are one and the same, {label!r}"
        ": a judge that always gives it is often right"
    )
    return caution("skewed_labels", sentence, share=panel.top_share, label=label)


def _one_sided(panel: Panel) -> Caution | None:
    if panel.sides is None or min(panel.sides) >= FEW_PER_SIDE:
        return None
    one, other = panel.sides
    sentence = (
        f"the majority puts {one} and {other} items on the two sides: fewer than {FEW_PER_SIDE} on "
        "a side say little about it"
    )
    return caution("one_sided", sentence, one=one, other=other, needed=FEW_PER_SIDE)


def _many_ties(annotators: Sequence[AnnotatorResult]) -> Caution | None:
    # the t-test's size is right where items are many, whatever the share of ties
    tied = [
        row.annotator
        for row in annotators
        if row.tie_share > MANY_TIES and row.n_items <= MOST_ITEMS_FOR_T
    ]
    if not tied:
        return None
    sentence = (
        f"more than {MANY_TIES:.0%} of the items are ties for {listed(tied)}: with few items the "
        "t-test rejects too often there; the outcome rests on the exact test"
    )
    return caution("many_ties", sentence, share=MANY_TIES, annotators=_named(tied), n=len(tied))


def _correction(winning_rate: float, winning_rate_bh: float) -> Caution | None:
    if passes(winning_rate) == passes(winning_rate_bh):
        return None
    sentence = (
        f"the result depends on the correction: winning rate {winning_rate:.2f} under "
        f"Benjamini-Yekutieli, {winning_rate_bh:.2f} under Benjamini-Hochberg"
    )
    return caution(
        "correction", sentence, winning_rate=winning_rate, winning_rate_bh=winning_rate_bh
    )


def _failures(worst_case: WorstCase) -> Caution | None:
    if not worst_case.n_failures:
        return None
    sentence = (
        f"the judge failed on {worst_case.n_failures} items; counted as lost the winning rate "
        f"is {worst_case.winning_rate:.2f}, and the outcome uses that"
    )
    return caution(
        "failures",
        sentence,
        n_failures=worst_case.n_failures,
        winning_rate=worst_case.winning_rate,
    )


def _weak_agreement(panel: Panel) -> Caution | None:
    agreement = None if panel.has_reference else panel.agreement
    if agreement is None or agreement.low > LEAST_ALPHA:
        return None
    if agreement.reason is not None:
        sentence = f"how far the annotators agree is undefined: {agreement.reason}"
        return caution("undefined_agreement", sentence, reason=agreement.reason)
    sentence = (
        f"agreement among the annotators may be as low as α = {agreement.low:.2f}: little more "
        "than chance"
    )
    return caution("weak_agreement", sentence, low=agreement.low, needed=LEAST_ALPHA)


def _instability(uncertainty: Uncertainty | None) -> Caution | None:
    """Notice a judge that passes on some resamples of the items and fails on many others."""
    if uncertainty is None or not UNSTABLE <= uncertainty.stability <= 1 - UNSTABLE:
        return None
    what = "clusters" if uncertainty.clustered else "items"
    sentence = (
        f"the result hangs on which {what} were labelled: with the same {what} drawn again, ω "
        f"reaches .5 in {uncertainty.stability:.0%} of {uncertainty.n_resamples:,} draws (this is "
        "no chance of passing a new study)"
    )
    return caution(
        "unstable",
        sentence,
        stability=uncertainty.stability,
        n_resamples=uncertainty.n_resamples,
        clustered=uncertainty.clustered,
    )


def _weak_annotators(panel: Panel) -> Caution | None:
    if panel.agreement is None or not panel.agreement.alpha < WEAK_ALPHA:
        return None
    sentence = (
        f"the annotators agree weakly (α = {panel.agreement.alpha:.2f}); weak annotators let "
        "weak judges pass"
    )
    return caution("weak_annotators", sentence, alpha=panel.agreement.alpha)


def _named(names: Sequence[str]) -> list[str]:
    return [shorten(name) for name in names[:MOST_NAMED]]


def listed(names: Sequence[str], *, most: int = MOST_NAMED) -> str:
    """Name the first few, and count the rest."""
    shown = ", ".join(repr(shorten(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
