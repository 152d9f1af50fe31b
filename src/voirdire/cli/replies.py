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
    from collections.abc import Iterator

    from voirdire.records import Item

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
    """Show what language models replied, why calls failed, and what was sent.

    Parameters
    ----------
    store
        Where replies are stored: voirdire-replies.sqlite beside the verdicts, or what --store
        named.
    item
        Show everything about this item: how its hash begins, or its id in --items. Default: list
        the judges, and the items with most failures.
    items
        The items that were judged: for their ids, and for what was sent, which no store holds.
    failed
        Show only what failed or cannot be read.
    limit
        List so many items at most.
    columns
        Your name for a column of --items, as OURS=YOURS; repeatable.
    """
    listen_for_interrupts()
    from voirdire.io import stream_items
    from voirdire.judging import list_replies, read_replies
    from voirdire.reporting.reply_tables import item_reply_tables, reply_tables
    from voirdire.rubrics import load_rubric

    loaded_rubric = load_rubric(rubric)
    item_stream: Iterator[Item] | None = None
    if items is not None:
        batches = stream_items(
            items,
            format=format,  # type: ignore[arg-type]  # checked there
            columns=columns,
            judged=judged,
            pairs=all(row.kind == "pairwise" for row in loaded_rubric.questions),
            images=True,
        )
        item_stream = (row for batch in batches for row in batch.items)
    with progress("reading replies"):
        if item is None:
            listing = list_replies(
                store, rubric=loaded_rubric, items=item_stream or (), failed=failed, limit=limit
            )
        else:
            item_replies = read_replies(
                store, item, rubric=loaded_rubric, items=item_stream, failed=failed
            )
    if item is None:
        print_result(listing, *reply_tables(listing), as_json=as_json)
    else:
        print_result(item_replies, *item_reply_tables(item_replies), as_json=as_json)
