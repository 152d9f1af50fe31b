"""What a token says where ``true`` or ``false`` is expected."""

from __future__ import annotations

from typing import Final

__all__ = ["NO", "OPEN", "OTHER", "YES", "Meanings", "token_meaning"]

OTHER: Final = 0
"""Neither true nor false: a word, a number, a quote, null, or no JSON at all."""
YES: Final = 1
NO: Final = 2
OPEN: Final = 3
"""It ends before the value begins, so that it says nothing yet."""

_WORDS = (("true", YES), ("false", NO))
_MOST_TOKENS = 10_000


def token_meaning(token: str, *, lead: str = "") -> int:
    """Say what a token says.

    A whole word counts in any case, and so does its beginning: ``tr``, `` True``, ``true,``. A
    word that goes on does not: ``truely`` is none of the two.

    Parameters
    ----------
    token : str
        The token.
    lead : str
        What has to be written before the value where the token begins: the end of a key, its
        quote, a colon. White space after the quote does not count.
    """
    key, quote, gap = lead.rpartition('"')
    rest = token
    if quote:
        before = key + quote
        if not token.startswith(before):
            return OPEN if before.startswith(token) else OTHER
        rest = token[len(before) :]
    rest = rest.lstrip()
    if ":" in gap and rest:
        if rest[0] != ":":
            return OTHER
        rest = rest[1:].lstrip()
    return _meaning_of_value(rest) if rest else OPEN


def _meaning_of_value(text: str) -> int:
    for word, meaning in _WORDS:
        begin, after = text[: len(word)].lower(), text[len(word) : len(word) + 1]
        if word.startswith(begin) and not (after.isalnum() or after == "_"):
            return meaning
    return OTHER


class Meanings(dict[str, int]):
    """Meanings of tokens behind one lead, remembered: a vocabulary is finite."""

    def __init__(self, lead: str = "") -> None:
        super().__init__()
        self._lead = lead

    def __missing__(self, token: str) -> int:
        if len(self) >= _MOST_TOKENS:
            self.clear()
        meaning = self[token] = token_meaning(token, lead=self._lead)
        return meaning
