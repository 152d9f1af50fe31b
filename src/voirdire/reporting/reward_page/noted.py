"""The notes of an examination in the language of the page."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

from voirdire.reporting.page_frame.speech import (
    Count,
    Decimal,
    Listing,
    Name,
    Said,
    Share,
    Verbatim,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.reporting.reward_page.content import RewardNote
    from voirdire.reporting.reward_page.speaker import RewardSpeaker

__all__ = ["MOST_NOTES", "has_note", "noted"]

MOST_NOTES = 60
_SHARES = ("share", "cost", "worst_case")


def noted(notes: Sequence[RewardNote], speaker: RewardSpeaker) -> tuple[Said | Verbatim, ...]:
    """Say each note: by its code where the language has words for it, else as it stands."""
    return tuple(_said(note, speaker) for note in notes[:MOST_NOTES])


def has_note(notes: Sequence[RewardNote], code: str) -> bool:
    """Whether there is a note with this code."""
    return any(note.code == code for note in notes)


def _said(note: RewardNote, speaker: RewardSpeaker) -> Said | Verbatim:
    key = f"reward.note.{note.code}"
    phrase = speaker.phrases.get(key)
    if phrase is None:
        return Verbatim(note.sentence)
    wanted = {name for _, name, _, _ in string.Formatter().parse(phrase) if name}
    if not wanted <= note.figures.keys():  # written by another version
        return Verbatim(note.sentence)
    return say(key, **{name: _figure(name, note.figures[name]) for name in wanted})


def _figure(name: str, value: Any) -> Any:
    """Turn a figure of a note into something that can be said."""
    if value is None or isinstance(value, bool):
        return Name("–" if value is None else str(value))
    if isinstance(value, int) and abs(value) < 10**15:
        return Count(value)
    if isinstance(value, int | float):
        return Share(float(value)) if name in _SHARES else Decimal(float(value))
    if isinstance(value, dict | list):
        return Listing(tuple(Name(str(each)) for each in value))
    return Name(str(value))
