"""The product rule: each class a conjunction, its probability the product of its parts.

A class is a conjunction of propositions, of their negations, and of named conjunctions. A named
conjunction is the product of its parts, and its negation is one minus that, whatever else stands in
the class: parts that share propositions are multiplied as if they did not. The classes are then
normalised. This is the rule of [1]_; `voirdire.rubrics.logic.classes` has the exact one.

References
----------
.. [1] T. Mu et al., "Rule Based Rewards for Language Model Safety", NeurIPS 2024, arXiv:2411.01111.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from voirdire._validation import shorten
from voirdire.rubrics.logic.definitions import OTHERWISE, class_places, group_states, resolve
from voirdire.rubrics.logic.expressions import (
    And,
    Constant,
    Name,
    Not,
    Or,
    Quantified,
    fault,
    render_expression,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.errors import LogicError
    from voirdire.rubrics.logic.definitions import Place, Scope
    from voirdire.rubrics.logic.expressions import Expression

__all__ = ["Factor", "ProductPlan", "product_plan"]

_TRUE = "true"
"""The empty product; `false` is one minus it. No proposition may be called so."""


class Factor(NamedTuple):
    """A proposition or a named conjunction by its number, or one minus it."""

    number: int
    negated: bool


@dataclass(frozen=True, kw_only=True)
class ProductPlan:
    """What is multiplied by what.

    Attributes
    ----------
    variables : tuple of str
        The propositions: the first numbers.
    products : tuple of tuple of Factor
        Named conjunctions, numbered on from there; each uses smaller numbers only.
    classes : tuple of tuple of Factor
        In the order of the rubric.
    """

    variables: tuple[str, ...]
    products: tuple[tuple[Factor, ...], ...]
    classes: tuple[tuple[Factor, ...], ...]


def product_plan(scope: Scope) -> ProductPlan:
    """Read the classes of a behavior as products; a `LogicError` where one is no conjunction."""
    conditions = class_places(scope)
    if len(conditions) < len(scope.classes):
        place = ("behaviors", scope.behavior or "", "classes", scope.classes[-1].name)
        raise _no_conjunction(OTHERWISE, place)
    resolved = resolve(scope, conditions)
    reader = _Reader(scope, (*resolved.variables, _TRUE))
    products: list[tuple[Factor, ...]] = [()]
    for name, expression in resolved.definitions.items():
        products.append(reader.read(expression, ("expressions", name)))
        reader.add(name)
    return ProductPlan(
        variables=resolved.variables,
        products=tuple(products),
        classes=tuple(reader.read(row, place) for place, row in resolved.expressions.items()),
    )


class _Reader:
    """Reads conjunctions as factors; knows the number of every name so far."""

    def __init__(self, scope: Scope, names: tuple[str, ...]) -> None:
        self._scope = scope
        self._number = {name: number for number, name in enumerate(names)}

    def add(self, name: str) -> None:
        """Give the next number to a named conjunction."""
        self._number[name] = len(self._number)

    def read(self, expression: Expression, place: Place) -> tuple[Factor, ...]:
        return tuple(self._factors(expression, place, negated=False))

    def _factors(self, expression: Expression, place: Place, *, negated: bool) -> Iterator[Factor]:
        match expression:
            case Constant(value=value):
                yield Factor(self._number[_TRUE], value == negated)
            case Name(id=name):
                yield Factor(self._number[name], negated)
            case Not(operand=operand):
                yield from self._factors(operand, place, negated=not negated)
            case And(operands=operands) if not negated:
                for row in operands:
                    yield from self._factors(row, place, negated=False)
            case Or(operands=operands) if negated:
                for row in operands:
                    yield from self._factors(row, place, negated=True)
            case Quantified():
                yield from self._of_group(expression, place, negated=negated)
            case _:
                shown = render_expression(expression)
                raise _no_conjunction(f"not ({shown})" if negated else shown, place)

    def _of_group(self, row: Quantified, place: Place, *, negated: bool) -> Iterator[Factor]:
        states = group_states(self._scope, row.group)
        if len(states) > 1 and (row.quantifier == "any") != negated:
            shown = render_expression(row)
            raise _no_conjunction(f"not {shown}" if negated else shown, place)
        if not states:
            yield Factor(self._number[_TRUE], (row.quantifier == "any") != negated)
        for name, wanted in states:
            yield Factor(self._number[name], wanted == negated)


def _no_conjunction(shown: str, place: Place) -> LogicError:
    hint = "Name a conjunction under `expressions` to negate it, or use `class_rule: exact`."
    return fault(
        f"under the product rule a class, and what it names, must be a conjunction, got "
        f"`{shorten(shown)}`. {hint}",
        where=place,
    )
