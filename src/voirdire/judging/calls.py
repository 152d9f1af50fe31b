"""Describes one call to a model and its outcome, and stores and reads that outcome.

An attempt is stored as bytes: one byte for its kind, a checksum, so that a damaged row is never
taken for a reply, then msgpack.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from zlib import crc32

import msgspec

from voirdire._types import ReplyForm  # msgspec reads the annotation
from voirdire.errors import UnsupportedError, VerdictParseError
from voirdire.judging.reading import make_parse_failure
from voirdire.records import Failure, Reply, TokenStep, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire.models import ChatRequest

T = TypeVar("T")
_log = logging.getLogger("voirdire")


@dataclass(frozen=True, kw_only=True, slots=True)
class Call(Generic[T]):
    """One call to a model.

    Attributes
    ----------
    item : bytes
        32 bytes: hash of its item. With `name` and the judge's fingerprint, its key in the store.
    name : str
        Which of the item's calls it is, such as ``"joint"``.
    request : callable
        Makes the request for a form of reply; called once per attempt, so that every attempt has
        a fence of its own.
    read : callable
        Reads a reply, or raises `VerdictParseError`.
    """

    item: bytes
    name: str
    request: Callable[[ReplyForm], ChatRequest]
    read: Callable[[Reply], T]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome(Generic[T]):
    """The outcome of a call: either a value or a failure.

    Attributes
    ----------
    value : object or None
        The answers that were read.
    failure : Failure or None
        Why there is no value.
    is_reused : bool
        Whether it came from the store, without a call.
    is_partial : bool
        Whether the value lacks some answers.
    """

    value: T | None = None
    failure: Failure | None = None
    is_reused: bool = False
    is_partial: bool = False


class CallFailure(msgspec.Struct, frozen=True, kw_only=True, array_like=True):
    """A call that ended without a reply; its fields are stored by position.

    Attributes
    ----------
    reason : str
        The `reason` of the error, in a word or two.
    message : str
        The error's message, shortened.
    form : {"json_schema", "json_object", "text"}
        How the reply was asked for.
    status : int or None
        The HTTP status, where there was one.
    n_tries : int
        How often the call was made.
    """

    reason: str
    message: str = ""
    form: ReplyForm = "json_schema"
    status: int | None = None
    n_tries: int = 1

    def failure(self) -> Failure:
        """Make the `Failure` for verdicts."""
        return Failure(reason=f"{self.reason}: {self.message}" if self.message else self.reason)


_REPLY, _FAILURE = b"\x03", b"\x04"
_UNCHECKED = {b"\x01": _REPLY, b"\x02": _FAILURE}
"""The same without a checksum, as replies were stored at first."""

# Fields of a reply by position, without those that hold only at one moment.
_kept_parts = attrgetter("text", "form", "finish_reason", "model", "usage", "steps")
_encode = msgspec.msgpack.Encoder().encode
_decode_reply = msgspec.msgpack.Decoder(
    tuple[str, ReplyForm, str | None, str | None, Usage | None, tuple[TokenStep, ...] | None]
).decode
_decode_failure = msgspec.msgpack.Decoder(CallFailure).decode
_HALVES = re.compile("[\ud800-\udfff]")


def encode_attempt(attempt: Reply | CallFailure) -> bytes:
    """Encode a reply or a failure; halves of a surrogate pair become replacement characters."""
    kind: bytes = _FAILURE
    content: Any = attempt
    if isinstance(attempt, Reply):
        kind, content = _REPLY, _kept_parts(attempt)
    try:
        encoded = _encode(content)
    except UnicodeEncodeError:
        encoded = _encode(_replace_halves(msgspec.to_builtins(content)))
    return kind + crc32(encoded).to_bytes(4) + encoded


def _replace_halves(value: object) -> object:
    if isinstance(value, str):
        return _HALVES.sub("\ufffd", value)
    return list(map(_replace_halves, value)) if isinstance(value, list | tuple) else value


def decode_attempt(blob: bytes) -> Reply | CallFailure | None:
    """Decode the bytes of `encode_attempt`; None where they are damaged or of another kind."""
    kind, content = blob[:1], memoryview(blob)[5:]
    if kind in _UNCHECKED:
        kind, content = _UNCHECKED[kind], memoryview(blob)[1:]
    elif kind not in (_REPLY, _FAILURE) or crc32(content).to_bytes(4) != blob[1:5]:
        return None
    try:
        if kind == _FAILURE:
            return _decode_failure(content)
        text, form, finish_reason, model, usage, steps = _decode_reply(content)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return Reply(
        text=text, steps=steps, form=form, finish_reason=finish_reason, model=model, usage=usage
    )


def read_stored(
    call: Call[T], blobs: Sequence[bytes], *, max_attempts: int
) -> tuple[Outcome[T] | None, int]:
    """Read the stored attempts of a call: its outcome, and its unreadable replies in a row.

    The outcome is None where the call has not ended, or was never made. The first readable reply
    is the answer, so that a newer reader can use an old reply without a new call. After
    `max_attempts` unreadable replies the call has failed.
    """
    last: CallFailure | VerdictParseError | None = None
    n_unread = 0
    for blob in blobs:
        attempt = decode_attempt(blob)
        if attempt is None:
            about = (call.name, call.item.hex())
            _log.warning("a stored reply is damaged, ignored: call %r of item hash %s", *about)
        elif isinstance(attempt, CallFailure):
            last, n_unread = attempt, 0
        else:
            try:
                return Outcome(value=call.read(attempt), is_reused=True), n_unread
            except UnsupportedError:  # no log-probabilities then; the server may give them now
                last = None
            except VerdictParseError as error:
                last, n_unread = error, n_unread + 1
    if isinstance(last, CallFailure):
        return Outcome(failure=last.failure(), is_reused=True), n_unread
    if last is None or not (last.is_refusal or n_unread >= max_attempts):
        return None, n_unread
    return end_unreadable(last, is_reused=True), n_unread


def end_unreadable(error: VerdictParseError, *, is_reused: bool = False) -> Outcome[T]:
    """End a call whose replies cannot be read, with the answers that can."""
    partial: T | None = error.partial
    failure = None if partial is not None else make_parse_failure(error)
    return Outcome(
        value=partial, failure=failure, is_reused=is_reused, is_partial=partial is not None
    )
