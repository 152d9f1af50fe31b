"""What is wrong with a rubric file, and where: all of it at once."""

from __future__ import annotations

from dataclasses import dataclass

from voirdire._validation import shorten
from voirdire.errors import RubricError

__all__ = ["MOST_PROBLEMS", "Problem", "problem_error"]

MOST_PROBLEMS = 100
"""Reading stops here: nobody mends more at once, and a hostile file could have many thousands."""

_NAME_WIDTH = 300
_MOST_KEYS = 5  # that one message names: it stays a line


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that is wrong with a rubric file.

    Attributes
    ----------
    source : str
        The file.
    line, column : int or None
        Where the wrong word begins, from 1; None where the whole file is meant.
    message : str
        What must be otherwise.
    is_unknown_key : bool
        Whether it is a key that nobody knows: the first thing to mend, since it may be the reason
        for others.
    """

    source: str
    line: int | None = None
    column: int | None = None
    message: str
    is_unknown_key: bool = False

    def __str__(self) -> str:
        """``path:line:column: message``."""
        place = shorten(self.source, width=_NAME_WIDTH)
        if self.line is not None:
            place += f":{self.line}:{self.column}"
        return f"{place}: {self.message}"


def problem_error(*problems: Problem) -> RubricError:
    """Make the error that says what comes first, how many more there are, and keeps them all.

    Keys that are not known come first, several of them in one message; else the first problem.
    """
    unknown = [problem for problem in problems if problem.is_unknown_key][:_MOST_KEYS]
    told = unknown or problems[:1]
    n_more = len(problems) - len(told)
    more = f" ({n_more} more problem{'s'[: n_more > 1]} in this file.)" if n_more else ""
    return RubricError(f"{' '.join(map(str, told))}{more}", problems=problems)
