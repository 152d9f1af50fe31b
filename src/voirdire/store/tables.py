"""The tables of a store, the same in every database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import (
    Column,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    insert,
    select,
    text,
)

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.store.database import SCHEMA_VERSION

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["CALLS", "JUDGES", "check_version", "create_tables", "register_judge"]

_METADATA = MetaData()

_SCHEMA = Table(
    "voirdire_schema",
    _METADATA,
    Column("version", Integer, nullable=False),
)

JUDGES = Table(
    "voirdire_judges",
    _METADATA,
    Column("id", Integer, primary_key=True),
    Column("fingerprint", Text, nullable=False, unique=True),
    Column("description", Text, nullable=False),
)

# Rows lie in the order in which they came, and the key is an index beside them. With the rows
# inside the key's own tree (WITHOUT ROWID) a hash would put every one into another page: measured
# at 100,000 and more rows, half the inserts a second, and a quarter of the reads of 4 kB blobs.
CALLS = Table(
    "voirdire_calls",
    _METADATA,
    Column("judge_id", Integer, nullable=False),
    Column("item", LargeBinary, nullable=False),
    Column("name", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("blob", LargeBinary, nullable=False),
    PrimaryKeyConstraint("judge_id", "item", "name", "attempt"),
)

# Who is making which call now, and until when nobody else makes it. Stores of earlier releases lack
# this table until the first claim.
CLAIMS = Table(
    "voirdire_claims",
    _METADATA,
    Column("judge_id", Integer, nullable=False),
    Column("item", LargeBinary, nullable=False),
    Column("name", Text, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("owner", Text, nullable=False),
    Column("until", Float, nullable=False),
    PrimaryKeyConstraint("judge_id", "item", "name", "attempt"),
    sqlite_with_rowid=False,
)

_REGISTER = text(
    "INSERT INTO voirdire_judges (fingerprint, description) VALUES (:fingerprint, :description) "
    "ON CONFLICT (fingerprint) DO NOTHING"
)


def create_tables(connection: Connection) -> None:
    """Make the tables that are missing, inside a transaction that nobody else can enter."""
    _METADATA.create_all(connection)
    if connection.execute(select(_SCHEMA.c.version)).first() is None:
        connection.execute(insert(_SCHEMA).values(version=SCHEMA_VERSION))


def check_version(connection: Connection, *, shown: str) -> None:
    """Refuse a store whose tables are of another version."""
    version = connection.execute(select(_SCHEMA.c.version)).scalar()
    if version != SCHEMA_VERSION:
        msg = (
            f"{shown}: the store must be of version {SCHEMA_VERSION}, got {shorten(version)}. "
            "Use the release of voirdire that made it, or name another file."
        )
        raise InputError(msg)


def register_judge(connection: Connection, fingerprint: str, *, description: str) -> None:
    """Give a judge its number, unless it has one."""
    connection.execute(_REGISTER, {"fingerprint": fingerprint, "description": description})
