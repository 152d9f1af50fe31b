"""Counts and sums over verdicts, which add up over parts of any size."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from voirdire.records.verdicts import BehaviorClasses, Verdicts

__all__ = ["ClassTally", "Tally", "add_tallies", "tally_of"]

T = TypeVar("T", int, float)


@dataclass(frozen=True, kw_only=True)
class ClassTally:
    """Sums over the items that one behavior concerns."""

    n_items: int
    n_known: int
    n_hard: tuple[int, ...]
    n_probable: int
    probability: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Sums over items: one entry per proposition, and one `ClassTally` per behavior."""

    n_items: int
    n_failed: tuple[int, ...]
    n_true: tuple[int, ...]
    probability: tuple[float, ...]
    classes: tuple[ClassTally, ...]


def tally_of(batch: Verdicts) -> Tally:
    """Sum over a batch."""
    failed = np.isnan(batch.probabilities)
    return Tally(
        n_items=len(batch.items),
        n_failed=_counts(failed.sum(axis=0)),
        n_true=_counts(batch.labels.sum(axis=0)),
        probability=_sums(np.where(failed, 0.0, batch.probabilities).sum(axis=0)),
        classes=tuple(_class_tally(row) for row in batch.completion_classes),
    )


def add_tallies(tallies: Iterable[Tally]) -> Tally:
    """Add up at least one tally, in their order."""
    return reduce(_added, tallies)


def _added(one: Tally, other: Tally) -> Tally:
    return Tally(
        n_items=one.n_items + other.n_items,
        n_failed=_plus(one.n_failed, other.n_failed),
        n_true=_plus(one.n_true, other.n_true),
        probability=_plus(one.probability, other.probability),
        classes=tuple(
            ClassTally(
                n_items=first.n_items + second.n_items,
                n_known=first.n_known + second.n_known,
                n_hard=_plus(first.n_hard, second.n_hard),
                n_probable=first.n_probable + second.n_probable,
                probability=_plus(first.probability, second.probability),
            )
            for first, second in zip(one.classes, other.classes, strict=True)
        ),
    )


def _class_tally(row: BehaviorClasses) -> ClassTally:
    known = row.hard >= 0
    probable = ~np.isnan(row.probabilities).any(axis=1)
    return ClassTally(
        n_items=int(row.rows.size),
        n_known=int(known.sum()),
        n_hard=_counts(np.bincount(row.hard[known], minlength=len(row.classes))),
        n_probable=int(probable.sum()),
        probability=_sums(row.probabilities[probable].sum(axis=0)),
    )


def _plus(one: Sequence[T], other: Sequence[T]) -> tuple[T, ...]:
    return tuple(a + b for a, b in zip(one, other, strict=True))


def _counts(values: Iterable[int]) -> tuple[int, ...]:
    return tuple(int(value) for value in values)


def _sums(values: Iterable[float]) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
