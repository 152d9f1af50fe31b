"""What somebody who reads verdicts should know, in a sentence each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import shorten

if TYPE_CHECKING:
    from voirdire.judging.port import Judge

__all__ = ["distrust", "other_ignored", "without_prompt"]


def distrust(judge: Judge) -> tuple[str, ...]:
    """Say on which propositions a judge's own card does not trust it, if on any."""
    names = ", ".join(getattr(getattr(judge, "card", None), "untrusted", ()))
    if not names:
        return ()
    return (f"by its own card {shorten(judge.name)!r} should not be trusted on: {names}",)


def other_ignored(n_with_other: int, *, asks_about_pairs: bool) -> tuple[str, ...]:
    """Say how many second responses no question was about, if any."""
    if not n_with_other or asks_about_pairs:
        return ()
    return (
        f"{n_with_other:,} items hold a second response, which no question of the rubric is about",
    )


def without_prompt(n_without: int, n_items: int) -> tuple[str, ...]:
    """Say how many responses were judged without the prompt that they answer, if any."""
    if not n_without:
        return ()
    counts = f"{n_without:,} of {n_items:,} items have no prompt and were judged without it"
    return (f"{counts}: is it in a column of another name?",)
