"""What a power simulation is asked: which sizes of study, which test, how often."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._types import EpsilonMode, Method
from voirdire._validation import check_choice, check_count, check_epsilons, check_fraction, shorten
from voirdire.errors import InputError
from voirdire.stats.figures import TestSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["DEFAULT_EPSILONS", "DEFAULT_SIZES", "PowerGrid"]

DEFAULT_SIZES = (30, 40, 50, 60, 75, 100, 125, 150, 200, 250, 300, 400)
"""Items of a study to look at where nothing else is said."""

DEFAULT_EPSILONS = (0.1, 0.15, 0.2)
"""Margins for crowds, skilled annotators and experts."""

_ITEMS_AT_ONCE = 1 << 17
"""Items of all studies that are simulated together; bounds memory, and fixes what a seed gives."""


@dataclass(frozen=True, kw_only=True)
class PowerGrid:
    """Sizes of study, the test, and the simulation.

    Attributes
    ----------
    sizes, annotators : tuple of int
        Numbers of items and of annotators, ascending.
    test : TestSettings
        The test of every study.
    wanted_power : float
        In (0, 1).
    n_simulations : int
        Studies per number of annotators.
    seed : int
        Of the simulation.
    """

    sizes: tuple[int, ...]
    annotators: tuple[int, ...]
    test: TestSettings
    wanted_power: float
    n_simulations: int
    seed: int

    @staticmethod
    def of(
        *,
        n_items: int | Sequence[int],
        n_annotators: int | Sequence[int],
        epsilon: float | Sequence[float],
        epsilon_mode: EpsilonMode,
        method: Method,
        false_discovery_rate: float,
        min_items: int,
        wanted_power: float,
        n_simulations: int,
        seed: int,
        clustered: bool = False,
    ) -> PowerGrid:
        """Check what was asked; the rules are those of `voirdire.power`."""
        check_choice("method", method, Method)
        if method == "exact" and clustered:
            msg = "`method` must be 't' with clusters, got 'exact'."
            raise InputError(msg)
        test = TestSettings(
            epsilons=np.asarray(tuple(dict.fromkeys(check_epsilons(epsilon)))),
            mode=check_choice("epsilon_mode", epsilon_mode, EpsilonMode),
            method=method,
            design="clustered" if clustered else "items",
            false_discovery_rate=check_fraction("false_discovery_rate", false_discovery_rate),
            min_items=check_count("min_items", min_items, minimum=2),
        )
        return PowerGrid(
            sizes=_counts("n_items", n_items),
            annotators=_counts("n_annotators", n_annotators),
            test=test,
            wanted_power=check_fraction("wanted_power", wanted_power),
            n_simulations=check_count("n_simulations", n_simulations, minimum=1),
            seed=check_count("seed", seed, minimum=0),
        )

    @property
    def epsilons(self) -> tuple[float, ...]:
        """The margins, in the order given."""
        return tuple(self.test.epsilons.tolist())

    def blocks(self) -> Iterator[tuple[int, int]]:
        """Split the simulations: number of the first, and how many, per block."""
        step = max(1, _ITEMS_AT_ONCE // self.sizes[-1])
        for start in range(0, self.n_simulations, step):
            yield start, min(step, self.n_simulations - start)

    def as_settings(self) -> dict[str, Any]:
        """Return what was asked as plain values."""
        return {
            "n_items": list(self.sizes),
            "n_annotators": list(self.annotators),
            "epsilon": list(self.epsilons),
            "epsilon_mode": self.test.mode,
            "method": self.test.method,
            "false_discovery_rate": self.test.false_discovery_rate,
            "min_items": self.test.min_items,
            "wanted_power": self.wanted_power,
            "n_simulations": self.n_simulations,
            "seed": self.seed,
        }


def _counts(name: str, value: int | Sequence[int]) -> tuple[int, ...]:
    """Return whole numbers of at least 2, ascending and each once."""
    given: tuple[Any, ...] = (value,)
    if isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0:
        given = tuple(value)
    if not given:
        msg = f"`{name}` must hold at least one number, got {shorten(value)}."
        raise InputError(msg)
    return tuple(sorted({check_count(name, count, minimum=2) for count in given}))
