"""Several questions under one false discovery rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire.errors import InputError
from voirdire.stats import benjamini_yekutieli
from voirdire.stats.figures import passes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from voirdire.stats import AltTestResult

__all__ = ["PooledQuestion", "PooledResult", "pool_questions"]


@dataclass(frozen=True, kw_only=True)
class PooledQuestion:
    """One question's share of a pooled result.

    Attributes
    ----------
    question : str
        Which one.
    winning_rate : float
        ω with the p-values of all questions under one Benjamini-Yekutieli; nan without annotators.
    winning_rate_alone : float
        ω of the question by itself.
    passed : bool
        Whether the pooled ω is at least .5.
    """

    question: str
    winning_rate: float
    winning_rate_alone: float
    passed: bool


@dataclass(frozen=True, kw_only=True)
class PooledResult:
    """One judge, alignment and ε over several questions.

    Attributes
    ----------
    judge, alignment : str
        What was examined.
    epsilon : float
        The margin.
    epsilon_mode : str
        How it enters.
    n_tests : int
        p-values in the pool: questions times tested annotators.
    questions : tuple of PooledQuestion
        In the order given.
    """

    judge: str
    alignment: str
    epsilon: float
    epsilon_mode: str
    n_tests: int
    questions: tuple[PooledQuestion, ...]


def pool_questions(
    results: Iterable[AltTestResult], *, false_discovery_rate: float = 0.05
) -> PooledResult:
    """Control the false discovery rate over all questions and annotators at once.

    Parameters
    ----------
    results : iterable of AltTestResult
        One per question, all of the same judge, alignment and ε.
    false_discovery_rate : float, optional
        q, in (0, 1).

    Returns
    -------
    PooledResult

    Raises
    ------
    InputError
        If there is no result, or judges, alignments or ε differ.

    Examples
    --------
    >>> import voirdire
    >>> judge = {i: i % 2 for i in range(60)}
    >>> humans = {
    ...     name: {i: 1 - x if i % 12 == slip else x for i, x in judge.items()}
    ...     for slip, name in enumerate(["ann", "bob", "eve"])
    ... }
    >>> results = [voirdire.alt_test(judge, humans, question=name) for name in ("q1", "q2")]
    >>> pool_questions(results).n_tests
    6
    """
    listed = list(results)
    keys = {(row.judge, row.alignment, row.epsilon, row.epsilon_mode) for row in listed}
    if len(keys) != 1:
        msg = (
            "`results` must be of one judge, alignment and epsilon, got "
            f"{len(keys)} combinations. Pool each by itself."
        )
        raise InputError(msg)
    # an undefined p-value of a tested annotator speaks for nobody
    family = np.nan_to_num([row.p_value for result in listed for row in result.annotators], nan=1.0)
    rejected = benjamini_yekutieli(family, false_discovery_rate=false_discovery_rate)
    ends = np.cumsum([len(result.annotators) for result in listed])[:-1]
    judge, alignment, epsilon, mode = keys.pop()
    return PooledResult(
        judge=judge,
        alignment=alignment,
        epsilon=epsilon,
        epsilon_mode=mode,
        n_tests=len(family),
        questions=tuple(map(_question, listed, np.split(rejected, ends))),
    )


def _question(result: AltTestResult, rejected: NDArray[np.bool_]) -> PooledQuestion:
    quality = result.settings.get("quality")
    weights = [1.0 if not quality else quality[row.annotator] for row in result.annotators]
    winning_rate = np.average(rejected, weights=weights) if weights else math.nan
    return PooledQuestion(
        question=result.question,
        winning_rate=float(winning_rate),
        winning_rate_alone=result.winning_rate,
        passed=bool(passes(np.asarray(winning_rate))),
    )
