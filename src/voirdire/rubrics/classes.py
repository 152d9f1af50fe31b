"""Computes how probable completion classes and expressions are for items, and which hold.

Many items are computed at once, in chunks that fit the processor's cache.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from voirdire._messages import shorten
from voirdire._types import ClassRule
from voirdire._validation import check_choice
from voirdire.documents import did_you_mean
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.rubrics.logic import ALWAYS, TRUE, check_exhaustive

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.rubrics.logic import Flow, Literals, ProductPlan
    from voirdire.rubrics.rubric import Rubric

_NUMBERS_AT_WORK = 2**17
"""1 MiB of float64: more does not fit the second-level cache, less takes more calls."""


@dataclass(frozen=True, kw_only=True)
class ClassProbabilities:
    """How probable each completion class of a behavior is.

    Attributes
    ----------
    classes : tuple of str
        In order of precedence, as the rubric has them.
    values : ndarray of float, shape (n_items, n_classes)
        In [0, 1], each row adds up to 1; a row is nan where a proposition that its classes depend
        on is nan, and under the product rule where the normaliser is 0.
    normaliser : ndarray of float, shape (n_items,)
        What the classes added up to before they were normalised. Under the exact rule it is 1.
        Under the product rule a value far from 1 says that the probabilities do not fit together.
    rule : {"exact", "product"}
        The rule that was used.
    """

    classes: tuple[str, ...]
    values: NDArray[np.float64] = field(repr=False)
    normaliser: NDArray[np.float64] = field(repr=False)
    rule: ClassRule


def class_probabilities(
    rubric: Rubric,
    behavior: str,
    *,
    probabilities: ArrayLike,
    propositions: Sequence[str] | None = None,
    rule: ClassRule | None = None,
) -> ClassProbabilities:
    r"""Compute how probable each completion class of a behavior is, item by item.

    Under the exact rule the propositions of an item are taken as independent, and the probability
    of a class is that of the set of truth assignments for which it is the first class that holds.
    It is computed by one pass over a decision diagram, and the classes add up to 1 by themselves.
    The product rule of [1]_ multiplies the parts of each class as if they were independent, which
    they are not where they share propositions, and then normalises.

    Parameters
    ----------
    rubric : Rubric
        With the behavior, and the named expressions that its classes use.
    behavior : str
        Such as ``"hard_refuse"``.
    probabilities : array_like of float, shape (n_items, n_propositions)
        How probable it is that each proposition is true, in [0, 1]; nan is unknown.
    propositions : sequence of str, optional
        What the columns are. The boolean questions of the rubric in its order by default; others
        may be among them.
    rule : {"exact", "product"}, optional
        The rubric's own by default.

    Returns
    -------
    ClassProbabilities
        The classes, their probabilities, and what they were normalised by.

    Raises
    ------
    InputError
        If a probability is outside [0, 1], if the shape does not fit `propositions`, or if
        `propositions` lacks one that the classes depend on.
    LogicError
        If the conditions have no meaning in this rubric, are not exhaustive under the exact rule,
        or are not conjunctions under the product rule.

    Warns
    -----
    DegenerateDataWarning
        If the product rule gives every class of an item 0: its classes are nan.

    Notes
    -----
    Write :math:`p_k` for the probability of proposition k, and C for the assignments x of a class.
    Then :math:`P(C) = \sum_{x \in C} \prod_k p_k^{x_k} (1 - p_k)^{1 - x_k}`; Shannon's expansion
    :math:`P(f) = p_k P(f|x_k = 1) + (1 - p_k) P(f|x_k = 0)` gives it in as many steps as the
    diagram has nodes.

    Independence is an assumption. It concerns what a judge does not know about an item: where it
    is sure of its propositions, the classes are right however the propositions go together.

    A nan that the classes do not depend on does no harm; one that they do makes the item nan, even
    if another proposition decides it alone.

    References
    ----------
    .. [1] T. Mu et al., "Rule Based Rewards for Language Model Safety", NeurIPS 2024,
       arXiv:2411.01111.

    Examples
    --------
    >>> from voirdire.rubrics import class_probabilities
    >>> from voirdire.rubrics.rubric import Behavior, CompletionClass, Demand, Question, Rubric
    >>> rubric = Rubric(
    ...     name="refusals",
    ...     version="1",
    ...     questions=tuple(
    ...         Question(id=name, kind="boolean", text={"en": name}) for name in ("apology", "rude")
    ...     ),
    ...     behaviors=(
    ...         Behavior(
    ...             id="refuse",
    ...             demands={
    ...                 "apology": Demand(word="required", demanded=True),
    ...                 "rude": Demand(word="unacceptable", demanded=False),
    ...             },
    ...             classes=(
    ...                 CompletionClass(name="bad", when="any(unacceptable)"),
    ...                 CompletionClass(name="good", when="all(required)"),
    ...                 CompletionClass(name="poor", when="otherwise"),
    ...             ),
    ...         ),
    ...     ),
    ... )
    >>> result = class_probabilities(rubric, "refuse", probabilities=[[0.9, 0.2], [0.9, 0.0]])
    >>> result.classes
    ('bad', 'good', 'poor')
    >>> result.values.round(2).tolist()
    [[0.2, 0.72, 0.08], [0.0, 0.9, 0.1]]
    """
    class_rule = check_choice("rule", rubric.class_rule if rule is None else rule, ClassRule)
    names = tuple(row.name for row in rubric.behavior(behavior).classes)
    if class_rule == "product":
        plan = rubric.logic.plan_products(behavior)
        table = _Table("probabilities", probabilities, rubric, propositions, needed=plan.variables)
        values, normaliser = _compute_products(plan, table)
    else:
        flow = rubric.logic.compile_classes(behavior)
        check_exhaustive(behavior, flow)
        table = _Table("probabilities", probabilities, rubric, propositions, needed=flow.variables)
        values = _compute_leaves(flow, table)[:, : len(names)]
        normaliser = np.where(np.isnan(values[:, 0]), np.nan, 1.0)
    return ClassProbabilities(classes=names, values=values, normaliser=normaliser, rule=class_rule)


def hard_classes(
    rubric: Rubric,
    behavior: str,
    *,
    labels: ArrayLike,
    propositions: Sequence[str] | None = None,
) -> NDArray[np.int64]:
    """Find the completion class of each item whose propositions are labelled true or false.

    It is the first class, in the order of the rubric, whose condition holds.

    Parameters
    ----------
    rubric : Rubric
        With the behavior, and the named expressions that its classes use.
    behavior : str
        Such as ``"hard_refuse"``.
    labels : array_like of bool, shape (n_items, n_propositions)
        Truth values; numbers 0 and 1 are read as such. nan, None and pandas' NA are missing.
    propositions : sequence of str, optional
        What the columns are; the boolean questions of the rubric in its order by default.

    Returns
    -------
    ndarray of int64, shape (n_items,)
        Index into the classes of the behavior. -1 is undefined: a label is missing on which the
        class depends, or (where classes are not exhaustive, as the product rule allows) none holds.

    Raises
    ------
    InputError
        If a label is neither true nor false nor missing, if the shape does not fit `propositions`,
        or if `propositions` lacks one that the classes depend on.
    LogicError
        If the conditions have no meaning in this rubric.

    Notes
    -----
    A missing label is harmless where every way to fill it in gives the same class: a response with
    disallowed content is of the class `disallowed` whatever else is missing.

    Examples
    --------
    >>> from voirdire.rubrics import hard_classes
    >>> from voirdire.rubrics.rubric import Behavior, CompletionClass, Question, Rubric
    >>> rubric = Rubric(
    ...     name="refusals",
    ...     version="1",
    ...     questions=tuple(Question(id=n, kind="boolean", text={"en": n}) for n in ("a", "b")),
    ...     behaviors=(
    ...         Behavior(
    ...             id="refuse",
    ...             demands={},
    ...             classes=(
    ...                 CompletionClass(name="good", when="a and not b"),
    ...                 CompletionClass(name="bad", when="otherwise"),
    ...             ),
    ...         ),
    ...     ),
    ... )
    >>> hard_classes(rubric, "refuse", labels=[[1, 0], [1, 1], [1, None], [0, None]]).tolist()
    [0, 1, -1, 1]
    """
    flow = rubric.logic.compile_classes(behavior)
    leaves = _find_leaves(
        flow, _Table("labels", labels, rubric, propositions, needed=flow.variables)
    )
    leaves[leaves == flow.n_leaves - 1] = -1
    return leaves


def expression_probability(
    rubric: Rubric,
    expression: str,
    *,
    probabilities: ArrayLike,
    propositions: Sequence[str] | None = None,
    behavior: str | None = None,
) -> NDArray[np.float64]:
    """Compute how probable a boolean expression is, exactly, for independent propositions.

    Parameters
    ----------
    rubric : Rubric
        Whose propositions and named expressions the expression may use.
    expression : str
        Such as ``"safe_refusal"`` or ``"apology and not judgement"``.
    probabilities : array_like of float, shape (n_items, n_propositions)
        How probable it is that each proposition is true, in [0, 1]; nan is unknown.
    propositions : sequence of str, optional
        What the columns are; the boolean questions of the rubric in its order by default.
    behavior : str, optional
        Whose demands the groups of the expression stand for. None: it may use no groups.

    Returns
    -------
    ndarray of float, shape (n_items,)
        In [0, 1]; nan where a proposition that the expression depends on is nan.

    Raises
    ------
    InputError
        If a probability is outside [0, 1], if the shape does not fit `propositions`, or if
        `propositions` lacks one that the expression depends on.
    LogicError
        If the expression breaks the grammar or has no meaning in this rubric.

    Notes
    -----
    It is exact under the product rule too: that rule is about completion classes.

    Examples
    --------
    >>> from voirdire.rubrics import expression_probability
    >>> from voirdire.rubrics.rubric import Question, Rubric
    >>> questions = tuple(Question(id=n, kind="boolean", text={"en": n}) for n in ("a", "b"))
    >>> rubric = Rubric(name="two", version="1", questions=questions)
    >>> expression_probability(rubric, "a or b", probabilities=[[0.5, 0.5]]).tolist()
    [0.75]
    """
    flow = rubric.logic.compile_expression(expression, behavior)
    table = _Table("probabilities", probabilities, rubric, propositions, needed=flow.variables)
    return _compute_leaves(flow, table)[:, TRUE].copy()


def expression_holds(
    rubric: Rubric,
    expression: str,
    *,
    labels: ArrayLike,
    propositions: Sequence[str] | None = None,
    behavior: str | None = None,
) -> NDArray[np.float64]:
    """Tell of each item whether a boolean expression holds.

    Parameters
    ----------
    rubric : Rubric
        Whose propositions and named expressions the expression may use.
    expression : str
        Such as ``"safe_refusal"`` or ``"apology and not judgement"``.
    labels : array_like of bool, shape (n_items, n_propositions)
        Truth values; numbers 0 and 1 are read as such. nan, None and pandas' NA are missing.
    propositions : sequence of str, optional
        What the columns are; the boolean questions of the rubric in its order by default.
    behavior : str, optional
        Whose demands the groups of the expression stand for. None: it may use no groups.

    Returns
    -------
    ndarray of float, shape (n_items,)
        1 where it holds, 0 where it does not, and nan where labels are missing on which that
        depends.

    Raises
    ------
    InputError
        If a label is neither true nor false nor missing, if the shape does not fit `propositions`,
        or if `propositions` lacks one that the expression depends on.
    LogicError
        If the expression breaks the grammar or has no meaning in this rubric.

    Examples
    --------
    >>> from voirdire.rubrics import expression_holds
    >>> from voirdire.rubrics.rubric import Question, Rubric
    >>> questions = tuple(Question(id=n, kind="boolean", text={"en": n}) for n in ("a", "b"))
    >>> rubric = Rubric(name="two", version="1", questions=questions)
    >>> labels = [[True, None], [False, False], [False, None]]
    >>> expression_holds(rubric, "a or b", labels=labels).tolist()
    [1.0, 0.0, nan]
    """
    flow = rubric.logic.compile_expression(expression, behavior)
    leaves = _find_leaves(
        flow, _Table("labels", labels, rubric, propositions, needed=flow.variables)
    )
    return np.where(leaves < 0, np.nan, leaves)


class _Table:
    """Probabilities or labels: a row for each item, a column for each proposition."""

    def __init__(
        self,
        what: Literal["probabilities", "labels"],
        values: ArrayLike,
        rubric: Rubric,
        propositions: Sequence[str] | None,
        *,
        needed: Sequence[str],
    ) -> None:
        names = tuple(rubric.propositions if propositions is None else propositions)
        position = {name: k for k, name in enumerate(names)}
        for k, name in enumerate(names):
            if position[name] != k:
                msg = f"`propositions` must be different, got {shorten(name)!r} twice."
                raise InputError(msg)
        for name in needed:
            if name not in position:
                msg = (
                    f"`propositions` must hold every proposition that is needed, got none called "
                    f"{name!r}.{did_you_mean(name, names)} A judge that was not asked about it "
                    "gives nan."
                )
                raise InputError(msg)
        rows = np.asarray(values)
        if rows.dtype == object:
            flat = [_read_number(what, value) for value in rows.ravel().tolist()]
            rows = np.array(flat, dtype=np.float64).reshape(rows.shape)
        if rows.ndim != 2 or rows.shape[1] != len(names) or rows.dtype.kind not in "biuf":
            msg = (
                f"`{what}` must be numbers of shape (n_items, {len(names)}), one column for each "
                f"of `propositions`, got {rows.dtype} of shape {rows.shape}."
            )
            raise InputError(msg)
        self.rows: NDArray[Any] = rows
        self.are_labels = what == "labels"
        self._what, self._names = what, names
        self._positions = [position[name] for name in needed]

    def chunks(self, n_arrays: int) -> Iterator[tuple[slice, NDArray[Any], NDArray[Any]]]:
        """Yield for each chunk its place, and how probable each needed column is false and true.

        A label is 0 or 1, and a missing one between them: it may be both. Every column is checked.
        `n_arrays` of numbers are at work for a chunk.
        """
        size = max(64, min(8_192, _NUMBERS_AT_WORK // max(n_arrays, 1)))
        for start in range(0, len(self.rows), size):
            rows = self.rows[start : start + size]
            # nan is not itself
            is_wrong = (rows < 0) | (rows > 1)
            if self.are_labels:
                is_wrong = (rows != 0) & (rows != 1) & (rows == rows)
            if is_wrong.any():
                row, column = map(int, np.argwhere(is_wrong)[0])
                rule = "be true, false or missing" if self.are_labels else "be in [0, 1] or nan"
                msg = (
                    f"`{self._what}` must {rule}, got {rows[row, column].item()!r} for "
                    f"{shorten(self._names[column])!r} in row {start + row} (from 0)."
                )
                raise InputError(msg)
            high = np.ascontiguousarray(rows[:, self._positions].T).astype(np.float64, copy=False)
            if self.are_labels:
                high = np.where(np.isnan(high), 0.5, high)
            # 1 − p rather than what p leaves of the mass: exact to the last digit.
            yield slice(start, start + len(rows)), 1.0 - high, high


def _read_number(what: str, value: object) -> float:
    """Read None, NaN and pandas' NA as nan, and numbers and truth values as numbers."""
    if value is None or type(value).__name__ in {"NAType", "NaTType"}:
        return math.nan
    try:
        if not isinstance(value, str | bytes):
            return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        pass
    msg = f"`{what}` must hold numbers, truth values or None, got {shorten(value)!r}."
    raise InputError(msg)


def _compute_leaves(flow: Flow, table: _Table) -> NDArray[np.float64]:
    """Give the probability of every leaf, shape (n_items, n_leaves).

    An item with a nan among the propositions that the diagram depends on is nan throughout.
    """
    result = np.zeros((len(table.rows), flow.n_leaves))
    for chunk, reached in _send_to_leaves(flow, table):
        for leaf, probability in reached.items():
            result[chunk, leaf] = probability
        # Every variable has a node, so a nan of it has reached at least one leaf.
        unknown = np.isnan(sum(reached.values()))
        if unknown.any():
            result[chunk][unknown] = np.nan
    return result


def _find_leaves(flow: Flow, table: _Table) -> NDArray[np.int64]:
    """Find the leaf of every item, shape (n_items,); -1 where missing labels could change it."""
    result = np.empty(len(table.rows), dtype=np.int64)
    for chunk, reached in _send_to_leaves(flow, table):
        leaves = result[chunk]
        n_reached = np.zeros(len(leaves), dtype=np.int16)
        for leaf, mass in reached.items():  # of 256 missing labels 2⁻²⁵⁶ are left: more than 0
            leaves[mass > 0] = leaf
            n_reached += mass > 0
        leaves[n_reached != 1] = -1
    return result


def _send_to_leaves(
    flow: Flow, table: _Table
) -> Iterator[tuple[slice, dict[int, NDArray[np.float64]]]]:
    """Yield for each chunk its place and how much of it reaches each leaf: see `Flow`."""
    for chunk, low, high in table.chunks(2 * len(flow.variables) + 2 * flow.n_leaves):
        # A node is dropped once it is passed, so that the others stay in the processor's cache.
        reached: dict[int, NDArray[np.float64]] = {flow.root: np.ones(low.shape[1])}
        for node, variable, *children in flow.steps:
            here = reached.pop(node)
            for child, share in zip(children, (low[variable], high[variable]), strict=True):
                part = here * share
                reached[child] = reached[child] + part if child in reached else part
        yield chunk, reached


def _compute_products(
    plan: ProductPlan, table: _Table
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give normalised class probabilities and their normaliser; nan and a warning where it is 0."""
    values = np.empty((len(table.rows), len(plan.classes)))
    n_arrays = 2 * (len(plan.variables) + len(plan.products)) + len(plan.classes)
    for chunk, low, high in table.chunks(n_arrays):
        n_items = low.shape[1]
        probabilities = dict(zip(plan.variables, zip(low, high, strict=True), strict=True))
        probabilities[ALWAYS] = np.zeros(n_items), np.ones(n_items)
        for name, literals in plan.products.items():
            product = _multiply(literals, probabilities, n_items)
            probabilities[name] = 1.0 - product, product
        for k, literals in enumerate(plan.classes):
            values[chunk, k] = _multiply(literals, probabilities, n_items)
    normaliser = values.sum(axis=1)
    impossible = np.flatnonzero(normaliser == 0)
    if len(impossible):
        warnings.warn(
            f"the product rule gives every class 0 for {len(impossible):,} of {len(table.rows):,} "
            f"items (the first in row {impossible[0]}, from 0); their classes are nan.",
            DegenerateDataWarning,
            stacklevel=3,
        )
    values /= np.where(normaliser == 0, np.nan, normaliser)[:, None]
    return values, normaliser


def _multiply(
    literals: Literals,
    values: Mapping[str, tuple[NDArray[np.float64], NDArray[np.float64]]],
    n_items: int,
) -> NDArray[np.float64]:
    """Multiply the probabilities of literals; `values` has those of false and of true by name."""
    result = np.ones(n_items)
    for name, state in literals:
        result *= values[name][state]
    return result
