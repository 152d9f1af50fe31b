"""Write the notes for readers of an examination, the most important first."""

from __future__ import annotations

import string
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.documents import document_from_text
from voirdire.studies.reward.result import RewardNote

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from voirdire.studies.reward.result import (
        ErrorRate,
        FeatureDrive,
        GuardFigures,
        NonsenseText,
        PaidNonsense,
    )

__all__ = ["note_drives", "note_errors", "note_nonsense", "sort_notes", "write_note"]

_MOST_NAMED = 8


@cache
def _read_sentences() -> dict[str, str]:
    """Read the sentences by code, in the order of their weight."""
    text = files("voirdire.studies.reward").joinpath("notes.yaml").read_text(encoding="utf-8")
    return dict(document_from_text(text, source="notes.yaml", what="the notes").value)


class _Sentences(string.Formatter):
    """Writes counts with their nouns, and lists up to some length."""

    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec.startswith("#"):
            one, _, many = format_spec[1:].partition("|")
            return f"{value:,} {one if value == 1 else many or one + 's'}"
        if format_spec == "list":
            return _list_names(value)
        if format_spec == "places":
            return ", ".join("all behaviors together" if x == "all" else x for x in value)
        return repr(shorten(value)) if format_spec == "name" else format(value, format_spec)


def write_note(code: str, *, words: Mapping[str, Any] | None = None, **figures: Any) -> RewardNote:
    """Make a note; `words` stand in its sentence and are no figures."""
    sentence = _Sentences().vformat(_read_sentences()[code], (), {**figures, **(words or {})})
    return RewardNote(code=code, sentence=sentence, figures=figures)


def sort_notes(notes: Iterable[RewardNote]) -> tuple[RewardNote, ...]:
    """Put the weightiest first."""
    order = list(_read_sentences())
    return tuple(sorted(notes, key=lambda row: order.index(row.code)))


def note_errors(rates: Sequence[ErrorRate]) -> list[RewardNote]:
    """Say where the reward ranks no better than its base, or than a coin."""
    values = {(row.behavior, row.signal): row.rate.value for row in rates if row.against == "all"}
    totals = {name: value for (name, signal), value in values.items() if signal == "total"}
    behaviors = {
        "worse_than_base": [x for x in totals if totals[x] > values.get((x, "base"), 2.0)],
        "no_better_than_chance": [x for x in totals if totals[x] >= 0.5],
    }
    return [
        write_note(code, behaviors=tuple(name or "all" for name in names))
        for code, names in behaviors.items()
        if names
    ]


def note_nonsense(
    nonsense: Sequence[PaidNonsense], guards: GuardFigures | None
) -> list[RewardNote]:
    """Say which nonsense is paid as real responses, and whether the gate stops good ones."""
    notes = []
    cases = [row for row in nonsense if row.failure]
    if cases:
        worst = max((one for row in cases for one in row.examples), key=_measure_excess)
        notes.append(
            write_note(
                "nonsense_paid",
                words={"quoted": f": {worst.text!r}"},
                n=len(cases),
                cases=tuple(row.failure for row in cases),
                reward=worst.reward,
                best_reward=worst.best_reward,
            )
        )
    if guards is not None and guards.has_false_alarms:
        share, n = guards.floored.value, round(guards.floored.value * guards.floored.n)
        notes.append(write_note("false_alarms", share=share, n=n))
    return notes


def _measure_excess(text: NonsenseText) -> float:
    return text.reward - text.best_reward


def note_drives(drives: Sequence[FeatureDrive], uncertified: Sequence[str]) -> list[RewardNote]:
    """Name features that pay against a demand, that do nothing, and that nobody vouches for."""
    largest = sorted(drives, key=lambda row: -abs(row.weight))
    contradictory = [row for row in largest if row.is_contradictory]
    against = tuple(_name_feature(row) for row in contradictory if row.demand)
    classes = tuple(_name_feature(row) for row in contradictory if not row.demand)
    dead = tuple(_name_feature(row) for row in drives if row.is_dead)
    notes = []
    if against:
        notes.append(write_note("contradictory_features", n=len(against), features=against))
    if classes:
        notes.append(write_note("classes_out_of_order", n=len(classes), features=classes))
    if uncertified:
        notes.append(write_note("uncertified", n=len(uncertified), propositions=tuple(uncertified)))
    if dead:
        notes.append(write_note("dead_features", n=len(dead), features=dead))
    return notes


def _list_names(names: Sequence[str] | Mapping[str, int]) -> str:
    """Write the first names, and how many more there are."""
    if isinstance(names, Mapping):
        names = [f"{name} ({n})" for name, n in names.items()]
    more = len(names) - _MOST_NAMED
    shown = ", ".join(names[:_MOST_NAMED])
    return f"{shown} and {more} more" if more > 0 else shown


def _name_feature(row: FeatureDrive) -> str:
    """Name a feature as settings of a fit do; a class names its behavior itself."""
    is_class = row.feature.startswith(f"{row.behavior}.")
    return row.feature if is_class else f"{row.behavior}:{row.feature}"
