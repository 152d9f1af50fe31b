r"""The one-sided test of the judge against one left-out annotator, from outcome sums.

With :math:`v` the value of :math:`d` per outcome and :math:`c = v - \bar d` the three ways to
estimate the standard error of :math:`\bar d` are

* items independent: :math:`s^2/n`, n - 1 degrees of freedom;
* weighted: :math:`s_\pi^2 / n_\pi` with :math:`s_\pi^2 = \sum\pi(d-\bar d)^2/\sum\pi` and
  :math:`n_\pi = (\sum\pi)^2/\sum\pi^2`, :math:`n_\pi - 1` degrees of freedom [1]_;
* clustered: :math:`\frac{G}{G-1}\, c^\top S c / (\sum\pi)^2`, G - 1 degrees of freedom.

References
----------
.. [1] N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for LLM-as-a-Judge",
   ACL 2025, appendix on imbalanced labels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from scipy.special import stdtr

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from voirdire._types import EpsilonMode
    from voirdire.stats.outcome_sums import OutcomeSums

__all__ = ["Design", "MeanDifference", "difference_values", "mean_difference", "t_test_p_values"]

Design: TypeAlias = Literal["items", "weighted", "clustered"]
"""What the standard error takes as independent."""

_ZERO_VARIANCE = 1e-13
"""Relative to Σπ²: variance below it is rounding."""


@dataclass(frozen=True, kw_only=True)
class MeanDifference:
    """The mean of d with its standard error, arrays over judges, ε and annotators.

    Attributes
    ----------
    mean : ndarray of float
        The mean of d; nan without items.
    standard_error : ndarray of float
        Its standard error; nan with fewer than two units.
    degrees_of_freedom : ndarray of float
        Of the t distribution.
    target : ndarray of float
        The value under the null hypothesis: ε, or 0 when ε is multiplicative.
    """

    mean: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    degrees_of_freedom: NDArray[np.float64]
    target: NDArray[np.float64]


def difference_values(
    epsilons: NDArray[np.float64], mode: EpsilonMode
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Value of d per outcome, shape (n_epsilons, 3), and its target under the null hypothesis."""
    human = np.array([0.0, 1.0, 1.0])
    judge = np.array([1.0, 1.0, 0.0])
    if mode == "additive":
        return np.broadcast_to(human - judge, (len(epsilons), 3)), epsilons
    return human - judge / (1 - epsilons[:, np.newaxis]), np.zeros(len(epsilons))


def mean_difference(
    sums: OutcomeSums, epsilons: NDArray[np.float64], *, mode: EpsilonMode, design: Design
) -> MeanDifference:
    """Estimate the mean of d with its standard error for every ε at once.

    Parameters
    ----------
    sums : OutcomeSums
        Of shape (..., n_annotators).
    epsilons : ndarray of float, shape (n_epsilons,)
        Fractions in [0, 1).
    mode : {"additive", "multiplicative"}
        How ε enters.
    design : {"items", "weighted", "clustered"}
        What is independent.

    Returns
    -------
    MeanDifference
        Arrays of shape (..., n_epsilons, n_annotators).
    """
    values, target = difference_values(epsilons, mode)
    weights = sums.weights[..., np.newaxis, :, :]
    squares = sums.squares[..., np.newaxis, :, :, :]
    n_units = sums.n_units[..., np.newaxis, :].astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        mass = weights.sum(axis=-1)
        mean = (weights * values[:, np.newaxis, :]).sum(axis=-1) / mass
        centred = values[:, np.newaxis, :] - mean[..., np.newaxis]
        if design == "weighted":
            variance = (weights * centred**2).sum(axis=-1) / mass
            effective = mass**2 / np.trace(squares, axis1=-2, axis2=-1)
            squared_error = variance / effective
            freedom = np.broadcast_to(effective - 1, mean.shape)
        else:
            spread = np.einsum("...r,...rs,...s->...", centred, squares, centred)
            scale = np.trace(squares, axis1=-2, axis2=-1)
            spread = np.where(spread <= _ZERO_VARIANCE * scale, 0.0, spread)
            squared_error = spread * n_units / (n_units - 1) / mass**2
            freedom = np.broadcast_to(n_units - 1, mean.shape)
        error = np.sqrt(np.where(n_units > 1, squared_error, np.nan))
    return MeanDifference(
        mean=mean, standard_error=error, degrees_of_freedom=freedom, target=target[:, np.newaxis]
    )


def t_test_p_values(difference: MeanDifference) -> NDArray[np.float64]:
    """Left-tail p-values; with no variance 0 if the mean is below its target, else 1."""
    distance = difference.mean - difference.target
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = stdtr(difference.degrees_of_freedom, distance / difference.standard_error)
    certain = np.where(distance < 0, 0.0, 1.0)
    return np.where(difference.standard_error == 0, certain, p_values)
