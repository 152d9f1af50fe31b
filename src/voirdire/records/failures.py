"""Defines the records of failed answers and of rows that were set aside."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Dropped", "Failure"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A judge's call that gave no usable answer; never a score.

    Attributes
    ----------
    reason : str
        What went wrong, in a word or a sentence (``"timeout"``, ``"unreadable reply"``).
    """

    reason: str = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dropped:
    """A label or row that was set aside, and why.

    Attributes
    ----------
    reason : str
        The rule that it broke, in words.
    source : str
        File name, or ``"humans"`` / ``"judge"`` for labels given in memory.
    line : int or None
        1-based line of a text file, or row of a table; None in memory.
    column : str or None
        The column or key at fault.
    item, rater, question : str or None
        Whose answer about what, as far as it is known.
    value : str or None
        What stood there, shortened for display.
    """

    reason: str
    source: str
    line: int | None = None
    column: str | None = None
    item: str | None = None
    rater: str | None = None
    question: str | None = None
    value: str | None = None

    def place(self) -> str:
        """Where it stood: ``source``, ``source:line`` or ``source:line: column `x```."""
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return where if self.column is None else f"{where}: column `{self.column}`"
