"""Parses boolean expressions over propositions, named expressions and groups, and renders them.

``not`` binds tightest, then ``and``, then ``or``, as in Python, whose parser reads them::

    or      = and {"or" and}
    and     = unary {"and" unary}
    unary   = "not" unary | "(" or ")" | "true" | "false" | name
            | ("any" | "all") "(" group ")" | "count" "(" group ")" comparison number
    group   = group word ["met" | "unmet"]
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

from voirdire._messages import shorten
from voirdire._types import DemandWord
from voirdire.documents import did_you_mean
from voirdire.errors import LogicError

if TYPE_CHECKING:
    from collections.abc import Sequence

Word: TypeAlias = Literal["and", "or"]
Test: TypeAlias = Literal["any", "all", ">=", "<=", "==", "!=", ">", "<"]

GROUP_WORDS: tuple[str, ...] = ("core", *get_args(DemandWord))
"""The names of groups of demands: the words of demands, and ``core``."""

_OPERATORS = ("and", "or", "not", "true", "false", "count", "any", "all", "otherwise")

RESERVED_WORDS = frozenset((*_OPERATORS, "met", "unmet", *GROUP_WORDS))
"""The words of expressions, which no question and no named expression may have as its name."""

MAX_CHARACTERS = 10_000
"""The longest expression that is read: text is hostile, and no rubric needs more."""

MAX_DEPTH = 50
"""How deep negations, and what stands in parentheses, may be nested."""

_WAY_OUT = "Name its parts under `expressions`."
_TOO_DEEP = f"an expression may be nested at most {MAX_DEPTH} deep. {_WAY_OUT}"
_IDENTIFIER = re.compile(r"[a-z][a-z0-9_]{0,99}")
_TOKEN = re.compile(rf"{_IDENTIFIER.pattern}|[0-9]{{1,6}}|[<>=!]=|[<>()]")
_GROUP = re.compile(rf"(\( *(?:{'|'.join(GROUP_WORDS).upper()}))( +(?:MET|UNMET))(?= *\))")
_RULES = {
    "==": "only `count(...)` is compared, with one whole number",
    "count": "`count(...)` is a number; expected a comparison such as `>=` after it",
    "otherwise": "`otherwise` stands alone, as the condition of the last class; expected a name",
    **{
        word: f"a group stands inside `any({word})`, `all` or `count`; expected a name"
        for word in GROUP_WORDS
    },
}
"""What stands where it may not, and what must be."""

_COMPARISONS: dict[type[ast.cmpop], Test] = {
    ast.GtE: ">=",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Gt: ">",
    ast.Lt: "<",
}


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
    voirdire.errors.LogicError: column 9: expected a name, or `and`, `or` or `not` beside one, got \
'xor'. Did you mean `or`?
    """
    if not isinstance(text, str):
        raise logic_error(f"an expression must be text, got {type(text).__name__}.")
    if len(text) > MAX_CHARACTERS:
        limit = f"at most {MAX_CHARACTERS:,} characters, got {len(text):,}"
        raise logic_error(f"an expression may have {limit}. {_WAY_OUT}")
    text = re.sub(r"\s", " ", text.strip())  # columns are those of this text
    for token in re.finditer(r"\w+|[<>=!]=|[<>()]|[^ ]", text):
        if _TOKEN.fullmatch(token[0]) is None:
            rule = "expected a name, a whole number, `(`, `)` or a comparison"
            if re.match(r"\w", token[0]):
                rule = "names have lower-case letters, digits and underscores, a letter first; "
                rule += "numbers at most 6 digits"
            raise _word_error(rule, text, *token.span(), words=_OPERATORS)
    # Python reads `is` and `class` as words of its own, but not in capitals. The columns stay.
    capitals = re.sub(r"\b(?!(?:and|or|not)\b)\w+", lambda word: word[0].upper(), text)
    capitals = _GROUP.sub(lambda group: group[1] + "x" * len(group[2]), capitals)
    try:
        return _read_node(ast.parse(capitals, mode="eval").body, text, depth=0)
    except SyntaxError as error:
        start = error.offset or len(text) + 1
        if not error.msg.startswith("invalid syntax"):
            raise logic_error(f"{error.msg}.", column=start) from None
        end = max(error.end_offset or 0, start + 1)
        rule = "expected a name, or `and`, `or` or `not` beside one"
        raise _word_error(rule, text, start - 1, end - 1, words=_OPERATORS[:6]) from None
    except (MemoryError, RecursionError):
        raise logic_error(_TOO_DEEP) from None


def _read_node(node: ast.expr, text: str, *, depth: int) -> Expression:
    """Read a node of Python's; all names in it are in capitals."""
    if depth > MAX_DEPTH:
        raise logic_error(_TOO_DEEP)
    span = (node.col_offset, node.end_col_offset or len(text))
    word = text[slice(*span)]
    match node:
        case ast.Name() if word in ("true", "false"):
            return Constant(value=word == "true")
        case ast.Name() if is_identifier(word) and word not in RESERVED_WORDS:
            return Name(id=word, column=node.col_offset + 1)
        case ast.UnaryOp(operand=operand):
            return Not(operand=_read_node(operand, text, depth=depth + 1))
        case ast.BoolOp(op=operation, values=values):
            operands = tuple(_read_node(row, text, depth=depth + 1) for row in values)
            return Connective(
                word="and" if isinstance(operation, ast.And) else "or", operands=operands
            )
        case ast.Call(func=ast.Name(id="ANY" | "ALL" as function), args=[ast.Name() as group]):
            test: Test = "any" if function == "ANY" else "all"
            return _read_group(group, text, test=test, number=None)
        case ast.Compare(
            left=ast.Call(func=ast.Name(id="COUNT"), args=[ast.Name() as group]),
            ops=[operation],
            comparators=[ast.Constant(value=int(number))],
        ):
            return _read_group(group, text, test=_COMPARISONS[type(operation)], number=number)
    key = "==" if isinstance(node, ast.Compare) else word.partition("(")[0]
    rule = _RULES.get(key, "expected a name, `not`, `any`, `all` or `count`")
    raise _word_error(rule, text, *span)


def _read_group(group: ast.Name, text: str, *, test: Test, number: int | None) -> GroupTest:
    column = group.col_offset
    word, *states = text[column : group.end_col_offset].split()
    if word not in GROUP_WORDS:
        rule = f"expected a group ({', '.join(GROUP_WORDS)})"
        raise _word_error(rule, text, column, column + len(word), words=GROUP_WORDS)
    if states and word == "allowed":
        raise logic_error("`allowed` demands nothing, so nothing of it is met.", column=column + 1)
    state = cast("Literal['met', 'unmet'] | None", states[0] if states else None)
    return GroupTest(test=test, word=word, state=state, number=number, column=column + 1)


def _word_error(
    rule: str, text: str, start: int, end: int, *, words: Sequence[str] = ()
) -> LogicError:
    word = text[start:end]
    shown = repr(shorten(word, width=40)) if word else "the end"
    return logic_error(f"{rule}, got {shown}.{did_you_mean(word.lower(), words)}", column=start + 1)
