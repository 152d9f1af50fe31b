"""Text from files on one line: short, inert, and told apart from what looks like it."""

from __future__ import annotations

from voirdire._validation import shorten

__all__ = ["one_line"]

_UNSEEN = {
    ord(mark): f"\\u{ord(mark):04x}"
    for mark in "\xad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2060\u2061\u2062\u2063"
    "\u2064\u3164\ufeff\uffa0\ufffe\uffff"
}
"""Marks that take no room, by which two names could look the same."""


def one_line(text: str, *, width: int, both_ends: bool = False) -> str:
    """Show text on one line.

    Parameters
    ----------
    text : str
        As it stands in a file.
    width : int
        Most characters.
    both_ends : bool, optional
        Keep the end of a long text as well: names often differ there alone.

    Returns
    -------
    str
        Nothing in it can act, and nothing in it is unseen.
    """
    if not both_ends or len(text) <= width:
        return shorten(text[: width + 1].translate(_UNSEEN), width=width)
    half = (width - 1) // 2
    head = shorten(text[:half].translate(_UNSEEN), width=10 * half)[: width - 1 - half]
    tail = shorten(text[-half:].translate(_UNSEEN), width=10 * half)[-half:]
    return f"{head}…{tail}"
