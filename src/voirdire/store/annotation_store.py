"""Stores studies, who labels in them, and every answer; of answers nothing is ever changed."""

from __future__ import annotations

import json
import time
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
import sqlalchemy as sa

from voirdire.store.database import Database, read_address

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

Action: TypeAlias = Literal["answer", "undo", "flag", "note"]
Role: TypeAlias = Literal["annotator", "coordinator", "past"]


class Answer(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One thing that somebody did to a task: a row, which stays as it is.

    Attributes
    ----------
    uuid : str
        By the browser; a row that is sent again is known by it.
    seat : int
        Whose.
    item : str
        The item's id.
    turn : int
        0, or 1 where the item is shown to the same person again.
    question : str
        The question's id or the criterion's key; empty for a flag or note on the item.
    action : {"answer", "undo", "flag", "note"}
        An undo takes the answer back.
    value : bool, str, float, list of str or None
        The label, None for "can't tell"; whether it is flagged; the text of the note.
    seconds : float or None
        How long it took.
    at : float
        When the server got it, in seconds since 1970.
    """

    uuid: str
    seat: int
    item: str
    turn: int = 0
    question: str = ""
    action: Action = "answer"
    value: Any = None
    seconds: float | None = None
    at: float = msgspec.field(default_factory=time.time)


@dataclass(frozen=True, kw_only=True)
class Seat:
    """Somebody's place in a study.

    Attributes
    ----------
    number : int
        From 0; -1 is the coordinator.
    name : str
        Of the annotator, as labels have it.
    role : {"annotator", "coordinator", "past"}
        `past` has labels from elsewhere, and gets no items.
    digest : bytes or None
        SHA-256 of the secret of the link; None where there is none, or no more.
    since, until : int, int or None
        The part of the order of items that is given to it.
    left_at : float or None
        When the link was taken away, in seconds since 1970.
    """

    number: int
    name: str
    role: Role = "annotator"
    digest: bytes | None = None
    since: int = 0
    until: int | None = None
    left_at: float | None = None


_TABLES = sa.MetaData()
_STUDIES = sa.Table(
    "voirdire_studies",
    _TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("study", sa.Text, nullable=False),
    sa.Column("document", sa.LargeBinary, nullable=False),
)
_SEATS = sa.Table(
    "voirdire_seats",
    _TABLES,
    sa.Column("study", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("seat", sa.LargeBinary, nullable=False),
    sa.UniqueConstraint("study", "name"),
)
_ANSWERS = sa.Table(
    "voirdire_answers",
    _TABLES,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("study", sa.Text, nullable=False, index=True),
    sa.Column("uuid", sa.Text, nullable=False, unique=True),
    sa.Column("answer", sa.LargeBinary, nullable=False),
)
_SCHEMA = sa.Table(
    "voirdire_annotation_schema", _TABLES, sa.Column("version", sa.Integer, nullable=False)
)
_INSERT = (
    "INSERT INTO voirdire_answers (study, uuid, answer) VALUES ({0}, {0}, {0}) "
    "ON CONFLICT (uuid) DO NOTHING"
)


def open_annotations(url: str | Path, *, makes: bool = True) -> AnnotationStore:
    """Open a store of annotations, and create it where there is none.

    Parameters
    ----------
    url : str or path
        As for `open_store`; a place of its own.
    makes : bool, optional
        Whether a store is created where there is none.

    Returns
    -------
    AnnotationStore
        Close it, or use it in a ``with`` statement.

    Raises
    ------
    InputError
        As for `open_store`.

    Notes
    -----
    An answer is safe once `commit` has returned: SQLite has then been told to write it to the disk
    (``synchronous = FULL``), so that it outlives a power cut too. The file holds hashes of secrets,
    never a secret.
    """
    return AnnotationStore(read_address(url), makes=makes)


class AnnotationStore(Database):
    """Studies, seats and answers; made by `open_annotations`."""

    tables, schema, version, content = _TABLES, _SCHEMA, 2, "annotations"
    pragmas = "PRAGMA synchronous=FULL; PRAGMA cache_size=-16384"

    def studies(self) -> list[str]:
        """Name the studies, the latest last."""
        query = sa.select(_STUDIES.c.study).group_by(_STUDIES.c.study)
        query = query.order_by(sa.func.min(_STUDIES.c.id))
        return list(self.transact(lambda connection: connection.execute(query).scalars().all()))

    def documents(self, study: str, *, after: int = 0) -> list[dict[str, Any]]:
        """Read what a study consists of: the first has its settings, each of them some items."""
        query = sa.select(_STUDIES.c.document).where(_STUDIES.c.study == study)
        query = query.order_by(_STUDIES.c.id).offset(after)
        rows = self.transact(lambda connection: connection.execute(query).scalars().all())
        return [json.loads(zlib.decompress(row)) for row in rows]

    def add_document(self, study: str, document: bytes) -> None:
        """Add to what a study consists of."""
        row = {"study": study, "document": zlib.compress(document)}
        self.transact(lambda connection: connection.execute(sa.insert(_STUDIES), row))

    def seats(self, study: str) -> list[Seat]:
        """Read who takes part, by number."""
        query = sa.select(_SEATS.c.seat).where(_SEATS.c.study == study).order_by(_SEATS.c.number)
        rows = self.transact(lambda connection: connection.execute(query).scalars().all())
        return [msgspec.json.decode(row, type=Seat) for row in rows]

    def add_seat(self, study: str, seat: Seat) -> None:
        """Give somebody a place; name and number are free."""
        row: dict[str, Any] = {"study": study, "number": seat.number, "name": seat.name}
        row["seat"] = msgspec.json.encode(seat)
        self.transact(lambda connection: connection.execute(sa.insert(_SEATS), row))

    def change_seat(self, study: str, seat: Seat) -> None:
        """Change the link of a seat, or where its part of the order ends."""
        query = sa.update(_SEATS).where(_SEATS.c.study == study, _SEATS.c.number == seat.number)
        query = query.values(seat=msgspec.json.encode(seat))
        self.transact(lambda connection: connection.execute(query))

    def answers(self, study: str, *, after: int = 0) -> list[Answer]:
        """Read what was done in a study in the order of arrival, without so many at first."""
        query = sa.select(_ANSWERS.c.answer).where(_ANSWERS.c.study == study)
        query = query.order_by(_ANSWERS.c.id).offset(after)
        rows = self.transact(lambda connection: connection.execute(query).scalars().all())
        return [msgspec.json.decode(row, type=Answer) for row in rows]

    def insert(self, rows: Sequence[tuple[str, Answer]]) -> None:
        """Put answers in, each with its study; one whose uuid is there already is left out."""
        statement = _INSERT.format("?" if self._is_sqlite else "%s")
        values = [(study, row.uuid, msgspec.json.encode(row)) for study, row in rows]
        if values:
            self.transact(lambda connection: connection.exec_driver_sql(statement, values))
