"""From completions to `ComparisonData`: which answer one prompt, and which cannot be used."""

from __future__ import annotations

import hashlib
import math
from array import array
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import msgspec
import numpy as np

from voirdire._validation import shorten
from voirdire.errors import NoDataError
from voirdire.records import Dropped, Item
from voirdire.records.items import as_bytes
from voirdire.rewards.comparisons.data import (
    ComparisonData,
    Completions,
    ItemColumns,
    hash_comparisons,
)
from voirdire.rubrics.rbr_layout import OUR_BEHAVIORS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["Completion", "CompletionRows", "assemble_comparisons", "our_behavior", "prompt_hash"]


class Completion(msgspec.Struct, kw_only=True):
    """A completion of a row.

    Attributes
    ----------
    item : Item
        With the prompt.
    group : str or None
        The group that its row names, not one that was made for it.
    label, split, behavior : str or None
        As the row says.
    base : float
        The base reward; nan for none.
    line : int
        Where it stood.
    in_pair : bool
        Whether its row declares what it is better or worse than.
    """

    item: Item
    group: str | None
    label: str | None = None
    split: str | None = None
    behavior: str | None = None
    base: float = math.nan
    line: int = 0
    in_pair: bool = False


class CompletionRows:
    """The completions and declared pairs of a source as columns, and the rows that were set aside.

    Prompts and responses are told apart by 64-bit hashes, seeded anew in every process. Two
    different ones of n share a hash with a chance of n²/2⁶⁵: one in 300,000 for ten million.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.items = ItemColumns()
        self.dropped: list[Dropped] = []
        self.better, self.worse, self.margins = array("q"), array("q"), array("d")
        # What puts completions together, what they say before the response, and the response.
        self.keys, self.messages, self.responses = array("q"), array("q"), array("q")
        self.has_prompt, self.in_pair = bytearray(), bytearray()
        self.base, self.lines = array("d"), array("q")
        self.groups: list[str | None] = []
        self.labels: list[str | None] = []
        self.splits: list[str | None] = []
        self.behaviors: list[str | None] = []
        self._names: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self.lines)

    def append(
        self, completions: Iterable[Completion], pairs: Iterable[tuple[int, int, float]] = ()
    ) -> None:
        """Add the completions of a row; its pairs count them from 0."""
        first = len(self)
        for better, worse, margin in pairs:
            self.better.append(first + better)
            self.worse.append(first + worse)
            self.margins.append(margin)
        for one in completions:
            messages = hash(one.item.prompt)
            group = one.group
            if group is not None:
                key = hash(group)
            elif one.item.prompt:
                key = messages
            else:
                group = one.item.group  # made for the row: its completions are of one prompt
                key = hash((None, group))
            self.keys.append(key)
            self.messages.append(messages)
            self.responses.append(hash(one.item.response))
            self.has_prompt.append(group is not None or bool(one.item.prompt))
            self.in_pair.append(one.in_pair)
            self.base.append(one.base)
            self.lines.append(one.line)
            self.groups.append(self._share(group))
            self.labels.append(self._share(one.label))
            self.splits.append(self._share(one.split))
            self.behaviors.append(self._share(one.behavior))
            self.items.append(one.item)

    def drop(self, place: int, reason: str, *, value: str | None = None) -> Dropped:
        """Make the record of a completion that cannot be used."""
        return Dropped(
            reason=reason,
            source=self.source,
            line=self.lines[place],
            item=self.items.ids[place],
            value=None if value is None else shorten(value),
        )

    def name_same(self, place: int, *, with_label: bool = False) -> str:
        """Say which completion another one repeats."""
        label = f" with label {shorten(self.labels[place] or '')!r}" if with_label else ""
        return f"duplicated completion: {shorten(self.items.ids[place])!r} is the same{label}"

    def _share(self, name: str | None) -> str | None:
        """Give one object for all names that are the same."""
        return None if name is None else self._names.setdefault(name, name)


class _Prompt(NamedTuple):
    name: str
    messages: int
    behavior: str | None
    split: str | None


def assemble_comparisons(
    rows: CompletionRows, *, behavior: str | None, known_behaviors: Collection[str] | None
) -> ComparisonData:
    """Put completions together by prompt.

    `behavior` is that of prompts that name none; `known_behaviors` are all that there are, and None
    takes any. Prompts of fewer than two completions are left out.

    Raises
    ------
    NoDataError
        If no prompt has two completions.
    """
    known = known_behaviors
    if known is not None:
        rows.behaviors = [
            None if name is None else our_behavior(name, known) for name in rows.behaviors
        ]
    prompt_of, prompts = _find_prompts(rows, behavior=behavior, known=known)
    is_kept = np.ones(len(rows), dtype=bool)
    drops: list[tuple[int, Dropped]] = []
    for place, number in enumerate(prompt_of.tolist()):
        reason, value = _find_fault(rows, place, prompts[number], known=known)
        if reason is not None:
            is_kept[place] = False
            drops.append((place, rows.drop(place, reason, value=value)))
    same_as = _merge_repeats(rows, prompt_of, is_kept, drops)
    drops.sort(key=lambda both: both[0])
    stated = np.array(rows.better, dtype=np.int64)
    better, worse = same_as[stated], same_as[np.array(rows.worse, dtype=np.int64)]
    reason = "a pair must be of two completions, got the same text twice"
    twice = [rows.drop(place, reason) for place in stated[better == worse].tolist()]
    alone = _drop_alone(rows, prompt_of, is_kept)
    dropped = [*rows.dropped, *(drop for _, drop in drops), *twice, *alone]
    dropped.sort(key=lambda drop: drop.line or 0)
    if not is_kept.any():
        _refuse_empty(rows.source, dropped)
    # Prompts are numbered in the order of the file.
    kept = np.flatnonzero(is_kept)
    numbers, firsts, numbered = np.unique(prompt_of[kept], return_index=True, return_inverse=True)
    order = np.argsort(firsts)
    numbered = np.argsort(order)[numbered]
    found = [prompts[number] for number in numbers[order].tolist()]
    inside = is_kept[better] & is_kept[worse] & (better != worse)
    places = np.cumsum(is_kept) - 1
    data = ComparisonData(
        items=Completions(
            store=rows.items,
            rows=kept,
            behaviors=tuple([found[k].behavior for k in numbered]),
            prompts=numbered,
            prompt_names=tuple([prompt.name for prompt in found]),
        ),
        labels=tuple([rows.labels[k] for k in kept]),
        base_rewards=np.array(rows.base, dtype=np.float64)[kept],
        better=places[better[inside]],
        worse=places[worse[inside]],
        margins=np.array(rows.margins)[inside],
        splits=tuple([found[k].split for k in numbered]),
        dropped=tuple(dropped),
        source=rows.source,
    )
    return replace(data, data_hash=hash_comparisons(data))


def our_behavior(name: str, known: Collection[str]) -> str:
    """Call a behavior of the authors of rule-based rewards as the rubric does, where it has it."""
    ours = OUR_BEHAVIORS.get(name, name)
    return ours if name not in known and ours in known else name


def _find_prompts(
    rows: CompletionRows, *, behavior: str | None, known: Collection[str] | None
) -> tuple[NDArray[np.int64], list[_Prompt]]:
    """Give each prompt a number; what a row says first of its prompt holds for all of it."""
    keys = np.array(rows.keys, dtype=np.int64)
    _, firsts, prompt_of = np.unique(keys, return_index=True, return_inverse=True)
    behaviors: dict[int, str] = {}
    splits: dict[int, str] = {}
    for number, name, split in zip(prompt_of.tolist(), rows.behaviors, rows.splits, strict=True):
        if name is not None and (known is None or name in known):
            behaviors.setdefault(number, name)
        if split is not None:
            splits.setdefault(number, split)
    prompts = [
        _Prompt(
            name=rows.groups[first] or rows.items.ids[first],
            messages=rows.messages[first],
            behavior=behaviors.get(number, behavior),
            split=splits.get(number),
        )
        for number, first in enumerate(firsts.tolist())
    ]
    return prompt_of, prompts


def _find_fault(
    rows: CompletionRows, place: int, prompt: _Prompt, *, known: Collection[str] | None
) -> tuple[str | None, str | None]:
    """Say why a completion cannot be used, with the value that is wrong."""
    behavior, split = rows.behaviors[place], rows.splits[place]
    if not rows.has_prompt[place]:
        return "no prompt: name it, or the `group` of completions of one", None
    if known is not None and behavior is not None and behavior not in known:
        return f"unknown behavior: must be one of {_list(known)}", behavior
    if known is not None and prompt.behavior is None:
        return f"no behavior: must be one of {_list(known)}", None
    if behavior not in (None, prompt.behavior):
        return f"two behaviors of one prompt: {prompt.behavior!r} came first", behavior
    if rows.messages[place] != prompt.messages:
        return f"two prompts in one group: that of {shorten(prompt.name)!r} came first", None
    if split not in (None, prompt.split):
        return f"two splits of one prompt: {prompt.split!r} came first", split
    return None, None


def _merge_repeats(
    rows: CompletionRows,
    prompt_of: NDArray[np.int64],
    is_kept: NDArray[np.bool_],
    drops: list[tuple[int, Dropped]],
) -> NDArray[np.int64]:
    """Keep a completion that its prompt has several times once; tell which one stands for each.

    What a row declares of it is said of the first one. Two different labels are a contradiction, of
    which neither side is taken.
    """
    same_as, places = np.arange(len(rows)), np.flatnonzero(is_kept)
    keys = np.column_stack([prompt_of, np.array(rows.responses, dtype=np.int64)])
    places = places[np.lexsort(keys[places].T)]
    is_new = np.append(True, (keys[places[1:]] != keys[places[:-1]]).any(axis=1))[: places.size]
    firsts = places[is_new][np.cumsum(is_new) - 1]
    for place, first in zip(places[~is_new].tolist(), firsts[~is_new].tolist(), strict=True):
        is_kept[place] = False
        label, other = rows.labels[place], rows.labels[first]
        if label != other and None not in (label, other):
            reason = rows.name_same(first, with_label=True)
            drops.append((place, rows.drop(place, reason, value=label)))
            if is_kept[first]:
                is_kept[first] = False
                reason = rows.name_same(place, with_label=True)
                drops.append((place, rows.drop(first, reason, value=other)))
            continue
        if is_kept[first]:
            same_as[place] = first
            rows.labels[first] = other or label
            if math.isnan(rows.base[first]):
                rows.base[first] = rows.base[place]
        if not (is_kept[first] and rows.in_pair[place]):
            drops.append((place, rows.drop(place, rows.name_same(first))))
    return same_as


def _drop_alone(
    rows: CompletionRows, prompt_of: NDArray[np.int64], is_kept: NDArray[np.bool_]
) -> list[Dropped]:
    """Leave out prompts with one completion: their number, and the first of them."""
    counts = np.bincount(prompt_of[is_kept], minlength=1)
    alone = np.flatnonzero(is_kept)[counts[prompt_of[is_kept]] == 1]
    is_kept[alone] = False
    if not alone.size:
        return []
    counted = "1 prompt" if alone.size == 1 else f"{alone.size:,} prompts"
    reason = f"nothing to compare with: {counted} with one completion, this the first"
    return [rows.drop(int(alone[0]), reason)]


def _refuse_empty(source: str, dropped: Sequence[Dropped]) -> NoReturn:
    first = next(iter(dropped), None)
    why = ""
    if first is not None:
        more = f", and {len(dropped) - 1:,} more set aside" if len(dropped) > 1 else ""
        why = f" ({shorten(first.place())}: {first.reason}{more})"
    msg = (
        f"{source}: must hold at least one prompt with two completions, got none{why}. Give "
        "completions of one prompt the same `prompt`, or the same `group`."
    )
    raise NoDataError(msg)


def _list(known: Collection[str]) -> str:
    return ", ".join(shorten(name) for name in known) or "none"


def prompt_hash(item: Item) -> str:
    """Hash the prompt of an item, so that it is known again in another file.

    Parameters
    ----------
    item : Item
        A completion.

    Returns
    -------
    str
        16 hexadecimal digits: the start of the SHA-256 over the JSON ``[[role, content], …]`` of
        its messages. An item without a prompt goes by its `group`, and without one by its id.

    Notes
    -----
    Only the messages count, not the group, the behavior or the file, so that the same prompt is
    found again wherever it stands. Two prompts of a million share 16 digits with a probability
    below :math:`10^{-7}`.

    Examples
    --------
    >>> from voirdire.records import Item, Message
    >>> asked = (Message(role="user", content="How do I pick a lock?"),)
    >>> first = Item(id="a", prompt=asked, response="I can't help with that.")
    >>> other = Item(id="b", prompt=asked, response="With patience.", group="locks")
    >>> prompt_hash(first) == prompt_hash(other)
    True
    >>> len(prompt_hash(first))
    16
    """
    told = [[message.role, message.content] for message in item.prompt]
    named = as_bytes(told if told else [item.group if item.group is not None else item.id])
    return hashlib.sha256(named).hexdigest()[:16]
