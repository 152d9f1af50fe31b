"""From rows of any shape to completions, with what each row declares of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import msgspec

from voirdire.io.files import RowError, got
from voirdire.io.items import SeenIds
from voirdire.io.messages import is_message
from voirdire.records import Dropped, Item

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.io.items import ItemReader
    from voirdire.io.rows import FoundRows
    from voirdire.rewards.comparisons.own_columns import OwnColumns

__all__ = ["Completion", "Gathered", "RowTaker"]

_PAIR = 2


class Completion(msgspec.Struct, kw_only=True):
    """A completion on its way.

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
    line : int or None
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
    line: int | None = None
    in_pair: bool = False


@dataclass(kw_only=True, eq=False)
class Gathered:
    """What the rows of a source hold.

    Attributes
    ----------
    completions : list of Completion
        In the order of the rows.
    pairs : list of (int, int, float)
        The better one, the worse one, and the margin, nan for none.
    dropped : list of Dropped
        Rows that were set aside.
    source : str
        What messages call it.
    """

    completions: list[Completion] = field(default_factory=list)
    pairs: list[tuple[int, int, float]] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    source: str


class RowTaker:
    """Turn rows into completions."""

    def __init__(self, reader: ItemReader, own: OwnColumns) -> None:
        self.reader = reader
        self.own = own
        self.found = Gathered(source=reader.source)
        self._header: tuple[str, ...] = ()

    def take_all(self, rows: FoundRows) -> Gathered:
        """Take every row, and see to it that ids are unique and that there is something.

        Raises
        ------
        NoDataError
            If no row holds a completion.
        InputError
            If an id comes twice, or no row has a column that was declared.
        """
        n_rows = 0
        for line, row, _ in rows:
            n_rows += 1
            if isinstance(row, Dropped):
                self.found.dropped.append(row)
            else:
                self._take(row, line)
        self.reader.check_declared()
        self.own.check_seen(self._header)
        if not self.found.completions:
            self._refuse_empty(n_rows)
        ids = [one.item.id for one in self.found.completions]
        lines = [one.line or 0 for one in self.found.completions]
        SeenIds(source=self.found.source).add(ids, lines)
        return self.found

    def _refuse_empty(self, n_rows: int) -> NoReturn:
        first = next(iter(self.found.dropped), None)
        self.reader.refuse_empty(n_rows=n_rows, first=first)

    def _take(self, row: Any, line: int) -> None:
        n_before, n_pairs = len(self.found.completions), len(self.found.pairs)
        try:
            if isinstance(row, dict):
                self._header = self._header or tuple(row)
                self._take_object(row, line)
            elif _is_prompt_with_completions(row):
                self._take_completions(row, line)
            else:
                reason = f"row must be an object, or a prompt with completions, got {got(row)}"
                raise RowError(reason)
        except RowError as error:
            del self.found.completions[n_before:]
            del self.found.pairs[n_pairs:]
            self._set_aside(error, line, row)

    def _take_object(self, row: dict[str, Any], line: int) -> None:
        self.own.see(row)
        if row.get(self.own.ranked) is not None:
            self._take_ranked(row, line)
            return
        made = self._made(row, line)
        sides = {one.item.metadata.get("preference"): k for k, one in made}
        if not {"chosen", "rejected"} & sides.keys():
            return
        for side in ("chosen", "rejected"):
            if side in sides:
                one = self.found.completions[sides[side]]
                one.base = self.own.base_reward(row, side=side)
                one.label = None  # a label of the row would be one of both sides
        if len(sides) == _PAIR:
            self._declare(sides["chosen"], sides["rejected"], margin=self.own.margin(row))

    def _take_ranked(self, row: dict[str, Any], line: int) -> None:
        """Read a list of completions, best first; those of a list within it are ties."""
        ranked = row[self.own.ranked]
        if not isinstance(ranked, list | tuple) or len(ranked) < _PAIR:
            reason = f"a ranked list must hold at least two completions, got {got(ranked)}"
            raise RowError(reason, column=self.own.ranked)
        self.reader.finder.unseen -= row.keys()
        margin = self.own.margin(row)
        name = self.own.row_name(row) or f"{self.reader.stem}:{line}"
        shared = {key: value for key, value in row.items() if key != self.own.ranked}
        if self.own.group(row) is None and not self._has_prompt(row):
            shared[self.own.of_items.get("group", "group")] = name
        above: list[int] = []
        number = 0
        for level in ranked:
            here: list[int] = []
            for entry in level if _is_tie(level) else [level]:
                made = self._made(self._entry(shared, entry, f"{name}:{number}"), line)
                here += [place for place, _ in made]
                number += 1
            for better in above:
                for worse in here:
                    self._declare(better, worse, margin=margin)
            above += here

    def _entry(self, shared: Mapping[str, Any], entry: Any, name: str) -> dict[str, Any]:
        """Write one completion of a ranked list as a row of its own."""
        if isinstance(entry, dict) and not is_message(entry):
            row = {**shared, **entry}
        else:
            row = {**shared, self.own.of_items.get("response", "response"): entry}
        row[self._id_key(row)] = name
        return row

    def _take_completions(self, row: Sequence[Any], line: int) -> None:
        """Read a prompt with its completions, as the authors of rule-based rewards write them."""
        prompt, entries = row
        for number, entry in enumerate(entries):
            if not isinstance(entry, dict):
                reason = f"completion {number} must be an object, got {got(entry)}"
                self._set_aside(RowError(reason), line, entry)
                continue
            self.own.see(entry)
            own = dict(entry)
            if not any(own.get(key) is not None for key in ("prompt", "messages")):
                own["prompt"] = prompt
            if self.own.row_name(own) is None:
                own[self._id_key(own)] = f"{self.reader.stem}:{line}:{number}"
            try:
                self._made(own, line)
            except RowError as error:
                self._set_aside(error, line, own)

    def _has_prompt(self, row: dict[str, Any]) -> bool:
        """Tell by its keys whether a ranked list says what it answers."""
        keys = (*(key for key, value in row.items() if value is not None), "response")
        shape = self.reader.finder.shape(keys)
        return shape.prompt is not None or shape.request is not None

    def _id_key(self, row: dict[str, Any]) -> str:
        """Make room for an id of ours, and say under which key."""
        declared = self.own.of_items.get("id")
        if declared is not None:
            return declared
        row.pop("custom_id", None)
        return "id"

    def _made(self, row: dict[str, Any], line: int) -> list[tuple[int, Completion]]:
        """Append the completions of a row; give them with their places."""
        items: list[Item] = []
        dropped = self.reader.take(row, line, items)
        self.found.dropped += dropped
        if not items:
            return []
        label, split, group = self.own.label(row), self.own.split(row), self.own.group(row)
        base = self.own.base_reward(row)
        made = []
        for item in items:
            one = Completion(
                item=item,
                group=group,
                label=label,
                split=split,
                behavior=self.own.behavior(row, item.behavior),
                base=base,
                line=line,
            )
            made.append((len(self.found.completions), one))
            self.found.completions.append(one)
        return made

    def _declare(self, better: int, worse: int, *, margin: float) -> None:
        for place in (better, worse):
            self.found.completions[place].in_pair = True
        self.found.pairs.append((better, worse, margin))

    def _set_aside(self, error: RowError, line: int, row: Any) -> None:
        try:
            name = self.own.row_name(row) if isinstance(row, dict) else None
        except RowError:  # what stands for an id is none
            name = None
        self.found.dropped.append(error.dropped(source=self.found.source, line=line, item=name))


def _is_prompt_with_completions(row: Any) -> bool:
    return (
        isinstance(row, list | tuple)
        and len(row) == _PAIR
        and isinstance(row[0], str)
        and isinstance(row[1], list | tuple)
    )


def _is_tie(level: Any) -> bool:
    """Tell a list of completions from one completion that is a list of messages."""
    if not isinstance(level, list | tuple):
        return False
    return not any(isinstance(entry, dict) and is_message(entry) for entry in level)
