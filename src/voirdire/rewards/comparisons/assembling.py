"""From completions to `ComparisonData`: prompts numbered, pairs pointed at what is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import msgspec
import numpy as np

from voirdire._validation import shorten
from voirdire.errors import NoDataError
from voirdire.records import Dropped
from voirdire.rewards.comparisons.data import ComparisonData
from voirdire.rewards.comparisons.data_hash import hash_of_comparisons
from voirdire.rewards.comparisons.prompts import PromptBook

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Item
    from voirdire.rewards.comparisons.completions import Completion, Gathered

__all__ = ["assembled"]


def assembled(
    found: Gathered, *, behavior: str | None, known_behaviors: Collection[str] | None
) -> ComparisonData:
    """Put completions together by prompt.

    Parameters
    ----------
    found : Gathered
        What the rows hold.
    behavior : str or None
        Of prompts that name none.
    known_behaviors : collection of str or None
        The behaviors that there are; None takes any.

    Returns
    -------
    ComparisonData
        Prompts of at least two completions each.

    Raises
    ------
    NoDataError
        If no prompt has two completions.
    """
    completions = found.completions
    book = PromptBook(completions, source=found.source, behavior=behavior, known=known_behaviors)
    pairs, twice = _pairs(found, book)
    alone = _alone(book, source=found.source)
    dropped = [*found.dropped, *book.dropped, *twice, *alone]
    dropped.sort(key=lambda drop: drop.line or 0)
    kept = [k for k, prompt in enumerate(book.prompt_of) if prompt is not None]
    if not kept:
        _refuse_empty(found.source, dropped)
    places = {place: number for number, place in enumerate(kept)}
    items, prompts, names = _items(book, kept)
    inside = [pair for pair in pairs if pair[0] in places and pair[1] in places]
    data = ComparisonData(
        items=items,
        prompts=prompts,
        prompt_names=names,
        behaviors=tuple(item.behavior for item in items),
        labels=tuple(completions[k].label for k in kept),
        base_rewards=np.array([completions[k].base for k in kept], dtype=np.float64),
        better=np.array([places[pair[0]] for pair in inside], dtype=np.int64),
        worse=np.array([places[pair[1]] for pair in inside], dtype=np.int64),
        margins=np.array([pair[2] for pair in inside], dtype=np.float64),
        splits=_splits(book, kept),
        dropped=tuple(dropped),
        source=found.source,
    )
    return replace(data, data_hash=hash_of_comparisons(data))


def _pairs(found: Gathered, book: PromptBook) -> tuple[list[tuple[int, int, float]], list[Dropped]]:
    """Point pairs at the completions that stand for both; a pair of one with itself is none."""
    pairs, dropped = [], []
    for better, worse, margin in found.pairs:
        ends = book.same_as.get(better, better), book.same_as.get(worse, worse)
        if ends[0] != ends[1]:
            pairs.append((*ends, margin))
            continue
        one = found.completions[better]
        reason = "a pair must be of two completions, got the same text twice"
        dropped.append(Dropped(reason=reason, source=found.source, line=one.line, item=one.item.id))
    return pairs, dropped


def _alone(book: PromptBook, *, source: str) -> list[Dropped]:
    """Leave out prompts with one completion: their number, and the first of them."""
    counts: dict[int, int] = {}
    for prompt in book.prompt_of:
        if prompt is not None:
            counts[id(prompt)] = counts.get(id(prompt), 0) + 1
    alone = [
        k
        for k, prompt in enumerate(book.prompt_of)
        if prompt is not None and counts[id(prompt)] == 1
    ]
    for k in alone:
        book.prompt_of[k] = None
    if not alone:
        return []
    first: Completion = book.completions[alone[0]]
    counted = "1 prompt" if len(alone) == 1 else f"{len(alone):,} prompts"
    reason = f"nothing to compare with: {counted} with one completion, this the first"
    return [Dropped(reason=reason, source=source, line=first.line, item=first.item.id)]


def _items(
    book: PromptBook, kept: Sequence[int]
) -> tuple[tuple[Item, ...], NDArray[np.int64], tuple[str, ...]]:
    """Give items the behavior and the group of their prompt, and number the prompts."""
    numbers: dict[int, int] = {}
    names: list[str] = []
    items, prompts = [], []
    for k in kept:
        prompt, item = book.prompt_of[k], book.completions[k].item
        if prompt is None:
            continue
        if id(prompt) not in numbers:
            numbers[id(prompt)] = len(names)
            names.append(prompt.name)
        prompts.append(numbers[id(prompt)])
        items.append(msgspec.structs.replace(item, behavior=prompt.behavior, group=prompt.name))
    return tuple(items), np.array(prompts, dtype=np.int64), tuple(names)


def _splits(book: PromptBook, kept: Sequence[int]) -> tuple[str | None, ...]:
    prompts = [book.prompt_of[k] for k in kept]
    return tuple(None if prompt is None else prompt.split for prompt in prompts)


def _refuse_empty(source: str, dropped: Sequence[Dropped]) -> NoReturn:
    first = next(iter(dropped), None)
    why = ""
    if first is not None:
        why = f" ({len(dropped)} set aside, the first {shorten(first.place())}: {first.reason})"
    msg = (
        f"{source}: must hold at least one prompt with two completions, got none{why}. Give "
        "completions of one prompt the same `prompt`, or the same `group`."
    )
    raise NoDataError(msg)
