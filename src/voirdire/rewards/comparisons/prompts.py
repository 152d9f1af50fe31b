"""Groups completions by prompt into `ComparisonData`, and drops those that cannot be used."""

from __future__ import annotations

import hashlib
import math
from array import array
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import msgspec
import numpy as np

from voirdire._messages import shorten
from voirdire.errors import NoDataError
from voirdire.records import Dropped, Item
from voirdire.records.items import as_bytes
from voirdire.rewards.comparisons.data import (
    ComparisonData,
    Completions,
    ItemColumns,
    hash_comparisons,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = [
    "Completion",
    "CompletionRows",
    "assemble_comparisons",
    "hash_prompt",
]


class Completion(msgspec.Struct, kw_only=True):
    """A completion of a row.

    Attributes
    ----------
    item : Item
        With the prompt.
    group : str or None
        The group that its row names itself.
    label, split, behavior : str or None
        As the row says.
    base : float
        The base reward; nan for none.
    line : int
        Its line.
    in_pair : bool
        Whether its row declares that it is better or worse than another.
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

    Prompts and responses are compared by 64-bit hashes, with a new seed in every process. Two
    different ones of n share a hash with a chance of n²/2⁶⁵: one in 300,000 for ten million.
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.items = ItemColumns()
        self.dropped: list[Dropped] = []
        self.better, self.worse, self.margins = array("q"), array("q"), array("d")
        # Hashes of the group or prompt, of the messages before the response, and of the response.
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
                group = one.item.group  # the completions of the row are of one prompt
                key = hash((None, group))
            self.keys.append(key)
            self.messages.append(messages)
            self.responses.append(hash(one.item.response))
            self.has_prompt.append(group is not None or bool(one.item.prompt))
            self.in_pair.append(one.in_pair)
            self.base.append(one.base)
            self.lines.append(one.line)
            self.groups.append(self._intern(group))
            self.labels.append(self._intern(one.label))
            self.splits.append(self._intern(one.split))
            self.behaviors.append(self._intern(one.behavior))
            self.items.append(one.item)

    def make_drop(self, place: int, reason: str, *, value: str | None = None) -> Dropped:
        """Make the record of a completion that is dropped."""
        return Dropped(
            reason=reason,
            source=self.source,
            line=self.lines[place],
            item=self.items.ids[place],
            value=None if value is None else shorten(value),
        )

    def describe_repeat(self, place: int, *, with_label: bool = False) -> str:
        """Describe a completion by the one that it repeats."""
        label = f" with label {shorten(self.labels[place] or '')!r}" if with_label else ""
        return f"duplicated completion: {shorten(self.items.ids[place])!r} is the same{label}"

    def _intern(self, name: str | None) -> str | None:
        """Return one object for all equal names, so that memory stays flat."""
        return None if name is None else self._names.setdefault(name, name)


class _Prompt(NamedTuple):
    name: str
    messages: int
    behavior: str | None
    split: str | None


def assemble_comparisons(rows: CompletionRows, *, behavior: str | None) -> ComparisonData:
    """Put completions together by prompt.

    `behavior` is that of prompts that name none. Prompts of fewer than two completions are left
    out.

    Raises
    ------
    NoDataError
        If no prompt has two completions.
    """
    prompt_of, prompts = _find_prompts(rows, behavior=behavior)
    is_kept = np.ones(len(rows), dtype=bool)
    drops: list[tuple[int, Dropped]] = []
    for place, number in enumerate(prompt_of.tolist()):
        reason, value = _find_fault(rows, place, prompts[number])
        if reason is not None:
            is_kept[place] = False
            drops.append((place, rows.make_drop(place, reason, value=value)))
    same_as = _merge_repeats(rows, prompt_of, is_kept, drops)
    drops.sort(key=lambda both: both[0])
    declared = np.array(rows.better, dtype=np.int64)
    better, worse = same_as[declared], same_as[np.array(rows.worse, dtype=np.int64)]
    reason = "a pair must be of two completions, got the same text twice"
    equal_pairs = [rows.make_drop(place, reason) for place in declared[better == worse].tolist()]
    single = _drop_single(rows, prompt_of, is_kept)
    dropped = [*rows.dropped, *(drop for _, drop in drops), *equal_pairs, *single]
    dropped.sort(key=lambda drop: drop.line or 0)
    if not is_kept.any():
        _refuse_empty(rows.source, dropped)
    # Prompts are numbered in the order of the file.
    places = np.flatnonzero(is_kept)
    numbers, firsts, new_numbers = np.unique(
        prompt_of[places], return_index=True, return_inverse=True
    )
    order = np.argsort(firsts)
    new_numbers = np.argsort(order)[new_numbers]
    kept_prompts = [prompts[number] for number in numbers[order].tolist()]
    inside = is_kept[better] & is_kept[worse] & (better != worse)
    new_places = np.cumsum(is_kept) - 1
    data = ComparisonData(
        items=Completions(
            store=rows.items,
            rows=places,
            behaviors=tuple([kept_prompts[k].behavior for k in new_numbers]),
            prompts=new_numbers,
            prompt_names=tuple([prompt.name for prompt in kept_prompts]),
        ),
        labels=tuple([rows.labels[k] for k in places]),
        base_rewards=np.array(rows.base, dtype=np.float64)[places],
        better=new_places[better[inside]],
        worse=new_places[worse[inside]],
        margins=np.array(rows.margins)[inside],
        splits=tuple([kept_prompts[k].split for k in new_numbers]),
        dropped=tuple(dropped),
        source=rows.source,
    )
    return replace(data, data_hash=hash_comparisons(data))


def _find_prompts(
    rows: CompletionRows, *, behavior: str | None
) -> tuple[NDArray[np.int64], list[_Prompt]]:
    """Give each prompt a number; its first behavior and split hold for all its completions."""
    keys = np.array(rows.keys, dtype=np.int64)
    _, firsts, prompt_of = np.unique(keys, return_index=True, return_inverse=True)
    behaviors: dict[int, str] = {}
    splits: dict[int, str] = {}
    for number, name, split in zip(prompt_of.tolist(), rows.behaviors, rows.splits, strict=True):
        if name is not None:
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


def _find_fault(rows: CompletionRows, place: int, prompt: _Prompt) -> tuple[str | None, str | None]:
    """Find why a completion cannot be used, and the value that is wrong."""
    behavior, split = rows.behaviors[place], rows.splits[place]
    if not rows.has_prompt[place]:
        return "no prompt: name it, or the `group` of completions of one", None
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
    """Keep one of the equal completions of a prompt, and return the place of the kept one for each.

    Labels and pairs of the others go to the kept one. Two different labels contradict each other:
    neither completion is kept.
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
            reason = rows.describe_repeat(first, with_label=True)
            drops.append((place, rows.make_drop(place, reason, value=label)))
            if is_kept[first]:
                is_kept[first] = False
                reason = rows.describe_repeat(place, with_label=True)
                drops.append((place, rows.make_drop(first, reason, value=other)))
            continue
        if is_kept[first]:
            same_as[place] = first
            rows.labels[first] = other or label
            if math.isnan(rows.base[first]):
                rows.base[first] = rows.base[place]
        if not (is_kept[first] and rows.in_pair[place]):
            drops.append((place, rows.make_drop(place, rows.describe_repeat(first))))
    return same_as


def _drop_single(
    rows: CompletionRows, prompt_of: NDArray[np.int64], is_kept: NDArray[np.bool_]
) -> list[Dropped]:
    """Drop prompts with one completion; list their number and the first of them."""
    counts = np.bincount(prompt_of[is_kept], minlength=1)
    places = np.flatnonzero(is_kept)[counts[prompt_of[is_kept]] == 1]
    is_kept[places] = False
    if not places.size:
        return []
    counted = "1 prompt" if places.size == 1 else f"{places.size:,} prompts"
    reason = f"nothing to compare with: {counted} with one completion, this the first"
    return [rows.make_drop(int(places[0]), reason)]


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


def hash_prompt(item: Item) -> str:
    """Hash the prompt of an item, to recognise it in another file.

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
    Only the messages count, not the group, the behavior or the file, so that the same prompt has
    the same hash everywhere. Two prompts of a million share 16 digits with a probability
    below :math:`10^{-7}`.

    Examples
    --------
    >>> from voirdire.records import Item, Message
    >>> asked = (Message(role="user", content="How do I pick a lock?"),)
    >>> first = Item(id="a", prompt=asked, response="I can't help with that.")
    >>> other = Item(id="b", prompt=asked, response="With patience.", group="locks")
    >>> hash_prompt(first) == hash_prompt(other)
    True
    >>> len(hash_prompt(first))
    16
    """
    content: list[object] = [[message.role, message.content] for message in item.prompt]
    content = content or [item.group if item.group is not None else item.id]
    return hashlib.sha256(as_bytes(content)).hexdigest()[:16]
