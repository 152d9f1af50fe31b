"""Completions with their labels and declared pairs: hashed, selected and labelled."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from voirdire._messages import shorten
from voirdire.records import Dropped, Item
from voirdire.records.items import as_bytes
from voirdire.records.thresholds import get_thresholds
from voirdire.rubrics import hard_classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from voirdire.records import Verdicts
    from voirdire.rewards.comparisons.order import LabelOrder
    from voirdire.rubrics import Rubric


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparisonData:
    """Completions with their labels and base rewards, and declared pairs of a better and a worse.

    Attributes
    ----------
    items : tuple of Item
        The completions; ids are unique. `behavior` is the one that the prompt deserves, and
        `group` what the prompt is called.
    prompts : ndarray of int, shape (n_items,)
        Which prompt each completion answers, numbered from 0 in the order of the file.
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

    items: tuple[Item, ...] = field(repr=False)
    prompts: NDArray[np.int64] = field(repr=False)
    labels: tuple[str | None, ...] = field(repr=False)
    base_rewards: NDArray[np.float64] = field(repr=False)
    better: NDArray[np.int64] = field(repr=False)
    worse: NDArray[np.int64] = field(repr=False)
    margins: NDArray[np.float64] = field(repr=False)
    splits: tuple[str | None, ...] = field(repr=False)
    dropped: tuple[Dropped, ...] = field(default=(), repr=False)
    source: str = "comparisons"
    data_hash: str = ""

    @property
    def behaviors(self) -> tuple[str | None, ...]:
        """The behavior that each completion's prompt deserves."""
        return tuple([item.behavior for item in self.items])


def hash_comparisons(data: ComparisonData) -> str:
    """Hash completions, labels, base rewards, splits and declared pairs.

    Rows without an id are named after their line, and prompts without a group after their first
    row. Neither enters the hash: a completion counts by its text, and a prompt by its completions.
    """
    own: list[bytes] = []
    by_prompt: dict[int, list[bytes]] = {}
    rows = zip(data.items, data.labels, data.splits, data.base_rewards.tolist(), strict=True)
    for prompt, (item, label, split, base) in zip(data.prompts.tolist(), rows, strict=True):
        facts = as_bytes([item.behavior, label, split, _none_if_nan(base)])
        own.append(hashlib.sha256(item.content_hash() + facts).digest())
        by_prompt.setdefault(prompt, []).append(own[-1])
    prompts = {prompt: _hash_list(sorted(digests)) for prompt, digests in by_prompt.items()}
    pairs = []
    declared = zip(data.better.tolist(), data.worse.tolist(), data.margins.tolist(), strict=True)
    for better, worse, margin in declared:
        prompt_hash = _hash_list([prompts[int(data.prompts[better])]])
        padded = as_bytes([_none_if_nan(margin)]).ljust(32, b"\0")
        pairs.append(prompt_hash + own[better] + own[worse] + padded)
    ordered = [pair.rstrip(b"\0") for pair in sorted(pairs)]
    whole = _hash_list(sorted(prompts.values())) + _hash_list(ordered)
    return f"sha256:{hashlib.sha256(whole).hexdigest()}"


def _hash_list(rows: Iterable[bytes]) -> bytes:
    return hashlib.sha256(msgspec.json.encode(rows)).digest()


def _none_if_nan(value: float) -> float | None:
    return None if np.isnan(value) else value


def select_completions(data: ComparisonData, is_kept: NDArray[np.bool_]) -> ComparisonData:
    """Select completions, with the declared pairs that have both sides among them.

    Prompts get new numbers, and the data a new hash. The list of dropped rows stays.
    """
    kept_places, places = np.flatnonzero(is_kept).tolist(), np.cumsum(is_kept) - 1
    inside = is_kept[data.better] & is_kept[data.worse]
    selected = replace(
        data,
        items=tuple([data.items[k] for k in kept_places]),
        prompts=np.unique(data.prompts[is_kept], return_inverse=True)[1],
        labels=tuple([data.labels[k] for k in kept_places]),
        base_rewards=data.base_rewards[is_kept],
        better=places[data.better[inside]],
        worse=places[data.worse[inside]],
        margins=data.margins[inside],
        splits=tuple([data.splits[k] for k in kept_places]),
    )
    return replace(selected, data_hash=hash_comparisons(selected))


def drop_unknown_labels(data: ComparisonData, orders: Mapping[str, LabelOrder]) -> ComparisonData:
    """Drop completions whose label is not in the order of their behavior, and list them.

    Labels under a behavior without an order stay. A completion that is in a declared pair is listed
    and kept, without its label. The same object is returned where no label is wrong.

    Examples
    --------
    >>> from voirdire.rewards.comparisons.order import LabelOrder
    >>> from voirdire.rewards.comparisons.reading import read_comparisons
    >>> rows = [
    ...     {"prompt": "Hi", "response": text, "label": label}
    ...     for text, label in [("Hello.", "good"), ("No.", "bad"), ("What?", "god")]
    ... ]
    >>> data = read_comparisons(rows, behavior="comply")
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
                item=data.items[place].id,
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
    rows = np.array([places.get(item.id, -1) for item in data.items], dtype=np.int64)
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
