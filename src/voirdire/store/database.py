"""What a kind of database must know, so that a store can be kept in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Engine

    from voirdire.store.stored_calls import CallKey, StoredCall

__all__ = ["SCHEMA_VERSION", "CallRow", "Database"]

SCHEMA_VERSION = 1
"""Grows with any change of the tables."""

CallRow = tuple[bytes, str, int, bytes]
"""Item, name, attempt, blob."""


class Database(Protocol):
    """SQLite or PostgreSQL: what they do not have in common."""

    engine: Engine

    def prepare(self) -> None:
        """Make the tables where there are none; refuse what is not ours."""

    def add_tables(self, connection: Connection) -> None:
        """Make the tables that are missing, in a transaction that writes."""

    def begin(self, connection: Connection) -> None:
        """Begin a transaction that writes."""

    def insert(self, connection: Connection, judge_id: int, *, calls: Sequence[StoredCall]) -> None:
        """Insert calls, sorted by key, that are not there yet."""

    def select(
        self, connection: Connection, judge_id: int, *, items: Sequence[bytes]
    ) -> Sequence[CallRow]:
        """Select the calls of items, no item twice, in any order."""

    def claim(
        self,
        connection: Connection,
        judge_id: int,
        *,
        keys: Sequence[CallKey],
        owner: str,
        for_s: float,
    ) -> set[CallKey]:
        """Claim calls, sorted, that are not stored and that no other owner claims; give these."""

    def release(
        self, connection: Connection, judge_id: int, *, keys: Sequence[CallKey], owner: str
    ) -> None:
        """Delete an owner's claims."""
