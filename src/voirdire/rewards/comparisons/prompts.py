"""From completions to `ComparisonData`: which answer one prompt, and which cannot be used."""

from __future__ import annotations

import hashlib
import math
from array import array
from dataclasses import replace
from itertools import pairwise
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
    if known_behaviors is not None:
        rows.behaviors = [
            None if name is None else our_behavior(name, known_behaviors) for name in rows.behaviors
        ]
    book = _PromptBook(rows, behavior=behavior, known=known_behaviors)
    better, worse, margins, twice = _point_pairs(rows, book)
    alone = _drop_alone(book)
    dropped = [*rows.dropped, *book.drops(), *twice, *alone]
    dropped.sort(key=lambda drop: drop.line or 0)
    kept = np.flatnonzero(book.is_kept)
    if not kept.size:
        _refuse_empty(rows.source, dropped)
    # Prompts are numbered in the order of the file.
    numbers, firsts, prompts = np.unique(
        book.prompt_of[kept], return_index=True, return_inverse=True
    )
    order = np.argsort(firsts)
    prompts = np.argsort(order)[prompts]
    found = [book.prompts[numbers[k]] for k in order]
    names = tuple([prompt.name for prompt in found])
    behaviors = tuple([found[k].behavior for k in prompts])
    inside = book.is_kept[better] & book.is_kept[worse]
    places = np.cumsum(book.is_kept) - 1
    data = ComparisonData(
        items=Completions(
            store=rows.items, rows=kept, behaviors=behaviors, groups=prompts, names=names
        ),
        prompts=prompts,
        prompt_names=names,
        behaviors=behaviors,
        labels=tuple([rows.labels[k] for k in kept]),
        base_rewards=np.array(rows.base, dtype=np.float64)[kept],
        better=places[better[inside]],
        worse=places[worse[inside]],
        margins=margins[inside],
        splits=tuple([found[k].split for k in prompts]),
        dropped=tuple(dropped),
        source=rows.source,
    )
    return replace(data, data_hash=hash_comparisons(data))


def our_behavior(name: str, known: Collection[str]) -> str:
    """Call a behavior of the authors of rule-based rewards as the rubric does, where it has it."""
    ours = OUR_BEHAVIORS.get(name, name)
    return ours if name not in known and ours in known else name


class _PromptBook:
    """The prompts of rows, one after the other, and what was set aside on the way."""

    def __init__(
        self, rows: CompletionRows, *, behavior: str | None, known: Collection[str] | None
    ) -> None:
        self.rows, self.behavior, self.known = rows, behavior, known
        self.prompts: list[_Prompt] = []
        self.is_kept = np.zeros(len(rows), dtype=bool)
        self.prompt_of = np.full(len(rows), -1, dtype=np.int64)
        self.same_as = np.arange(len(rows))
        self._drops: list[tuple[int, Dropped]] = []
        has_prompt = np.frombuffer(rows.has_prompt, dtype=bool)
        for place in np.flatnonzero(~has_prompt).tolist():
            self._drop(place, "no prompt: name it, or the `group` of completions of one")
        places = np.flatnonzero(has_prompt)
        keys = np.array(rows.keys, dtype=np.int64)[places]
        places = places[np.argsort(keys, kind="stable")]
        keys.sort()
        starts = np.flatnonzero(np.diff(keys, prepend=~keys[:1]))
        for begin, end in pairwise(np.append(starts, places.size)):
            self._take_prompt(places[begin:end].tolist())

    def drops(self) -> list[Dropped]:
        """Give what was set aside, in the order of the rows that gave occasion to it."""
        self._drops.sort(key=lambda both: both[0])
        return [drop for _, drop in self._drops]

    def _take_prompt(self, places: Sequence[int]) -> None:
        rows, first = self.rows, places[0]
        named = (rows.behaviors[k] for k in places)
        splits = (rows.splits[k] for k in places)
        prompt = _Prompt(
            name=rows.groups[first] or rows.items.ids[first],
            messages=rows.messages[first],
            behavior=next((name for name in named if self._is_known(name)), self.behavior),
            split=next((split for split in splits if split is not None), None),
        )
        self.prompt_of[places] = len(self.prompts)
        self.prompts.append(prompt)
        seen: dict[int, int] = {}
        for place in places:
            reason, value = self._find_fault(place, prompt)
            if reason is not None:
                self._drop(place, reason, value=value)
                continue
            same = seen.setdefault(rows.responses[place], place)
            if same == place:
                self.is_kept[place] = True
            else:
                self._take_again(place, same)

    def _is_known(self, behavior: str | None) -> bool:
        return behavior is not None and (self.known is None or behavior in self.known)

    def _find_fault(self, place: int, prompt: _Prompt) -> tuple[str | None, str | None]:
        rows = self.rows
        behavior, split = rows.behaviors[place], rows.splits[place]
        if behavior is not None and not self._is_known(behavior):
            return f"unknown behavior: must be one of {_list(self.known or ())}", behavior
        if self.known is not None and prompt.behavior is None:
            return f"no behavior: must be one of {_list(self.known)}", None
        if behavior not in (None, prompt.behavior):
            return f"two behaviors of one prompt: {prompt.behavior!r} came first", behavior
        if rows.messages[place] != prompt.messages:
            return f"two prompts in one group: that of {shorten(prompt.name)!r} came first", None
        if split not in (None, prompt.split):
            return f"two splits of one prompt: {prompt.split!r} came first", split
        return None, None

    def _take_again(self, place: int, first: int) -> None:
        """Deal with a completion that the prompt has already.

        What a row declares of it is said of the first one. Two different labels are a
        contradiction, of which neither side is taken.
        """
        rows = self.rows
        label, other = rows.labels[place], rows.labels[first]
        if label != other and None not in (label, other):
            self._drop(place, self._name_same(first, with_label=True), value=label)
            if self.is_kept[first]:
                reason = self._name_same(place, with_label=True)
                self._drop(first, reason, value=other, at=place)
                self.is_kept[first] = False
            return
        if not self.is_kept[first]:
            self._drop(place, self._name_same(first))
            return
        self.same_as[place] = first
        rows.labels[first] = other or label
        if math.isnan(rows.base[first]):
            rows.base[first] = rows.base[place]
        if not rows.in_pair[place]:
            self._drop(place, self._name_same(first))

    def _drop(
        self, place: int, reason: str, *, value: str | None = None, at: int | None = None
    ) -> None:
        drop = Dropped(
            reason=reason,
            source=self.rows.source,
            line=self.rows.lines[place],
            item=self.rows.items.ids[place],
            value=None if value is None else shorten(value),
        )
        self._drops.append((place if at is None else at, drop))

    def _name_same(self, place: int, *, with_label: bool = False) -> str:
        label = f" with label {shorten(self.rows.labels[place] or '')!r}" if with_label else ""
        name = shorten(self.rows.items.ids[place])
        return f"duplicated completion: {name!r} is the same{label}"


def _point_pairs(
    rows: CompletionRows, book: _PromptBook
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], list[Dropped]]:
    """Point pairs at the completions that stand for both; a pair of one with itself is none."""
    stated = np.array(rows.better, dtype=np.int64)
    better = book.same_as[stated]
    worse = book.same_as[np.array(rows.worse, dtype=np.int64)]
    differs = better != worse
    reason = "a pair must be of two completions, got the same text twice"
    dropped = [
        Dropped(
            reason=reason, source=rows.source, line=rows.lines[place], item=rows.items.ids[place]
        )
        for place in stated[~differs].tolist()
    ]
    return better[differs], worse[differs], np.array(rows.margins)[differs], dropped


def _drop_alone(book: _PromptBook) -> list[Dropped]:
    """Leave out prompts with one completion: their number, and the first of them."""
    kept = np.flatnonzero(book.is_kept)
    counts = np.bincount(book.prompt_of[kept], minlength=len(book.prompts))
    alone = kept[counts[book.prompt_of[kept]] == 1]
    book.is_kept[alone] = False
    if not alone.size:
        return []
    rows, first = book.rows, int(alone[0])
    counted = "1 prompt" if alone.size == 1 else f"{alone.size:,} prompts"
    reason = f"nothing to compare with: {counted} with one completion, this the first"
    return [
        Dropped(
            reason=reason, source=rows.source, line=rows.lines[first], item=rows.items.ids[first]
        )
    ]


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
