"""Write the words, numbers and names on figures, in one language, short and escaped."""

from __future__ import annotations

import math
import unicodedata
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml  # type: ignore[import-untyped]

from voirdire._messages import shorten
from voirdire._types import Language
from voirdire._validation import check_choice
from voirdire.reporting.plots.style import SMALL_PX

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "Words",
    "estimate_px",
    "estimate_widest_px",
    "make_distinct_labels",
    "shorten_label",
    "wrap_text",
]

_NARROW = frozenset("ijlI|.,:;!'` ")
_SLIM = frozenset('frt()[]{}/\\-"*')
_BROAD = frozenset("mwMW@%—…\N{REPLACEMENT CHARACTER}")
_BREAK_AFTER = frozenset(" /-_")
_NEVER_FIRST = frozenset("，。：；、）”")
_UNWRITABLE = dict.fromkeys(
    [0x61C, 0x200B, 0x200E, 0x200F, 0x2060, 0xFEFF, 0xFFFE, 0xFFFF], "\N{REPLACEMENT CHARACTER}"
)
"""Invisible characters, and the two that XML forbids."""
_HUNDREDTH = 0.01


@cache
def _load_words() -> dict[str, dict[str, str]]:
    text = files("voirdire.reporting.plots").joinpath("words.yaml").read_text("utf-8")
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return dict(yaml.load(text, Loader=loader))  # noqa: S506  # a safe loader, and our own file


class Words:
    """The words of one language; call it with a key and the figures of the sentence."""

    def __init__(self, language: Language) -> None:
        self.language = check_choice("language", language, Language)

    def __call__(self, key: str, **figures: Any) -> str:
        """Return the words of `key`; a key without words stands for itself."""
        translations = _load_words().get(key)
        return key if translations is None else translations[self.language].format(**figures)

    def two_digits(self, value: float) -> str:
        """Write a figure with two decimals, and a dash for what is undefined."""
        if math.isnan(value):
            return "–"
        text = f"{value:.2f}"
        return self._sign(text if float(text) else text.lstrip("-"))

    def digits(self, value: float) -> str:
        """Write a round number, such as ε or a tick, with the digits it has."""
        return self._sign(f"{round(value, 9):,.10g}")

    def percent(self, value: float) -> str:
        """Write a share in per cent: 0% is none, and a dash is undefined."""
        if math.isnan(value):
            return "–"
        return "<1%" if 0 < value < _HUNDREDTH else f"{value:.0%}"

    def add_count(self, title: str, word: str, *, n: int, total: int) -> str:
        """Add to a title how many of several are shown, unless all are."""
        if n == total:
            return title
        return self("with_detail", title=title, detail=self(word, n=n, total=total))

    def count_judges(self, n: int) -> str:
        """Say how many judges there are."""
        return self("one_judge" if n == 1 else "n_judges", n=n)

    def quote(self, text: str) -> str:
        """Quote a label as the page does, so that it is never taken for a word of ours."""
        return self("quoted", label=text)

    def _sign(self, text: str) -> str:
        """Put a true minus sign, and leave out the leading zero where the page does: in English."""
        sign, figure = ("−", text[1:]) if text.startswith("-") else ("", text)
        if figure.startswith("0.") and self.language == "en":
            figure = figure[1:]
        return sign + figure


# Names ----------------------------------------------------------------------------------------


def shorten_label(name: object, *, width: int = 36) -> str:
    """Show a name on one line of at most `width` columns; a Chinese character takes two."""
    text = shorten(name if isinstance(name, str) else str(name), width=width)
    return _fit(text.translate(_UNWRITABLE), width=width)


def make_distinct_labels(names: Iterable[object], *, width: int = 36) -> list[str]:
    """Show names so that different names look different.

    A name that is cut short like another keeps its end as well; names that are still alike get
    a number.
    """
    texts = [name if isinstance(name, str) else str(name) for name in names]
    labels = [shorten_label(text, width=width) for text in texts]
    for places in _find_repeated(labels, texts):
        for place in places:
            labels[place] = _keep_both_ends(texts[place], width=width)
    for places in _find_repeated(labels, texts):
        seen: dict[str, int] = {}
        for place in places:
            number = seen.setdefault(texts[place], len(seen) + 1)
            labels[place] = f"{_fit(labels[place], width=width - 4)} #{number}"
    return labels


def _find_repeated(labels: Sequence[str], texts: Sequence[str]) -> list[list[int]]:
    """List the places of labels that stand for several names."""
    places: dict[str, list[int]] = {}
    for place, text in enumerate(labels):
        places.setdefault(text, []).append(place)
    return [alike for alike in places.values() if len({texts[place] for place in alike}) > 1]


def _keep_both_ends(text: str, *, width: int) -> str:
    half = (width - 1) // 2
    if len(text) <= width:
        return shorten_label(text, width=width)
    head = shorten_label(text[: 2 * width], width=half + 1).removesuffix("…")
    tail = shorten_label(text[-width:][::-1], width=half + 1).removesuffix("…")[::-1]
    return f"{head}…{tail}"


def _fit(text: str, *, width: int) -> str:
    if sum(map(_count_columns, text)) <= width:
        return text
    kept, used = "", 1
    for character in text:
        used += _count_columns(character)
        if used > width:
            break
        kept += character
    return f"{kept}…"


def _count_columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


# Room -----------------------------------------------------------------------------------------


def estimate_px(text: str, size: float = SMALL_PX) -> float:
    """Estimate the width of a line of text in a common sans-serif font, rather too wide.

    The fonts of the browser that draws the text are not here to be measured.
    """
    return size * sum(map(_estimate_em, text))


def estimate_widest_px(texts: Iterable[str], size: float = SMALL_PX) -> float:
    """Estimate the width of the widest of some lines; 0 without any."""
    return max((estimate_px(text, size) for text in texts), default=0.0)


def wrap_text(text: str, *, width: float, size: float = SMALL_PX) -> list[str]:
    """Break a text into lines of at most `width` pixels, within a word only if it is longer."""
    lines, line, word = [], "", ""
    for character in f"{text} " if text else "":
        is_too_long = 0 < width < estimate_px(word + character, size)
        word += character
        if character not in _BREAK_AFTER and _count_columns(character) == 1 and not is_too_long:
            continue
        fits = estimate_px((line + word).rstrip(), size) <= width
        if line and not fits and word[0] not in _NEVER_FIRST:
            lines.append(line.rstrip())
            line = ""
        line, word = line + word, ""
    return [*lines, (line + word).rstrip()] if text else []


def _estimate_em(character: str) -> float:
    if character in _NARROW:
        return 0.33
    if character in _SLIM:
        return 0.43
    if character in _BROAD:
        return 0.97
    columns = _count_columns(character)
    if columns != 1:
        return columns / 2
    return 0.7 if character.isupper() else 0.62
