"""Names as labels: short, inert, distinct, and how much room they take."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from voirdire._validation import shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["distinct_labels", "label", "text_px", "widest_px"]

_NARROW = frozenset("ijlI|.,:;!'` ")
_SLIM = frozenset('frt()[]{}/\\-"*')
_BROAD = frozenset("mwMW@%—…\N{REPLACEMENT CHARACTER}")
_UNWRITABLE = dict.fromkeys(
    [0x61C, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, 0xFFFE, 0xFFFF], "\N{REPLACEMENT CHARACTER}"
)
"""Marks that cannot be seen, and the two characters that XML forbids."""


def label(name: object, *, width: int = 24) -> str:
    """Show a name on one line of at most `width` columns; a Chinese character takes two."""
    text = shorten(name if isinstance(name, str) else str(name), width=width)
    return _fitted(text.translate(_UNWRITABLE), width=width)


def distinct_labels(names: Iterable[object], *, width: int = 24) -> list[str]:
    """Show names so that different names look different.

    A name that is cut short like another keeps its end as well; names that are still alike get
    a number.
    """
    texts = [name if isinstance(name, str) else str(name) for name in names]
    labels = [label(text, width=width) for text in texts]
    for repeated in _repeated(labels):
        if len({texts[place] for place in repeated}) == 1:
            continue  # one name, given twice
        for place in repeated:
            labels[place] = _both_ends(texts[place], width=width)
    for repeated in _repeated(labels):
        if len({texts[place] for place in repeated}) == 1:
            continue
        seen: dict[str, int] = {}
        for place in repeated:
            number = seen.setdefault(texts[place], len(seen) + 1)
            labels[place] = f"{_fitted(labels[place], width=width - 4)} #{number}"
    return labels


def _repeated(labels: Sequence[str]) -> list[list[int]]:
    places: dict[str, list[int]] = {}
    for place, text in enumerate(labels):
        places.setdefault(text, []).append(place)
    return [found for found in places.values() if len(found) > 1]


def _both_ends(text: str, *, width: int) -> str:
    half = (width - 1) // 2
    if len(text) <= width:
        return label(text, width=width)
    head = label(text[: 2 * width], width=half + 1).removesuffix("…")
    tail = label(text[-width:][::-1], width=half + 1).removesuffix("…")[::-1]
    return f"{head}…{tail}"


def _fitted(text: str, *, width: int) -> str:
    if sum(map(_columns, text)) <= width:
        return text
    kept, used = "", 1
    for character in text:
        used += _columns(character)
        if used > width:
            break
        kept += character
    return f"{kept}…"


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def text_px(text: str, size: float) -> float:
    """Estimate the width of a line of text in a common sans-serif font, rather too wide.

    The fonts of the browser that draws the text are not here to be measured.
    """
    return size * sum(map(_em, text))


def widest_px(texts: Iterable[str], size: float) -> float:
    """Estimate the width of the widest of some lines; 0 without any."""
    return max((text_px(text, size) for text in texts), default=0.0)


def _em(character: str) -> float:
    if character in _NARROW:
        return 0.33
    if character in _SLIM:
        return 0.43
    if character in _BROAD:
        return 0.97
    columns = _columns(character)
    if columns != 1:
        return columns / 2
    return 0.7 if character.isupper() else 0.62
