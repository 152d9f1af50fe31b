r"""Splits the variance of scores by items, annotators, runs, prompts and combinations.

A score is a sum of independent random effects, one for each level of each facet and one for each
combination of levels [1]_. The variances of the effects follow from quadratic forms of the scores:
with :math:`y` less its mean, :math:`n_c` the scores in cell c and N all of them,

.. math::

   Q_S = \sum_{c \in S} \Big(\sum_{i \in c} y_i\Big)^2, \qquad
   E\,Q_S = \sum_T \sigma_T^2 \sum_{c \in S, d \in T} \Big(n_{cd} - \frac{n_c n_d}{N}\Big)^2

for the cells of every set of facets S, whose solution is unbiased whatever is missing (MINQUE with
no prior weights [2]_) and equals the analysis of variance where the design is balanced. The mean of
all scores has the variance :math:`\sum_S \sigma_S^2 \sum_{c \in S} (n_c / N)^2`.

References
----------
.. [1] R. L. Brennan, "Generalizability Theory", Springer, 2001.
.. [2] C. R. Rao, "Minimum Variance Quadratic Unbiased Estimation of Variance Components", Journal
   of Multivariate Analysis 1(4), pages 445-456, 1971. :doi:`10.1016/0047-259X(71)90019-4`
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import DegenerateDataWarning, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["FacetSize", "VarianceComponent", "VarianceComponents", "variance_components"]

_MOST_FACETS = 5


@dataclass(frozen=True, kw_only=True)
class VarianceComponent:
    """The effect of one facet, or of a combination of facets.

    Attributes
    ----------
    facets : tuple of str
        Which; empty for scores that differ although all facets are the same.
    variance : float
        At least 0: where the estimate falls below, nothing of this effect is seen.
    share : float
        Of the variance of one score, in [0, 1]; nan where scores do not vary.
    error_share : float
        Of the squared standard error of the mean, in [0, 1]; nan where scores do not vary.
    n_cells : int
        Levels, or combinations of levels, that occur.
    """

    facets: tuple[str, ...]
    variance: float
    share: float
    error_share: float
    n_cells: int


@dataclass(frozen=True, kw_only=True)
class FacetSize:
    """How many levels of a facet there are, and how many would halve the standard error.

    Attributes
    ----------
    facet : str
        Which.
    n_levels : float
        How many there are; of a facet within others, such as the runs of an item, how many each
        combination of those has on average.
    n_to_halve : int or None
        How many would halve the standard error of the mean, the other facets as they are; None
        where no number would.
    """

    facet: str
    n_levels: float
    n_to_halve: int | None


@dataclass(frozen=True, kw_only=True)
class VarianceComponents:
    """Where the spread of scores, and the error of their mean, comes from.

    Attributes
    ----------
    mean : float
        Of all scores.
    standard_error : float
        Of that mean, with every facet drawn again.
    components : tuple of VarianceComponent
        Single facets first.
    sizes : tuple of FacetSize
        One per facet.
    n_scores : int
        Scores that are not missing.
    reason : str or None
        Why shares are nan.
    """

    mean: float
    standard_error: float
    components: tuple[VarianceComponent, ...]
    sizes: tuple[FacetSize, ...]
    n_scores: int
    reason: str | None = field(default=None, repr=False)

    def predict_error(self, **n_levels: float) -> float:
        """Predict the standard error of the mean for other numbers of levels.

        Parameters
        ----------
        **n_levels : float
            By facet, in the units of `FacetSize.n_levels`; facets that are not named stay.

        Returns
        -------
        float

        Raises
        ------
        InputError
            If a facet is unknown, or a number is not positive.
        """
        now = {size.facet: size.n_levels for size in self.sizes}
        for facet, number in n_levels.items():
            if facet not in now or not number > 0:
                msg = f"`{facet}` must be a positive number of one of {', '.join(now)}, got "
                raise InputError(f"{msg}{number!r}.")
        factors = {facet: now[facet] / number for facet, number in n_levels.items()}
        if math.isnan(self.standard_error) or self.reason is not None:
            return self.standard_error
        shares = (
            row.error_share * math.prod(factors.get(facet, 1.0) for facet in row.facets)
            for row in self.components
        )
        return self.standard_error * math.sqrt(sum(shares))


def variance_components(scores: ArrayLike, facets: Mapping[str, ArrayLike]) -> VarianceComponents:
    """Tell how much of the spread of scores comes from items, annotators, runs, prompts.

    Scores may be anything that has a mean: whether a judge agrees with an annotator, a verdict, a
    probability, a reward. All facets are random samples: of items, of annotators, of runs.

    Parameters
    ----------
    scores : array_like of float, shape (n_scores,)
        One number for each combination of levels that was observed; nan is missing.
    facets : mapping of str to array_like, each of shape (n_scores,)
        Which item, annotator, run or prompt each score is of. A level that occurs within one
        level of another facet only is nested in it: give the runs of different items different
        names if they have nothing in common. At most 5.

    Returns
    -------
    VarianceComponents

    Raises
    ------
    InputError
        If shapes differ, a facet has fewer than two levels, or the combinations that were
        observed do not tell some effects apart.

    Warns
    -----
    DegenerateDataWarning
        If scores do not vary.

    Notes
    -----
    Variances are estimated without bias and then cut at 0. The highest combination of facets
    cannot be told from noise where each combination has one score. Memory is O(n_scores) for
    each set of facets.

    Examples
    --------
    Three prompts shift the scores of all items alike; runs add a little noise. Only more prompts
    help:

    >>> rng = np.random.default_rng(0)
    >>> item, prompt, run = np.indices((40, 3, 4)).reshape(3, -1)
    >>> shift = np.array([-1.0, 0.0, 1.0])[prompt]
    >>> scores = shift + rng.normal(0, 0.5, len(item))
    >>> found = variance_components(scores, {"item": item, "prompt": prompt, "run": run})
    >>> max(found.components, key=lambda row: row.error_share).facets
    ('prompt',)
    >>> {size.facet: size.n_to_halve for size in found.sizes}["item"] is None
    True
    """
    values, codes = _check(scores, facets)
    parts = _partitions(codes, len(values))
    names, cells = [names for names, _ in parts], [cells for _, cells in parts]
    centred = values - values.mean()
    squares = np.array([float((np.bincount(cell, centred) ** 2).sum()) for cell in cells])
    expected = np.array(
        [[_sum_expected_squares(first, second) for second in cells] for first in cells]
    )
    if np.linalg.matrix_rank(expected) < len(cells):
        msg = (
            f"`facets` must be observed in more combinations: those of {', '.join(facets)} do not "
            "tell all effects apart. Leave a facet out, or observe each level with several others."
        )
        raise InputError(msg)
    variances = np.maximum(np.linalg.solve(expected, squares), 0.0)
    variances[variances <= 1e-12 * max(float(squares[-1]) / len(values), 0.0)] = 0.0
    weights = np.array([float(((np.bincount(cell) / len(values)) ** 2).sum()) for cell in cells])
    errors, reason = variances * weights, None
    if not variances.any():
        reason = "scores do not vary"
        warnings.warn(f"shares are undefined: {reason}.", DegenerateDataWarning, stacklevel=2)
    components = tuple(
        VarianceComponent(
            facets=name,
            variance=float(variance),
            share=_ratio(float(variance), float(variances.sum())),
            error_share=_ratio(float(error), float(errors.sum())),
            n_cells=int(cell.max()) + 1,
        )
        for name, cell, variance, error in zip(names, cells, variances, errors, strict=True)
    )
    return VarianceComponents(
        mean=float(values.mean()),
        standard_error=math.sqrt(float(errors.sum())),
        components=components,
        sizes=tuple(_size(facet, codes, components) for facet in codes),
        n_scores=len(values),
        reason=reason,
    )


def _check(
    scores: ArrayLike, facets: Mapping[str, ArrayLike]
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.intp]]]:
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or np.isinf(values).any():
        msg = f"`scores` must be finite numbers of shape (n_scores,), got {values.shape}."
        raise InputError(msg)
    if not 1 <= len(facets) <= _MOST_FACETS:
        msg = f"`facets` must hold 1 to {_MOST_FACETS} facets, got {len(facets)}."
        raise InputError(msg)
    known, codes = ~np.isnan(values), {}
    for name, levels in facets.items():
        column = np.asarray(levels)
        if column.shape != values.shape:
            msg = f"`facets` must have the shape of `scores` {values.shape}, got {column.shape} for"
            raise InputError(f"{msg} {name!r}.")
        distinct, codes[name] = np.unique(column[known], return_inverse=True)
        if len(distinct) < 2:
            msg = f"`facets` must have at least two levels each, got {len(distinct)} for {name!r}. "
            raise InputError(f"{msg}Leave it out: what it adds cannot be seen.")
    return values[known], codes


def _partitions(
    codes: Mapping[str, NDArray[np.intp]], n_scores: int
) -> list[tuple[tuple[str, ...], NDArray[np.intp]]]:
    """Partition scores by every set of facets and one by one; equal partitions are kept once.

    One that several sets of facets give is called by the largest: the runs of an item are of
    both.
    """
    found: dict[bytes, tuple[tuple[str, ...], NDArray[np.intp]]] = {}
    for size in range(1, len(codes) + 1):
        for names in combinations(codes, size):
            cell = _cross([codes[name] for name in names])
            found[cell.tobytes()] = (names, cell)
    single = np.arange(n_scores)
    found.setdefault(single.tobytes(), ((), single))
    return sorted(found.values(), key=lambda part: (not part[0], len(part[0])))


def _cross(columns: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Combine codes, and number the combinations by where they first occur."""
    cell = columns[0]
    for column in columns[1:]:
        cell = np.unique(cell * (int(column.max()) + 1) + column, return_inverse=True)[1]
    _, first, cell = np.unique(cell, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[cell]


def _sum_expected_squares(first: NDArray[np.intp], second: NDArray[np.intp]) -> float:
    """Sum the squares of (n_cd - n_c n_d / N) over the cells of two partitions."""
    n_scores = len(first)
    n_first, n_second = (np.bincount(cell).astype(np.float64) for cell in (first, second))
    key = first * len(n_second) + second
    distinct, both = np.unique(key, return_counts=True)
    product = n_first[distinct // len(n_second)] * n_second[distinct % len(n_second)]
    chance = float((n_first**2).sum()) * float((n_second**2).sum()) / n_scores**2
    return float(both @ both - 2 * (both @ product) / n_scores + chance)


def _size(
    facet: str, codes: Mapping[str, NDArray[Any]], components: Sequence[VarianceComponent]
) -> FacetSize:
    own = codes[facet]
    n_own = int(own.max()) + 1
    parents = [
        other
        for name, other in codes.items()
        if name != facet and int(_cross([own, other]).max()) + 1 == n_own
    ]
    n_levels = n_own / (int(_cross(parents).max()) + 1) if parents else float(n_own)
    share = sum(row.error_share for row in components if facet in row.facets)
    # the rest (1 - share) stays; share / k + 1 - share = 1/4 gives how many times as many
    n_to_halve = None
    if share > 0.75:
        n_to_halve = math.ceil(n_levels * share / (share - 0.75) - 1e-9)
    return FacetSize(facet=facet, n_levels=n_levels, n_to_halve=n_to_halve)


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
