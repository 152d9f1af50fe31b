"""What the reader of an examination should know, the weightiest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.studies.reward.result import RewardNote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


__all__ = ["counted", "in_order", "listed", "note"]

_MOST_NAMED = 8
_WEIGHTIEST = (
    "seen_prompts",
    "bench_seen_prompts",
    "held_out_unknown",
    "other_judge",
    "labels_from_classes",
    "no_comparisons",
    "degenerate_outranks",
    "worse_than_base",
    "no_better_than_chance",
    "base_missing",
    "base_not_in_fit",
    "contradictory_features",
    "uncertified",
    "policy_without_variance",
    "base_drowned",
    "rules_drowned",
    "router_cost",
    "bench_base_missing",
    "bench_missing",
    "degenerate_not_judged",
    "few_prompts",
    "without_best",
    "scales_differ",
    "dead_features",
    "train_left_out",
    "policy_missing",
    "groups_of_one",
    "policy_not_timed",
    "no_labels",
    "no_refusals",
)


def note(code: str, sentence: str, **figures: Any) -> RewardNote:
    """Make a note."""
    return RewardNote(code=code, sentence=sentence, figures=figures)


def in_order(notes: Iterable[RewardNote]) -> tuple[RewardNote, ...]:
    """Put the weightiest first."""
    places = {code: place for place, code in enumerate(_WEIGHTIEST)}
    return tuple(sorted(notes, key=lambda row: places.get(row.code, len(places))))


def counted(n: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun."""
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def listed(names: Sequence[str]) -> str:
    """Write the first names, and how many more there are."""
    more = len(names) - _MOST_NAMED
    shown = ", ".join(names[:_MOST_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown
