"""Which labels mean "no answer": nothing there, or words for not being able to tell."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._types import CANNOT_TELL

if TYPE_CHECKING:
    from collections.abc import Collection

    import polars as pl

__all__ = ["is_blank", "is_cannot_tell", "is_missing_word", "says_cannot_tell"]


def is_blank(text: pl.Expr) -> pl.Expr:
    """Null, or text of nothing but white space."""
    return text.is_null() | (text.str.strip_chars() == "")


def is_missing_word(text: pl.Expr, words: Collection[str]) -> pl.Expr:
    """One of the caller's words for "no answer", white space around it aside."""
    return text.str.strip_chars().is_in(list(words))


def is_cannot_tell(text: pl.Expr, *, declared: Collection[str] | None) -> pl.Expr:
    """Words for "can't tell" in any case, unless they are a declared label."""
    folded = text.str.strip_chars().str.to_lowercase().str.replace_all("’", "'", literal=True)
    said = folded.is_in(CANNOT_TELL)
    return said & ~text.is_in(list(declared)) if declared else said


def says_cannot_tell(text: str) -> bool:
    """Say the same of one text, declared labels aside."""
    return text.strip().lower().replace("’", "'") in CANNOT_TELL
