"""What a power simulation is asked: which sizes of study, which test, how often."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
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

_LABELS_AT_ONCE = 32 * _ITEMS_AT_ONCE
"""Their labels: more than 32 annotators make blocks smaller."""

_MOST_LABELS = 10**8
"""Labels of one study, which is simulated as a whole."""

_MOST_SIZES = 1_000
_MOST_FIGURES = 10**6
"""Sizes by annotators by ε of one study: each takes as much memory as a hundred labels."""


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
        sizes, annotators = _counts("n_items", n_items), _counts("n_annotators", n_annotators)
        _check_memory(sizes, annotators, n_epsilons=len(test.epsilons))
        return PowerGrid(
            sizes=sizes,
            annotators=annotators,
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
        n_items, n_annotators = self.sizes[-1], self.annotators[-1]
        step = min(_ITEMS_AT_ONCE // n_items, _LABELS_AT_ONCE // (n_items * n_annotators))
        step = max(1, step)
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
        given = tuple(islice(value, _MOST_SIZES + 1))
    if not given:
        msg = f"`{name}` must hold at least one number, got {shorten(value)}."
        raise InputError(msg)
    if len(given) > _MOST_SIZES:
        msg = f"`{name}` must hold at most {_MOST_SIZES:,} numbers, got more."
        raise InputError(msg)
    return tuple(sorted({check_count(name, count, minimum=2) for count in given}))


def _check_memory(sizes: tuple[int, ...], annotators: tuple[int, ...], *, n_epsilons: int) -> None:
    """Refuse studies that are too large to be simulated one at a time."""
    if sizes[-1] * annotators[-1] > _MOST_LABELS:
        msg = (
            f"`n_items` times `n_annotators` must be at most {_MOST_LABELS:,}, got "
            f"{shorten(f'{sizes[-1]:,} times {annotators[-1]:,}')}. Ask about smaller studies."
        )
        raise InputError(msg)
    if len(sizes) * annotators[-1] * n_epsilons > _MOST_FIGURES:
        msg = (
            f"`n_items` must hold at most {_MOST_FIGURES:,} numbers times `n_annotators` times "
            f"ε, got {len(sizes):,} times {annotators[-1]:,} times {n_epsilons:,}. "
            "Ask about fewer at once."
        )
        raise InputError(msg)
