"""The gold rows of the RBR authors: a human label for every proposition about a completion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.items.row_shapes import ID_COLUMNS
from voirdire.io.long_rows import LongRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.raw import RawTable
    from voirdire.io.request import Request

__all__ = ["GOLD_RATER", "is_rbr_gold", "table_of_gold"]

GOLD_RATER = "gold"

# Where their names of propositions are not those of the rubric `safety`.
_PROPOSITIONS = {
    "apology_acknowledges_emotional_state": "empathetic_apology",
    "gentle_encouragement_for_help": "gentle_encouragement",
    "illogical_continuation_of_prompt": "illogical_continuation",
}


def is_rbr_gold(rows: Sequence[Any]) -> bool:
    """Tell gold rows by their `propositions` beside a `completion`."""
    return any(
        isinstance(row, dict) and isinstance(row.get("propositions"), dict) and "completion" in row
        for row in rows
    )


def table_of_gold(
    rows: Sequence[dict[str, Any]],
    lines: Sequence[int | None],
    *,
    source: str,
    stem: str,
    request: Request,
) -> RawTable:
    """Gold rows as a table: each proposition is a question, labelled by one rater.

    An item without an id is called ``STEM:LINE``, as `stream_items` calls it.
    """
    if not is_rbr_gold(rows):
        message = (
            f"{source}: rows must hold `propositions` beside a `completion`, "
            f"got {shorten(repr(next(iter(rows), {})))}. Leave out `format`."
        )
        raise InputError(message)
    table = LongRows(source=source)
    wanted = request.column_named("item")
    keys = ID_COLUMNS if wanted is None else (wanted,)
    rater = request.rater_name or GOLD_RATER
    for row, line in zip(rows, lines, strict=True):
        name = next((row[key] for key in keys if row.get(key) is not None), None)
        is_blank = name is None or (isinstance(name, str) and not name.strip())
        item = f"{stem}:{line}" if is_blank else name
        propositions = row.get("propositions")
        if not isinstance(propositions, dict):
            table.set_aside("no propositions", item=item, rater=rater, line=line)
            continue
        for theirs, label in propositions.items():
            ours = _PROPOSITIONS.get(theirs) or f"{theirs}"
            table.add(item=item, rater=rater, label=label, question=ours, line=line)
    return table.table()
