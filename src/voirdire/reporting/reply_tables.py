"""What the store of replies prints: what came back of each call, and why it failed."""

from __future__ import annotations

from textwrap import indent
from typing import TYPE_CHECKING

from voirdire._messages import printable, shorten

if TYPE_CHECKING:
    from voirdire.judging import ReplyListing

__all__ = ["reply_lines"]

_OUTCOMES = {
    "reply": "a reply",
    "unreadable": "a reply that cannot be read",
    "unread": "a reply to something else than the questions of this `--rubric`",
}


def reply_lines(listing: ReplyListing) -> list[str]:
    """Lay out stored replies; nothing in their texts begins at the edge."""
    lines = []
    for row in listing.replies:
        name = row.item[:16] if row.id is None else f"{shorten(row.id)} ({row.item[:16]})"
        where = f"{shorten(row.judge)}, {name}, {shorten(row.call)}, attempt {row.attempt}"
        lines.append(f"{where}: {_OUTCOMES.get(row.outcome, row.outcome)}")
        lines += [indent(printable(row.reason), "  ")] if row.reason else []
        if row.text is not None:
            lines.append(indent(printable(row.text or "(empty)"), "    | ", lambda _: True))
    if more := listing.n_replies - len(listing.replies):
        lines.append(f"and {more:,} more; --limit lists more.")
    return lines or ["The store holds no such replies."]
