"""What the store of replies prints: its judges, items with failures, and one item whole."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from voirdire._validation import printable, shorten
from voirdire.reporting.narrow_tables import plain_table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from voirdire.judging import ItemReplies, ReplyListing, StoredAttempt, StoredJudge

__all__ = ["item_reply_tables", "reply_tables"]

_SHOWN_DIGITS = 16


def reply_tables(listing: ReplyListing) -> list[RenderableType]:
    """Lay out the judges of a store, and the items with most failures."""
    n_shown = len(listing.items)
    more = f"{listing.n_items - n_shown:,} more items; --limit lists more." if n_shown else ""
    return [
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
    ]


def item_reply_tables(found: ItemReplies) -> list[RenderableType]:
    """Lay out what judges replied about an item, and what was sent."""
    name = "" if found.id is None else f" ({shorten(found.id)})"
    parts: list[RenderableType] = [f"item {found.item}{name}", "", _judge_table(found.judges)]
    for row in found.attempts:
        judge = f"judge {row.judge}: " if len(found.judges) > 1 else ""
        parts.append(f"\n{judge}{shorten(row.call)}, attempt {row.attempt}: {_outcome(row)}")
        parts += [indent(printable(row.reason), "  ")] if row.reason else []
        parts += [] if row.text is None else [_quoted(row.text or "(empty)")]
    for sent in found.sent:
        parts.append(f"\nsent by judge {sent.judge} for {shorten(sent.call)}:")
        for message in sent.messages:
            parts.append(f"  {shorten(message['role'])}:\n{_quoted(message['content'])}")
        if sent.schema:
            parts.append(f"  JSON Schema of the reply:\n{_quoted(sent.schema)}")
    if found.unsent:
        unsent = found.unsent.replace("`items`", "`--items`").replace("`rubric`", "`--rubric`")
        parts.append(f"\nWhat was sent cannot be shown: {unsent}.")
    return parts


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
