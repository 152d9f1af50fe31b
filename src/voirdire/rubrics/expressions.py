"""Parses boolean expressions over propositions, named expressions and groups, and renders them.

``not`` binds tightest, then ``and``, then ``or``::

    or      = and {"or" and}
    and     = unary {"and" unary}
    unary   = "not" unary | "(" or ")" | "true" | "false" | name
            | ("any" | "all") "(" group ")" | "count" "(" group ")" comparison number
    group   = group word ["met" | "unmet"]
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

from voirdire._messages import shorten
from voirdire._types import DemandWord
from voirdire.documents import did_you_mean
from voirdire.errors import LogicError

__all__ = [
    "GROUP_WORDS",
    "RESERVED_WORDS",
    "Connective",
    "Constant",
    "Expression",
    "GroupTest",
    "Name",
    "Not",
    "is_identifier",
    "list_leaves",
    "logic_error",
    "parse_expression",
    "place_error",
    "render_expression",
]

Word: TypeAlias = Literal["and", "or"]
Test: TypeAlias = Literal["any", "all", ">=", "<=", "==", "!=", ">", "<"]

COMPARISONS = (">=", "<=", "==", "!=", ">", "<")
"""The signs that compare a count."""

GROUP_WORDS: tuple[str, ...] = ("core", *get_args(DemandWord))
"""The names of groups of demands: the words of demands, and ``core``."""

_OPERATORS = ("and", "or", "not", "true", "false", "any", "all", "count", "otherwise")

RESERVED_WORDS = frozenset((*_OPERATORS, "met", "unmet", *GROUP_WORDS))
"""The words of expressions, which no question and no named expression may have as its name."""

MAX_CHARACTERS = 10_000
"""The longest expression that is read: text is hostile, and no rubric needs more."""

MAX_DEPTH = 50
"""How deep parentheses and negations may be nested."""

_MAX_DIGITS = 6

_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,99}")

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d[\w.]*)|(?P<word>\w+)|(?P<sign>>=|<=|==|!=|[<>()])|(?P<other>\S))"
)


@dataclass(frozen=True, kw_only=True)
class Constant:
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True, kw_only=True)
class Name:
    """A proposition or a named expression; `column` is where it begins, from 1."""

    id: str
    column: int | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Not:
    """The opposite of `operand`."""

    operand: Expression


@dataclass(frozen=True, kw_only=True)
class Connective:
    """All (``and``) or at least one (``or``) of `operands`; there are at least two."""

    word: Word
    operands: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class GroupTest:
    """``any(group)``, ``all(group)``, or a count that is compared: ``count(group) >= number``.

    Attributes
    ----------
    test : str
        `any` is false where the group is empty, `all` is true there; else how to compare.
    word : str
        One of `GROUP_WORDS`.
    state : {"met", "unmet"} or None
        None means met for `required`, `core` and `desired`; for the other words it means that the
        proposition is true.
    number : int or None
        What the count is compared with.
    column : int or None
        Where the group begins, from 1.
    """

    test: Test
    word: str
    state: Literal["met", "unmet"] | None = None
    number: int | None = None
    column: int | None = field(default=None, compare=False)


Expression: TypeAlias = Constant | Name | Not | Connective | GroupTest
"""A boolean expression over propositions, named expressions and groups of demands."""


def list_leaves(expression: Expression) -> tuple[Name | GroupTest, ...]:
    """List names and groups from left to right."""
    match expression:
        case Name() | GroupTest():
            return (expression,)
        case Not(operand=operand):
            return list_leaves(operand)
        case Connective(operands=operands):
            return tuple(leaf for row in operands for leaf in list_leaves(row))
    return ()


def render_expression(expression: Expression) -> str:
    """Write an expression as text that reads back to an equal one.

    Parameters
    ----------
    expression : Expression
        As `parse_expression` gives it.

    Returns
    -------
    str
        With no more parentheses than are needed.

    Examples
    --------
    >>> from voirdire.rubrics import parse_expression
    >>> render_expression(parse_expression("not(a)and(b or(c))"))
    'not a and (b or c)'
    """
    match expression:
        case Constant(value=value):
            return "true" if value else "false"
        case Name(id=name):
            return name
        case Not(operand=operand):
            return f"not {_render_operand(operand, 'and', 'or')}"
        case Connective(word="and", operands=operands):
            return " and ".join(_render_operand(row, "and", "or") for row in operands)
        case Connective(operands=operands):
            return " or ".join(_render_operand(row, "or") for row in operands)
        case GroupTest(test=test, word=word, state=state, number=number):
            group = f"({word})" if state is None else f"({word} {state})"
            return f"{test}{group}" if number is None else f"count{group} {test} {number}"


def _render_operand(operand: Expression, *weaker: Word) -> str:
    text = render_expression(operand)
    return f"({text})" if isinstance(operand, Connective) and operand.word in weaker else text


def logic_error(rule: str, *, where: tuple[str, ...] = (), column: int | None = None) -> LogicError:
    """Make a `LogicError` that begins with its place: ``column 3: expected …, got 'xor'.``."""
    error = LogicError(rule if column is None else f"column {column}: {rule}", column=column)
    return place_error(error, where) if where else error


def place_error(error: LogicError, where: tuple[str, ...]) -> LogicError:
    """Add the place of its expression to an error."""
    place = " > ".join(shorten(part, width=40) for part in where)
    return LogicError(f"{place}: {error}", where=where, column=error.column)


def is_identifier(word: str) -> bool:
    """Tell whether a word is lower-case letters, digits and underscores, a letter first."""
    return _IDENTIFIER.fullmatch(word) is not None


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
        raise logic_error(f"an expression must be text, got {type(text).__name__}.")
    parser = _Parser(text)
    expression = parser.read_connective("or", depth=0)
    parser.expect_end()
    return expression


class _Token(NamedTuple):
    """One word, number or sign, and the column where it starts, from 1."""

    kind: str
    text: str
    column: int


def _split_tokens(text: str) -> list[_Token]:
    """Split `text` into tokens, the last of which is the end; a strange character is an error."""
    if len(text) > MAX_CHARACTERS:
        raise logic_error(
            f"an expression may have at most {MAX_CHARACTERS:,} characters, got {len(text):,}. "
            "Name its parts under `expressions`."
        )
    tokens = []
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        token = _Token(kind, match[kind], match.start(kind) + 1)
        if kind == "other":
            rule = "expected a name, a number, `(`, `)` or a comparison"
            raise logic_error(f"{rule}, got {shorten(token.text)!r}.", column=token.column)
        tokens.append(token)
    return [*tokens, _Token("end", "", len(text.rstrip()) + 1)]


class _Parser:
    """Recursive descent over tokens; each method reads one rule of the grammar."""

    def __init__(self, text: str) -> None:
        self._tokens = _split_tokens(text)
        self._at = 0

    def read_connective(self, word: Word, *, depth: int) -> Expression:
        read = self._read_unary if word == "and" else partial(self.read_connective, "and")
        operands = [read(depth=depth)]
        while self._take(word):
            operands.append(read(depth=depth))
        if len(operands) == 1:
            return operands[0]
        return Connective(word=word, operands=tuple(operands))

    def expect_end(self) -> None:
        token = self._next
        if token.kind == "end":
            return
        rule = "expected `and`, `or` or the end"
        if token.text == ")":
            rule = "expected the end, as no `(` is open"
        elif token.text in COMPARISONS:
            rule = "only `count(...)` is compared; expected `and`, `or` or the end"
        raise self._error(rule, words=("and", "or"))

    def _read_unary(self, *, depth: int) -> Expression:
        if depth > MAX_DEPTH:
            rule = f"an expression may be nested at most {MAX_DEPTH} deep. "
            raise logic_error(
                f"{rule}Name its parts under `expressions`.", column=self._next.column
            )
        if self._take("not"):
            return Not(operand=self._read_unary(depth=depth + 1))
        if self._take("("):
            inner = self.read_connective("or", depth=depth + 1)
            self._expect(")", "expected `and`, `or` or `)`", words=("and", "or"))
            return inner
        return self._read_operand()

    def _read_operand(self) -> Expression:
        token = self._next
        if self._take("true") or self._take("false"):
            return Constant(value=token.text == "true")
        if self._take("any") or self._take("all") or self._take("count"):
            return self._read_group_test(token.text)
        if token.text in RESERVED_WORDS or token.kind != "word" or not is_identifier(token.text):
            raise self._error(_operand_rule(token), words=("not", "true", "false", "count"))
        self._at += 1
        return Name(id=token.text, column=token.column)

    def _read_group_test(self, function: str) -> GroupTest:
        self._expect("(", "expected `(` and a group of demands")
        group = self._next
        if group.text not in GROUP_WORDS:
            raise self._error(f"expected a group ({', '.join(GROUP_WORDS)})", words=GROUP_WORDS)
        self._at += 1
        state = next((word for word in ("met", "unmet") if self._take(word)), None)
        if state is not None and group.text == "allowed":
            self._at -= 1
            raise self._error("`allowed` demands nothing, so nothing of it is met; expected `)`")
        self._expect(")", "expected `met`, `unmet` or `)`", words=("met", "unmet"))
        test, number = (function, None) if function != "count" else self._read_comparison()
        return GroupTest(
            test=cast("Test", test),
            word=group.text,
            state=cast("Literal['met', 'unmet'] | None", state),
            number=number,
            column=group.column,
        )

    def _read_comparison(self) -> tuple[str, int]:
        comparison = self._next.text
        if comparison not in COMPARISONS:
            raise self._error("`count(...)` is a number; expected a comparison such as `>=`")
        self._at += 1
        number = self._next.text
        # `isdigit` alone takes ² too; a limit on digits, as `int` is slow on long ones.
        if not (number.isascii() and number.isdigit()) or len(number) > _MAX_DIGITS:
            raise self._error(f"expected a whole number of at most {_MAX_DIGITS} digits")
        self._at += 1
        return comparison, int(number)

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _take(self, text: str) -> bool:
        is_there = self._next.text == text
        self._at += is_there
        return is_there

    def _expect(self, text: str, rule: str, *, words: tuple[str, ...] = ()) -> None:
        if not self._take(text):
            raise self._error(rule, words=words)

    def _error(self, rule: str, *, words: tuple[str, ...] = ()) -> LogicError:
        token = self._next
        shown = "the end" if token.kind == "end" else repr(shorten(token.text, width=40))
        hint = did_you_mean(token.text.lower(), words) if token.kind == "word" else ""
        return logic_error(f"{rule}, got {shown}.{hint}", column=token.column)


def _operand_rule(token: _Token) -> str:
    if token.text == "otherwise":
        return "`otherwise` stands alone, as the condition of the last class; expected a name"
    if token.text in GROUP_WORDS:
        return f"a group stands inside `any({token.text})`, `all` or `count`; expected a name"
    if token.kind == "word" and token.text not in RESERVED_WORDS:
        return "names have lower-case letters, digits and underscores, a letter first; expected one"
    return "expected a name, `not`, `(`, `any`, `all` or `count`"
