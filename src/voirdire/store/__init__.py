"""Stores models' replies in SQLite by default, or in PostgreSQL for teams.

SQLAlchemy is imported when the first name that needs it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.store.group_commit import GroupCommit
    from voirdire.store.opening import open_store
    from voirdire.store.reply_store import JudgeRecord, ReplyStore, StoredCall

__all__ = ["GroupCommit", "JudgeRecord", "ReplyStore", "StoredCall", "open_store", "read_address"]

_HOMES = {
    "GroupCommit": "group_commit",
    "JudgeRecord": "reply_store",
    "ReplyStore": "reply_store",
    "StoredCall": "reply_store",
    "open_store": "opening",
    "read_address": "opening",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
