"""Read an expression: ``not`` binds tightest, then ``and``, then ``or``.

::

    or      = and {"or" and}
    and     = unary {"and" unary}
    unary   = "not" unary | "(" or ")" | "true" | "false" | name
            | ("any" | "all") "(" group ")" | "count" "(" group ")" comparison number
    group   = group word ["met" | "unmet"]
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from voirdire._types import DemandWord
from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.rubrics.logic.expressions import (
    COMPARISONS,
    GROUP_WORDS,
    And,
    Constant,
    Counted,
    Group,
    Name,
    Not,
    Or,
    Quantified,
    fault,
)

if TYPE_CHECKING:
    from voirdire.errors import LogicError
    from voirdire.rubrics.logic.expressions import Expression, GroupState, Quantifier

__all__ = ["RESERVED_WORDS", "is_identifier", "parse_expression"]

_OPERATORS = ("and", "or", "not", "true", "false", "any", "all", "count", "otherwise")
_STATES = ("met", "unmet", "core")

RESERVED_WORDS = frozenset((*_OPERATORS, *_STATES, *get_args(DemandWord)))
"""Words of the expressions: no question and no named expression may be called so."""

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,99}")

MAX_CHARACTERS = 10_000
"""The longest expression that is read: text is hostile, and no rubric needs more."""

TokenKind: TypeAlias = Literal["word", "number", "sign", "end"]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d[\w.]*)|(?P<word>\w+)|(?P<sign>>=|<=|==|!=|[<>()])|(?P<other>\S))"
)

MAX_DEPTH = 50
"""How deep parentheses and negations may be nested."""

_MAX_DIGITS = 6


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


def parse_expression(text: str) -> Expression:
    """Read a boolean expression over propositions, named expressions and groups of demands.

    Parameters
    ----------
    text : str
        At most 10,000 characters, nested at most 50 deep.

    Returns
    -------
    Expression
        Frozen nodes; names are not looked up.

    Raises
    ------
    LogicError
        If the text breaks the grammar; the message has the column and the word that is wrong.

    Examples
    --------
    >>> parse_expression("inability_to_comply and not any(disallowed)").operands[0]
    Name(id='inability_to_comply', column=1)
    >>> parse_expression("apology xor judgement")
    Traceback (most recent call last):
        ...
    voirdire.errors.LogicError: column 9: expected `and`, `or` or the end, got 'xor'. Did you mean \
`or`?
    """
    if not isinstance(text, str):
        raise fault(f"an expression must be text, got {type(text).__name__}.")
    parser = _Parser(cut_tokens(text))
    expression = parser.any_of(depth=0)
    parser.expect_end()
    return expression


class _Parser:
    """Recursive descent over tokens; each method reads one rule of the grammar."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    def any_of(self, *, depth: int) -> Expression:
        operands = [self._all_of(depth=depth)]
        while self._take("or"):
            operands.append(self._all_of(depth=depth))
        return operands[0] if len(operands) == 1 else Or(operands=tuple(operands))

    def expect_end(self) -> None:
        token = self._next
        if token.kind == "end":
            return
        words = ("and", "or")
        rule = "expected `and`, `or` or the end"
        if token.text == ")":
            rule = "expected the end, as no `(` is open"
        elif token.text in COMPARISONS:
            rule = "only `count(...)` is compared; expected `and`, `or` or the end"
        raise self._wrong(rule, known=words)

    def _all_of(self, *, depth: int) -> Expression:
        operands = [self._unary(depth=depth)]
        while self._take("and"):
            operands.append(self._unary(depth=depth))
        return operands[0] if len(operands) == 1 else And(operands=tuple(operands))

    def _unary(self, *, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            column = self._next.column
            raise fault(
                f"an expression may be nested at most {MAX_DEPTH} deep. "
                "Name its parts under `expressions`.",
                column=column,
            )
        if self._take("not"):
            return Not(operand=self._unary(depth=depth + 1))
        if self._take("("):
            inner = self.any_of(depth=depth + 1)
            self._expect(")", "expected `and`, `or` or `)`", known=("and", "or"))
            return inner
        return self._operand()

    def _operand(self) -> Expression:
        token = self._next
        if self._take("true") or self._take("false"):
            return Constant(value=token.text == "true")
        if self._take("any") or self._take("all"):
            return Quantified(quantifier=cast("Quantifier", token.text), group=self._group())
        if self._take("count"):
            return self._counted(self._group())
        if token.text in RESERVED_WORDS or token.kind != "word" or not is_identifier(token.text):
            raise self._wrong(_operand_rule(token), known=("not", "true", "false", "count"))
        self._at += 1
        return Name(id=token.text, column=token.column)

    def _group(self) -> Group:
        self._expect("(", "expected `(` and a group of demands")
        word = self._next
        if word.text not in GROUP_WORDS:
            raise self._wrong(f"expected a group ({', '.join(GROUP_WORDS)})", known=GROUP_WORDS)
        self._at += 1
        state = self._next
        taken = self._take("met") or self._take("unmet")
        if taken and word.text == "allowed":
            self._at -= 1
            raise self._wrong("`allowed` demands nothing, so nothing of it is met; expected `)`")
        self._expect(")", "expected `met`, `unmet` or `)`", known=("met", "unmet"))
        named = cast("GroupState", state.text) if taken else None
        return Group(word=word.text, state=named, column=word.column)

    def _counted(self, group: Group) -> Counted:
        comparison = self._next
        if comparison.text not in COMPARISONS:
            raise self._wrong("`count(...)` is a number; expected a comparison such as `>=`")
        self._at += 1
        number = self._next
        # `isdigit` alone takes ² too; a limit on digits, as `int` is slow on long ones.
        plain = number.text.isascii() and number.text.isdigit()
        if not plain or len(number.text) > _MAX_DIGITS:
            raise self._wrong(f"expected a whole number of at most {_MAX_DIGITS} digits")
        self._at += 1
        return Counted(
            group=group,
            comparison=comparison.text,
            number=int(number.text),
        )

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self, text: str) -> bool:
        taken = self._next.text == text
        self._at += taken
        return taken

    def _expect(self, text: str, rule: str, *, known: tuple[str, ...] = ()) -> None:
        if not self._take(text):
            raise self._wrong(rule, known=known)

    def _wrong(self, rule: str, *, known: tuple[str, ...] = ()) -> LogicError:
        token = self._next
        hint = did_you_mean(token.text.lower(), known) if token.kind == "word" else ""
        return fault(f"{rule}, got {token.shown}.{hint}", column=token.column)


def _operand_rule(token: Token) -> str:
    if token.text == "otherwise":
        return "`otherwise` stands alone, as the condition of the last class; expected a name"
    if token.text in GROUP_WORDS:
        return f"a group stands inside `any({token.text})`, `all` or `count`; expected a name"
    if token.kind == "word" and token.text not in RESERVED_WORDS:
        return "names have lower-case letters, digits and underscores, a letter first; expected one"
    return "expected a name, `not`, `(`, `any`, `all` or `count`"


def is_identifier(word: str) -> bool:
    """Tell whether a word is lower-case letters, digits and underscores, a letter first."""
    return _IDENTIFIER.fullmatch(word) is not None


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
