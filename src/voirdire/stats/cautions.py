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

__all__ = ["cautions_at_epsilon", "cautions_of_judge", "list_names"]

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
) -> list[Caution]:
    """Return the cautions about a judge that hold for every ε."""
    return [
        *([_random_person()] if in_crowd else _item_cautions(annotators, untested, min_items)),
        *_panel_cautions(panel),
        *_tie_cautions(annotators),
    ]


def cautions_at_epsilon(
    worst_case: WorstCase,
    panel: Panel,
    uncertainty: Uncertainty | None,
    *,
    winning_rate_bh: float,
    is_above_constant: bool,
) -> list[Caution]:
    """Return the cautions at one ε, and about low agreement of the annotators."""
    found, winning_rate = [], worst_case.winning_rate
    if passes(winning_rate) != passes(winning_rate_bh) and is_above_constant:
        sentence = (
            f"the result depends on the correction: winning rate {winning_rate:.2f} under "
            f"Benjamini-Yekutieli, {winning_rate_bh:.2f} under Benjamini-Hochberg"
        )
        figures = {"winning_rate": winning_rate, "winning_rate_bh": winning_rate_bh}
        found.append(make_caution("correction", sentence, **figures))
    if n_failures := worst_case.n_failures:
        answered = worst_case.winning_rate_answered
        items = "item, which counts" if n_failures == 1 else "items, which count"
        sentence = f"the judge failed on {n_failures} {items} as lost"
        if passes(winning_rate) != passes(answered):
            sentence += f": the winning rate is {winning_rate:.2f}, and {answered:.2f} without them"
        figures = {"n_failures": n_failures, "winning_rate": winning_rate}
        found.append(make_caution("failures", sentence, **figures))
    found += _agreement_cautions(panel)
    if uncertainty is not None and UNSTABLE <= uncertainty.stability <= 1 - UNSTABLE:
        found.append(_unstable(uncertainty))
    return found


def _item_cautions(
    annotators: Sequence[AnnotatorResult], untested: Sequence[str], min_items: int
) -> Iterator[Caution]:
    n_annotators = len(annotators)
    if n_annotators < FEW_ANNOTATORS:
        sentence = (
            f"{n_annotators} annotators were tested; with fewer than {FEW_ANNOTATORS} the "
            "winning rate says little"
        )
        figures = {"n_annotators": n_annotators, "needed": FEW_ANNOTATORS}
        yield make_caution("few_annotators", sentence, **figures)
    if untested:
        sentence = f"not tested, fewer than {min_items} items each: {list_names(untested)}"
        yield make_caution(
            "untested_annotators", sentence, **_name_figures(untested), min_items=min_items
        )
    few = [row.annotator for row in annotators if row.n_items < FEW_ITEMS]
    if few:
        fewest = min(row.n_items for row in annotators)
        sentence = (
            f"fewer than {FEW_ITEMS} items for {list_names(few)}, the fewest {fewest}: the test "
            "has little power, and a judge that fails may be fit"
        )
        yield make_caution(
            "few_items", sentence, **_name_figures(few), fewest=fewest, few=FEW_ITEMS
        )


def _random_person() -> Caution:
    sentence = (
        "the judge is tested against a random person of this crowd, which says nothing of any one "
        "of them; the people must have been given their items at random, and a careless crowd lets "
        "weak judges pass"
    )
    return make_caution("random_person", sentence)


def _panel_cautions(panel: Panel) -> Iterator[Caution]:
    if panel.n_clusters is not None and panel.n_clusters < FEW_CLUSTERS:
        sentence = (
            f"the items come from {panel.n_clusters} clusters; with fewer than {FEW_CLUSTERS} "
            "cluster-robust errors are themselves uncertain"
        )
        figures = {"n_clusters": panel.n_clusters, "needed": FEW_CLUSTERS}
        yield make_caution("few_clusters", sentence, **figures)
    if panel.top_share >= SKEWED:
        label = shorten(panel.top_label)
        sentence = (
            f"{panel.top_share:.0%} of the annotators' labels are one and the same, {label!r}"
            ": a judge that always gives it is often right"
        )
        yield make_caution("skewed_labels", sentence, share=panel.top_share, label=label)
    if panel.sides is not None and min(panel.sides) < FEW_PER_SIDE:
        one, other = panel.sides
        sentence = (
            f"the majority puts {one} and {other} items on the two sides: fewer than "
            f"{FEW_PER_SIDE} on a side say little about it"
        )
        yield make_caution("one_sided", sentence, one=one, other=other, needed=FEW_PER_SIDE)


def _tie_cautions(annotators: Sequence[AnnotatorResult]) -> Iterator[Caution]:
    # with many items the t-test's size is correct for any share of ties
    tied = [
        row.annotator
        for row in annotators
        if row.tie_share > MANY_TIES and row.n_items <= MOST_ITEMS_FOR_T
    ]
    if tied:
        sentence = (
            f"more than {MANY_TIES:.0%} of the items are ties for {list_names(tied)}: with few "
            "items the t-test rejects too often there; the outcome uses the exact test"
        )
        yield make_caution("many_ties", sentence, share=MANY_TIES, **_name_figures(tied))


def _agreement_cautions(panel: Panel) -> Iterator[Caution]:
    agreement = panel.agreement
    if agreement is None:
        return
    if not panel.has_reference and not agreement.low > LEAST_ALPHA:
        if agreement.reason is not None:
            sentence = f"how far the annotators agree is undefined: {agreement.reason}"
            yield make_caution("undefined_agreement", sentence, reason=agreement.reason)
        else:
            sentence = (
                f"agreement among the annotators may be as low as α = {agreement.low:.2f}: little "
                "more than chance"
            )
            yield make_caution("weak_agreement", sentence, low=agreement.low, needed=LEAST_ALPHA)
    if agreement.alpha < WEAK_ALPHA:
        sentence = (
            f"the annotators agree weakly (α = {agreement.alpha:.2f}); weak annotators let "
            "weak judges pass"
        )
        yield make_caution("weak_annotators", sentence, alpha=agreement.alpha)


def _unstable(uncertainty: Uncertainty) -> Caution:
    """Make the caution that ω reaches .5 on some resamples and not on many others."""
    what = "clusters" if uncertainty.clustered else "items"
    sentence = (
        f"the result depends on which {what} were labelled: with the same {what} drawn again, ω "
        f"reaches .5 in {uncertainty.stability:.0%} of {uncertainty.n_resamples:,} draws (this "
        "is no chance of passing a new study)"
    )
    figures = {name: getattr(uncertainty, name) for name in ("stability", "n_resamples")}
    return make_caution("unstable", sentence, **figures, clustered=uncertainty.clustered)


def _name_figures(names: Sequence[str]) -> dict[str, Any]:
    """Return the first few names of annotators, and their number."""
    return {"annotators": [shorten(name) for name in names[:MOST_NAMED]], "n": len(names)}


def list_names(names: Sequence[str], *, most: int = MOST_NAMED) -> str:
    """List the first few names, and count the others."""
    shown = ", ".join(repr(shorten(name)) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
