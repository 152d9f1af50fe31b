"""Stores models' replies by judge and item, and never changes them."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from dataclasses import dataclass
from itertools import starmap
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec
from msgspec.structs import astuple
from sqlalchemy import select, text, tuple_

from voirdire.errors import InputError
from voirdire.store.databases import CALLS, INSERT, JUDGES, retry_transient, translate_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from sqlalchemy import Connection

    from voirdire.store.databases import Database, StoreAddress

__all__ = ["CallKey", "JudgeRecord", "ReplyStore", "StoredCall", "group_by_name"]

CallKey: TypeAlias = tuple[bytes, str, int]
"""Item, name and number of the attempt: the key of a call of one judge."""


# There are millions of them without references: the garbage collector can skip them.
class StoredCall(msgspec.Struct, frozen=True, gc=False):
    """One attempt at a call to a model, with its reply or failure.

    Attributes
    ----------
    item : bytes
        32 bytes: hash of the item.
    name : str
        Which of the item's calls it was, such as ``"joint/order1"``.
    attempt : int
        Which attempt, from 0.
    blob : bytes
        The encoded reply or failure; the store never decodes it.
    """

    item: bytes
    name: str
    attempt: int
    blob: bytes

    @property
    def key(self) -> CallKey:
        """Its key."""
        return self.item, self.name, self.attempt


@dataclass(frozen=True, kw_only=True)
class JudgeRecord:
    """A judge in a store.

    Attributes
    ----------
    id : int
        Its number in this store.
    fingerprint : str
        Hash of everything that its replies depend on.
    description : mapping of str to Any
        Its description for people, from the first registration.
    """

    id: int
    fingerprint: str
    description: Mapping[str, Any]


def group_by_name(calls: Sequence[StoredCall]) -> dict[str, list[bytes]]:
    """Group the stored attempts about one item by the names of their calls."""
    if len(calls) == 1:
        return {calls[0].name: [calls[0].blob]}
    found: dict[str, list[bytes]] = {}
    for call in calls:
        found.setdefault(call.name, []).append(call.blob)
    return found


T = TypeVar("T")

_CALLS_A_SCAN = 256
_REGISTER = text(
    "INSERT INTO voirdire_judges (fingerprint, description) VALUES (:fingerprint, :description) "
    "ON CONFLICT (fingerprint) DO NOTHING"
)

_order = attrgetter("name", "attempt")


class ReplyStore:
    """Stored replies and failures of models; made by `open_store`.

    Every method may be called from any thread, and several processes may use the same store. A
    forked process must open it again.
    """

    def __init__(self, database: Database, *, address: StoreAddress) -> None:
        self._database = database
        self._address = address
        self._process = os.getpid()
        self._is_closed = False

    def __repr__(self) -> str:
        return f"ReplyStore({self._address.shown!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def judge_id(self, fingerprint: str, *, description: Mapping[str, Any]) -> int:
        """Return the number of a judge, and register it where it has none.

        Parameters
        ----------
        fingerprint : str
            Hash of everything that its replies depend on.
        description : mapping of str to Any
            What it is, for people, as JSON values; never a key. Kept when the judge is first seen.

        Returns
        -------
        int
            The same ever after, in every process.
        """
        described = json.dumps(dict(description), allow_nan=False, sort_keys=True)
        query = select(JUDGES.c.id).where(JUDGES.c.fingerprint == fingerprint)

        def register(connection: Connection) -> int:
            connection.execute(_REGISTER, {"fingerprint": fingerprint, "description": described})
            return int(connection.execute(query).scalar_one())

        known = self._run(lambda connection: connection.execute(query).scalar())
        return self._run(register, writes=True) if known is None else int(known)

    def put(self, judge_id: int, calls: Sequence[StoredCall], *, owner: str | None = None) -> None:
        """Put calls in, all of them or none, and return when they are committed.

        A stored call is not changed.

        Parameters
        ----------
        judge_id : int
            From `judge_id`.
        calls : sequence of StoredCall
            In any order.
        owner : str, optional
            Whose claims of these calls are released with it.

        Raises
        ------
        InputError
            If the disk is full, the file is read-only, or the server is away.
        """
        released = [] if owner is None else [call.key for call in calls]
        self.exchange(judge_id, put=calls, release=released, owner=owner or "")

    def exchange(
        self,
        judge_id: int,
        *,
        put: Sequence[StoredCall] = (),
        release: Sequence[CallKey] = (),
        claim: Sequence[CallKey] = (),
        owner: str,
        for_s: float = 0.0,
    ) -> set[CallKey]:
        """Put, release and claim calls in one transaction, in this order.

        A claimed call is not made by other runs at the same time.

        Parameters
        ----------
        judge_id : int
            From `judge_id`.
        put : sequence of StoredCall, optional
            As for `put`.
        release : sequence of tuple, optional
            Item, name and number of the attempt of each call that will not be made; what the owner
            does not claim stays as it is.
        claim : sequence of tuple, optional
            The same of calls that are about to be made.
        owner : str
            Who claims them; every run has a name of its own.
        for_s : float
            Seconds after which others may claim them, unless they are claimed again: a process
            that was killed releases nothing.

        Returns
        -------
        set of tuple
            Those that may be made. The others are claimed by another owner, or stored since they
            were looked up: `get` says which.
        """
        # In the same order everywhere, to avoid deadlocks.
        stored = [astuple(call) for call in sorted(put, key=attrgetter("item", "name", "attempt"))]
        released, claimed = sorted(release), sorted(set(claim))
        if not (stored or released or claimed):
            return set()

        def work(connection: Connection) -> set[CallKey]:
            at = self._database
            at.run(connection, INSERT, stored, judge_id)
            at.run(connection, at.release, released, judge_id, owner)
            found = at.claim(connection, judge_id, keys=claimed, owner=owner, for_s=for_s)
            return {tuple(row) for row in found}

        return self._run(work, writes=True)

    def get(self, judge_id: int, items: Sequence[bytes]) -> dict[bytes, list[StoredCall]]:
        """Return what is stored of items; faster for hundreds at once than one by one.

        Parameters
        ----------
        judge_id : int
            From `judge_id`.
        items : sequence of bytes
            Hashes of items; one that is named twice is one.

        Returns
        -------
        dict of bytes to list of StoredCall
            The calls of every item that has any, by name and then by attempt.
        """
        wanted = [(item,) for item in dict.fromkeys(items)]
        at = self._database
        rows = self._run(lambda connection: at.run(connection, at.select, wanted, judge_id))
        found: defaultdict[bytes, list[StoredCall]] = defaultdict(list)
        for call in starmap(StoredCall, rows):
            found[call.item].append(call)
        for calls in found.values():
            if len(calls) > 1:
                calls.sort(key=_order)
        return dict(found)

    def scan(self, judge_id: int) -> Iterator[StoredCall]:
        """Iterate over a judge's calls in bounded memory.

        Parameters
        ----------
        judge_id : int
            From `judge_id`.

        Yields
        ------
        StoredCall
            By item, name and attempt. What is put meanwhile may be among them.
        """
        key = tuple_(CALLS.c.item, CALLS.c.name, CALLS.c.attempt)
        columns = select(CALLS.c.item, CALLS.c.name, CALLS.c.attempt, CALLS.c.blob)
        query = mine = columns.where(CALLS.c.judge_id == judge_id)
        while True:
            part = query.order_by(*key).limit(_CALLS_A_SCAN)
            rows = self._run(lambda at, part=part: at.execute(part).all())  # type: ignore[misc]
            calls = [StoredCall(*row) for row in rows]
            yield from calls
            if len(calls) < _CALLS_A_SCAN:
                return
            query = mine.where(key > calls[-1].key)

    def judges(self) -> list[JudgeRecord]:
        """List the judges that have an entry.

        Returns
        -------
        list of JudgeRecord
            In the order in which they were registered.
        """
        query = select(JUDGES).order_by(JUDGES.c.id)
        rows = self._run(lambda connection: connection.execute(query).all())
        return [
            JudgeRecord(
                id=row.id, fingerprint=row.fingerprint, description=json.loads(row.description)
            )
            for row in rows
        ]

    def close(self) -> None:
        """Close the file or the connection; a second call does nothing."""
        self._is_closed = True
        if os.getpid() == self._process:
            self._database.engine.dispose()

    def prepare(self) -> None:
        """Make the tables where there are none; `open_store` has done it."""
        with translate_errors(self._address):
            retry_transient(self._database.prepare, server_may_return=False)

    def _run(self, work: Callable[[Connection], T], *, writes: bool = False) -> T:
        """Run a function; a writing one in a transaction of its own."""

        def attempt() -> T:
            with self._database.engine.connect() as connection:
                if writes:
                    self._database.begin(connection)
                result = work(connection)
                if writes:
                    connection.commit()
            return result

        self._check_usable()
        # A retry does no harm even after a commit whose confirmation was lost: stored calls are not
        # changed.
        with translate_errors(self._address):
            return retry_transient(attempt, server_may_return=True)

    def _check_usable(self) -> None:
        if self._is_closed:
            msg = f"{self._address.shown}: the store must be open, got a closed one. Open it again."
            raise InputError(msg)
        # Two processes on one connection would damage the file.
        if os.getpid() != self._process:
            msg = (
                f"{self._address.shown}: the store must be opened by the process that uses it, got "
                "one from before a fork. Open it again there."
            )
            raise InputError(msg)
