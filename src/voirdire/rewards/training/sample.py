"""A random sample of a training run's completions, for people to label what the judge said."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import msgspec
import numpy as np

from voirdire._validation import check_count, shorten
from voirdire.errors import InputError, NoDataError
from voirdire.rewards.training.completions_reading import CompletionReader
from voirdire.rewards.training.run import TrainingRun
from voirdire.rewards.training.run_reading import read_training_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from voirdire.records import Item
    from voirdire.rewards.training.completions_reading import Completion

__all__ = ["PHASES", "SampleBy", "SampledItem", "TrainingSample", "sample_training_run"]

SampleBy: TypeAlias = Literal["behavior", "step"]
"""What strata are made of: the behavior of a prompt, and the phase of training."""

PHASES = ("early", "middle", "late")
"""Thirds of the steps."""


@dataclass(frozen=True, kw_only=True)
class SampledItem:
    """A completion that was drawn.

    Attributes
    ----------
    name : str
        What annotators know it by; says nothing of where it is from.
    completion : Completion
        The row of the run.
    item : Item
        What the judge was asked about.
    stratum : str
        Behavior and phase that it was drawn from.
    n_occurrences : int
        How often the same completion to the same prompt is in the run, at least 1.
    inclusion_probability : float
        Of being drawn, in (0, 1].
    """

    name: str
    completion: Completion = field(repr=False)
    item: Item = field(repr=False)
    stratum: str
    n_occurrences: int
    inclusion_probability: float


@dataclass(frozen=True, kw_only=True)
class TrainingSample:
    """Completions that were drawn from a training run.

    Attributes
    ----------
    run : TrainingRun
        Where they are from.
    items : tuple of SampledItem
        In a random order.
    strata : mapping of str to tuple of int
        By stratum how many different completions there are, and how many were drawn.
    n_completions : int
        Of the run; those that cannot be read are not among them.
    seed : int
        Gives the same sample again.
    dropped : tuple of str
        Lines that could not be read, and why.
    """

    run: TrainingRun = field(repr=False)
    items: tuple[SampledItem, ...] = field(repr=False)
    strata: Mapping[str, tuple[int, int]]
    n_completions: int
    seed: int
    dropped: tuple[str, ...] = ()

    def asked(self, item: SampledItem) -> tuple[str, ...]:
        """Name the propositions that are asked about an item: those its reward depends on."""
        return self.run.paying.get(item.completion.behavior or "", ())

    def as_dict(self) -> dict[str, Any]:
        """Give plain values for JSON, without texts."""
        return {
            "run": str(self.run.folder),
            "n_items": len(self.items),
            "n_completions": self.n_completions,
            "n_different": sum(n for n, _ in self.strata.values()),
            "strata": {
                name: {"n_different": n, "n_drawn": n_drawn}
                for name, (n, n_drawn) in self.strata.items()
            },
            "seed": self.seed,
            "dropped": list(self.dropped),
        }


@dataclass(slots=True)
class _Different:
    """A completion that differs from all others, and one of the places where it stands."""

    id: str
    stratum: str
    n: int = 1


def sample_training_run(
    run: TrainingRun | str | Path,
    *,
    n: int = 60,
    by: Sequence[SampleBy] = ("behavior", "step"),
    seed: int = 0,
) -> TrainingSample:
    """Draw completions of a training run at random.

    Parameters
    ----------
    run : TrainingRun, str or path
        The run, or its folder.
    n : int, optional
        How many different completions, at least 1; all of them where there are fewer.
    by : sequence of {"behavior", "step"}, optional
        What strata are made of; in each as many are drawn as its share of the run.
    seed : int, optional
        The same seed gives the same sample, at least 0.

    Returns
    -------
    TrainingSample
        Completions with the probability that each had of being drawn.

    Raises
    ------
    NoDataError
        If the run has no completion that can be read and is paid for.
    InputError
        If the run holds no completions, or an argument breaks its rule.

    Notes
    -----
    A policy that has learnt repeats itself. People label a text once, so what is drawn are
    different completions: the same text to the same prompt counts once, in the phase of one of
    its occurrences, chosen at random. How often it occurs is told with it.

    Strata get their share of `n` by the largest remainder, and at least one; every completion of
    a stratum has the same probability. Memory: some 200 bytes for each different completion.
    """
    check_count("n", n, minimum=1)
    check_count("seed", seed, minimum=0)
    for word in by:
        if word not in get_args(SampleBy):
            msg = (
                f"`by` must hold 'behavior' or 'step', got {shorten(word)!r}. "
                "Leave it out for both."
            )
            raise InputError(msg)
    found = run if isinstance(run, TrainingRun) else read_training_run(run)
    rng = np.random.default_rng(seed)
    reader = CompletionReader(found)
    known, n_completions = _different(found, reader, by=frozenset(by), rng=rng)
    if not known:
        msg = (
            f"`run` must hold completions of a behavior that its reward pays for, got none in "
            f"{str(found.folder)!r}."
        )
        raise NoDataError(msg)
    sizes = Counter(row.stratum for row in known)
    shares = _shares(sizes, n=n)
    chosen = _drawn(known, shares, rng=rng)
    items = _items(found, chosen, sizes=sizes, shares=shares, rng=rng)
    return TrainingSample(
        run=found,
        items=items,
        strata={name: (size, shares[name]) for name, size in sorted(sizes.items())},
        n_completions=n_completions,
        seed=seed,
        dropped=tuple(reader.dropped),
    )


def _different(
    run: TrainingRun, reader: CompletionReader, *, by: frozenset[str], rng: np.random.Generator
) -> tuple[list[_Different], int]:
    """List the different completions, each at one of its places, chosen at random."""
    phases = _phases(run)
    known: dict[bytes, _Different] = {}
    n_completions = 0
    for rows in reader.batches():
        for row, chance in zip(rows, rng.random(len(rows)).tolist(), strict=True):
            item = _item(run, row)
            if item is None or row.behavior not in run.paying:
                continue
            n_completions += 1
            parts = []
            if "behavior" in by:
                parts.append(str(row.behavior))
            if "step" in by:
                parts.append(phases.get(row.step, PHASES[-1]))
            stratum = "/".join(parts) or "all"
            was = known.setdefault(item.content_hash(), _Different(row.id, stratum, 0))
            was.n += 1
            if chance < 1 / was.n:  # each occurrence with the same probability
                was.id, was.stratum = row.id, stratum
    return list(known.values()), n_completions


def _phases(run: TrainingRun) -> dict[int, str]:
    """Say of each step in which third of the training it is."""
    n = len(run.steps)
    return {step.step: PHASES[place * len(PHASES) // n] for place, step in enumerate(run.steps)}


def _item(run: TrainingRun, row: Completion) -> Item | None:
    try:
        return row.item(row.id, judged=run.judged)
    except InputError:
        return None


def _shares(sizes: Mapping[str, int], *, n: int) -> dict[str, int]:
    """Share `n` out by size: the largest remainders round up, and no stratum goes empty."""
    total = sum(sizes.values())
    wanted = min(n, total)
    exact = {name: wanted * size / total for name, size in sizes.items()}
    found = {name: max(int(share), 1) for name, share in exact.items()}
    names = sorted(sizes, key=lambda name: (found[name] - exact[name], name))
    while sum(found.values()) < wanted:
        name = min(
            (name for name in names if found[name] < sizes[name]),
            key=lambda name: (found[name] - exact[name], name),
        )
        found[name] += 1
    while sum(found.values()) > max(wanted, len(sizes)):
        name = max(
            (name for name in names if found[name] > 1),
            key=lambda name: (found[name] - exact[name], name),
        )
        found[name] -= 1
    return found


def _drawn(
    known: Sequence[_Different], shares: Mapping[str, int], *, rng: np.random.Generator
) -> dict[str, _Different]:
    """Draw so many of each stratum; give them by the id of their place."""
    places: dict[str, list[int]] = {}
    for place, row in enumerate(known):
        places.setdefault(row.stratum, []).append(place)
    chosen: dict[str, _Different] = {}
    for stratum in sorted(places):
        for place in rng.choice(places[stratum], size=shares[stratum], replace=False).tolist():
            chosen[known[place].id] = known[place]
    return chosen


def _items(
    run: TrainingRun,
    chosen: Mapping[str, _Different],
    *,
    sizes: Mapping[str, int],
    shares: Mapping[str, int],
    rng: np.random.Generator,
) -> tuple[SampledItem, ...]:
    """Read the texts of what was drawn, and mix them."""
    rows = {
        row.id: row
        for batch in CompletionReader(run).batches()
        for row in batch
        if row.id in chosen
    }
    ids = sorted(rows)
    width = max(3, len(str(len(ids))))
    found = []
    for place, number in enumerate(rng.permutation(len(ids)).tolist(), start=1):
        row = rows[ids[number]]
        item = _item(run, row)
        if item is None:  # it was one a moment ago
            continue
        was = chosen[row.id]
        name = f"s{place:0{width}d}"
        found.append(
            SampledItem(
                name=name,
                completion=row,
                item=msgspec.structs.replace(item, id=name),
                stratum=was.stratum,
                n_occurrences=was.n,
                inclusion_probability=shares[was.stratum] / sizes[was.stratum],
            )
        )
    return tuple(found)
