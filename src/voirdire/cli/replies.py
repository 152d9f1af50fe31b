"""`voirdire replies`."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from voirdire._validation import printable, shorten
from voirdire.cli.options import (
    AsJson,
    Columns,
    File,
    Format,
    JudgedPart,
    RubricName,
)
from voirdire.cli.printing import (
    listen_for_interrupts,
    plain_table,
    print_json,
    print_tables,
    progress,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.table import Table

    from voirdire.judging import ItemReplies, ReplyListing, StoredAttempt, StoredJudge
    from voirdire.records import Item

__all__ = ["replies_command"]

_SHOWN_DIGITS = 16


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
        Where replies are kept: voirdire-replies.sqlite beside the verdicts, or what --store named.
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
    from voirdire.rubrics import load_rubric

    asked = load_rubric(rubric)
    given: Iterator[Item] | None = None
    if items is not None:
        batches = stream_items(
            items,
            format=format,  # type: ignore[arg-type]  # checked there
            columns=columns,
            judged=judged,
            pairs=all(row.kind == "pairwise" for row in asked.questions),
            images=True,
        )
        given = (row for batch in batches for row in batch.items)
    with progress("reading replies"):
        if item is None:
            listing = list_replies(
                store, rubric=asked, items=given or (), failed=failed, limit=limit
            )
        else:
            found = read_replies(store, item, rubric=asked, items=given, failed=failed)
    if as_json:
        print_json(listing if item is None else found)
    elif item is None:
        _print_listing(listing)
    else:
        _print_replies(found)


def _print_listing(listing: ReplyListing) -> None:
    n_shown = len(listing.items)
    more = f"{listing.n_items - n_shown:,} more items; --limit lists more." if n_shown else ""
    print_tables(
        _judge_table(listing.judges) if listing.judges else "The store holds no replies.",
        *(("", _item_table(listing)) if n_shown else ()),
        *((more,) if n_shown < listing.n_items else ()),
        *(
            f"note: judge {row.number} was asked something else than this `--rubric`, or by another"
            " release: which of its replies cannot be read is not known."
            for row in listing.judges
            if row.n_calls and not row.is_read
        ),
        *(("", "One item whole: voirdire replies STORE ITEM") if n_shown else ()),
    )


def _judge_table(judges: tuple[StoredJudge, ...]) -> Table:
    words = ("judge", "model", "mode", "probability")
    rows = [
        (
            str(row.number),
            *(
                shorten(word or "", width=40)
                for word in (row.name, row.model, row.mode, row.probability)
            ),
            *(f"{row.n_calls:,}", f"{row.n_failed:,}"),
        )
        for row in judges
    ]
    return plain_table(("no.", *words, "calls", "failed"), rows, words=words)


def _item_table(listing: ReplyListing) -> Table:
    has_ids = any(row.id is not None for row in listing.items)
    rows = [
        (
            row.item[:_SHOWN_DIGITS],
            *([shorten(row.id or "", width=20)] if has_ids else []),
            *(str(row.judge), f"{row.n_calls:,}", f"{row.n_failed:,}"),
            shorten(row.reason or "", width=60),
        )
        for row in listing.items
    ]
    headings = ("item", *(["id"] if has_ids else []), "judge", "calls", "failed", "why")
    return plain_table(headings, rows, words=("item", "id", "why"))


def _print_replies(found: ItemReplies) -> None:
    name = "" if found.id is None else f" ({shorten(found.id)})"
    print_tables(f"item {found.item}{name}", "", _judge_table(found.judges))
    for row in found.attempts:
        judge = f"judge {row.judge}: " if len(found.judges) > 1 else ""
        print(f"\n{judge}{shorten(row.call)}, attempt {row.attempt}: {_outcome(row)}")
        if row.reason:
            print(indent(printable(row.reason), "  "))
        if row.text is not None:
            print(_quoted(row.text or "(empty)"))
    for sent in found.sent:
        print(f"\nsent by judge {sent.judge} for {shorten(sent.call)}:")
        for message in sent.messages:
            print(f"  {shorten(message['role'])}:\n{_quoted(message['content'])}")
        if sent.schema:
            print(f"  JSON Schema of the reply:\n{_quoted(sent.schema)}")
    if found.unsent:
        unsent = found.unsent.replace("`items`", "`--items`").replace("`rubric`", "`--rubric`")
        print(f"\nWhat was sent cannot be shown: {unsent}.")


def _quoted(text: str) -> str:
    """Set a text apart from what we say: nothing in it begins at the edge."""
    return indent(printable(text), "    | ", lambda _: True)


def _outcome(row: StoredAttempt) -> str:
    """Say in a line what came of an attempt."""
    facts = [row.form, row.finish_reason, row.model]
    if row.prompt_tokens is not None:
        facts.append(f"{row.prompt_tokens:,} tokens in, {row.completion_tokens:,} out")
    facts += [] if row.status is None else [f"HTTP {row.status}"]
    facts += [f"{row.n_tries} tries"] if row.n_tries not in (None, 1) else []
    said = ", ".join(shorten(fact) for fact in facts if fact)
    words = {"unreadable": "a reply that cannot be read", "reply": "a reply"}
    return f"{words.get(row.outcome, row.outcome)}{f' ({said})' if said else ''}"
