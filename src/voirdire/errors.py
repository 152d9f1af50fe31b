"""Every exception and warning that voirdire raises on purpose.

::

    VoirdireError                     catch this to catch all of ours
    └── InputError (also ValueError)  an argument, a file or a label breaks a rule
        ├── LogicError                an expression or a completion class of a rubric has no meaning
        ├── NoDataError               nothing is left to examine
        └── RubricError               a rubric file breaks rules; `problems` has all of them

    DegenerateDataWarning (RuntimeWarning)  a figure is undefined (nan) or rests on too little
    DroppedRowsWarning (UserWarning)        labels were set aside; the result lists them

Anything else that escapes is a bug and keeps its traceback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rubrics.problems import Problem

__all__ = [
    "DegenerateDataWarning",
    "DroppedRowsWarning",
    "InputError",
    "LogicError",
    "NoDataError",
    "RubricError",
    "VoirdireError",
]


class VoirdireError(Exception):
    """Base of every error that voirdire raises on purpose."""


class InputError(VoirdireError, ValueError):
    """What the caller gave breaks a rule; the message says which, and one way out."""


class LogicError(InputError):
    """An expression or a completion class of a rubric has no meaning.

    Attributes
    ----------
    where : tuple of str
        Keys of the rubric that lead to it, such as ``("behaviors", "comply", "classes", "ideal")``;
        empty for an expression that is in no rubric.
    column : int or None
        Where in the text of the expression the wrong word begins, from 1.
    """

    def __init__(
        self, message: str, *, where: tuple[str, ...] = (), column: int | None = None
    ) -> None:
        super().__init__(message)
        self.where = where
        self.column = column


class NoDataError(InputError):
    """The input is well formed, but nothing in it can be examined."""


class RubricError(InputError):
    """A rubric file breaks rules of its form; the message says the first of them.

    Attributes
    ----------
    problems : tuple of Problem
        All of them, each with its line and column.
    """

    def __init__(self, message: str, *, problems: Sequence[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


class DegenerateDataWarning(RuntimeWarning):
    """A figure is undefined, and therefore nan, or rests on too few data."""


class DroppedRowsWarning(UserWarning):
    """Labels were set aside; the result lists each of them with its reason."""
