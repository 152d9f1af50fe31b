"""Lists the stored replies of language models: what came back, and why calls failed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from voirdire._messages import shorten
from voirdire._validation import check_count
from voirdire.errors import InputError, UnsupportedError, VerdictParseError
from voirdire.judging.asking import Ask
from voirdire.judging.binding import reply_fingerprint
from voirdire.judging.call_plan import (
    find_asked_places,
    hash_item,
    limit_examples,
    make_reader,
)
from voirdire.judging.calls import CallFailure, decode_attempt
from voirdire.judging.outputs import STORE_NAME, open_replies
from voirdire.judging.settings import StoredReplies
from voirdire.records.tables import Tabular
from voirdire.rubrics import load_rubric

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from voirdire.judging.reading import DecisionReader, ReplyReader
    from voirdire.records import Item
    from voirdire.rubrics import Rubric
    from voirdire.store import JudgeRecord, ReplyStore


@dataclass(frozen=True, kw_only=True)
class StoredReply:
    """One attempt at a call, and its outcome.

    Attributes
    ----------
    judge : str
        Name of the judge when it was first used.
    item : str
        Hash of the conversation and the responses, 64 hexadecimal digits.
    id : str or None
        The item's id, where the items were given and one of them has this hash.
    call : str
        Which of the item's calls it was, such as ``"joint"``.
    attempt : int
        From 0.
    outcome : {"reply", "unreadable", "failure", "damaged", "unread"}
        A reply; a reply in another form than was asked for; no reply; a row that was damaged on the
        disk; or a reply to anything but the rubric's questions, which was not read.
    reason : str or None
        Why it failed.
    text : str or None
        The whole reply.
    """

    judge: str
    item: str
    id: str | None
    call: str
    attempt: int
    outcome: Literal["reply", "unreadable", "failure", "damaged", "unread"]
    reason: str | None = None
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReplyListing(Tabular, rows="replies"):
    """Replies of a store.

    Attributes
    ----------
    replies : tuple of StoredReply
        By judge, item and call, in the order in which they were made.
    n_replies : int
        How many there are, those that are not listed included.
    """

    replies: tuple[StoredReply, ...]
    n_replies: int


def list_replies(
    store: ReplyStore | str | Path,
    *,
    rubric: Rubric | str | Path = "safety",
    items: Iterable[Item] = (),
    item: str | None = None,
    failed: bool = False,
    limit: int = 50,
) -> ReplyListing:
    """List the stored replies of language models, and why calls failed.

    Parameters
    ----------
    store : ReplyStore, str or path
        Where replies are stored, as `voirdire.store.open_store` takes it; nothing is created or
        changed.
    rubric : Rubric, str or path, optional
        What was asked.
    items : iterable of Item, optional
        The items that were judged, for their ids: a store holds only their hashes.
    item : str, optional
        List only this item: how its hash begins, or its id in `items`.
    failed : bool, optional
        Whether only what failed or cannot be read is listed.
    limit : int, optional
        How many to list, at least 1.

    Returns
    -------
    ReplyListing

    Raises
    ------
    InputError
        If there is no such store, or nothing is stored about the item.
    """
    check_count("limit", limit, minimum=1)
    asked = load_rubric(rubric)
    ids: dict[bytes, str] = {}
    for each in items:
        ids.setdefault(hash_item(each), each.id)
    listed: list[StoredReply] = []
    n_replies = n_of_item = 0
    with open_replies(StoredReplies(store), makes=False) as replies:
        if replies.opened is None:
            msg = f"`store` must be a store of replies, got {str(store)!r}, which is no file, "
            raise InputError(f"{msg}or an empty one. Name {STORE_NAME} beside the verdicts.")
        for judge in replies.opened.judges():
            reader_of = _make_readers(judge, asked)
            for call in replies.opened.scan(judge.id):
                name = ids.get(call.item)
                if item not in (None, name) and not call.item.hex().startswith(str(item).lower()):
                    continue
                n_of_item += 1
                row = StoredReply(
                    judge=str(judge.description.get("name", "")),
                    item=call.item.hex(),
                    id=name,
                    call=call.name,
                    attempt=call.attempt,
                    **_read_outcome(call.blob, reader_of(call.name)),
                )
                if not failed or row.outcome not in ("reply", "unread"):
                    n_replies += 1
                    if n_replies <= limit:
                        listed.append(row)
    if item is not None and not n_of_item:
        msg = f"`item` must be the beginning of a hash, or an id of `items`, got {shorten(item)!r}"
        raise InputError(f"{msg}, of which no reply is stored. List the store without it.")
    return ReplyListing(replies=tuple(listed), n_replies=n_replies)


def _read_outcome(blob: bytes, reader: ReplyReader | DecisionReader | None) -> dict[str, Any]:
    kept = decode_attempt(blob)
    if kept is None:
        return {"outcome": "damaged", "reason": "the row was damaged on the disk"}
    if isinstance(kept, CallFailure):
        return {"outcome": "failure", "reason": kept.failure().reason}
    if reader is None:
        return {"outcome": "unread", "text": kept.text}
    try:
        reader.read(kept)
    except (VerdictParseError, UnsupportedError) as error:
        return {"outcome": "unreadable", "reason": str(error), "text": kept.text}
    return {"outcome": "reply", "text": kept.text}


def _make_readers(judge: JudgeRecord, rubric: Rubric) -> Any:
    """Return what gives the reader of a call's replies; None where other questions were asked."""
    asking: dict[str, Any] = dict(judge.description.get("asking") or {})
    is_known = reply_fingerprint(asking, rubric) == judge.fingerprint

    @cache
    def reader_of(call: str) -> ReplyReader | DecisionReader | None:
        places = find_asked_places(call, rubric) if is_known else None
        if places is None:
            return None
        rows = [limit_examples(rubric.questions[k], asking["n_examples"]) for k in places]
        return make_reader(Ask(questions=tuple(rows), probability=asking["probability"]))

    return reader_of
