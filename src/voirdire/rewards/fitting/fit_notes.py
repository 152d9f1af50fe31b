"""What the reader of a whole fit should know, beside what is said of each behavior."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from voirdire.records import Dropped
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.comparisons.pairs import PairSet
    from voirdire.rewards.fitting.parts import BehaviorPart
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rubrics import Rubric

__all__ = ["fit_notes", "refuse_nothing", "uses_base"]


def uses_base(data: ComparisonData, pairs: Mapping[str, PairSet], settings: FitSettings) -> bool:
    """Tell whether base rewards are part of the differences.

    Parameters
    ----------
    data : ComparisonData
        The completions.
    pairs : mapping of str to PairSet
        Comparisons by behavior.
    settings : FitSettings
        May say so.

    Returns
    -------
    bool
        What the settings say, else whether a completion that is compared has a base reward.

    Raises
    ------
    InputError
        If they are wanted, and no completion has one.
    """
    ends = [side for row in pairs.values() for side in (row.better, row.worse)]
    found = bool(ends) and bool(np.isfinite(data.base_rewards[np.concatenate(ends)]).any())
    if settings.use_base and not found:
        msg = (
            f"`use_base` must be false for {data.source}, got true: no completion that is compared "
            "has a base reward. Name its column."
        )
        raise InputError(msg)
    return found if settings.use_base is None else settings.use_base


def fit_notes(
    data: ComparisonData, rubric: Rubric, parts: Mapping[str, BehaviorPart]
) -> Iterator[str]:
    """Say which behaviors get no weights, which prompts do nothing for them, and why.

    Parameters
    ----------
    data : ComparisonData
        The completions, with the labels that were used.
    rubric : Rubric
        With the behaviors.
    parts : mapping of str to BehaviorPart
        What they were fitted on.

    Yields
    ------
    str
        One sentence each.
    """
    for row in rubric.behaviors:
        part = parts.get(row.id)
        if part is not None and part.train.n_pairs:
            yield from _idle_prompts(data, part, row.id)
            continue
        if part is not None:
            why = (
                "all of its comparisons are marked test"
                if part.test is not None and part.test.n_pairs
                else "none of its comparisons has all verdicts and base rewards"
            )
        else:
            why = _why_no_pairs(data, row.id)
        yield f"behavior {row.id} gets no weights: {why}"


def refuse_nothing(
    data: ComparisonData, *, dropped: tuple[Dropped, ...] = (), notes: tuple[str, ...] = ()
) -> NoReturn:
    """Say that nothing can be compared, and what stood in the way first."""
    first = (*data.dropped, *dropped)[:1]
    why = "".join(
        f" The first of {len(data.dropped) + len(dropped):,} set aside, {row.place()}"
        f"{'' if row.item is None else f', {shorten(row.item)!r}'}: {row.reason}."
        for row in first
    )
    said = f" {notes[0][0].upper()}{notes[0][1:]}." if notes and not first else ""
    msg = (
        f"{data.source}: must hold at least one comparison, got none.{why}{said} A comparison "
        "is of two completions of one prompt; labels, or a pair, say which one is better."
    )
    raise NoDataError(msg)


def _idle_prompts(data: ComparisonData, part: BehaviorPart, behavior: str) -> Iterator[str]:
    """Count the prompts that are in no comparison, so that nobody takes them for evidence."""
    own = np.array([name == behavior for name in data.behaviors], dtype=bool)
    n_all = np.unique(data.prompts[own]).size
    n_used = part.train.n_prompts + (0 if part.test is None else part.test.n_prompts)
    if n_used < n_all:
        yield (
            f"behavior {behavior}: {n_all - n_used:,} of {n_all:,} prompts are in no comparison: "
            "none of their completions is better than another, or verdicts or base rewards are "
            "missing"
        )


def _why_no_pairs(data: ComparisonData, behavior: str) -> str:
    places = [place for place, own in enumerate(data.behaviors) if own == behavior]
    if not places:
        return "no completion is of it"
    labels = {data.labels[place] for place in places} - {None}
    if not labels:
        return "none of its completions has a label or is in a pair"
    if len(labels) == 1:
        return f"all of its completions have the label {shorten(next(iter(labels)))!r}"
    return "no prompt has two completions of which one is better"
