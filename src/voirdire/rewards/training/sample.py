"""A random sample of a training run's completions, for people to label what the judge said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import polars as pl

from voirdire._validation import check_count, shorten
from voirdire.errors import InputError, NoDataError
from voirdire.rewards.training.completion_rows import (
    ITEM_COLUMNS,
    item_of_row,
    texts_of_row,
)
from voirdire.rewards.training.run import TrainingRun
from voirdire.rewards.training.run_reading import completion_frames, read_training_run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from voirdire.records import Item

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
    completion : mapping of str to object
        The row of the run by column; `prompt` and `response` are text or messages.
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
    completion: Mapping[str, Any] = field(repr=False)
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
        What could not be read, and why.
    """

    run: TrainingRun = field(repr=False)
    items: tuple[SampledItem, ...] = field(repr=False)
    strata: Mapping[str, tuple[int, int]]
    n_completions: int
    seed: int
    dropped: tuple[str, ...] = ()

    def asked(self, item: SampledItem) -> tuple[str, ...]:
        """Name the propositions that are asked about an item: those its reward depends on."""
        return self.run.paying.get(item.completion["behavior"], ())

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
        If an argument breaks its rule.

    Notes
    -----
    A policy that has learnt repeats itself. People label a text once, so what is drawn are
    different completions: the same response to the same prompt counts once, in the phase of one
    of its occurrences, chosen at random. How often it occurs is told with it.

    Strata get their share of `n` by the largest remainder, and at least one; every completion of
    a stratum has the same probability. Memory: some 100 bytes for each completion, and the texts
    of what is drawn.
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
    rows = _read_places(found, by=frozenset(by))
    if rows.is_empty():
        msg = (
            f"`run` must hold completions of a behavior that its reward pays for, got none in "
            f"{str(found.folder)!r}."
        )
        raise NoDataError(msg)
    different = (
        rows[rng.permutation(rows.height)]  # so that the first of equal ones is any of them
        .group_by("key", maintain_order=True)
        .agg(pl.first("item"), pl.first("stratum").cast(pl.String), n_occurrences=pl.len())
    )
    sizes = dict(different["stratum"].value_counts().sort("stratum").iter_rows())
    shares = _shares(sizes, n=n)
    drawn = pl.concat(
        different.filter(stratum=name)[rng.choice(size, size=shares[name], replace=False)]
        for name, size in sizes.items()
    ).with_columns(
        inclusion_probability=pl.col("stratum").replace_strict(
            {name: shares[name] / size for name, size in sizes.items()}
        )
    )
    return TrainingSample(
        run=found,
        items=_read_items(found, drawn, rng=rng),
        strata={name: (size, shares[name]) for name, size in sizes.items()},
        n_completions=rows.height,
        seed=seed,
        dropped=found.dropped,
    )


def _read_places(run: TrainingRun, *, by: frozenset[str]) -> pl.DataFrame:
    """List the completions that people can label: what each says as a hash, and its stratum."""
    n = len(run.steps)
    phases = {step.step: PHASES[k * len(PHASES) // n] for k, step in enumerate(run.steps)}
    phase = pl.col("step").replace_strict(phases, default=PHASES[-1], return_dtype=pl.String)
    parts = [pl.col("behavior")] * ("behavior" in by) + [phase] * ("step" in by)
    said = {
        "item": pl.col("item").hash(),  # names of a million completions are large
        "key": pl.struct(ITEM_COLUMNS).hash(),
        "stratum": pl.concat_str(parts or [pl.lit("all")], separator="/").cast(pl.Categorical),
    }
    found = []
    for frame in completion_frames(run, columns=["item", "step", "missing", *ITEM_COLUMNS]):
        rows = frame.filter(
            pl.col("behavior").is_in(list(run.paying)),
            pl.any_horizontal(pl.col("response", "messages").is_not_null()),
        )
        unpaid = rows.filter(pl.all_horizontal(pl.col("messages", "missing").is_not_null()))
        no_items = [
            row["item"]
            for row in unpaid.iter_rows(named=True)
            if item_of_row(row, name="", judged=run.judged) is None
        ]
        found.append(rows.filter(~pl.col("item").is_in(no_items)).select(**said))
    return pl.concat(found)


def _shares(sizes: Mapping[str, int], *, n: int) -> dict[str, int]:
    """Share `n` out by size: the largest remainders round up, and no stratum goes empty."""
    wanted = min(n, sum(sizes.values()))
    exact = {name: wanted * size / sum(sizes.values()) for name, size in sizes.items()}
    found = {name: max(int(share), 1) for name, share in exact.items()}
    while gap := max(wanted, len(sizes)) - sum(found.values()):
        step = 1 if gap > 0 else -1
        name = min(
            (name for name in sorted(found) if 1 <= found[name] + step <= sizes[name]),
            key=lambda name: step * (found[name] - exact[name]),
        )
        found[name] += step
    return found


def _read_items(
    run: TrainingRun, drawn: pl.DataFrame, *, rng: np.random.Generator
) -> tuple[SampledItem, ...]:
    """Read the texts of what was drawn, and mix them."""
    wanted = drawn.drop("key").rename({"item": "hash"})
    rows = [
        row
        for frame in completion_frames(run)
        for row in frame.with_columns(hash=pl.col("item").hash())
        .join(wanted, on="hash", maintain_order="left")
        .iter_rows(named=True)
    ]
    width = max(3, len(str(len(rows))))
    found = []
    for place, number in enumerate(rng.permutation(len(rows)).tolist(), start=1):
        row = rows[number]
        name = f"s{place:0{width}d}"
        item = item_of_row(row, name=name, judged=run.judged)
        if item is None:  # it was one a moment ago
            continue
        about = {column: row.pop(column) for column in wanted.columns}
        del about["hash"]
        prompt, response = texts_of_row(row)
        completion = row | {"prompt": prompt, "response": response}
        found.append(SampledItem(name=name, completion=completion, item=item, **about))
    return tuple(found)
