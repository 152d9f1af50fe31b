"""`voirdire replies`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from voirdire.cli.options import (
    AsJson,
    Columns,
    File,
    Format,
    JudgedPart,
    RubricName,
)
from voirdire.cli.printing import listen_for_interrupts, print_result, progress

if TYPE_CHECKING:
    from collections.abc import Iterable

    from voirdire.io import ItemBatch

__all__ = ["replies_command"]


def replies_command(
    store: Annotated[str, Parameter(metavar="STORE")],
    item: Annotated[str | None, Parameter(metavar="ITEM")] = None,
    /,
    *,
    items: File = None,
    rubric: RubricName = "safety",
    failed: bool = False,
    limit: Annotated[int, Parameter(validator=Number(gte=1))] = 50,
    judged: JudgedPart = "final_answer",
    columns: Columns = None,
    format: Format = None,
    as_json: AsJson = False,
) -> None:
    """Show what language models replied, and why calls failed.

    Parameters
    ----------
    store
        Where replies are stored: voirdire-replies.sqlite beside the verdicts, or what --store
        named.
    item
        Show only this item: how its hash begins, or its id in --items.
    items
        The items that were judged, for their ids, which no store holds.
    failed
        Show only what failed or cannot be read.
    limit
        Show so many replies at most.
    columns
        Your name for a column of --items, as OURS=YOURS; repeatable.
    """
    listen_for_interrupts()
    from voirdire.io import stream_items
    from voirdire.judging import list_replies
    from voirdire.reporting.reply_tables import reply_lines
    from voirdire.rubrics import load_rubric

    loaded_rubric = load_rubric(rubric)
    batches: Iterable[ItemBatch] = ()
    if items is not None:
        batches = stream_items(
            items,
            format=format,
            columns=columns,
            judged=judged,
            pairs=all(row.kind == "pairwise" for row in loaded_rubric.questions),
            images=True,
        )
    with progress("reading replies"):
        listing = list_replies(
            store,
            rubric=loaded_rubric,
            items=(row for batch in batches for row in batch.items),
            item=item,
            failed=failed,
            limit=limit,
        )
    print_result(listing, *reply_lines(listing), as_json=as_json)
