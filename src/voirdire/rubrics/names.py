"""What questions, expressions, behaviors and classes may be called."""

from __future__ import annotations

import difflib
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, get_args

from voirdire._types import DemandWord

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "NAME_RULE",
    "RESERVED_WORDS",
    "closest",
    "did_you_mean",
    "is_identifier",
    "is_rubric_name",
    "name_of_file",
]

NAME_RULE = "letters, digits, '-', '_' and '.', a letter or digit first, at most 100"
"""What `is_rubric_name` checks."""

_OPERATORS = ("and", "or", "not", "true", "false", "any", "all", "count", "otherwise")
_STATES = ("met", "unmet", "core")

RESERVED_WORDS = frozenset((*_OPERATORS, *_STATES, *get_args(DemandWord)))
"""Words of the expressions: no question and no named expression may be called so."""

_NAME = re.compile(r"[^\W_][\w.-]{0,99}")
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,99}")


def is_identifier(word: str) -> bool:
    """Tell whether a word is lower-case letters, digits and underscores, a letter first."""
    return _IDENTIFIER.fullmatch(word) is not None


def is_rubric_name(word: str) -> bool:
    """Tell whether a rubric may be called so: its name becomes part of names of files."""
    return _NAME.fullmatch(word) is not None


def name_of_file(path: str, *, otherwise: str) -> str:
    """Make a rubric's name of a file's name; `otherwise` where nothing of it is left."""
    name = re.sub(r"[^\w.-]+", "-", PurePath(path).stem).strip("-_.")[:100]
    return name if is_rubric_name(name) else otherwise


def closest(word: object, known: Iterable[str]) -> str | None:
    """Give the known word that is closest; None where none is close."""
    return next(iter(difflib.get_close_matches(str(word)[:100], list(known), n=1)), None)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Name the known word that is closest, as a sentence with a space before it, or nothing."""
    close = closest(word, known)
    return "" if close is None else f" Did you mean `{close}`?"
