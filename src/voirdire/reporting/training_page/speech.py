"""What this page says besides names, counts and shares: commands to type."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

__all__ = ["Argument", "argument_of"]


@dataclass(frozen=True)
class Argument:
    """An argument of a command, as a shell takes it."""

    text: str


def argument_of(path: str) -> Argument:
    """Quote a path for a shell; one that begins with a dash is no option."""
    return Argument(shlex.quote(f"./{path}" if path.startswith("-") else path))
