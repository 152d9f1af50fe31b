"""Asks a running ``voirdire serve`` for verdicts and rewards of items."""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_args

import msgspec

from voirdire import errors
from voirdire._messages import shorten
from voirdire.models.connection import HttpConnection, check_base_url, read_keys
from voirdire.records.items import is_share
from voirdire.records.plain import encode_json

if TYPE_CHECKING:
    from collections.abc import Mapping

T = TypeVar("T")

# Environment variable of the token, where the server needs one.
TOKEN_ENV = "VOIRDIRE_TOKEN"  # noqa: S105  # a variable's name

_NAME = "the reward server"
_DESCRIBED_S = 30.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_LEAST_S = 0.001
_MOST_TRIES = 3
# Transient errors: a busy server, one that is starting, and no connection.
_PASSING = (None, 408, 425, 429, 502, 503, 504)
# Share of the remaining time that the server may use, since its answer needs time too.
_HEADROOM = 0.9

# Codes of our own servers; other words are not repeated in messages.
RefusalCode: TypeAlias = Literal[
    "malformed", "no_token", "not_found", "wrong_method", "too_slow", "no_number", "too_large",
    "wrong_type", "wrong_host", "wrong_form", "internal", "queue_full", "not_ready", "stopped",
]  # fmt: skip


class RewardName(msgspec.Struct, frozen=True, kw_only=True):
    """The reward: its name and hash, and the fingerprint of its verdicts."""

    name: str
    content_hash: str
    fingerprint: str


class Probabilities(msgspec.Struct, frozen=True, kw_only=True):
    """Probabilities: a row per item, a column per proposition, null if unknown.

    Of a reward that pays criteria they are scores, below 0 and above 1 too.
    """

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
    n_late: Annotated[int, msgspec.Meta(ge=0)] = 0
    n_remembered: Annotated[int, msgspec.Meta(ge=0)] = 0
    n_stored: Annotated[int, msgspec.Meta(ge=0)] = 0
    answered_by: list[str | None] | None = None

    def check(self, n_items: int) -> None:
        """Raise a `ServerError` where an answer does not fit so many items."""
        rows, names = self.probabilities.values, self.answered_by or self.missing
        lists = (self.rule_rewards, self.behaviors, self.missing, rows, names)
        n_columns = len(self.probabilities.propositions)
        is_whole = all(len(row) == n_columns for row in rows) and all(
            x is None or 0 <= x <= 1 or not is_share(name)
            for row in rows
            for x, name in zip(row, self.probabilities.propositions, strict=False)
        )
        n_counted = max(self.n_late, self.n_remembered, self.n_stored)
        if not is_whole or n_counted > n_items or any(len(each) != n_items for each in lists):
            msg = f"{_NAME} answered about other items."
            raise errors.ServerError(msg, status=200)


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
            self.address = check_base_url(address).removesuffix("/v1")
        except errors.InputError:
            shown = shorten(str(address).rpartition("@")[2].partition("?")[0])
            msg = (
                f"`reward` must be a reward, its file, or an address such as "
                f"'http://127.0.0.1:8000' without a password, got {shown!r}. A token goes into "
                f"the environment, as {TOKEN_ENV}."
            )
            raise errors.InputError(msg) from None
        self._keys = read_keys(TOKEN_ENV if os.environ.get(TOKEN_ENV) else None)
        self._rewards = self._connection("/v1/rewards")

    async def description(self) -> dict[str, Any]:
        """Read the description of the reward, with its `document`."""
        connection = self._connection("/v1/reward")
        try:
            return await _call(connection, None, limit_s=_DESCRIBED_S, form=dict[str, Any])
        finally:
            await connection.close()

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
        for n_tries in itertools.count(1):
            left_s = max(end - time.monotonic(), _LEAST_S)
            whole = {**body, "verdicts": True, "deadline_s": _HEADROOM * left_s}
            sent = encode_json(whole)
            try:
                found = await _call(self._rewards, sent, limit_s=left_s, form=ServerVerdicts)
                found.check(len(body["items"]))
            except (errors.ServerError, errors.ModelTimeoutError) as error:
                is_hopeless = n_tries >= _MOST_TRIES and error.status not in _PASSING
                wait_s = max(error.retry_after_s or 0.0, pause_s)
                if is_hopeless or end - time.monotonic() <= wait_s:
                    raise
            else:
                return found
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            await asyncio.sleep(wait_s)
        raise AssertionError  # pragma: no cover  # counting has no end

    async def close(self) -> None:
        """Close the connections."""
        await self._rewards.close()

    def _connection(self, path: str) -> HttpConnection:
        return HttpConnection(self.address, path, name=_NAME, keys=self._keys)


async def _call(
    connection: HttpConnection, body: bytes | None, *, limit_s: float, form: type[T]
) -> T:
    """Send a request and decode its answer; no error has a text of the answer."""
    answer, code = None, ""
    try:
        async with asyncio.timeout(limit_s):
            answer = await connection.send(body)
        if answer.status == 200:
            return msgspec.json.decode(answer.body, type=form)
        told = msgspec.json.decode(answer.body)["error"]["code"]
        code = f" ({told})" if told in get_args(RefusalCode) else ""
    except (TimeoutError, msgspec.MsgspecError, ValueError, LookupError, TypeError, RecursionError):
        pass  # raised out here, so that no error carries the answer
    if answer is None:
        msg = f"{_NAME}: no reply in time."
        raise errors.ModelTimeoutError(msg)
    status = answer.status
    if status == 200:
        msg = f"{_NAME} answered in a form that is not known."
        raise errors.ServerError(msg, status=status)
    kind: type[errors.ModelCallError] = errors.BadRequestError
    if status in (401, 403, 404, 421) or 300 <= status < 400:
        kind = errors.AccessError
    elif status in (408, 425, 429) or status >= 500:
        kind = errors.ServerError
    wait = answer.headers.get("Retry-After", "")
    wait_s = float(wait) if wait.isascii() and wait.isdigit() and len(wait) < 10 else None
    raise kind(f"{_NAME} answered {status}{code}.", status=status, retry_after_s=wait_s)
