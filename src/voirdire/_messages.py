"""Shows values, names and places in messages, with nothing in them that could act."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SOURCE_WIDTH = 300

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, line ends and overrides of writing direction: they move the cursor, hide
what stands before them, or cannot be written at all."""


def shorten(value: object, *, width: int = 80) -> str:
    """Show `value` on one line of at most `width` characters, with nothing that could act."""
    text = value[: width + 1] if isinstance(value, str) else repr(value)[: width + 1]
    text = _UNSAFE.sub(_named, text)
    return text if len(text) <= width else f"{text[: width - 1]}…"


def list_names(names: Sequence[str], *, most: int = 10) -> str:
    """List the first names, and say how many more there are; ``none`` where there is none."""
    shown = ", ".join(names[:most]) or "none"
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def closest(word: object, words: Iterable[str]) -> str | None:
    """Return the word that is closest; None where none is close."""
    return next(iter(difflib.get_close_matches(str(word)[:100], list(words), n=1)), None)


def did_you_mean(word: object, words: Iterable[str]) -> str:
    """Name the word that is closest, as a sentence with a space before it, or nothing."""
    close = closest(word, words)
    return "" if close is None else f" Did you mean `{shorten(close)}`?"


def printable(text: str) -> str:
    """Show text of any length with its line ends and tabs, and with nothing else that could act."""
    return _UNSAFE.sub(lambda found: found[0] if found[0] in "\n\t" else _escaped(found[0]), text)


def _named(match: re.Match[str]) -> str:
    character = match.group()
    return "⏎" if character in "\n\r" else _escaped(character)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong with a document.

    Attributes
    ----------
    source : str
        The file.
    line, column : int or None
        Where the wrong word begins, from 1; None where the whole file is meant.
    message : str
        What must be otherwise.
    is_unknown_key : bool
        Whether it is an unknown key, which is shown first, since it may cause other problems.
    """

    source: str
    line: int | None = None
    column: int | None = None
    message: str
    is_unknown_key: bool = False

    def __str__(self) -> str:
        """``path:line:column: message``."""
        place = shorten(self.source, width=_SOURCE_WIDTH)
        if self.line is not None:
            place += f":{self.line}:{self.column}"
        return f"{place}: {self.message}"
