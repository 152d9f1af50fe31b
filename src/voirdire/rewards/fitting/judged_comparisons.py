"""Comparisons with the verdicts on their completions: everything that a fit starts from."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import CyclicComparisonsWarning, InputError
from voirdire.records import Dropped
from voirdire.rewards.comparisons.data import drop_unknown_labels, labelled_by_class
from voirdire.rewards.comparisons.pairs import find_cycles
from voirdire.rewards.fitting.compared import (
    behavior_orders,
    behavior_pairs,
    compared_places,
    with_behaviors,
)
from voirdire.rewards.fitting.notes import fit_notes, refuse_nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire.records import Verdicts
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.comparisons.order import LabelOrder
    from voirdire.rewards.comparisons.pairs import PairSet, PreferenceCycles
    from voirdire.rewards.fitting.result import FitProgress
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rewards.fitting.verdicts import FitVerdicts
    from voirdire.rubrics import Rubric

__all__ = ["JudgedComparisons", "judged_comparisons"]


@dataclass(frozen=True, kw_only=True, eq=False)
class JudgedComparisons:
    """What is compared with what, and what the judge says of it.

    Attributes
    ----------
    data : ComparisonData
        The completions with the labels that count.
    orders : mapping of str to LabelOrder
        Which labels are better, by behavior.
    pairs : mapping of str to PairSet
        The comparisons, by behavior.
    told : Verdicts
        The verdicts.
    cycles : mapping of str to PreferenceCycles
        Comparisons that go in cycles, by behavior.
    notes : tuple of str
        What the reader should know.
    """

    data: ComparisonData = field(repr=False)
    orders: Mapping[str, LabelOrder]
    pairs: Mapping[str, PairSet] = field(repr=False)
    told: Verdicts
    cycles: Mapping[str, PreferenceCycles] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def judged_comparisons(
    data: ComparisonData,
    source: FitVerdicts,
    *,
    rubric: Rubric,
    settings: FitSettings,
    from_classes: bool,
    store: str | Path | None,
    retry_failures: bool,
    progress: Callable[[FitProgress], None] | None,
) -> JudgedComparisons:
    """Find out what is compared, and have that judged and nothing else.

    Parameters
    ----------
    data : ComparisonData
        As it was read.
    source : FitVerdicts
        Where verdicts come from.
    rubric : Rubric
        With behaviors.
    settings : FitSettings
        With orders and margins.
    from_classes : bool
        Whether labels are the classes that verdicts give; pairs that the file declares are then
        left out.
    store : str, path or None
        Where a language model's replies are kept.
    retry_failures : bool
        Whether a language model is called again where it failed.
    progress : callable or None
        Told how far judging is.

    Returns
    -------
    JudgedComparisons
        With at least one comparison, unless classes give none.

    Raises
    ------
    NoDataError
        If nothing can be compared.
    InputError
        If comparisons go in cycles, and the settings refuse that.

    Warns
    -----
    CyclicComparisonsWarning
        If comparisons go in cycles; before anything is judged.
    """
    data = with_behaviors(data, rubric)
    notes: tuple[str, ...] = ()
    if from_classes:
        data, notes = _without_declared(data)
    orders = behavior_orders(data, rubric, settings, from_classes=from_classes)
    pairs: Mapping[str, PairSet] = {}
    if not from_classes:
        data = drop_unknown_labels(data, orders)
        pairs = behavior_pairs(data, orders, settings)
    places = compared_places(data, pairs, from_classes=from_classes)
    if not places.size:
        refuse_nothing(data, notes=tuple(fit_notes(data, rubric, {})))
    cycles = _cycles(data, pairs, settings)
    told = source.on(
        data.items.select(places),
        store=store,
        retry_failures=retry_failures,
        progress=progress,
    )
    if from_classes:
        data = labelled_by_class(data, told, rubric=rubric)
        data = replace(data, dropped=(*data.dropped, *_without_class(data, told, places)))
        pairs = behavior_pairs(data, orders, settings)
    return JudgedComparisons(
        data=data, orders=orders, pairs=pairs, told=told, cycles=cycles, notes=notes
    )


def _cycles(
    data: ComparisonData, pairs: Mapping[str, PairSet], settings: FitSettings
) -> dict[str, PreferenceCycles]:
    """Find cycles, and say so before anything is paid for."""
    found = {behavior: find_cycles(data, own) for behavior, own in pairs.items()}
    for behavior, cycles in found.items():
        if not cycles.n_pairs:
            continue
        said = f"{data.source}, behavior {shorten(behavior)}: {cycles.in_words()}"
        if settings.refuse_cycles:
            msg = f"{said}, and `refuse_cycles` is true. Take one comparison of each cycle out."
            raise InputError(msg)
        warnings.warn(
            f"{said}: no weights rank all of a cycle right",
            CyclicComparisonsWarning,
            stacklevel=4,
        )
    return found


def _without_declared(data: ComparisonData) -> tuple[ComparisonData, tuple[str, ...]]:
    if not data.better.size:
        return data, ()
    none = np.zeros(0, dtype=np.int64)
    left = replace(data, better=none, worse=none, margins=np.zeros(0))
    note = (
        f"labels are the classes of the verdicts: {data.better.size:,} declared pairs are left out"
    )
    return left, (note,)


def _without_class(
    data: ComparisonData, told: Verdicts, places: NDArray[np.int64]
) -> Iterator[Dropped]:
    for place in places:
        if data.labels[place] is None:
            item = data.items[place].id
            why = told.missing.get(item, "no class is known to hold")
            yield Dropped(
                reason=f"it has no completion class: {why}", source=data.source, item=item
            )
