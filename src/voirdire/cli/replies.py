"""`voirdire replies`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from voirdire.cli import options as typed
from voirdire.cli.calls import is_source
from voirdire.cli.printing import Printed, progress, start_reading

if TYPE_CHECKING:
    from collections.abc import Iterable

    from voirdire.io import ItemBatch


def replies_command(
    store: Annotated[str, Parameter(metavar="STORE", validator=is_source)],
    item: Annotated[str | None, Parameter(metavar="ITEM")] = None,
    /,
    *,
    items: typed.Source = None,
    rubric: typed.RubricName = "safety",
    failed: bool = False,
    limit: Annotated[int, Parameter(validator=Number(gte=1))] = 50,
    judged: typed.JudgedPart = "final_answer",
    columns: typed.Columns = None,
    format: typed.Format = None,
    printed: Printed = Printed(),
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
    start_reading()
    from voirdire.io import stream_items
    from voirdire.judging import list_replies
    from voirdire.reporting import ResultTables
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
    printed.print(listing, ResultTables(listing))
