"""Where figures of a training began and where they are: means of its first and its last steps."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from voirdire.reporting.plots.training_sheet import mean_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["Move", "edge_size", "move_of", "moves_of"]

_EDGE = 10


@dataclass(frozen=True, kw_only=True)
class Move:
    """How far a figure went.

    Attributes
    ----------
    name : str
        Of the figure.
    start, end : float
        Means over the first and the last steps; nan where undefined.
    """

    name: str
    start: float
    end: float

    @property
    def change(self) -> float:
        """End less start; nan where either is undefined."""
        return self.end - self.start


def edge_size(n_steps: int) -> int:
    """Say how many steps are a beginning or an end: ten, or half of a shorter run.

    Parameters
    ----------
    n_steps : int
        Of the run.

    Returns
    -------
    int
        At least 1.
    """
    return max(1, min(_EDGE, n_steps // 2))


def move_of(name: str, values: Sequence[float]) -> Move:
    """Compare the beginning of a column with its end.

    Parameters
    ----------
    name : str
        Of the figure.
    values : sequence of float
        By step, nan where undefined; at least one.

    Returns
    -------
    Move
        Means over what is defined.
    """
    size = edge_size(len(values))
    return Move(name=name, start=mean_of(values[:size]), end=mean_of(values[-size:]))


def moves_of(columns: Mapping[str, Sequence[float]], *, first: Collection[str] = ()) -> list[Move]:
    """Sort columns by how far they went.

    Parameters
    ----------
    columns : mapping of str to sequence of float
        By name.
    first : collection of str, optional
        Names that come before the others.

    Returns
    -------
    list of Move
        Those that went farthest first, undefined ones last.
    """
    moves = [move_of(name, values) for name, values in columns.items()]
    return sorted(moves, key=lambda move: (move.name not in first, _rank(move)))


def _rank(move: Move) -> float:
    return -round(abs(move.change), 12) if math.isfinite(move.change) else math.inf
