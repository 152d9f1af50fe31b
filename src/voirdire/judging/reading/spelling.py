"""Which token of a reply writes which character of its text."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.records import TokenStep

__all__ = ["Spelling", "spell"]

_HALF_A_CHARACTER = "\ufffd"


@dataclass(frozen=True, slots=True)
class Spelling:
    """The tokens of a reply in a row.

    Attributes
    ----------
    written : str
        All of them, joined.
    ends : list of int
        Where in `written` each of them ends.
    begin : int
        Where in `written` the text begins; more may stand around it, such as special tokens.
    skips : str or None
        The text, where `written` leaves out whatever is not ASCII; None where it leaves nothing
        out.
    """

    written: str
    ends: list[int]
    begin: int
    skips: str | None = None

    def place(self, offset: int) -> int:
        """Where in `written` a character of the text stands; the character is ASCII."""
        if self.skips is not None:
            offset = len(_ascii(self.skips[:offset]))
        return self.begin + offset


def spell(text: str, steps: Sequence[TokenStep]) -> Spelling | None:
    """Find a text in its tokens; None where it is not there, or more than once.

    Bytes of one character may be divided among tokens, which then hold replacement characters. In
    that case only ASCII is compared: braces, colons, and the words true and false are ASCII.
    """
    tokens = [step.token for step in steps]
    written = "".join(tokens)
    if written == text:
        return Spelling(written, list(accumulate(map(len, tokens))), 0)
    begin = _only_place(text, written)
    if begin is not None:
        return Spelling(written, list(accumulate(map(len, tokens))), begin)
    if _HALF_A_CHARACTER not in written:
        return None
    tokens = [_ascii(token) for token in tokens]
    written = "".join(tokens)
    begin = _only_place(_ascii(text), written)
    if begin is None:
        return None
    return Spelling(written, list(accumulate(map(len, tokens))), begin, text)


def _only_place(text: str, written: str) -> int | None:
    begin = written.find(text)
    return begin if begin >= 0 and written.find(text, begin + 1) < 0 else None


def _ascii(text: str) -> str:
    return text.encode("ascii", "ignore").decode()
