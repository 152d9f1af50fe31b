"""Reads what clients send strictly, with a bound on its size."""

from __future__ import annotations

import asyncio
import json
import math
import re
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Annotated, Any, TypeVar
from urllib.parse import parse_qs

import msgspec

from voirdire.rewards.live.turns import Turn
from voirdire.rewards.training.run_files import PARTS
from voirdire.web.refusals import RefusedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import Receive, Scope

__all__ = [
    "AskedItem",
    "BodyLimit",
    "ClientGoneError",
    "OpenRLHFRequest",
    "RewardsRequest",
    "decode_openrlhf_request",
    "decode_rewards_request",
    "header_values",
    "run_of",
]

Messages = list[dict[str, Any]] | dict[str, Any]


class AskedItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One response that a reward is asked for.

    `response` is text, or the messages that answer the prompt; `prompt` is the user's text, or the
    messages before. `behavior` is what the prompt deserves, `base_reward` what another reward
    model gave, `group` what the responses to one prompt share, `id` whatever the client calls it.
    """

    response: str | Messages
    prompt: str | Messages | None = None
    behavior: str | None = None
    base_reward: float | msgspec.UnsetType | None = msgspec.UNSET
    group: str | int | None = None
    id: str | Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)] | None = None

    def turn(self) -> Turn:
        """Convert it to a `Turn`."""
        base = self.base_reward  # null says that it is lacking; no key says nothing
        return Turn(
            response=self.response,
            prompt=self.prompt,
            behavior=self.behavior,
            base_reward=None if base is msgspec.UNSET else math.nan if base is None else base,
            group=None if self.group is None else str(self.group),
            id=None if self.id is None else str(self.id),
        )


class RewardsRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Responses that rewards are asked for.

    `deadline_s` is the time after which what is there is answered, at most the server's own;
    `verdicts` asks for the probabilities behind the rewards, `explain` for what each feature adds;
    `step` is the trainer's, and `run` the name of its training, for the record.
    """

    items: list[AskedItem]
    deadline_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    verdicts: bool = False
    explain: bool = False
    step: Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)] | None = None
    run: str | None = None


class OpenRLHFRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What OpenRLHF posts: lists of one length.

    A query is a prompt with its response. A label is the id of a behavior, empty where the server's
    own counts, or an object (or its JSON) with `behavior`, `base_reward` and `prompt`.
    """

    query: list[str]
    prompts: list[str]
    labels: list[Any] | None = None


# Bodies ---------------------------------------------------------------------------------------

_RETRY_S = 2
_MOST_DIGITS = 19


class ClientGoneError(Exception):
    """The client left before its request had arrived."""


class BodyLimit:
    """Reads bodies within bounds on one of them, on all of them together, and on their time.

    Parameters
    ----------
    most : int
        Bytes of one body.
    most_together : int
        Bytes of all bodies that are held.
    seconds : float
        In which a body must arrive.
    """

    def __init__(self, most: int, *, most_together: int, seconds: float) -> None:
        self._most = most
        self._most_together = most_together
        self._seconds = seconds
        self._n_bytes = 0

    @asynccontextmanager
    async def body(self, scope: Scope, receive: Receive) -> AsyncIterator[bytes]:
        """Read a body, and count it among those that are held until the block ends.

        Raises
        ------
        RefusedError
            If it is too large, too slow, or one too many.
        ClientGoneError
            If the client left.
        """
        if _announced_bytes(scope) > self._most:
            await self.discard(scope, receive, most=2 * self._most)
            raise self._too_large
        pieces: list[bytes] = []
        n_bytes = 0

        def take(piece: bytes) -> None:
            nonlocal n_bytes
            pieces.append(piece)
            n_bytes += len(piece)
            self._n_bytes += len(piece)
            if n_bytes > self._most:
                raise self._too_large
            if self._n_bytes > self._most_together:
                msg = "The server holds as many bytes of requests as it may."
                raise RefusedError("queue_full", msg, retry_after_s=_RETRY_S, closes=True)

        try:
            await self._receive(receive, take)
            yield b"".join(pieces)
        finally:
            self._n_bytes -= n_bytes

    async def discard(self, scope: Scope, receive: Receive, *, most: int) -> bool:
        """Read and forget a body, so that the client hears the answer; tell whether that was all.

        A connection that is closed with bytes unread is reset, and many a client then reports that
        and not what it was told.
        """
        if scope["method"] in ("GET", "HEAD"):
            return True
        if _announced_bytes(scope) > most:
            return False
        n_bytes = 0

        def take(piece: bytes) -> None:
            nonlocal n_bytes
            n_bytes += len(piece)
            if n_bytes > most:
                raise self._too_large

        with suppress(RefusedError):
            await self._receive(receive, take)
            return True
        return False

    @property
    def _too_large(self) -> RefusedError:
        msg = f"The body must have at most {self._most} bytes. Send the items in several requests."
        return RefusedError("too_large", msg, closes=True)

    async def _receive(self, receive: Receive, take: Callable[[bytes], None]) -> None:
        """Hand over the pieces of a body as they arrive, in time."""
        has_more = True
        try:
            async with asyncio.timeout(self._seconds):
                while has_more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGoneError
                    take(message.get("body", b""))
                    has_more = message.get("more_body", False)
        except TimeoutError:
            msg = f"The body must arrive within {self._seconds:g} seconds."
            raise RefusedError("too_slow", msg, closes=True) from None


def header_values(scope: Scope, name: bytes) -> list[bytes]:
    """Return the values of a header."""
    return [value for key, value in scope["headers"] if key == name]


def _announced_bytes(scope: Scope) -> int:
    """Read the length that the head of a request names; 0 if it names none."""
    for value in header_values(scope, b"content-length"):
        return int(value) if value.isdigit() and len(value) <= _MOST_DIGITS else 0
    return 0


# JSON -----------------------------------------------------------------------------------------

_MOST_BRACKETS = 1_000_000
"""Objects and arrays in a body, those that stand in texts counted too: each takes far more memory
than its two bytes."""

_MOST_LEVELS = 64
_TOO_DEEP = "The body is nested too deeply."
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_PLACE = re.compile(r" - at `(\$\.items\[\d+\])`$")

Form = TypeVar("Form", RewardsRequest, OpenRLHFRequest)


def decode_rewards_request(body: bytes, *, most_items: int) -> RewardsRequest:
    """Read a request for rewards; a `RefusedError` if it is no JSON, of another form, or too long.

    Parameters
    ----------
    body : bytes
        JSON.
    most_items : int
        Items that a request may have.
    """
    asked = _decode(body, RewardsRequest)
    _check_count(len(asked.items), most=most_items)
    for item in asked.items:
        _check_item(item)
    return asked


def decode_openrlhf_request(body: bytes, *, most_items: int) -> dict[str, Any]:
    """Read what OpenRLHF posts, within the same bounds."""
    asked = _decode(body, OpenRLHFRequest)
    _check_count(len(asked.query), most=most_items)
    _check_depth([asked.labels])
    return msgspec.structs.asdict(asked)


def run_of(scope: Scope, named: str | None = None) -> str | None:
    """Read which training run a request belongs to: from its body, a header, or its address."""
    if named is None and (values := header_values(scope, b"voirdire-run")):
        named = values[0].decode("ascii", "replace")
    if named is None and scope.get("query_string"):
        named = parse_qs(scope["query_string"].decode("ascii", "replace")).get("run", [None])[0]
    if named is not None and _RUN.fullmatch(named) is None:
        msg = "`run` must have 1 to 64 letters, digits, dashes or underscores of ASCII."
        raise RefusedError("wrong_form", msg)
    if named is not None and named.lower() == PARTS:
        msg = f"`run` must not be {PARTS!r}, which the folder of the record uses itself."
        raise RefusedError("wrong_form", msg)
    return named


def _decode(body: bytes, form: type[Form]) -> Form:
    if body.count(b"{") + body.count(b"[") > _MOST_BRACKETS:
        msg = f"The body must have at most {_MOST_BRACKETS} braces and brackets."
        raise RefusedError("too_large", msg)
    try:
        return msgspec.convert(_json.decode(body.decode()), form)
    except msgspec.ValidationError as error:
        raise RefusedError("wrong_form", _form_message(str(error))) from None
    except json.JSONDecodeError as error:
        raise RefusedError("malformed", f"The body must be JSON. {error}.") from None
    except UnicodeDecodeError:
        raise RefusedError("malformed", "The body must be UTF-8.") from None
    except UnicodeEncodeError:
        msg = "A key, or what should be no text, holds half a surrogate pair."
        raise RefusedError("malformed", msg) from None
    except RecursionError:
        raise RefusedError("malformed", _TOO_DEEP) from None
    except ValueError:  # Python reads no whole number of thousands of digits
        raise RefusedError("malformed", "A number of the body is too long.") from None


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that comes twice, of which a decoder silently takes the last.

    Python's own decoder calls this between objects: there other threads get their turn.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RefusedError("malformed", "An object of the body has the same key twice.")
    return found


def _refuse_constant(word: str) -> None:
    del word
    raise RefusedError("malformed", "The body must be JSON, which has no NaN and no Infinity.")


_json = json.JSONDecoder(object_pairs_hook=_object_of, parse_constant=_refuse_constant)


def _form_message(said: str) -> str:
    """Keep of a message what cannot hold a text of the client's."""
    if said.startswith(("Expected `", "Object missing required field `")):
        return f"{said}."
    if said.startswith("Object contains unknown field"):
        place = _PLACE.search(said)
        at = f" at `{place[1]}`" if place else ""
        return f"The object{at} has a key that is not known. See /docs."
    return "The body is not of the form that is asked for. See /docs."


def _check_count(n_items: int, *, most: int) -> None:
    """Refuse more items than all requests together may hold."""
    if n_items > most:
        msg = f"A request must have at most {most} items, got {n_items}. Send several requests."
        raise RefusedError("too_large", msg)


def _check_item(item: AskedItem) -> None:
    """Refuse what has no answer: half a surrogate pair in a name, or a number without end.

    A response that ends in half a pair, which Python writes where a text is cut, is a response.
    """
    base = item.base_reward
    if isinstance(base, float) and not math.isfinite(base):
        raise RefusedError("wrong_form", "A `base_reward` is out of range.")
    try:
        for name in (item.behavior, item.group, item.id):
            if isinstance(name, str):
                name.encode()
    except UnicodeEncodeError:
        msg = "A behavior, a group or an id holds half a surrogate pair."
        raise RefusedError("malformed", msg) from None
    if not (isinstance(item.response, str) and isinstance(item.prompt, str | None)):
        _check_depth([item.response, item.prompt])


def _check_depth(values: list[Any]) -> None:
    """Refuse what is nested so deeply that no messages are."""
    level: list[Any] = [values]
    for _ in range(_MOST_LEVELS):
        inner = [row.values() if isinstance(row, dict) else row for row in level]
        level = [one for row in inner for one in row if isinstance(one, dict | list)]
        if not level:
            return
    raise RefusedError("malformed", _TOO_DEEP)
