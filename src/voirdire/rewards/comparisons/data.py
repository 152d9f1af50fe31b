"""Completions with their labels and declared pairs: stored as columns, hashed and selected."""

from __future__ import annotations

import hashlib
import json
import mmap
from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BytesIO
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, overload

import msgspec
import numpy as np

from voirdire._messages import shorten
from voirdire.records import Dropped, Item, Message
from voirdire.records.items import as_bytes
from voirdire.records.thresholds import get_thresholds
from voirdire.rubrics import hard_classes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from voirdire.records import Verdicts
    from voirdire.rewards.comparisons.order import LabelOrder
    from voirdire.rubrics import Rubric

__all__ = [
    "ComparisonData",
    "Completions",
    "ItemColumns",
    "drop_unknown_labels",
    "hash_comparisons",
    "labelled_by_class",
    "select_completions",
]

_MOST_BYTES_IN_MEMORY = 1 << 26
"""A longer column of texts is stored in a temporary file."""
_CHUNK_SIZE = 4_096
_DIGEST_BYTES = 32
_PADDING = b"\0"


class TextColumn:
    """Texts end to end: in memory while they are few, in a temporary file where they are many.

    Texts are appended first and read afterwards. The file has no name, and goes with the column.
    """

    def __init__(self) -> None:
        self._file: Any = BytesIO()
        self._ends = array("q", [0])

    def append(self, text: str) -> None:
        """Add a text; half a surrogate pair is kept as it is."""
        self._ends.append(self._ends[-1] + self._file.write(text.encode("utf-8", "surrogatepass")))
        if self._ends[-1] > _MOST_BYTES_IN_MEMORY and isinstance(self._file, BytesIO):
            memory, self._file = self._file, TemporaryFile()  # noqa: SIM115  # `_texts` closes it
            self._file.write(memory.getbuffer())

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, place: int) -> str:
        raw: bytes = self._texts[self._ends[place] : self._ends[place + 1]]
        return raw.decode("utf-8", "surrogatepass")

    @cached_property
    def _texts(self) -> Any:
        if isinstance(self._file, BytesIO):
            return self._file.getvalue()
        self._file.flush()
        texts = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        self._file.close()
        return texts


class ItemColumns:
    """Items in the order of their rows, without an object for each.

    A prompt is written once for all items of it that follow each other. Metadata are written as
    JSON, in which dates are text.
    """

    def __init__(self) -> None:
        self.ids = TextColumn()
        self._prompts = TextColumn()
        self._rest = TextColumn()
        self._prompt_of = array("q")
        self._last: tuple[Message, ...] | None = None
        self._last_read: tuple[int, tuple[Message, ...]] = (-1, ())

    def append(self, item: Item) -> None:
        """Add an item; its behavior and group are not kept."""
        if item.prompt != self._last:
            messages = [[one.role, one.content, *one.images] for one in item.prompt]
            self._prompts.append(json.dumps(messages, ensure_ascii=False))
            self._last = item.prompt
        self._prompt_of.append(len(self._prompts) - 1)
        self.ids.append(item.id)
        rest = [item.response, item.other, item.cluster, dict(item.metadata)]
        self._rest.append(json.dumps(rest, ensure_ascii=False, default=str, skipkeys=True))

    def make_item(self, row: int, *, behavior: str | None, group: str) -> Item:
        """Make the item of a row."""
        number = self._prompt_of[row]
        last, prompt = self._last_read
        if last != number:
            prompt = tuple(
                Message(role=role, content=content, images=tuple(images))
                for role, content, *images in json.loads(self._prompts[number])
            )
            self._last_read = (number, prompt)
        response, other, cluster, metadata = json.loads(self._rest[row])
        return Item(
            id=self.ids[row],
            prompt=prompt,
            response=response,
            other=other,
            behavior=behavior,
            group=group,
            cluster=cluster,
            metadata=metadata,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Completions(Sequence[Item]):
    """Some items of a store, in an order; each access makes its item.

    Attributes
    ----------
    store : ItemColumns
        Texts and metadata.
    rows : ndarray of int, shape (n_items,)
        Rows of `store`.
    behaviors : tuple of str or None
        Of each item.
    prompts : ndarray of int, shape (n_items,)
        Places in `prompt_names`.
    prompt_names : tuple of str
        The groups of the items.
    """

    store: ItemColumns
    rows: NDArray[np.int64]
    behaviors: tuple[str | None, ...]
    prompts: NDArray[np.int64]
    prompt_names: tuple[str, ...]

    def __len__(self) -> int:
        return self.rows.size

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...
    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        if isinstance(place, slice):
            return tuple(self[k] for k in range(*place.indices(len(self))))
        return self.store.make_item(
            int(self.rows[place]),
            behavior=self.behaviors[place],
            group=self.prompt_names[self.prompts[place]],
        )

    def id_at(self, place: int) -> str:
        """Give the id of an item, without its texts."""
        return self.store.ids[int(self.rows[place])]

    def select(self, places: NDArray[np.int64]) -> Completions:
        """Take some items, in this order; prompts are numbered anew."""
        numbers, prompts = np.unique(self.prompts[places], return_inverse=True)
        selected = replace(
            self,
            rows=self.rows[places],
            behaviors=tuple([self.behaviors[k] for k in places]),
            prompts=prompts.astype(np.int64),
            prompt_names=tuple([self.prompt_names[k] for k in numbers]),
        )
        if "content_hashes" in self.__dict__:
            selected.__dict__["content_hashes"] = self.content_hashes[places]
        return selected

    @cached_property
    def content_hashes(self) -> NDArray[np.uint8]:
        """The content hash of each item, a row of 32 bytes."""
        hashes = bytearray()
        for item in self:
            hashes += item.content_hash()
        return np.frombuffer(hashes, dtype=np.uint8).reshape(-1, _DIGEST_BYTES)


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonData:
    """Completions with their labels and base rewards, and declared pairs of a better and a worse.

    Attributes
    ----------
    items : sequence of Item
        The completions; ids are unique. Each access makes its item from columns of text, which are
        in a temporary file where they are more than 64 MiB; its metadata are those of JSON, in
        which dates are text.
    prompts : ndarray of int, shape (n_items,)
        Which prompt each completion answers, numbered from 0 in the order of the file.
    prompt_names : tuple of str
        What each prompt is called: the `group` of its items, or the id of its first.
    behaviors : tuple of str or None
        The behavior that each completion's prompt deserves.
    labels : tuple of str or None
        Completion labels, such as ``"ideal"``.
    base_rewards : ndarray of float, shape (n_items,)
        What another reward model gave; nan where it gave nothing.
    better, worse : ndarray of int, shape (n_pairs,)
        Places in `items` of pairs that the file itself declares (pairs, ranked lists); both of one
        prompt. Pairs that follow from labels are not among them: `pair_by_labels` makes those.
    margins : ndarray of float, shape (n_pairs,)
        How much better, where the file says so; nan where it does not.
    splits : tuple of str or None
        ``"train"`` or ``"test"`` where the file says so.
    dropped : tuple of Dropped
        Rows that were set aside, each with its reason and place.
    source : str
        What messages call it.
    data_hash : str
        ``sha256:`` and 64 digits over everything above but `dropped` and `source`.
    """

    items: Completions = field(repr=False)
    labels: tuple[str | None, ...] = field(repr=False)
    base_rewards: NDArray[np.float64] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    margins: NDArray[np.float64] = field(repr=False)
    splits: tuple[str | None, ...] = field(default=(), repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    source: str = "comparisons"
    data_hash: str = ""

    @property
    def prompts(self) -> NDArray[np.int64]:
        """Which prompt each completion answers."""
        return self.items.prompts

    @property
    def prompt_names(self) -> tuple[str, ...]:
        """What each prompt is called."""
        return self.items.prompt_names

    @property
    def behaviors(self) -> tuple[str | None, ...]:
        """The behavior that each completion's prompt deserves."""
        return self.items.behaviors


def hash_comparisons(data: ComparisonData) -> str:
    """Hash completions, labels, base rewards, splits and declared pairs.

    Rows without an id are named after their line, and prompts without a group after their first
    row. Neither enters the hash: a completion counts by its text, and a prompt by its completions.
    """
    splits = data.splits or (None,) * len(data.items)
    facts = zip(data.behaviors, data.labels, splits, data.base_rewards.tolist(), strict=True)
    digests = bytearray()
    contents = data.items.content_hashes
    for content, (behavior, label, split, base) in zip(contents, facts, strict=True):
        packed = as_bytes([behavior, label, split, None if np.isnan(base) else base])
        digests += hashlib.sha256(content.tobytes() + packed).digest()
    own = np.frombuffer(digests, dtype=np.uint8).reshape(-1, _DIGEST_BYTES)
    order = np.argsort(data.prompts, kind="stable")
    ends = np.cumsum(np.bincount(data.prompts, minlength=len(data.prompt_names)))
    hashes = bytearray()
    for begin, end in zip(np.append(0, ends)[:-1], ends, strict=True):
        hashes += _hash_set(own[order[begin:end]])
    prompts = np.frombuffer(hashes, dtype=np.uint8).reshape(-1, _DIGEST_BYTES)
    pairs = bytearray()
    for better, worse, margin in zip(data.better, data.worse, data.margins.tolist(), strict=True):
        pairs += _hash_set(prompts[data.prompts[better]][np.newaxis])
        pairs += own[better].tobytes() + own[worse].tobytes()
        pairs += as_bytes([None if np.isnan(margin) else margin]).ljust(_DIGEST_BYTES, _PADDING)
    all_pairs = np.frombuffer(pairs, dtype=np.uint8).reshape(-1, 4 * _DIGEST_BYTES)
    whole = _hash_set(prompts) + _hash_set(all_pairs, padding=_PADDING)
    return f"sha256:{hashlib.sha256(whole).hexdigest()}"


def _hash_set(rows: NDArray[np.uint8], *, padding: bytes = b"") -> bytes:
    """Hash rows of bytes as a sorted list in JSON, each without the padding at its end."""
    ordered = np.sort(np.ascontiguousarray(rows).view(f"V{rows.shape[1]}").ravel())
    digest = hashlib.sha256(b"[")
    for begin in range(0, ordered.size, _CHUNK_SIZE):
        part = [row.tobytes() for row in ordered[begin : begin + _CHUNK_SIZE]]
        if padding:
            part = [row.rstrip(padding) for row in part]
        digest.update((b"," if begin else b"") + msgspec.json.encode(part)[1:-1])
    digest.update(b"]")
    return digest.digest()


def select_completions(data: ComparisonData, is_kept: NDArray[np.bool_]) -> ComparisonData:
    """Select completions, with the declared pairs that have both sides among them.

    Prompts get new numbers, and the data a new hash. The list of dropped rows stays.
    """
    kept_places = np.flatnonzero(is_kept)
    places = np.cumsum(is_kept) - 1
    inside = is_kept[data.better] & is_kept[data.worse]
    selected = replace(
        data,
        items=data.items.select(kept_places),
        labels=tuple([data.labels[k] for k in kept_places]),
        base_rewards=data.base_rewards[kept_places],
        better=places[data.better[inside]],
        worse=places[data.worse[inside]],
        margins=data.margins[inside],
        splits=tuple([data.splits[k] for k in kept_places]) if data.splits else (),
    )
    return replace(selected, data_hash=hash_comparisons(selected))


def drop_unknown_labels(data: ComparisonData, orders: Mapping[str, LabelOrder]) -> ComparisonData:
    """Drop completions whose label is not in the order of their behavior, and list them.

    Labels under a behavior without an order stay. A completion that is in a declared pair is listed
    and kept, without its label. The same object is returned where no label is wrong.

    Examples
    --------
    >>> from voirdire.rewards.comparisons.order import LabelOrder
    >>> from voirdire.rewards.comparisons.reading import comparisons_of
    >>> rows = [
    ...     {"prompt": "Hi", "response": text, "label": label}
    ...     for text, label in [("Hello.", "good"), ("No.", "bad"), ("What?", "god")]
    ... ]
    >>> data = comparisons_of(rows, behavior="comply")
    >>> selected = drop_unknown_labels(data, {"comply": LabelOrder.of("good > bad")})
    >>> selected.labels, [(drop.item, drop.value) for drop in selected.dropped]
    (('good', 'bad'), [('comparisons:3', 'god')])
    """
    labels_of = {behavior: frozenset(order.labels) for behavior, order in orders.items()}
    wrong = [
        place
        for place, (label, behavior) in enumerate(zip(data.labels, data.behaviors, strict=True))
        if label is not None and behavior in labels_of and label not in labels_of[behavior]
    ]
    if not wrong:
        return data
    dropped = []
    labels = list(data.labels)
    for place in wrong:
        shown = ", ".join(shorten(name) for name in orders[f"{data.behaviors[place]}"].labels)
        dropped.append(
            Dropped(
                reason=f"unknown label: must be one of {shown}",
                source=data.source,
                item=data.items.id_at(place),
                value=shorten(data.labels[place] or ""),
            )
        )
        labels[place] = None
    is_kept = np.ones(len(data.items), dtype=bool)
    is_kept[wrong] = False
    is_kept[data.better] = is_kept[data.worse] = True
    listed = replace(data, labels=tuple(labels), dropped=(*data.dropped, *dropped))
    return select_completions(listed, is_kept)


def labelled_by_class(data: ComparisonData, judged: Verdicts, *, rubric: Rubric) -> ComparisonData:
    """Label completions by the class that holds under the threshold of the verdicts.

    Parameters
    ----------
    data : ComparisonData
        Completions; labels that they have are replaced.
    judged : Verdicts
        Verdicts, in any order.
    rubric : Rubric
        With the behaviors.

    Returns
    -------
    ComparisonData
        With a hash of its own. A label is None where no verdict is there, where one is missing on
        which the class depends, and where the behavior is none of the rubric's.

    Raises
    ------
    InputError
        If no verdict at all is on a proposition that classes depend on.

    Notes
    -----
    A proposition is true from the threshold on. The judge that labels is then also the one whose
    probabilities are weighed: such labels show whether a reward follows the judge's own classes,
    and not whether the judge is right.
    """
    places = {name: row for row, name in enumerate(judged.items)}
    ids = map(data.items.id_at, range(len(data.items)))
    rows = np.array([places.get(name, -1) for name in ids], dtype=np.int64)
    labels: list[str | None] = [None] * len(data.items)
    for behavior in rubric.behaviors:
        has_behavior = np.array([name == behavior.id for name in data.behaviors], dtype=bool)
        concerned = np.flatnonzero(has_behavior & (rows >= 0))
        if not concerned.size:
            continue
        probabilities = judged.probabilities[rows[concerned]]
        # a missing answer stays missing: it is no "false"
        limits = get_thresholds(judged.threshold, judged.questions)
        answers = np.where(np.isnan(probabilities), np.nan, probabilities >= limits)
        classes = hard_classes(rubric, behavior.id, labels=answers, propositions=judged.questions)
        for place, number in zip(concerned.tolist(), classes.tolist(), strict=True):
            labels[place] = None if number < 0 else behavior.classes[number].name
    labelled = replace(data, labels=tuple(labels))
    return replace(labelled, data_hash=hash_comparisons(labelled))
