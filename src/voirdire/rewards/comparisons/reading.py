"""Reads comparisons from a file, rows, a data frame, items, or comparisons."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_args

import msgspec
import numpy as np

from voirdire._messages import shorten
from voirdire._validation import change_fields
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import RowError, got
from voirdire.io.items import ItemReader, SeenIds, name_of, open_items
from voirdire.io.rows import open_frame, read_given_rows, table_rows
from voirdire.io.shapes import ID_COLUMNS
from voirdire.records import Dropped, Item
from voirdire.rewards.comparisons.data import ComparisonData, hash_comparisons
from voirdire.rewards.settings import ComparisonColumn, ComparisonLayout

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire._types import Judged
    from voirdire.io.rows import FoundRows
    from voirdire.records import Message

_SYNONYMS: dict[str, tuple[str, ...]] = {
    "base_reward": ("base_reward", "rm_score"),
    "chosen_base_reward": ("chosen_base_reward", "score_chosen"),
    "rejected_base_reward": ("rejected_base_reward", "score_rejected"),
}
_SPLITS = ("train", "test")
_NAME = "comparisons"


def read_comparisons(
    source: Any,
    *,
    layout: ComparisonLayout | None = None,
    judged: Judged = "final_answer",
    criteria: bool = False,
    **fields: Any,
) -> ComparisonData:
    r"""Read completions, and what is said of which are better, from a file, rows or a data frame.

    The keys of each row say what it holds:

    ==============================  ================================================================
    keys                            read as
    ==============================  ================================================================
    `ranked`                        a list of completions of one prompt, best first; a list within
                                    it is a tie. Every completion is better than all after it
    `chosen` and `rejected`         a pair, the first better; `margin`, `chosen_base_reward` and
                                    `rejected_base_reward` where they are there; two whole
                                    conversations begin with the same prompt
    those of a public data set      pairs, or a ranking, as the guide "Write comparisons" lists
    anything else that is an item   a completion, as `voirdire.io.stream_items` reads it, with
                                    `label` and `base_reward` where they are there
    ==============================  ================================================================

    All of them may have `behavior`, `split` (train or test), `group` and `id`.

    Parameters
    ----------
    source : str, path, binary file, data frame, sequence of mappings or of Item, or ComparisonData
        Comparisons that are read already are returned as they are, and take no layout. A path,
        ``"-"`` for standard input, or an open binary file; a path may end in ``.gz``,
        ``.bz2`` or ``.xz``, or be a folder of the parts of one table. Rows and frames have the same
        columns; items have their labels and base rewards in their metadata, and their responses are
        taken as they stand.
    layout : ComparisonLayout, optional
        How the file is laid out, where it does not show it.
    judged : {"final_answer", "with_reasoning", "whole_turn"}, optional
        What of a response is judged.
    criteria : bool, optional
        Whether each row brings the criteria of its prompt.
    **fields
        Fields of `ComparisonLayout`, each of which counts before that of `layout`:

        - `format`: how the file is written; by default the ending of its name says, JSONL for a
          stream.
        - `columns`: our names to the file's: those of `stream_items`, `label`, `base_reward`,
          `split`, `margin`, `ranked`, `chosen_base_reward` and `rejected_base_reward`.
        - `make_item`: for rows of any other form: it takes a row and returns one that is read, or a
          list of them.
        - `behavior`: of prompts that name none.
        - `base`: the column of base rewards.

    Returns
    -------
    ComparisonData
        Completions of prompts that have at least two, and what was set aside.

    Raises
    ------
    NoDataError
        If the file is empty, or no prompt has two completions.
    InputError
        If the source is none of these or cannot be read, if two completions have the same id, if no
        row has a column that `columns` names, or an argument breaks its rule.

    Notes
    -----
    *Names.* A base reward may also stand under `rm_score`, and those of a pair under `score_chosen`
    and `score_rejected`.

    *Prompts.* Completions belong to one prompt where they name the same `group`, or else where
    the messages before them are the same.

    *Set aside, each with its reason and place:* rows that are no items; a base reward or margin
    that is not a finite number (in a ranked list the completion stays, without one); a split that
    is neither train nor test; a second behavior, split or conversation of one prompt; a completion
    that repeats another of its prompt (both, where their labels differ); a pair of equal texts;
    prompts with one completion (the number, and the first). A completion that several pairs or
    rankings of a prompt hold is kept once and not listed. Unknown labels are found by `fit_reward`,
    which knows the order.

    *Missing values.* Null, empty cells and nan are missing.

    Examples
    --------
    >>> import io
    >>> from voirdire.rewards import read_comparisons
    >>> text = (
    ...     '{"prompt": "2 + 2?", "response": "4", "label": "good", "base_reward": 0.5}\n'
    ...     '{"prompt": "2 + 2?", "response": "5", "label": "bad"}\n'
    ...     '{"prompt": "Hi", "ranked": ["Hello.", ["Yes?", "What?"], "Go away."]}\n'
    ...     '{"prompt": "alone", "response": "yes", "label": "good"}\n'
    ... )
    >>> data = read_comparisons(io.BytesIO(text.encode()))
    >>> [item.id for item in data.items]
    ['stream:1', 'stream:2', 'stream:3:0', 'stream:3:1', 'stream:3:2', 'stream:3:3']
    >>> data.labels[:2], list(zip(data.better.tolist(), data.worse.tolist()))
    (('good', 'bad'), [(2, 3), (2, 4), (2, 5), (3, 5), (4, 5)])
    >>> [drop.place() for drop in data.dropped]
    ['<stream>:4']
    """
    settled = change_fields(layout or ComparisonLayout(), fields)
    if isinstance(source, ComparisonData):
        for name in ("columns", "format", "base", "behavior", "make_item"):
            value = getattr(settled, name)
            if value is not None and (name != "behavior" or None in source.behaviors):
                msg = (
                    f"`{name}` must not be given with comparisons that are read already, got "
                    f"{shorten(repr(value))}. Give it to `read_comparisons`."
                )
                raise InputError(msg)
        return source
    columns = dict(settled.columns or {})
    if settled.base is not None:
        columns["base_reward"] = settled.base
    ours = get_args(ComparisonColumn)
    reading = settled.reading(
        columns={key: value for key, value in columns.items() if key not in ours},
        behavior=None,  # it is a matter of the prompt: the default is for prompts, not for rows
        judged=judged,
        criteria=criteria,
    )
    is_text, values = False, []
    if isinstance(source, str | Path) or hasattr(source, "read"):
        file = open_items(source, reading)
        is_text = file.format in ("csv", "tsv", "xlsx")
        items = ItemReader.of(file, reading)
        rows = items.rows(file)
    elif hasattr(source, "columns"):
        table = open_frame(source, _NAME)
        items = ItemReader(reading, source=_NAME, stem=_NAME, is_tabular=True)
        items.check_header(table.columns)
        rows = table_rows(table)
    else:
        values = _list_values(source)
        items = ItemReader(reading, source=_NAME, stem=_NAME)
        rows = read_given_rows(values, source=_NAME)
    found = _ComparisonReader(items, columns, is_text=is_text)
    if values and isinstance(values[0], Item):
        found.read_items(values)
    else:
        found.read_rows(items.make_rows(rows))
    return _assemble(found, behavior=settled.behavior)


def _list_values(source: Any) -> list[Any]:
    """List rows or items, and check that all are one or the other."""
    if isinstance(source, Item | Mapping | bytes) or not isinstance(source, Iterable):
        msg = (
            f"`comparisons` must be a file, a data frame, or a sequence of rows or items, got "
            f'{type(source).__name__}. Write [{{"prompt": ..., "response": ..., "label": ...}}].'
        )
        raise InputError(msg)
    values = list(source)
    if not values:
        msg = f"{_NAME}: must hold at least one prompt with two completions, got no rows. Add some."
        raise NoDataError(msg)
    rows = [value for value in values if not isinstance(value, Item)]
    if 0 < len(rows) < len(values):
        msg = (
            f"`comparisons` must all be items or all be rows, got {type(rows[0]).__name__} "
            f"({shorten(rows[0])}) among items. Write them all in one way."
        )
        raise InputError(msg)
    return values


class _Completion(msgspec.Struct, kw_only=True):
    """A completion of a row, with what the row says of it; `group` is the one that it names."""

    item: Item
    group: str | None
    label: str | None
    split: str | None
    base: float
    line: int
    in_pair: bool = False


class _ComparisonReader:
    """Reads the completions of rows, and which ones are better than which.

    Columns are those that were declared, ours to the file's, or have their usual names. `is_text`
    says that every cell is text, as in CSV, so that numbers are written as text.
    """

    def __init__(self, reader: ItemReader, columns: Mapping[str, str], *, is_text: bool) -> None:
        self.reader, self.source = reader, reader.source
        self.completions: list[_Completion] = []
        self.pairs: list[tuple[int, int, float]] = []
        self.dropped: list[Dropped] = []
        ours = get_args(ComparisonColumn)
        self._of_items = {key: value for key, value in columns.items() if key not in ours}
        self._declared = {key: value for key, value in columns.items() if key in ours}
        self._unseen = set(self._declared.values())
        self._is_text = is_text

    def read_items(self, items: Sequence[Item]) -> None:
        """Read items, whose responses are taken as they are."""
        repeated = [name for name, n in Counter(item.id for item in items).items() if n > 1]
        if repeated:
            msg = f"`comparisons` must have unique ids, got {shorten(repeated[0])!r} twice."
            raise InputError(msg)
        for line, item in enumerate(items, start=1):
            self._unseen -= item.metadata.keys()
            try:
                self._add(item, item.metadata, line=line, group=item.group)
            except RowError as error:
                self.dropped.append(error.dropped(source=_NAME, line=line, item=item.id))
        self._check_declared(tuple(items[0].metadata))

    def read_rows(self, rows: FoundRows) -> None:
        """Read every row whole or not at all; refuse an id that comes twice, and no completion."""
        n_rows = 0
        for line, row, _ in rows:
            n_rows += 1
            if isinstance(row, Dropped):
                self.dropped.append(row)
                continue
            n_completions, n_pairs = len(self.completions), len(self.pairs)
            try:
                self._read_row(row, line)
            except RowError as error:
                del self.completions[n_completions:], self.pairs[n_pairs:]
                self._drop(error, line, row)
        self.reader.check_declared()
        self._check_declared(self.reader.first_keys)
        if not self.completions:
            self.reader.refuse_empty(n_rows=n_rows, first=next(iter(self.dropped), None))
        ids, lines = [one.item.id for one in self.completions], [x.line for x in self.completions]
        SeenIds(source=self.source).add(ids, lines)

    def make_drop(self, place: int, reason: str, *, value: str | None = None) -> Dropped:
        """Make the record of a completion that is dropped."""
        one = self.completions[place]
        value = None if value is None else shorten(value)
        return Dropped(
            reason=reason, source=self.source, line=one.line, item=one.item.id, value=value
        )

    def _read_row(self, row: Any, line: int) -> None:
        ranking = self.reader.completions_of(row, line)
        if isinstance(row, dict):
            self._unseen -= row.keys()
        elif ranking is None:
            raise RowError(f"row must be an object, got {got(row)}")
        if ranking is None:
            sides = {
                self.completions[place].item.metadata.get("preference"): place
                for place in self._add_row(row, line)
            }
            for side in {"chosen", "rejected"} & sides.keys():
                completion = self.completions[sides[side]]
                completion.base = self._read_number(row, f"{side}_base_reward", what="base reward")
                completion.label = None  # a label of the row would be one of both sides
            if {"chosen", "rejected"} <= sides.keys():
                self._add_pair(sides["chosen"], sides["rejected"], margin=self._read_margin(row))
            return
        self._read_number(row, "base_reward", what="base reward")  # of the whole row
        margin = self._read_margin(row)
        above: list[tuple[float, int]] = []
        for level, each in zip(ranking.levels, ranking.rows, strict=True):
            try:
                self._read_number(each, "base_reward", what="base reward")
                kept = each
            except RowError as error:  # the completion stays in its ranking without it
                self._drop(error, line, each)
                kept = {key: value for key, value in each.items() if key != error.column}
            places = self._add_row(kept, line, ranking.group)
            for other, first in above:  # each is better than all of a higher level
                for place in places if other != level else ():
                    better, worse = (first, place) if other < level else (place, first)
                    self._add_pair(better, worse, margin=margin)
            above += [(level, place) for place in places]

    def _add_row(self, row: dict[str, Any], line: int, group: str | None = None) -> range:
        """Add the completions of a row; return their places."""
        self._unseen -= row.keys()
        items: list[Item] = []
        self.dropped += self.reader.take_one(row, line, items, group=group)
        if any(item.other is not None for item in items):
            raise RowError(
                "nothing says which of two responses is better; the column that does is named by "
                "columns={'preferred': ...}"
            )
        first = len(self.completions)
        for item in items:
            column = self._of_items.get("group", "group")
            named = row.get(column)
            own = None if named is None else name_of(named, column=column)
            self._add(item, row, line=line, group=own)
        return range(first, len(self.completions))

    def _add(self, item: Item, row: Mapping[str, Any], *, line: int, group: str | None) -> None:
        """Add an item with the label, split and base reward of its row."""
        key, label = self._find(row, "label")
        if isinstance(label, bool):  # whether a completion is desired
            label = str(label).lower()
        name = None if label is None else name_of(label, column=key)
        column, split = self._find(row, "split")
        word = split.strip().lower() if isinstance(split, str) else split
        if word not in (None, *_SPLITS):
            raise RowError(f"split must be train or test, got {got(split)}", column=column)
        base = self._read_number(row, "base_reward", what="base reward")
        name = None if name is None else name.strip()
        completion = _Completion(
            item=item, group=group, label=name, split=word, base=base, line=line
        )
        self.completions.append(completion)

    def _add_pair(self, better: int, worse: int, *, margin: float) -> None:
        for place in (better, worse):
            self.completions[place].in_pair = True
        self.pairs.append((better, worse, margin))

    def _drop(self, error: RowError, line: int, row: Any) -> None:
        declared, name = self._of_items.get("id"), None
        for key in ID_COLUMNS if declared is None else (declared,):
            if isinstance(row, dict) and row.get(key) is not None:
                try:
                    name = name_of(row[key], column=key)
                except RowError:  # the id itself is wrong
                    name = None
                break
        self.dropped.append(error.dropped(source=self.reader.source, line=line, item=name))

    # Columns

    def _find(self, row: Mapping[str, Any], concept: str) -> tuple[str, Any]:
        """Find the first key with a value; blank text is none."""
        declared = self._declared.get(concept)
        for key in _SYNONYMS.get(concept, (concept,)) if declared is None else (declared,):
            value = row.get(key)
            if value is not None and not (isinstance(value, str) and not value.strip()):
                return key, value
        return concept, None

    def _read_number(self, row: Mapping[str, Any], concept: str, *, what: str) -> float:
        """Read a finite number; nan for none."""
        key, value = self._find(row, concept)
        if value is None:
            return math.nan
        try:
            is_number = not isinstance(value, bool) and (
                self._is_text or not isinstance(value, str)
            )
            number = float(value) if is_number else math.nan
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise RowError(f"{what} must be a finite number, got {got(value)}", column=key)
        return number

    def _read_margin(self, row: Mapping[str, Any]) -> float:
        margin = self._read_number(row, "margin", what="margin")
        if margin <= 0:
            key, _ = self._find(row, "margin")
            raise RowError(f"margin must be a number above 0, got {margin:g}", column=key)
        return margin

    def _check_declared(self, header: Sequence[str]) -> None:
        """Refuse a declared column that no row had."""
        if self._unseen:
            shown = ", ".join(repr(shorten(name)) for name in header[:20]) or "none"
            missing, way_out = min(self._unseen), "Correct `columns`."
            if missing == self._declared.get("base_reward"):
                way_out = "Correct `base`, which names a column."
            msg = (
                f"{self.source}: column `{shorten(missing)}` must exist, got columns {shown}. "
                f"{way_out}"
            )
            raise InputError(msg)


# From completions to comparisons ----------------------------------------------------------------


class _Prompt(msgspec.Struct, kw_only=True):
    """A prompt: the first behavior and split of its completions hold for all of them."""

    name: str
    messages: tuple[Message, ...]
    behavior: str | None = None
    split: str | None = None


def _assemble(found: _ComparisonReader, *, behavior: str | None) -> ComparisonData:
    """Put completions together by prompt.

    `behavior` is that of prompts that name none. Prompts of fewer than two completions are left
    out.
    """
    prompts: dict[object, _Prompt] = {}
    keys: list[object] = []
    for one in found.completions:
        key: object = one.item.prompt if one.group is None else one.group
        name = one.group
        if not key:  # the completions of a ranked row are of one prompt
            name, key = one.item.group, (None, one.item.group)
        prompt = prompts.setdefault(
            key, _Prompt(name=name or one.item.id, messages=one.item.prompt)
        )
        prompt.behavior = prompt.behavior or one.item.behavior
        prompt.split = prompt.split or one.split
        keys.append(key)
    for prompt in prompts.values():
        prompt.behavior = prompt.behavior or behavior
    is_kept, same_as, drops = _find_kept(found, [prompts[key] for key in keys], keys)
    declared = np.array([pair[:2] for pair in found.pairs], dtype=np.int64).reshape(-1, 2)
    better, worse = same_as[declared[:, 0]], same_as[declared[:, 1]]
    reason = "a pair must be of two completions, got the same text twice"
    drops += [found.make_drop(place, reason) for place in declared[better == worse, 0].tolist()]
    counts = Counter(key for key, kept in zip(keys, is_kept.tolist(), strict=True) if kept)
    lone = [place for place in np.flatnonzero(is_kept).tolist() if counts[keys[place]] == 1]
    if lone:
        is_kept[lone] = False
        counted = "1 prompt" if len(lone) == 1 else f"{len(lone):,} prompts"
        reason = f"nothing to compare with: {counted} with one completion, this the first"
        drops.append(found.make_drop(lone[0], reason))
    dropped = sorted([*found.dropped, *drops], key=lambda drop: drop.line or 0)
    if not is_kept.any():
        _refuse_empty(found.source, dropped)
    places = np.flatnonzero(is_kept).tolist()
    rows, own = [found.completions[k] for k in places], [prompts[keys[k]] for k in places]
    numbers: dict[object, int] = {}
    inside, new_places = (
        is_kept[better] & is_kept[worse] & (better != worse),
        np.cumsum(is_kept) - 1,
    )
    change = msgspec.structs.replace
    data = ComparisonData(
        items=tuple(
            [
                change(one.item, behavior=prompt.behavior, group=prompt.name)
                for one, prompt in zip(rows, own, strict=True)
            ]
        ),
        prompts=np.array([numbers.setdefault(keys[k], len(numbers)) for k in places]),
        labels=tuple([one.label for one in rows]),
        base_rewards=np.array([one.base for one in rows]),
        better=new_places[better[inside]],
        worse=new_places[worse[inside]],
        margins=np.array([pair[2] for pair in found.pairs])[inside],
        splits=tuple([prompt.split for prompt in own]),
        dropped=tuple(dropped),
        source=found.source,
    )
    return replace(data, data_hash=hash_comparisons(data))


def _find_kept(
    found: _ComparisonReader, prompts: Sequence[_Prompt], keys: Sequence[object]
) -> tuple[NDArray[np.bool_], NDArray[np.int64], list[Dropped]]:
    """Find the completions that can be used, the kept one for each, and say what is dropped.

    Of equal completions of a prompt one is kept; the labels and pairs of the others go to it. Two
    different labels contradict each other: neither completion is kept.
    """
    is_kept, same_as = np.ones(len(prompts), dtype=bool), np.arange(len(prompts))
    firsts: dict[tuple[object, str], int] = {}
    drops: list[tuple[int, Dropped]] = []

    def drop(place: int, reason: str, value: str | None = None) -> None:
        is_kept[place] = False
        drops.append((place, found.make_drop(place, reason, value=value)))

    for place, one in enumerate(found.completions):
        reason, value = _find_fault(one, prompts[place], has_prompt=keys[place] != (None, None))
        if reason:
            drop(place, reason, value)
            continue
        first = firsts.setdefault((keys[place], one.item.response), place)
        if first == place:
            continue
        other = found.completions[first]
        reason = "duplicated completion: {!r} is the same"
        names = [shorten(x.item.id) for x in (other, one)]
        if None not in (one.label, other.label) and one.label != other.label:
            labelled = reason + " with label {!r}"
            drop(place, labelled.format(names[0], shorten(str(other.label))), one.label)
            if is_kept[first]:
                drop(first, labelled.format(names[1], shorten(str(one.label))), other.label)
            continue
        if is_kept[first]:
            same_as[place] = first
            other.label = other.label or one.label
            if math.isnan(other.base):
                other.base = one.base
        if is_kept[first] and one.in_pair:
            is_kept[place] = False
        else:
            drop(place, reason.format(names[0]))
    return is_kept, same_as, [row for _, row in sorted(drops, key=lambda both: both[0])]


def _find_fault(one: _Completion, prompt: _Prompt, *, has_prompt: bool) -> tuple[str, str | None]:
    """Find why a completion cannot be used, and the value that is wrong."""
    if not has_prompt:
        return "no prompt: name it, or the `group` of completions of one", None
    if one.item.behavior not in (None, prompt.behavior):
        reason = f"two behaviors of one prompt: {prompt.behavior!r} came first"
        return reason, one.item.behavior
    if one.item.prompt != prompt.messages:
        return f"two prompts in one group: that of {shorten(prompt.name)!r} came first", None
    if one.split not in (None, prompt.split):
        return f"two splits of one prompt: {prompt.split!r} came first", one.split
    return "", None


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
