"""Defines what is probed, with how many items, and when a bias counts as found."""

from __future__ import annotations

from collections.abc import Sequence  # noqa: TC003  # the command line reads the annotation
from dataclasses import dataclass

from voirdire._validation import check_count, check_fraction
from voirdire.errors import InputError

__all__ = ["ProbeSettings"]


@dataclass(frozen=True, kw_only=True)
class ProbeSettings:
    """What is probed, with how many items, and when a bias counts as found.

    Attributes
    ----------
    only : sequence of str
        Families or probes to run; all where none is named.
    without : sequence of str
        Families or probes to leave out.
    n_items : int or None
        Items to draw, at least 2, by default 100; None takes all.
    n_runs : int
        How often the items as they are are asked about, at least 1. The runs after the first are
        the noise floor.
    author : str or None
        The column of the items that names the model which wrote the response.
    own : str or None
        The judge's own model in that column.
    translation_of : str or None
        The column that names, for a translated item, the id of its original.
    quality : sequence of str
        Questions whose value says how good a response is: a worse version must get a lower one. By
        default scales, pairwise questions and the proposition fully_complies.
    confidence_level : float
        Of the intervals, in (0, 1).
    false_discovery_rate : float
        At which biases are found, in (0, 1).
    least_effect : float
        The smallest shift of a probability, or share of flips beyond those under a line about
        nothing, that counts as a bias, in [0, 1).
    n_swaps : int
        Random swaps for each p-value, at least 99.
    seed : int
        Of the sample of items and of the swaps, at least 0.

    Raises
    ------
    InputError
        If a value is outside its range, or `author` or `own` is given without the other.
    """

    only: Sequence[str] = ()
    without: Sequence[str] = ()
    n_items: int | None = 100
    n_runs: int = 2
    author: str | None = None
    own: str | None = None
    translation_of: str | None = None
    quality: Sequence[str] = ()
    confidence_level: float = 0.95
    false_discovery_rate: float = 0.05
    least_effect: float = 0.02
    n_swaps: int = 9_999
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every value."""
        if self.n_items is not None:
            check_count("n_items", self.n_items, minimum=2)
        check_count("n_runs", self.n_runs, minimum=1)
        check_count("n_swaps", self.n_swaps, minimum=99)
        check_count("seed", self.seed, minimum=0)
        check_fraction("confidence_level", self.confidence_level)
        check_fraction("false_discovery_rate", self.false_discovery_rate)
        if not 0 <= self.least_effect < 1:
            msg = f"`least_effect` must be in [0, 1), got {self.least_effect!r}."
            raise InputError(msg)
        if (self.author is None) != (self.own is None):
            msg = (
                f"`author` and `own` must be given together, got {self.author!r} and "
                f"{self.own!r}. Name the column, and the judge's own model in it."
            )
            raise InputError(msg)
