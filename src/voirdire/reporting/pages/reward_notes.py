"""The notes of a reward's examination, and its misranked pairs as cards."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING, Any

from voirdire.reporting.pages.items import ItemCard, ItemText
from voirdire.reporting.pages.speech import (
    Count,
    Decimal,
    Label,
    Listing,
    Name,
    Said,
    Share,
    Verbatim,
    has_sentence,
    one_line,
    say,
)

if TYPE_CHECKING:
    from voirdire.reporting.pages.speech import Speaker
    from voirdire.studies.reward.result import MisrankedPair, RewardNote

__all__ = ["make_pair_card", "say_note", "say_todo"]

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


def make_pair_card(pair: MisrankedPair) -> ItemCard:
    """Show the texts of a misranked pair, both rewards, and the features that do most."""
    better, worse = pair.better, pair.worse
    sides = (("reward.pairs.better", better), ("reward.pairs.worse", worse))
    texts = (("items.prompt", pair.prompt), *((key, side.response) for key, side in sides))
    figures = [
        (say(key), say("reward.pairs.reward", label=_label(side.label), reward=Decimal(side.reward),
                       base=Decimal(side.base), rules=Decimal(side.rules)), Name(side.item))
        for key, side in sides
    ]  # fmt: skip
    features = [
        (Name(row.feature), say("reward.pairs.feature", difference=Decimal(row.difference)), None)
        for row in pair.features
    ]
    tags = {"reward.column.behavior": pair.behavior}
    tags |= {f"{key}.label": side.label for key, side in sides if side.label is not None}
    summary = say(
        "reward.pairs.summary",
        behavior=Name(pair.behavior),
        better=_label(better.label),
        worse=_label(worse.label),
        difference=Decimal(pair.difference),
    )
    return ItemCard(
        title=pair.prompt or f"{better.item} / {worse.item}",
        summary=(summary,),
        texts=[ItemText(heading=key, text=text) for key, text in texts if text is not None],
        rows=(*figures, *features),
        tags={key: one_line(tag, width=200) for key, tag in tags.items()},
    )


def _label(label: str | None) -> Label | Name:
    return Name("–") if label is None else Label(label)
