"""Stores models' replies in SQLite by default, or in PostgreSQL for teams.

SQLAlchemy is imported when the first name that needs it is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.store.reply_store import JudgeRecord, ReplyStore, StoredCall, open_store

__all__ = ["JudgeRecord", "ReplyStore", "StoredCall", "open_store"]

__getattr__, __dir__ = _lazy.lazy_names(__name__, dict.fromkeys(__all__, "reply_store"))
