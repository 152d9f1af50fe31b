"""What comparisons leave open, in words: weights that nothing tells apart, or nothing tells of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["Undetermined", "undetermined"]

_ZERO = 1e-7
"""Coordinates of directions below this are rounding."""

_MOST_NAMED = 3
"""Directions of more features are counted, not spelt out."""

_MOST_SAID = 5
"""So many sentences about a few features; others are counted too."""


@dataclass(frozen=True, kw_only=True)
class Undetermined:
    """What comparisons leave open.

    Attributes
    ----------
    features : tuple of str
        Features of which no comparison tells anything: both sides always have the same value.
    directions : tuple of str
        Sentences about features whose weights can be shifted against each other at will.
    """

    features: tuple[str, ...] = ()
    directions: tuple[str, ...] = ()


def undetermined(
    loose: NDArray[np.float64], *, gauge: NDArray[np.float64], names: Sequence[str]
) -> Undetermined:
    """Put directions of weights into words.

    Parameters
    ----------
    loose : ndarray of float, shape (n_loose, n_features)
        Orthonormal directions of which no comparison tells anything, orthogonal to the gauge.
    gauge : ndarray of float, shape (n_gauge, n_features)
        Directions that are known to be open, and not worth a word.
    names : sequence of str
        Of the features.

    Returns
    -------
    Undetermined
        Single features first; what remains in the directions that name the fewest features that
        elimination finds.

    Notes
    -----
    A feature that never differs lies in the span of loose directions and gauge together, not
    always in that of the loose ones: a class that never occurs is in the gauge too.
    """
    if not loose.size:
        return Undetermined()
    basis = np.linalg.qr(np.concatenate([gauge, loose]).T)[0].T
    is_dead = np.linalg.norm(basis, axis=0) > 1.0 - _ZERO
    dead = tuple(names[place] for place in np.flatnonzero(is_dead).tolist())
    if is_dead.all():
        return Undetermined(features=dead)
    alive = np.flatnonzero(~is_dead)
    known = gauge[:, alive]
    rest = _eliminated(np.concatenate([known, loose[:, alive]]), n_first=gauge.shape[0])
    rest = np.array([_sparsest(row, known) for row in rest])
    return Undetermined(
        features=dead,
        directions=_sentences(
            [[names[place] for place in alive[np.flatnonzero(row)].tolist()] for row in rest]
        ),
    )


def _eliminated(rows: NDArray[np.float64], *, n_first: int) -> NDArray[np.float64]:
    """Reduce rows so that each has a coordinate of its own; leave the first ones out.

    The first rows take their coordinates first, so that the others name none of those.
    """
    left = rows.copy()
    taken: list[int] = []
    for row in range(left.shape[0]):
        place = int(np.argmax(np.abs(left[row])))
        if abs(left[row, place]) <= _ZERO:
            left[row] = 0.0
            continue
        left[row] /= left[row, place]
        others = np.arange(left.shape[0]) != row
        left[others] -= np.outer(left[others, place], left[row])
        left[np.abs(left) <= _ZERO] = 0.0
        taken.append(row)
    return left[[row for row in taken if row >= n_first]]


def _sparsest(row: NDArray[np.float64], gauge: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add of the gauge what leaves the fewest features.

    That a class is the same as a proposition is then said of these two, and not of the proposition
    and all other classes.
    """
    best = row
    for known in gauge:
        for place in np.flatnonzero(known):
            other = row - row[place] / known[place] * known
            other[np.abs(other) <= _ZERO] = 0.0
            if np.count_nonzero(other) < np.count_nonzero(best):
                best = other
    return best


def _sentences(named: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Say each direction of few features, and count the others."""
    short = sorted((names for names in named if len(names) <= _MOST_NAMED), key=len)[:_MOST_SAID]
    said = [f"no comparison tells the weights of {_listed(names)} apart" for names in short]
    long = [names for names in named if names not in short]
    if long:
        concerned = len({name for names in long for name in names})
        more = " more" if short else ""
        ways = f"1{more} way" if len(long) == 1 else f"{len(long)}{more} ways"
        said.append(
            f"the weights of {concerned} features can be shifted against each other in "
            f"{ways} that no comparison tells apart: too few completions differ in their "
            "verdicts"
        )
    return tuple(said)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
