"""What clients send: bodies of a bounded size, read strictly; nothing is guessed."""

from __future__ import annotations

import asyncio
import json
import math
import re
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from voirdire.rewards.live.turns import Turn
from voirdire.web.refusals import RefusedError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope

__all__ = [
    "AskedItem",
    "BodyLimit",
    "ClientGoneError",
    "RewardsRequest",
    "check_count",
    "check_run",
    "decode_document",
    "decode_rewards_request",
    "header_values",
]

Messages = list[dict[str, Any]] | dict[str, Any]

_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


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
    id: str | int | None = None

    def turn(self) -> Turn:
        """Give it as the rewards take it."""
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
    step: Annotated[int, msgspec.Meta(ge=0)] | None = None
    run: str | None = None


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

    async def read(self, scope: Scope, receive: Receive) -> bytes:
        """Read a body; whoever calls releases its bytes when they are done.

        Raises
        ------
        RefusedError
            If it is too large, too slow, or one too many.
        ClientGoneError
            If the client left.
        """
        if (_announced_bytes(scope) or 0) > self._most:
            await self._discard(receive, most=self._most)
            raise self._too_large()
        pieces: list[bytes] = []
        n_bytes, is_last = 0, False
        try:
            async with asyncio.timeout(self._seconds):
                while not is_last:
                    piece, is_last = await _next_piece(receive)
                    n_bytes += self._hold(n_bytes, piece)
                    pieces.append(piece)
        except TimeoutError:
            self.release(n_bytes)
            msg = f"The body must arrive within {self._seconds:g} seconds."
            raise RefusedError("too_slow", msg, closes=True) from None
        except BaseException:
            self.release(n_bytes)
            raise
        return b"".join(pieces)

    def release(self, n_bytes: int) -> None:
        """Let so many bytes go."""
        self._n_bytes -= n_bytes

    async def discard(self, scope: Scope, receive: Receive, *, most: int) -> bool:
        """Read and forget a body, so that the client hears the answer; tell whether that was all.

        A connection that is closed with bytes unread is reset, and many a client then reports that
        and not what it was told.
        """
        if scope["method"] in ("GET", "HEAD"):
            return True
        return (_announced_bytes(scope) or 0) <= most and await self._discard(receive, most=most)

    async def _discard(self, receive: Receive, *, most: int) -> bool:
        n_bytes = 0
        try:
            async with asyncio.timeout(self._seconds):
                while n_bytes <= most:
                    piece, is_last = await _next_piece(receive)
                    n_bytes += len(piece)
                    if is_last:
                        return True
        except TimeoutError:
            pass
        return False

    def _hold(self, n_before: int, piece: bytes) -> int:
        n_bytes = len(piece)
        if n_before + n_bytes > self._most:
            raise self._too_large()
        if self._n_bytes + n_bytes > self._most_together:
            msg = "The server holds as many bytes of requests as it may. Send the request again."
            raise RefusedError("queue_full", msg, retry_after_s=_RETRY_S, closes=True)
        self._n_bytes += n_bytes
        return n_bytes

    def _too_large(self) -> RefusedError:
        msg = f"The body must have at most {self._most} bytes. Send the items in several requests."
        return RefusedError("too_large", msg, closes=True)


def header_values(scope: Scope, name: bytes) -> list[bytes]:
    """Give what a request sends under a name."""
    return [value for key, value in scope["headers"] if key == name]


def _announced_bytes(scope: Scope) -> int | None:
    """Read the length that the head of a request names, if it does."""
    for value in header_values(scope, b"content-length"):
        return int(value) if value.isdigit() and len(value) <= _MOST_DIGITS else None
    return None


async def _next_piece(receive: Receive) -> tuple[bytes, bool]:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message.get("body", b""), not message.get("more_body", False)


# JSON -----------------------------------------------------------------------------------------

_MOST_BRACKETS = 1_000_000
"""Objects and arrays in a body, those that stand in texts counted too: each takes far more memory
than its two bytes."""

_MOST_LEVELS = 64
_TOO_DEEP = "The body is nested too deeply."

_SAFE = re.compile(
    r"JSON is malformed: [a-z0-9 -]+ \(byte \d+\)"
    r"|Input data was truncated"
    r"|Expected [^\"']+"
    r"|Object missing required field `\w+` - at `[\w$.\[\]]+`"
    r"|Object missing required field `\w+`"
    r"|Number out of range - at `[\w$.\[\]]+`"
)
_UNKNOWN = re.compile(r"Object contains unknown field .* - at `(?P<place>[\w$.\[\]]+)`", re.DOTALL)
_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


def decode_rewards_request(body: bytes, *, most_items: int) -> RewardsRequest:
    """Read a request for rewards; a `RefusedError` if it is no JSON, of another form, or too long.

    Parameters
    ----------
    body : bytes
        JSON.
    most_items : int
        Items that a request may have.
    """
    asked: RewardsRequest = _decoded(body, _requests)
    check_count(len(asked.items), most=most_items)
    for item in asked.items:
        if not (isinstance(item.response, str) and isinstance(item.prompt, str | None)):
            _check_depth([item.response, item.prompt])
    _check_keys(body)
    return asked


def decode_document(body: bytes) -> Any:
    """Read JSON of any form, within the same bounds."""
    document = _decoded(body, _documents)
    _check_keys(body)
    _check_depth([document])
    return document


def check_count(n_items: int, *, most: int) -> None:
    """Refuse more items than all requests together may hold."""
    if n_items > most:
        msg = f"A request must have at most {most} items, got {n_items}. Send several requests."
        raise RefusedError("too_large", msg)


def check_run(name: str) -> str:
    """Refuse a name of a run that could not name a folder."""
    if _RUN.fullmatch(name) is None:
        msg = "`run` must have 1 to 64 letters, digits, dashes or underscores of ASCII."
        raise RefusedError("wrong_form", msg)
    return name


_requests: msgspec.json.Decoder[Any] = msgspec.json.Decoder(RewardsRequest)
_documents: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def _decoded(body: bytes, decoder: msgspec.json.Decoder[Any]) -> Any:
    if body.count(b"{") + body.count(b"[") > _MOST_BRACKETS:
        msg = f"The body must have at most {_MOST_BRACKETS} braces and brackets."
        raise RefusedError("too_large", msg)
    try:
        try:
            return decoder.decode(body)
        except msgspec.ValidationError:
            raise
        except msgspec.DecodeError:
            if _HALF.search(body) is None:
                raise
            return _with_halves(body, decoder.type)
    except msgspec.ValidationError as error:
        raise RefusedError("wrong_form", _form_message(str(error))) from None
    except msgspec.DecodeError as error:
        said = str(error)
        why = f"{said}." if _SAFE.fullmatch(said) else "It is none."
        raise RefusedError("malformed", f"The body must be JSON. {why}") from None
    except UnicodeDecodeError:
        raise RefusedError("malformed", "The body must be UTF-8.") from None
    except RecursionError:
        raise RefusedError("malformed", _TOO_DEEP) from None


def _with_halves(body: bytes, form: Any) -> Any:
    """Decode JSON with halves of surrogate pairs, which Python writes where a text is cut.

    A response that ends in one is still a response; a name with one cannot be answered.
    """
    try:
        found = json.loads(body.decode(), parse_constant=_refuse_constant)
        asked = msgspec.convert(found, form)
    except UnicodeDecodeError:
        raise
    except UnicodeEncodeError:
        msg = "A key, or what should be no text, holds half a surrogate pair."
        raise RefusedError("malformed", msg) from None
    except json.JSONDecodeError:
        raise RefusedError("malformed", "The body must be JSON.") from None
    except msgspec.ValidationError:
        raise
    except ValueError:  # Python reads no whole number of thousands of digits
        raise RefusedError("malformed", "A number of the body is too long.") from None
    if isinstance(asked, RewardsRequest):
        try:
            msgspec.json.encode([(item.id, item.behavior, item.group) for item in asked.items])
        except UnicodeEncodeError:
            msg = "A behavior, a group or an id holds half a surrogate pair."
            raise RefusedError("malformed", msg) from None
    return asked


def _refuse_constant(word: str) -> None:
    del word
    raise RefusedError("malformed", "The body must be JSON, which has no NaN and no Infinity.")


def _check_depth(values: list[Any]) -> None:
    """Refuse what is nested so deeply that no messages are."""
    level: list[Any] = [values]
    for _ in range(_MOST_LEVELS):
        inner = [row.values() if isinstance(row, dict) else row for row in level]
        level = [one for row in inner for one in row if isinstance(one, dict | list)]
        if not level:
            return
    raise RefusedError("malformed", _TOO_DEEP)


def _unique_keys(pairs: list[tuple[str, Any]]) -> None:
    """Refuse a key that comes twice, of which a decoder silently takes the last."""
    if len(dict(pairs)) != len(pairs):
        raise RefusedError("malformed", "An object of the body has the same key twice.")


_key_checker = json.JSONDecoder(object_pairs_hook=_unique_keys)


def _check_keys(body: bytes) -> None:
    try:
        _key_checker.decode(body.decode())
    except RecursionError:
        raise RefusedError("malformed", _TOO_DEEP) from None


def _form_message(said: str) -> str:
    """Keep of a message what cannot hold a text of the client's."""
    unknown = _UNKNOWN.fullmatch(said)
    if unknown is not None:
        return f"The object at `{unknown['place']}` has a key that is not known. See /docs."
    return f"{said}." if _SAFE.fullmatch(said) else _OTHER_FORM


_OTHER_FORM = "The body is not of the form that is asked for. See /docs."
