"""Expressions over items: how probable they are, and whether they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire.rubrics.logic.diagram import TRUE
from voirdire.rubrics.logic.evaluation import leaf_of_labels, leaf_probabilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.rubrics.rubric import Rubric

__all__ = ["expression_holds", "expression_probability"]


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
    >>> from voirdire.rubrics.logic import expression_probability
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
    >>> from voirdire.rubrics.logic import expression_holds
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
