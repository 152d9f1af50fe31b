"""The batch endpoint of a server of chat completions: files of requests, done within a day.

OpenAI's shape: `POST /files`, then `POST /batches`; results are files of the same kind.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from voirdire import errors
from voirdire._messages import shorten

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.models.connection import HttpConnection

ENDED = ("completed", "failed", "expired", "cancelled")
"""States that a batch does not leave."""

_OUR_KEY = "voirdire"
_MOST_LISTED = 100
_NO_ROUTE = (404, 405, 501)
_PATH = "/v1/chat/completions"


def _name(given: Any) -> str:
    """Write what a server calls something as a part of a path."""
    return quote(str(given), safe="")


class NoBatchesError(Exception):
    """The server has no batch endpoint."""


class _Counts(msgspec.Struct):
    total: int = 0
    completed: int = 0
    failed: int = 0


class Batch(msgspec.Struct):
    """A batch as its server describes it.

    Attributes
    ----------
    id, status : str
        Its name there, and its state, such as ``"in_progress"`` or those of `ENDED`.
    output_file_id, error_file_id : str or None
        Files of results, where there are some.
    """

    id: str
    status: str
    output_file_id: str | None = None
    error_file_id: str | None = None
    metadata: dict[str, Any] | None = None
    request_counts: _Counts | None = None
    errors: Any = None

    @property
    def n_done(self) -> int:
        """Requests that have a result."""
        counts = self.request_counts or _Counts()
        return counts.completed + counts.failed

    @property
    def complaint(self) -> str:
        """What the server says is wrong with the whole batch; empty where nothing is."""
        rows = (self.errors or {}).get("data") if isinstance(self.errors, dict) else None
        said = [str(row.get("message")) for row in rows or () if isinstance(row, dict)]
        return shorten("; ".join(said), width=300)


class BatchEndpoint:
    """Submits files of requests to a model's server, once each, and gets their results."""

    def __init__(self, connection: HttpConnection, *, name: str) -> None:
        self._connection, self._name = connection, name

    async def submit(self, path: Path) -> Batch:
        """Submit a file, unless a batch of its content is there.

        Raises
        ------
        NoBatchesError
            If the server has no such route.
        ModelCallError
            If it refuses.
        """
        with path.open("rb") as file:
            key = hashlib.file_digest(file, "sha256").hexdigest()[:40]
        found = await self._find(key)
        if found is not None:
            return found
        uploaded = await self._json(
            "POST", "/files", fields={"purpose": "batch"}, file=path, what="the file of requests"
        )
        asked = {
            "input_file_id": uploaded.get("id"),
            "endpoint": _PATH,
            "completion_window": "24h",
            "metadata": {_OUR_KEY: key},
        }
        return self._batch(await self._json("POST", "/batches", body=asked))

    async def _find(self, key: str) -> Batch | None:
        """Find the batch that an earlier run submitted, perhaps just before it was killed."""
        after, seen = "", set[str]()
        while after not in seen:  # of a server that knows no pages, all are the first
            seen.add(after)
            page = await self._json("GET", f"/batches?limit={_MOST_LISTED}{after}")
            data = page.get("data")
            rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
            for row in rows:
                about = row.get("metadata")
                if isinstance(about, dict) and about.get(_OUR_KEY) == key:
                    return self._batch(row)
            if not (page.get("has_more") and rows):
                break
            after = f"&after={_name(rows[-1].get('id'))}"
        return None

    async def get(self, batch_id: str) -> Batch:
        """Return a batch as it is now."""
        return self._batch(await self._json("GET", f"/batches/{_name(batch_id)}"))

    async def cancel(self, batch_id: str) -> Batch:
        """Cancel a batch; requests that are done keep their results."""
        path = f"/batches/{_name(batch_id)}/cancel"
        return self._batch(await self._json("POST", path, body={}))

    async def download(self, file_id: str, target: Path) -> None:
        """Write a file of results, whole or not at all."""
        unfinished = target.with_name(f".{target.name}.unfinished")
        answer = await self._connection.exchange(
            "GET", f"/files/{_name(file_id)}/content", into=unfinished
        )
        self._check(answer.status, answer.body, what=f"the results {file_id}")
        with unfinished.open("rb") as file:
            start = file.read(2_000)
        if start.strip()[:1] not in (b"", b"{"):
            raise self._refusal("sent what are no results", start, answer.status)
        unfinished.replace(target)

    async def _json(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        fields: dict[str, str] | None = None,
        file: Path | None = None,
        what: str = "a batch",
    ) -> dict[str, Any]:
        data = None if body is None else msgspec.json.encode(body)
        if file is not None:
            import aiohttp

            with file.open("rb") as opened:
                form = aiohttp.FormData(fields or {})
                about = {"filename": file.name, "content_type": "application/jsonl"}
                form.add_field("file", opened, **about)
                whole = form()
                kind = {"Content-Type": whole.headers["Content-Type"]}
                answer = await self._connection.exchange(method, path, data=whole, headers=kind)
        else:
            answer = await self._connection.exchange(method, path, data=data)
        self._check(answer.status, answer.body, what=what)
        try:
            return msgspec.json.decode(answer.body, type=dict[str, Any])
        except msgspec.DecodeError:
            raise self._refusal("sent what is no JSON", answer.body, answer.status) from None

    def _check(self, status: int, body: bytes, *, what: str) -> None:
        if status in _NO_ROUTE:
            raise NoBatchesError
        if not 200 <= status < 300:
            raise self._refusal(f"refused {what} (HTTP {status})", body, status)

    def _refusal(self, what: str, body: bytes, status: int) -> errors.ModelCallError:
        said = self._connection.keys.hide(body[:2_000].decode(errors="replace"))
        kind = errors.AccessError if status in (401, 403) else errors.ServerError
        return kind(f"{self._name} {what}: {shorten(said, width=300)}", status=status)

    def _batch(self, row: dict[str, Any]) -> Batch:
        try:
            return msgspec.convert(row, Batch)
        except msgspec.ValidationError:
            body = msgspec.json.encode(row)
            raise self._refusal("sent what is no batch", body, 200) from None
