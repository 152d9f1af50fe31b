"""Problems of a document, with their places and suggestions."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

from voirdire._messages import Problem, shorten
from voirdire.errors import RubricError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "MOST_PROBLEMS",
    "NAME_RULE",
    "closest",
    "did_you_mean",
    "find_place",
    "is_name",
    "problem_error",
    "size_error",
]

MOST_PROBLEMS = 100
"""Reading stops here: nobody mends more at once, and a hostile file could have many thousands."""

NAME_RULE = "letters, digits, '-', '_' and '.', a letter or digit first, at most 100"
"""What `is_name` checks."""

_NAME = re.compile(r"[^\W_][\w.-]{0,99}")
_MOST_KEYS = 5  # that one message names: it stays a line


def problem_error(*problems: Problem) -> RubricError:
    """Make the error with the first problem, the number of others, and the list of all.

    Keys that are not known come first, several of them in one message; else the first problem.
    """
    unknown = [problem for problem in problems if problem.is_unknown_key][:_MOST_KEYS]
    told = unknown or problems[:1]
    n_more = len(problems) - len(told)
    more = f" ({n_more} more problem{'s'[: n_more > 1]} in this file.)" if n_more else ""
    return RubricError(f"{' '.join(map(str, told))}{more}", problems=problems)


def find_place(text: str, offset: int) -> tuple[int, int]:
    """Return the line and the column of a character, from 1, whatever ends the lines."""
    before = text[:offset]
    n_ends = before.count("\n") + before.count("\r") - before.count("\r\n")
    return n_ends + 1, offset - max(before.rfind("\n"), before.rfind("\r"))


def size_error(source: str, size: str, *, what: str, most_bytes: int) -> RubricError:
    """Make the error about a file that is not read, because it is too long."""
    in_short = f"{most_bytes >> 10} KiB" if most_bytes < 1 << 20 else f"{most_bytes >> 20} MiB"
    message = f"{what} must be at most {most_bytes:,} bytes ({in_short}), got {size}. Shorten it."
    return problem_error(Problem(source=source, message=message))


def closest(word: object, known: Iterable[str]) -> str | None:
    """Return the known word that is closest; None where none is close."""
    return next(iter(difflib.get_close_matches(str(word)[:100], list(known), n=1)), None)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Name the known word that is closest, as a sentence with a space before it, or nothing."""
    close = closest(word, known)
    return "" if close is None else f" Did you mean `{shorten(close)}`?"


def is_name(word: str) -> bool:
    """Return whether a word may name a rubric, a judge or a reward, and so a file."""
    return _NAME.fullmatch(word) is not None
