"""Completion classes and expressions over items: how probable they are, and which hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from voirdire._types import ClassRule
from voirdire._validation import check_choice
from voirdire.rubrics.logic.compiling import not_exhaustive
from voirdire.rubrics.logic.diagram import TRUE
from voirdire.rubrics.logic.evaluation import (
    leaf_of_labels,
    leaf_probabilities,
    product_probabilities,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.rubrics.rubric import Rubric

__all__ = [
    "ClassProbabilities",
    "class_probabilities",
    "expression_holds",
    "expression_probability",
    "hard_classes",
]


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
    >>> found = class_probabilities(rubric, "refuse", probabilities=[[0.9, 0.2], [0.9, 0.0]])
    >>> found.classes
    ('bad', 'good', 'poor')
    >>> found.values.round(2).tolist()
    [[0.2, 0.72, 0.08], [0.0, 0.9, 0.1]]
    """
    used: ClassRule = rubric.class_rule if rule is None else rule
    check_choice("rule", used, ClassRule)
    scope = rubric.logic.scope(behavior)
    columns = rubric.propositions if propositions is None else propositions
    names = tuple(row.name for row in scope.classes)
    if used == "product":
        values, normaliser = product_probabilities(
            rubric.logic.plan(behavior), probabilities, propositions=columns
        )
    else:
        compiled = rubric.logic.classes(behavior)
        if compiled.uncovered is not None:
            raise not_exhaustive(scope, compiled.uncovered)
        leaves = leaf_probabilities(compiled.flow, probabilities, propositions=columns)
        values = leaves[:, : len(names)]
        normaliser = np.where(np.isnan(values[:, 0]), np.nan, 1.0)
    return ClassProbabilities(classes=names, values=values, normaliser=normaliser, rule=used)


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
    compiled = rubric.logic.classes(behavior)
    columns = rubric.propositions if propositions is None else propositions
    leaves = leaf_of_labels(compiled.flow, labels, propositions=columns)
    leaves[leaves == len(compiled.classes)] = -1
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
    columns = rubric.propositions if propositions is None else propositions
    flow = rubric.logic.flow(expression, behavior)
    return leaf_probabilities(flow, probabilities, propositions=columns)[:, TRUE].copy()


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
    columns = rubric.propositions if propositions is None else propositions
    leaves = leaf_of_labels(rubric.logic.flow(expression, behavior), labels, propositions=columns)
    return np.where(leaves < 0, np.nan, leaves)
