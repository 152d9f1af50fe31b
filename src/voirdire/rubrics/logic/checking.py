"""Check that everything a rubric says in expressions has a meaning."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import LogicError
from voirdire.rubrics.logic.compiling import (
    compile_expression,
    not_exhaustive,
)
from voirdire.rubrics.logic.definitions import NameSearch, resolve
from voirdire.rubrics.logic.diagram import Budget
from voirdire.rubrics.logic.expressions import fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from voirdire.rubrics.logic.definitions import Place, Scope
    from voirdire.rubrics.rubric import Rubric

__all__ = ["check_logic", "logic_errors"]

_MAX_STEPS = 400_000
"""For a whole rubric: one that is hostile must not take longer because it has many behaviors."""


def check_logic(rubric: Rubric) -> None:
    """Check the named expressions, the demands and the completion classes of a rubric.

    Parameters
    ----------
    rubric : Rubric
        As it was read, or made in memory.

    Raises
    ------
    LogicError
        For the first thing that has no meaning: an expression that breaks the grammar, a name that
        is neither a proposition nor a named expression, a named expression that leads back to
        itself, one called like a question, classes that leave a case open under the exact rule or
        are no conjunctions under the product rule, conditions too complicated to compute. Its
        `where` leads to it.

    Examples
    --------
    >>> from voirdire.rubrics.rubric import Question, Rubric
    >>> questions = (Question(id="apology", kind="boolean", text={"en": "Is there an apology?"}),)
    >>> named = {"refusal": "apolgy and not rude"}
    >>> check_logic(Rubric(name="x", version="1", questions=questions, expressions=named))
    Traceback (most recent call last):
        ...
    voirdire.errors.LogicError: expressions > refusal: column 1: expected a proposition or a named \
expression, got 'apolgy'. Did you mean `apology`?
    """
    for error in logic_errors(rubric):
        raise error


def logic_errors(rubric: Rubric) -> Iterator[LogicError]:
    """Find all that `check_logic` refuses: the first of each expression, or else of each behavior.

    Parameters
    ----------
    rubric : Rubric
        As it was read, or made in memory.

    Yields
    ------
    LogicError
        Each with the place that it is about.
    """
    budget = Budget(_MAX_STEPS)
    bare = rubric.logic.scope(None)
    scopes = [rubric.logic.scope(row.id) for row in rubric.behaviors]
    names = NameSearch(bare)
    stages = (
        [partial(_check_name, name, bare, names) for name in rubric.expressions],
        [partial(_check_expressions, bare, scopes, names=names, budget=budget)],
        [partial(_check_behavior, row.id, rubric, budget) for row in rubric.behaviors],
    )
    for stage in stages:
        found = False
        for check in stage:
            for error in _error(check):
                found = True
                yield error
            if found and budget.left <= 0:
                return  # nothing can be compiled any more
        if found:
            return  # the next stage would only say the same again


def _error(check: Callable[[], None]) -> Iterator[LogicError]:
    try:
        check()
    except LogicError as error:
        yield error


def _check_name(name: str, bare: Scope, names: NameSearch) -> None:
    if name in bare.propositions or name in dict(bare.other_questions):
        rule = f"a named expression must not be called like a question, got {shorten(name)!r}."
        raise fault(rule, where=("expressions", name))
    names.names_in(name)


def _check_expressions(
    bare: Scope, scopes: Sequence[Scope], *, names: NameSearch, budget: Budget
) -> None:
    """Follow all names, and compile those that no other uses; the rest is compiled in them."""
    # An expression with groups means something under each behavior, and nothing without one.
    probe = scopes[0] if scopes else replace(bare, behavior="")
    texts: dict[Place, str] = {("expressions", name): text for name, text in bare.expressions}
    resolve(probe, texts)
    used = frozenset().union(*(names.names_in(name) for name, _ in bare.expressions))
    for place, text in texts.items():
        if place[1] in used:
            continue
        has_groups = resolve(probe, {place: text}).has_groups
        for scope in scopes if has_groups else [bare]:
            compile_expression(scope, text, place=place, budget=budget)


def _check_behavior(behavior: str, rubric: Rubric, budget: Budget) -> None:
    scope = rubric.logic.scope(behavior)
    _check_demands(scope)
    compiled = rubric.logic.classes(behavior, budget=budget)
    if rubric.class_rule == "product":
        rubric.logic.plan(behavior)
    elif compiled.uncovered is not None:
        raise not_exhaustive(scope, compiled.uncovered)


def _check_demands(scope: Scope) -> None:
    for name, _ in scope.demands:
        if name in scope.propositions:
            continue
        kind = dict(scope.other_questions).get(name)
        rule = f"demands must be about boolean questions; {shorten(name)!r} is a {kind} question."
        if kind is None:
            hint = did_you_mean(name, scope.propositions)
            rule = f"demands must be about propositions, got {shorten(name)!r}.{hint}"
        raise fault(rule, where=("behaviors", scope.behavior or "", "demands", name))
