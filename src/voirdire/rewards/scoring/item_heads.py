"""Items without their texts: all that scoring needs where verdicts are there, at half the time.

Which rows are items, what they are called and what is set aside is decided by the same code as in
`voirdire.io.stream_items`. Only where a row can be nothing but one item with a text for a response
are its texts left where they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.io.files import DataFile
from voirdire.io.items import ItemReader, ItemReading
from voirdire.records import Dropped, Item

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voirdire._types import Judged
    from voirdire.io import ItemBatch
    from voirdire.io.shapes import RowShape

__all__ = ["stream_heads"]

_MOST_PLANS = 256


def stream_heads(
    source: Any,
    *,
    format: Any,  # noqa: A002  # as in `stream_items`
    columns: Mapping[str, str] | None,
    judged: Judged,
    behavior: str | None,
    batch_size: int,
    kept: Sequence[str],
) -> Iterator[ItemBatch]:
    """Read items as `stream_items` does, most of them without prompt and response.

    Parameters
    ----------
    source, format, columns, judged, behavior, batch_size
        As for `stream_items`.
    kept : sequence of str
        What of the metadata is wanted.

    Returns
    -------
    iterator of ItemBatch
        Ids, behaviors and the wanted metadata are right; group, cluster, texts and other metadata
        may be missing.
    """
    reading = ItemReading(columns=columns, judged=judged, behavior=behavior)
    file = DataFile(source, format=format, held="item")
    heads = _Heads.of(file, reading)
    heads.kept = tuple(kept)
    return heads.stream(file, batch_size=batch_size)


class _Plan:
    """Where the head of rows with certain keys stands."""

    def __init__(self, shape: RowShape, kept: Sequence[str]) -> None:
        self.id, self.behavior = shape.id, shape.behavior
        # each of these must be text, or the row may have to be set aside
        words = (shape.body, shape.prompt, shape.group, shape.cluster)
        self.texts = tuple(name for name in words if name is not None)
        self.kept = tuple(name for name in kept if name in shape.metadata)


class _Heads(ItemReader):
    """Takes a short cut where it leads to the same items."""

    kept: tuple[str, ...] = ()

    def __init__(self, reading: ItemReading, **about: Any) -> None:
        super().__init__(reading, **about)
        self._plans: dict[tuple[str, ...], _Plan | None] = {}

    def take(self, row: Any, line: int, items: list[Item]) -> list[Dropped]:
        """Append the items of a row; return what of it was set aside."""
        if (
            type(row) is not dict or not self.first_keys or self.finder.unseen
        ):  # what was declared is still looked for
            return super().take(row, line, items)
        keys = tuple([key for key, value in row.items() if value is not None])
        plan = self._plans.get(keys)
        if plan is None:
            if keys not in self._plans:
                self._plan(keys)
                return self.take(row, line, items)
            return super().take(row, line, items)
        for column in plan.texts:
            if type(row[column]) is not str:
                return super().take(row, line, items)
        name = f"{self.stem}:{line}" if plan.id is None else row[plan.id]
        behavior = self.reading.behavior if plan.behavior is None else row[plan.behavior]
        if type(name) is not str or (behavior is not None and type(behavior) is not str):
            return super().take(row, line, items)
        if not name.strip() or (behavior is not None and not behavior.strip()):
            return super().take(row, line, items)
        kept = {column: row[column] for column in plan.kept}
        items.append(Item(id=name, response="", behavior=behavior, metadata=kept))
        return []

    def _plan(self, keys: tuple[str, ...]) -> None:
        """Settle whether rows with these keys can be cut short."""
        if len(self._plans) >= _MOST_PLANS:  # rows of a hostile file may all differ
            self._plans.clear()
        shape = self.finder.shape(keys)
        is_simple = (
            shape.name == "response"
            and shape.request is None
            and "propositions" not in keys  # gold rows name their behavior in another way
            and not any(column in keys for column in self.finder.chat_columns)
        )
        self._plans[keys] = _Plan(shape, self.kept) if is_simple else None
