"""Reads comparisons from a file, rows, a data frame, items, or comparisons."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from voirdire._messages import shorten
from voirdire._validation import change_fields
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import RowError, got
from voirdire.io.items import (
    ItemReader,
    SeenIds,
    name_of,
    open_items,
)
from voirdire.io.rows import open_frame, read_given_rows, table_rows
from voirdire.io.shapes import ID_COLUMNS
from voirdire.records import Dropped, Item
from voirdire.rewards.comparisons.data import ComparisonData
from voirdire.rewards.comparisons.prompts import (
    Completion,
    CompletionRows,
    assemble_comparisons,
)
from voirdire.rewards.settings import ComparisonColumn, ComparisonLayout

if TYPE_CHECKING:
    from voirdire._types import Judged
    from voirdire.io.rows import FoundRows
    from voirdire.io.shapes import CompletionList

__all__ = ["comparisons_of", "read_comparisons"]

_SYNONYMS: dict[str, tuple[str, ...]] = {
    "base_reward": ("base_reward", "rm_score"),
    "chosen_base_reward": ("chosen_base_reward", "score_chosen"),
    "rejected_base_reward": ("rejected_base_reward", "score_rejected"),
}
_SPLITS = ("train", "test")
_NAME = "comparisons"
_IDS_AT_ONCE = 4_096


def read_comparisons(
    source: Any,
    *,
    layout: ComparisonLayout | None = None,
    judged: Judged = "final_answer",
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
    source : str, path, binary file, data frame, or sequence of mappings or of Item
        A path, ``"-"`` for standard input, or an open binary file; a path may end in ``.gz``,
        ``.bz2`` or ``.xz``, or be a folder of the parts of one table. Rows and frames have the same
        columns; items have their labels and base rewards in their metadata, and their responses are
        taken as they stand.
    layout : ComparisonLayout, optional
        How the file is laid out, where it does not show it.
    judged : {"final_answer", "with_reasoning", "whole_turn"}, optional
        What of a response is judged.
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
    base, columns = settled.base, dict(settled.columns or {})
    if base is not None:
        columns["base_reward"] = base
    ours = get_args(ComparisonColumn)
    reading = settled.reading(
        columns={key: value for key, value in columns.items() if key not in ours},
        behavior=None,  # it is a matter of the prompt: the default is for prompts, not for rows
        judged=judged,
    )
    is_text, values = False, []
    if isinstance(source, str | Path) or hasattr(source, "read"):
        file = open_items(source, reading)
        is_text = file.format in ("csv", "tsv", "xlsx")
        reader = ItemReader.of(file, reading)
        rows = reader.rows(file)
    elif hasattr(source, "columns"):
        table = open_frame(source, _NAME)
        reader = ItemReader(reading, source=_NAME, stem=_NAME, is_tabular=True)
        reader.check_header(table.columns)
        rows = table_rows(table)
    else:
        values = _list_values(source)
        reader = ItemReader(reading, source=_NAME, stem=_NAME)
        rows = read_given_rows(values, source=_NAME)
    own_columns = _ComparisonColumns(columns, source=reader.source, is_text=is_text)
    if values and isinstance(values[0], Item):
        completions = _read_items(values, own_columns)
    else:
        completions = _RowReader(reader, own_columns).read_all(reader.make_rows(rows))
    return assemble_comparisons(completions, behavior=settled.behavior)


def comparisons_of(
    source: Any,
    *,
    layout: ComparisonLayout | None = None,
    judged: Judged = "final_answer",
    **fields: Any,
) -> ComparisonData:
    """Take comparisons in any form.

    Parameters
    ----------
    source : ComparisonData, path, binary file, data frame, or sequence of mappings or of Item
        Comparisons are returned as they are; anything else is read by `read_comparisons`.
    layout, judged, **fields
        As for `read_comparisons`. Comparisons that are read already take no layout.

    Returns
    -------
    ComparisonData
        Completions of prompts that have at least two, and what was set aside.

    Raises
    ------
    NoDataError
        If nothing is there, or no prompt has two completions.
    InputError
        As for `read_comparisons`; also if comparisons that are read already come with `columns`,
        `format` or `base`, or with a `behavior` that some of them lack.

    Examples
    --------
    >>> data = comparisons_of(
    ...     [{"prompt": "Hi", "chosen": "Hello.", "rejected": "Go away.", "margin": 2}],
    ...     behavior="comply",
    ... )
    >>> data.behaviors, data.better.tolist(), data.worse.tolist(), data.margins.tolist()
    (('comply', 'comply'), [0], [1], [2.0])
    """
    settled = change_fields(layout or ComparisonLayout(), fields)
    if not isinstance(source, ComparisonData):
        return read_comparisons(source, layout=settled, judged=judged)
    for name in ("columns", "format", "base", "behavior", "make_item"):
        value = getattr(settled, name)
        is_ignored = value is not None and (name != "behavior" or None in source.behaviors)
        if is_ignored:
            msg = (
                f"`{name}` must not be given with comparisons that are read already, got "
                f"{shorten(repr(value))}. Give it to `read_comparisons`."
            )
            raise InputError(msg)
    return source


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


def _read_items(items: Sequence[Item], own_columns: _ComparisonColumns) -> CompletionRows:
    """Read items, whose responses are taken as they are."""
    rows = CompletionRows(_NAME)
    ids: set[str] = set()
    for line, item in enumerate(items, start=1):
        if item.id in ids:
            msg = f"`comparisons` must have unique ids, got {shorten(item.id)!r} twice."
            raise InputError(msg)
        ids.add(item.id)
        own_columns.note_keys(item.metadata)
        try:
            rows.append(
                [own_columns.make_completion(item, item.metadata, line=line, group=item.group)]
            )
        except RowError as error:
            rows.dropped.append(error.dropped(source=_NAME, line=line, item=item.id))
    own_columns.check_declared(tuple(items[0].metadata))
    return rows


class _RowReader:
    """Turns rows into completions."""

    def __init__(self, reader: ItemReader, columns: _ComparisonColumns) -> None:
        self.reader = reader
        self.columns = columns
        self.rows = CompletionRows(reader.source)
        # Of the current row, which is kept whole or not at all.
        self._completions: list[Completion] = []
        self._pairs: list[tuple[int, int, float]] = []

    def read_all(self, rows: FoundRows) -> CompletionRows:
        """Read every row, and check that ids are unique and that there is a completion.

        Raises
        ------
        NoDataError
            If no row holds a completion.
        InputError
            If an id comes twice, or no row has a column that was declared.
        """
        n_rows, completions = 0, self.rows
        for line, row, _ in rows:
            n_rows += 1
            if isinstance(row, Dropped):
                completions.dropped.append(row)
            else:
                self._read_row(row, line)
        self.reader.check_declared()
        self.columns.check_declared(self.reader.first_keys)
        if not len(completions):
            self.reader.refuse_empty(n_rows=n_rows, first=next(iter(completions.dropped), None))
        seen, ids = SeenIds(source=completions.source), completions.items.ids
        for begin in range(0, len(completions), _IDS_AT_ONCE):
            part = range(begin, min(begin + _IDS_AT_ONCE, len(completions)))
            seen.add([ids[k] for k in part], completions.lines[begin : part.stop])
        return completions

    def _read_row(self, row: Any, line: int) -> None:
        self._completions, self._pairs = [], []
        try:
            listed = self.reader.completions_of(row, line)
            if isinstance(row, dict):
                self.columns.note_keys(row)
            if listed is None:
                self._read_item_or_pair(row, line)
            else:
                self.columns.read_base(row)  # one for the whole row must be a number
                self._read_ranking(listed, line, margin=self.columns.read_margin(row))
        except RowError as error:
            self._drop(error, line, row)
        else:
            self.rows.append(self._completions, self._pairs)

    def _read_item_or_pair(self, row: Any, line: int) -> None:
        if not isinstance(row, dict):
            raise RowError(f"row must be an object, got {got(row)}")
        self._add_completions(row, line)
        sides = {
            one.item.metadata.get("preference"): place
            for place, one in enumerate(self._completions)
        }
        for side in ("chosen", "rejected"):
            if side in sides:
                completion = self._completions[sides[side]]
                completion.base = self.columns.read_base(row, side=side)
                completion.label = None  # a label of the row would be one of both sides
        if {"chosen", "rejected"} <= sides.keys():
            self._add_pair(sides["chosen"], sides["rejected"], margin=self.columns.read_margin(row))

    def _read_ranking(self, ranking: CompletionList, line: int, *, margin: float) -> None:
        """Read several completions: each is better than all of a higher level."""
        above: list[tuple[float, int]] = []
        for level, row in zip(ranking.levels, ranking.rows, strict=True):
            places = self._add_completions(self._remove_bad_base(row, line), line, ranking.group)
            for other, first in above:
                for place in places if other != level else ():
                    better, worse = (first, place) if other < level else (place, first)
                    self._add_pair(better, worse, margin=margin)
            above += [(level, place) for place in places]

    def _remove_bad_base(self, row: dict[str, Any], line: int) -> dict[str, Any]:
        """Drop a base reward that is no number, and keep the completion in its ranking."""
        try:
            self.columns.read_base(row)
        except RowError as error:
            self._drop(error, line, row)
            return {key: value for key, value in row.items() if key != error.column}
        return row

    def _add_completions(self, row: dict[str, Any], line: int, group: str | None = None) -> range:
        """Add the completions of a row; return their places in the current row."""
        self.columns.note_keys(row)
        first = len(self._completions)
        items: list[Item] = []
        self.rows.dropped += self.reader.take_one(row, line, items, group=group)
        if any(item.other is not None for item in items):
            raise RowError(
                "nothing says which of two responses is better; the column that does is named by "
                "columns={'preferred': ...}"
            )
        own_group = self.columns.read_group(row) if items else None
        self._completions += [
            self.columns.make_completion(item, row, line=line, group=own_group) for item in items
        ]
        return range(first, len(self._completions))

    def _add_pair(self, better: int, worse: int, *, margin: float) -> None:
        for place in (better, worse):
            self._completions[place].in_pair = True
        self._pairs.append((better, worse, margin))

    def _drop(self, error: RowError, line: int, row: Any) -> None:
        try:
            name = self.columns.read_id(row) if isinstance(row, dict) else None
        except RowError:  # the id itself is wrong
            name = None
        self.rows.dropped.append(error.dropped(source=self.reader.source, line=line, item=name))


class _ComparisonColumns:
    """The columns of labels, base rewards and the like, as declared or by their usual names.

    Parameters
    ----------
    columns : mapping of str to str
        Our names to the file's, those of items among them.
    source : str
        What messages call the file.
    is_text : bool
        Whether every cell is text, as in CSV, so that numbers are written as text.
    """

    def __init__(self, columns: Mapping[str, str], *, source: str, is_text: bool) -> None:
        ours = get_args(ComparisonColumn)
        self.of_items = {key: value for key, value in columns.items() if key not in ours}
        self._declared = {key: value for key, value in columns.items() if key in ours}
        self._unseen = set(self._declared.values())
        self.source = source
        self.is_text = is_text

    def note_keys(self, row: Mapping[str, Any]) -> None:
        """Take the keys of a row as columns that exist."""
        if self._unseen:
            self._unseen -= row.keys()

    def check_declared(self, header: Sequence[str]) -> None:
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

    def make_completion(
        self, item: Item, row: Mapping[str, Any], *, line: int, group: str | None
    ) -> Completion:
        """Join an item with the label, split, behavior and base reward of its row."""
        key, label = self._find(row, "label")
        if isinstance(label, bool):  # whether a completion is desired
            label = str(label).lower()
        name = None if label is None else name_of(label, column=key)
        column, split = self._find(row, "split")
        word = split.strip().lower() if isinstance(split, str) else split
        if word not in (None, *_SPLITS):
            raise RowError(f"split must be train or test, got {got(split)}", column=column)
        return Completion(
            item=item,
            group=group,
            label=None if name is None else name.strip(),
            split=word,
            behavior=item.behavior,
            base=self.read_base(row),
            line=line,
        )

    def read_base(self, row: Mapping[str, Any], *, side: str | None = None) -> float:
        """Read the base reward of a completion, or of one side of a pair; nan for none."""
        concept = "base_reward" if side is None else f"{side}_base_reward"
        return self._read_number(row, concept, what="base reward")

    def read_margin(self, row: Mapping[str, Any]) -> float:
        """Read the margin of a pair; nan for none."""
        margin = self._read_number(row, "margin", what="margin")
        if margin <= 0:
            key, _ = self._find(row, "margin")
            raise RowError(f"margin must be a number above 0, got {margin:g}", column=key)
        return margin

    def read_id(self, row: Mapping[str, Any]) -> str | None:
        """Read the id that a row names itself."""
        declared = self.of_items.get("id")
        keys = ID_COLUMNS if declared is None else (declared,)
        key = next((key for key in keys if row.get(key) is not None), None)
        return None if key is None else name_of(row[key], column=key)

    def read_group(self, row: Mapping[str, Any]) -> str | None:
        """Read the group that a row names itself."""
        key = self.of_items.get("group", "group")
        value = row.get(key)
        return None if value is None else name_of(value, column=key)

    def _list_keys(self, concept: str) -> tuple[str, ...]:
        declared = self._declared.get(concept)
        return _SYNONYMS.get(concept, (concept,)) if declared is None else (declared,)

    def _find(self, row: Mapping[str, Any], concept: str) -> tuple[str, Any]:
        """Find the first key with a value; blank text is none."""
        for key in self._list_keys(concept):
            value = row.get(key)
            if value is not None and not (isinstance(value, str) and not value.strip()):
                return key, value
        return concept, None

    def _read_number(self, row: Mapping[str, Any], concept: str, *, what: str) -> float:
        key, value = self._find(row, concept)
        if value is None:
            return math.nan
        try:
            is_number = not isinstance(value, bool) and (self.is_text or not isinstance(value, str))
            number = float(value) if is_number else math.nan
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if not math.isfinite(number):
            raise RowError(f"{what} must be a finite number, got {got(value)}", column=key)
        return number
