"""The notes of a reward's examination."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

from voirdire.reporting.pages.speech import (
    Count,
    Decimal,
    Listing,
    Name,
    Said,
    Share,
    Verbatim,
    has_sentence,
    say,
)

if TYPE_CHECKING:
    from voirdire.reporting.pages.speech import Speaker
    from voirdire.studies.reward.result import RewardNote

__all__ = ["say_note", "say_todo"]

_NOTE_WIDTH = 600
"""A note that lists eight features has some 500 characters."""
_SHARES = ("share", "cost", "worst_case")


def say_todo(note: RewardNote) -> Said | None:
    """Say what to do about a note, where there is something."""
    key = f"reward.todo.{note.code}"
    return say(key) if has_sentence(key, "reward") else None


def say_note(note: RewardNote, speaker: Speaker) -> Said | Verbatim:
    """Say a note by its code where the language has words for it, else as it stands."""
    key = f"reward.note.{note.code}"
    parsed = string.Formatter().parse(speaker.phrases.get(key, ""))
    wanted = {name for _, name, _, _ in parsed if name}
    if key not in speaker.phrases or not wanted <= note.figures.keys():  # of another version
        return Verbatim(note.sentence, width=_NOTE_WIDTH)
    return say(key, **{name: _convert_figure(name, note.figures[name]) for name in wanted})


def _convert_figure(name: str, value: Any) -> Any:
    """Turn a figure of a note into something that can be said."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**15:
        return Count(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Share(float(value)) if name in _SHARES else Decimal(float(value))
    if isinstance(value, dict | list | tuple):
        return Listing(tuple(Name(str(each)) for each in value))
    return Name("–" if value is None else str(value))
