"""What a boolean expression is made of, and its text."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from voirdire._types import DemandWord
from voirdire._validation import shorten
from voirdire.errors import LogicError

__all__ = [
    "COMPARISONS",
    "GROUP_WORDS",
    "And",
    "Comparison",
    "Constant",
    "Counted",
    "Expression",
    "Group",
    "GroupState",
    "Name",
    "Not",
    "Or",
    "Quantified",
    "Quantifier",
    "at",
    "fault",
    "render_expression",
]

Quantifier: TypeAlias = Literal["any", "all"]
Comparison: TypeAlias = Literal[">=", ">", "<=", "<", "==", "!="]
GroupState: TypeAlias = Literal["met", "unmet"]

COMPARISONS: tuple[Comparison, ...] = (">=", "<=", "==", "!=", ">", "<")
"""What a count may be compared by."""

GROUP_WORDS: tuple[str, ...] = ("core", *get_args(DemandWord))
"""What a group of demands is called: the words of demands, and ``core``."""


@dataclass(frozen=True, kw_only=True)
class Constant:
    """``true`` or ``false``."""

    value: bool


@dataclass(frozen=True, kw_only=True)
class Name:
    """A proposition or a named expression; `column` is where it stands, from 1."""

    id: str
    column: int | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Group:
    """The demands of one word, met or unmet; without a state, what the word alone says.

    Attributes
    ----------
    word : str
        One of `GROUP_WORDS`.
    state : {"met", "unmet"} or None
        None: met for `required`, `core` and `desired`; for the words that forbid, that the
        proposition is true; and so for `allowed`.
    column : int or None
        Where it stands, from 1.
    """

    word: str
    state: GroupState | None = None
    column: int | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Not:
    """The opposite of `operand`."""

    operand: Expression


@dataclass(frozen=True, kw_only=True)
class And:
    """All of `operands`; there are at least two."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class Or:
    """At least one of `operands`; there are at least two."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class Quantified:
    """``any(group)``, false where the group is empty, or ``all(group)``, true where it is."""

    quantifier: Quantifier
    group: Group


@dataclass(frozen=True, kw_only=True)
class Counted:
    """``count(group) >= number``, or another comparison; an empty group counts 0."""

    group: Group
    comparison: Comparison
    number: int


Expression: TypeAlias = Constant | Name | Not | And | Or | Quantified | Counted
"""A boolean expression over propositions, named expressions and groups of demands."""


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
            return f"not {_inside(operand, And | Or)}"
        case And(operands=operands):
            return " and ".join(_inside(row, And | Or) for row in operands)
        case Or(operands=operands):
            return " or ".join(_inside(row, Or) for row in operands)
        case Quantified(quantifier=quantifier, group=group):
            return f"{quantifier}({_group_text(group)})"
        case Counted(group=group, comparison=comparison, number=number):
            return f"count({_group_text(group)}) {comparison} {number}"


def _inside(operand: Expression, parted: object) -> str:
    text = render_expression(operand)
    return f"({text})" if isinstance(operand, parted) else text  # type: ignore[arg-type]


def _group_text(group: Group) -> str:
    return group.word if group.state is None else f"{group.word} {group.state}"


def fault(rule: str, *, where: tuple[str, ...] = (), column: int | None = None) -> LogicError:
    """Make a `LogicError` that says first where it is: ``column 3: expected …, got 'xor'.``."""
    error = LogicError(rule if column is None else f"column {column}: {rule}", column=column)
    return at(error, where) if where else error


def at(error: LogicError, where: tuple[str, ...]) -> LogicError:
    """Give an error that knows its column the place of its expression."""
    place = " > ".join(shorten(part, width=40) for part in where)
    return LogicError(f"{place}: {error}", where=where, column=error.column)
