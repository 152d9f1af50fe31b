"""Cut the text of an expression into words, numbers and signs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from voirdire._validation import shorten
from voirdire.rubrics.logic.faults import fault

__all__ = ["MAX_CHARACTERS", "Token", "TokenKind", "cut_tokens"]

MAX_CHARACTERS = 10_000
"""The longest expression that is read: text is hostile, and no rubric needs more."""

TokenKind: TypeAlias = Literal["word", "number", "sign", "end"]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d[\w.]*)|(?P<word>\w+)|(?P<sign>>=|<=|==|!=|[<>()])|(?P<other>\S))"
)


@dataclass(frozen=True, slots=True)
class Token:
    """One word, number or sign, and the column where it starts, from 1."""

    kind: TokenKind
    text: str
    column: int

    @property
    def shown(self) -> str:
        """How an error names it."""
        return "the end" if self.kind == "end" else repr(shorten(self.text, width=40))


def cut_tokens(text: str) -> list[Token]:
    """Cut `text`; the last token is the end. A character that nothing uses is a `LogicError`."""
    if len(text) > MAX_CHARACTERS:
        raise fault(
            f"an expression may have at most {MAX_CHARACTERS:,} characters, got {len(text):,}. "
            "Name its parts under `expressions`."
        )
    found = []
    for match in _TOKEN.finditer(text):
        kind, word = str(match.lastgroup), match[str(match.lastgroup)]
        column = match.start(kind) + 1
        if kind == "other":
            raise fault(f"{_rule(word)}, got {shorten(word)!r}.", column=column)
        found.append(Token(kind, word, column))  # type: ignore[arg-type]
    return [*found, Token("end", "", len(text.rstrip()) + 1)]


def _rule(character: str) -> str:
    hints = {
        "=": "equality is `==`",
        "!": "negation is `not`",
        "~": "negation is `not`",
        "&": "conjunction is `and`",
        "|": "disjunction is `or`",
    }
    return hints.get(character, "expected a name, a number, `(`, `)` or a comparison")
