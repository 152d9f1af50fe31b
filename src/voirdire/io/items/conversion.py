"""From rows of any shape to items."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

from voirdire._validation import shorten
from voirdire.errors import NoDataError
from voirdire.io.items.drafts import Draft, drafts_of
from voirdire.io.items.json_values import decoded
from voirdire.io.items.row_errors import RowError, got
from voirdire.io.items.row_shapes import RowShape, ShapeFinder
from voirdire.records import Dropped, Item

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.items.declared import ItemRequest

__all__ = ["BEHAVIOR_WORDS", "Conversion", "name_of"]

BEHAVIOR_WORDS = {
    "Hard Refuse": "hard_refuse",
    "Safe Refuse 1": "soft_refuse",
    "Safe Refuse 2": "soft_refuse",
    "Comply": "comply",
}
"""What the authors of rule-based rewards call the behaviors of the rubric ``safety``."""

_MAX_WHOLE = 9e18  # beyond this a float has no exact integer type to pass through


class Conversion:
    """Turn rows into items as the request declares."""

    def __init__(
        self, request: ItemRequest, *, source: str, stem: str, is_tabular: bool = False
    ) -> None:
        self.request = request
        self.source = source
        self.stem = stem
        self.first_keys: tuple[str, ...] = ()
        self.finder = ShapeFinder(request, source=source, is_tabular=is_tabular)

    def check_header(self, header: Sequence[str]) -> None:
        """Refuse a table that lacks a column."""
        self.finder.check_header(header)

    def check_declared(self) -> None:
        """Refuse a declared column that no row had, now that all have been read."""
        if self.first_keys:
            self.finder.check_seen(self.first_keys)

    def refuse_empty(self, *, n_rows: int, first: Dropped | None) -> NoReturn:
        """Say why no row was an item; `first` is the first that was set aside."""
        if first is None:
            message = f"{self.source}: must hold at least one item, got no rows. Fill it."
            raise NoDataError(message)
        counted = "one row" if n_rows == 1 else f"{n_rows} rows"
        reason, way_out = first.reason, "Declare another `format`."
        if self.first_keys:
            way_out = "Name the columns with columns={...}."
            if self.finder.shape(self.first_keys).name == "none":
                reason = f"{reason}, of {self.finder.shown(self.first_keys)}"
                way_out = self.finder.way_out(self.first_keys)
        message = (
            f"{self.source}: must hold at least one item, got {counted} and a reason against each "
            f"(first {shorten(first.place())}: {reason}). {way_out}"
        )
        raise NoDataError(message)

    def is_row(self, document: dict[str, Any]) -> bool:
        """Tell by its keys whether an object is a row of its own."""
        return self.finder.has_response(self._keys(document))

    def take(self, row: dict[str, Any], line: int, items: list[Item]) -> list[Dropped]:
        """Append the items of a row; return what of it was set aside."""
        name: str | None = None
        if self.finder.unseen:
            self.finder.unseen -= row.keys()
        if not self.first_keys:
            self.first_keys = tuple(row)
        try:
            self._decode_cells(row)
            shape = self._shape(row)
            name = self._id(row, shape, line)
            drafts = drafts_of(row, shape, judged=self.request.judged, pairs=self.request.pairs)
            self._finish(row, shape, name=name, drafts=drafts, items=items)
        except RowError as error:
            return [error.dropped(source=self.source, line=line, item=name)]
        if len(drafts) == 1 and isinstance(drafts[0], Draft):
            return []
        return [
            draft.dropped(source=self.source, line=line, item=name)
            for draft in drafts
            if isinstance(draft, RowError)
        ]

    def _shape(self, row: dict[str, Any]) -> RowShape:
        return self.finder.shape(self._keys(row))

    def _keys(self, row: dict[str, Any]) -> tuple[str, ...]:
        return tuple([key for key, value in row.items() if value is not None])

    def _decode_cells(self, row: dict[str, Any]) -> None:
        """Decode the cells that were declared to be JSON; blank ones hold nothing."""
        for column in self.finder.chat_columns:
            value = row.get(column)
            if isinstance(value, str) and not value.strip():
                row[column] = None
        for column in self.request.json_columns:
            value = row.get(column)
            if isinstance(value, str):
                is_blank = not value.strip()
                row[column] = None if is_blank else decoded(value, what="cell", column=column)

    def _finish(
        self,
        row: dict[str, Any],
        shape: RowShape,
        *,
        name: str,
        drafts: list[Draft | RowError],
        items: list[Item],
    ) -> None:
        """Add to each draft what the row says of all its items."""
        behavior = self._behavior(row, shape)
        group = None if shape.group is None else name_of(row[shape.group], column=shape.group)
        if group is None and len(drafts) > 1:
            group = name
        column = shape.cluster
        cluster = None if column is None else name_of(row[column], column=column)
        metadata = {key: row[key] for key in shape.metadata}
        for draft in drafts:
            if isinstance(draft, RowError):
                continue
            known = {**metadata, **draft.metadata} if draft.metadata else metadata
            other = draft.other
            if draft.answer.is_unfinished or (other is not None and other.is_unfinished):
                known = {**known, "unfinished_reasoning": True}
            items.append(
                Item(
                    id=f"{name}{draft.suffix}",
                    prompt=draft.prompt,
                    response=draft.answer.text,
                    other=None if other is None else other.text,
                    behavior=behavior,
                    group=group,
                    cluster=cluster,
                    metadata=known,
                )
            )

    def _id(self, row: dict[str, Any], shape: RowShape, line: int) -> str:
        name = None if shape.id is None else name_of(row[shape.id], column=shape.id)
        return f"{self.stem}:{line}" if name is None else name

    def _behavior(self, row: dict[str, Any], shape: RowShape) -> str | None:
        behavior = None
        if shape.behavior is not None:
            behavior = name_of(row[shape.behavior], column=shape.behavior)
        if behavior is None and isinstance(row.get("propositions"), dict):
            kind = row.get("response_type")
            behavior = BEHAVIOR_WORDS.get(kind) if isinstance(kind, str) else None
        return behavior or self.request.behavior


def name_of(value: Any, *, column: str) -> str | None:
    """Give an id, a group or the like as text: 3 and 3.0 are ``"3"``, blank text is none."""
    if isinstance(value, str):
        return value if value.strip() else None
    try:
        if isinstance(value, float) and math.isfinite(value):
            is_whole = value.is_integer() and abs(value) < _MAX_WHOLE
            return f"{int(value)}" if is_whole else f"{value!r}"
        if isinstance(value, Decimal) and value.is_finite():  # as databases give whole numbers
            is_whole = abs(value) < _MAX_WHOLE and value == int(value)
            return f"{int(value)}" if is_whole else f"{value}"
        if isinstance(value, int) and not isinstance(value, bool):
            return f"{value}"
    except ValueError:  # more digits than Python writes
        pass
    raise RowError(f"must be text or a number, got {got(value)}", column=column)
