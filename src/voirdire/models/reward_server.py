"""Asks a running ``voirdire serve`` for verdicts and rewards of items."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args
from urllib.parse import urlsplit, urlunsplit

import msgspec

from voirdire._messages import shorten
from voirdire.errors import (
    AccessError,
    BadRequestError,
    InputError,
    ModelCallError,
    ModelTimeoutError,
    ServerError,
)
from voirdire.models.endpoints import Keys, check_base_url, read_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.models.openai_compatible.connection import HttpAnswer, HttpConnection

__all__ = [
    "TOKEN_ENV",
    "Probabilities",
    "RefusalCode",
    "RewardName",
    "RewardServer",
    "ServerVerdicts",
    "is_reward_server",
]

TOKEN_ENV = "VOIRDIRE_TOKEN"  # noqa: S105  # a variable's name
"""Environment variable of the token, where the server needs one."""

_NAME = "the reward server"
_TIMEOUT_S = 3_600.0
"""Longer than any deadline, which callers give with each request."""

_DESCRIBED_S = 30.0
_CONNECTIONS = 8
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_LEAST_S = 0.001
_MOST_TRIES = 3
_PASSING = (None, 408, 425, 429, 502, 503, 504)
"""Transient errors: a busy server, one that is starting, and no connection."""

_HEADROOM = 0.9
"""Share of the remaining time that the server may use, since its answer needs time too."""

_UNREADABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
RefusalCode: TypeAlias = Literal[
    "malformed", "no_token", "not_found", "wrong_method", "too_slow", "no_number", "too_large",
    "wrong_type", "wrong_host", "wrong_form", "internal", "queue_full", "ending", "not_ready",
]  # fmt: skip
"""Codes of our own servers; other words are not repeated in messages."""


class RewardName(msgspec.Struct, frozen=True, kw_only=True):
    """The reward: its name and hash, and the fingerprint of its verdicts."""

    name: str
    content_hash: str
    fingerprint: str


class Probabilities(msgspec.Struct, frozen=True, kw_only=True):
    """Probabilities: a row per item, a column per proposition, null if unknown."""

    propositions: tuple[str, ...]
    values: list[list[float | None]]


class ServerVerdicts(msgspec.Struct, frozen=True, kw_only=True):
    """A server's answer about items, in their order.

    Attributes
    ----------
    rule_rewards : list of float or None
        Without base rewards.
    behaviors : list of str or None
        Whose weights were used.
    missing : list of str or None
        Why there is no reward.
    probabilities
        Its `propositions` are the columns of its `values`.
    reward
        Its `content_hash`, and the `fingerprint` of the verdicts.
    n_late, n_remembered, n_stored : int
        As of `LiveScores`.
    answered_by : list of str or None, or None
        Which judge of a cascade each item came to.
    """

    rule_rewards: list[float | None]
    behaviors: list[str | None]
    missing: list[str | None]
    probabilities: Probabilities
    reward: RewardName
    n_late: int = 0
    n_remembered: int = 0
    n_stored: int = 0
    answered_by: list[str | None] | None = None

    def check(self, n_items: int) -> None:
        """Raise a `ServerError` where an answer does not fit so many items."""
        rows = self.probabilities.values
        lists: list[Sequence[object]] = [self.rule_rewards, self.behaviors, self.missing, rows]
        lists += [] if self.answered_by is None else [self.answered_by]
        n_columns = len(self.probabilities.propositions)
        counts = self.n_late, self.n_remembered, self.n_stored
        wrong = None
        if {len(one) for one in lists} != {n_items} or any(len(row) != n_columns for row in rows):
            wrong = "answered about another number of items"
        elif not all(0 <= n <= n_items for n in counts):
            wrong = "counted more items than it was asked about"
        elif any(p is not None and not 0 <= p <= 1 for row in rows for p in row):
            wrong = "gave probabilities outside [0, 1]"
        if wrong is not None:
            msg = f"{_NAME} {wrong}."
            raise ServerError(msg, status=200)


def is_reward_server(text: object) -> bool:
    """Return the address of a server from the path of a file."""
    return isinstance(text, str) and text.startswith(("http://", "https://"))


class RewardServer:
    """Asks one server.

    Parameters
    ----------
    address : str
        Such as ``"http://127.0.0.1:8000"``. Its token, if it has one, is in the environment.

    Raises
    ------
    InputError
        If the address is none, or holds a password.

    Notes
    -----
    *Order*: as the items. *Errors*: a `ModelCallError`, which holds neither a text nor the token.
    *Cancellation*: a request ends at once; the server goes on, and remembers. *Memory*: the
    requests under way. *Retries and caching*: a server that is busy, or not there, is asked again
    until the deadline; nothing is kept here.
    """

    def __init__(self, address: str) -> None:
        try:
            base = check_base_url(address).removesuffix("/v1")
        except InputError:
            shown = shorten(str(address).rpartition("@")[2].partition("?")[0])
            msg = (
                f"`reward` must be a reward, its file, or an address such as "
                f"'http://127.0.0.1:8000' without a password, got {shown!r}. A token goes into "
                f"the environment, as {TOKEN_ENV}."
            )
            raise InputError(msg) from None
        self.address = base
        self._keys = read_keys(TOKEN_ENV) if os.environ.get(TOKEN_ENV) else Keys({})
        self._asked: HttpConnection | None = None

    async def description(self) -> dict[str, Any]:
        """Read the description of the reward, with its `document`."""
        connection = self._connection("/v1/reward")
        try:
            answer = await _within(_DESCRIBED_S, connection.get())
        finally:
            await connection.close()
        _check_status(answer)
        try:
            return msgspec.json.decode(answer.body, type=dict[str, Any])
        except _UNREADABLE:
            msg = f"{_NAME} described its reward in a form that is not known."
        raise ServerError(msg)

    async def ask(self, body: Mapping[str, Any], *, deadline_s: float) -> ServerVerdicts:
        """Ask about items.

        Parameters
        ----------
        body : mapping
            With the `items`, as the server takes them.
        deadline_s : float
            Seconds, after which a `ModelTimeoutError` is raised; the server gives what it has a
            little earlier.
        """
        end = time.monotonic() + deadline_s
        pause_s = _FIRST_PAUSE_S
        for tried in itertools.count(1):
            left_s = max(end - time.monotonic(), _LEAST_S)
            try:
                return await self._ask_once(body, left_s=left_s)
            except (ServerError, ModelTimeoutError) as error:
                is_hopeless = tried >= _MOST_TRIES and error.status not in _PASSING
                wish_s = error.retry_after_s
                wait_s = pause_s if wish_s is None else max(wish_s, pause_s)
                if is_hopeless or end - time.monotonic() <= wait_s:
                    raise
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            await asyncio.sleep(wait_s)
        raise AssertionError  # pragma: no cover  # counting has no end

    async def close(self) -> None:
        """Close the connections."""
        asked, self._asked = self._asked, None
        if asked is not None:
            await asked.close()

    async def _ask_once(self, body: Mapping[str, Any], *, left_s: float) -> ServerVerdicts:
        whole = {**body, "verdicts": True, "deadline_s": _HEADROOM * left_s}
        if self._asked is None:
            self._asked = self._connection("/v1/rewards")
        answer = await _within(left_s, self._asked.post(encode_json(whole)))
        _check_status(answer)
        try:
            found = msgspec.json.decode(answer.body, type=ServerVerdicts)
        except _UNREADABLE:
            msg = f"{_NAME} answered in a form that is not known."
        else:
            found.check(len(body["items"]))
            return found
        # raised out here, so that it does not carry a text of the answer
        raise ServerError(msg, status=answer.status)

    def _connection(self, path: str) -> HttpConnection:
        from voirdire.models.openai_compatible.connection import HttpConnection

        parts = urlsplit(self.address)
        url = urlunsplit(parts._replace(path=parts.path + path))
        return HttpConnection(
            name=_NAME,
            url=url,
            keys=self._keys,
            timeout_s=_TIMEOUT_S,
            connections=_CONNECTIONS,
        )


def encode_json(content: Any) -> bytes:
    """Encode JSON, with lone surrogates as escapes."""
    try:
        return msgspec.json.encode(content, enc_hook=_to_plain)
    except UnicodeEncodeError:
        import json

        return json.dumps(content, default=_to_plain).encode()


def _to_plain(value: Any) -> Any:
    """Convert arrays of Parquet, and arguments of tools, to plain values."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


async def _within(limit_s: float, asked: Any) -> HttpAnswer:
    try:
        async with asyncio.timeout(limit_s):
            answer: HttpAnswer = await asked
            return answer
    except TimeoutError:
        msg = f"{_NAME}: no reply in time."
    raise ModelTimeoutError(msg)


def _check_status(answer: HttpAnswer) -> None:
    status = answer.status
    if status == 200:
        return
    said = f"{_NAME} answered {status}{_code(answer.body)}."
    kind: type[ModelCallError] = BadRequestError
    if status in (401, 403, 404, 421) or 300 <= status < 400:
        kind = AccessError
    elif status in (408, 425, 429) or status >= 500:
        kind = ServerError
    raise kind(said, status=status, retry_after_s=_retry_after(answer.headers))


def _code(body: bytes) -> str:
    """Return the code of a refusal where it is one of ours, and no other text."""
    try:
        code = msgspec.json.decode(body)["error"]["code"]
    except (*_UNREADABLE, KeyError, TypeError):
        return ""
    return f" ({code})" if code in get_args(RefusalCode) else ""


def _retry_after(headers: Mapping[str, str]) -> float | None:
    text = headers.get("Retry-After", "")
    return float(text) if text.isascii() and text.isdigit() and len(text) < 10 else None
