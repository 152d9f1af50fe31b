"""Write the notes for readers of an examination, the most important first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.stats.results import make_caution, read_sentences

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from voirdire.stats import Caution
    from voirdire.studies.reward.result import ErrorRate, FeatureDrive, GuardFigures, PaidNonsense


def sort_notes(notes: Iterable[Caution]) -> tuple[Caution, ...]:
    """Put the weightiest first."""
    order = list(read_sentences())
    return tuple(sorted(notes, key=lambda row: order.index(row.code)))


def note_errors(rates: Sequence[ErrorRate]) -> Iterator[Caution]:
    """Say where the reward ranks no better than its base, or than a coin."""
    values = {(row.behavior, row.signal): row.rate.value for row in rates if row.against == "all"}
    totals = {name: value for (name, signal), value in values.items() if signal == "total"}
    behaviors = {
        "worse_than_base": [x for x in totals if totals[x] > values.get((x, "base"), 2.0)],
        "no_better_than_chance": [x for x in totals if totals[x] >= 0.5],
    }
    for code, names in behaviors.items():
        if names:
            words = {"behaviors": [name or "all behaviors together" for name in names]}
            yield make_caution(code, words, behaviors=tuple(name or "all" for name in names))


def note_nonsense(
    nonsense: Sequence[PaidNonsense], guards: GuardFigures | None
) -> Iterator[Caution]:
    """Say which nonsense is paid as real responses, and whether the gate stops good ones."""
    cases = [row for row in nonsense if row.failure]
    if cases:
        examples = (one for row in cases for one in row.examples)
        worst = max(examples, key=lambda one: one.reward - one.best_reward)
        yield make_caution(
            "nonsense_paid",
            {"quoted": f": {worst.text!r}"},
            n=len(cases),
            cases=tuple(row.failure for row in cases),
            reward=worst.reward,
            best_reward=worst.best_reward,
        )
    if guards is not None and guards.has_false_alarms:
        share, n = guards.floored.value, round(guards.floored.value * guards.floored.n)
        yield make_caution("false_alarms", share=share, n=n)


def note_drives(drives: Sequence[FeatureDrive], uncertified: Sequence[str]) -> Iterator[Caution]:
    """Name features that pay against a demand, that do nothing, and that nobody vouches for."""
    largest = sorted(drives, key=lambda row: -abs(row.weight))
    contradictory = [row for row in largest if row.is_contradictory]
    named = {
        "contradictory_features": [row for row in contradictory if row.demand],
        "classes_out_of_order": [row for row in contradictory if not row.demand],
        "dead_features": [row for row in drives if row.is_dead],
    }
    for code, rows in named.items():
        if rows:
            yield make_caution(code, n=len(rows), features=tuple(map(_name_feature, rows)))
    if uncertified:
        yield make_caution("uncertified", n=len(uncertified), propositions=tuple(uncertified))


def _name_feature(row: FeatureDrive) -> str:
    """Name a feature as settings of a fit do; a class names its behavior itself."""
    is_class = row.feature.startswith(f"{row.behavior}.")
    return row.feature if is_class else f"{row.behavior}:{row.feature}"
