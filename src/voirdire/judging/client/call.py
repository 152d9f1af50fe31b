"""Describes one call to a model and its outcome, and stores and reads that outcome.

An attempt is stored as bytes. The first byte is the version of the format, so that later versions
can read it. A checksum follows, so that a damaged row is never taken for a reply.
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from functools import reduce
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from zlib import crc32

import msgspec

from voirdire._types import ReplyForm  # msgspec reads the annotation
from voirdire.errors import UnsupportedError, VerdictParseError
from voirdire.judging.reading import make_parse_failure
from voirdire.records import Failure, Reply, TokenStep, Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from voirdire.models import ChatRequest

__all__ = [
    "Call",
    "CallFailure",
    "Outcome",
    "decode_attempt",
    "encode_attempt",
    "make_partial_outcome",
    "make_storable",
    "n_unreadable",
    "read_stored_outcome",
]

T = TypeVar("T")


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


_REPLY, _FAILURE = b"\x03", b"\x04"
_UNCHECKED_REPLY, _UNCHECKED_FAILURE = b"\x01", b"\x02"
"""Versions without a checksum, of earlier releases."""


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


# Fields of a reply by position, without those that hold only at one moment.
_kept_parts = attrgetter("text", "form", "finish_reason", "model", "usage", "steps")
_encode = msgspec.msgpack.Encoder().encode
_decode_reply = msgspec.msgpack.Decoder(
    tuple[str, ReplyForm, str | None, str | None, Usage | None, tuple[TokenStep, ...] | None]
).decode
_decode_failure = msgspec.msgpack.Decoder(CallFailure).decode


def encode_attempt(attempt: Reply | CallFailure) -> bytes:
    """Encode a reply or a failure: one byte version, four bytes CRC-32, then msgpack.

    A lone surrogate, which UTF-8 lacks, raises `UnicodeEncodeError`.
    """
    if isinstance(attempt, Reply):
        version, content = _REPLY, _encode(_kept_parts(attempt))
    else:
        version, content = _FAILURE, _encode(attempt)
    return version + crc32(content).to_bytes(4) + content


def decode_attempt(blob: bytes) -> Reply | CallFailure | None:
    """Decode the bytes of `encode_attempt`; None where they are damaged or of another kind."""
    version, rest = blob[:1], memoryview(blob)[1:]
    if version in (_REPLY, _FAILURE):
        checksum, rest = rest[:4], rest[4:]
        if crc32(rest).to_bytes(4) != checksum:
            return None
    try:
        if version in (_REPLY, _UNCHECKED_REPLY):
            text, form, finish_reason, model, usage, steps = _decode_reply(rest)
            return Reply(
                text=text,
                steps=steps,
                form=form,
                finish_reason=finish_reason,
                model=model,
                usage=usage,
            )
        if version in (_FAILURE, _UNCHECKED_FAILURE):
            return _decode_failure(rest)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return None


_HALVES = re.compile("[\ud800-\udfff]")


def make_storable(attempt: Reply | CallFailure) -> Reply | CallFailure:
    """Replace lone surrogates, which UTF-8 lacks, by the replacement character.

    So the same text is read now and from the store later.
    """
    raw = msgspec.to_builtins(attempt)
    return msgspec.convert(_replace_halves(raw), type(attempt))


def _replace_halves(value: object) -> object:
    if isinstance(value, str):
        return _HALVES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {key: _replace_halves(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_replace_halves(part) for part in value]
    return value


_log = logging.getLogger("voirdire")


def read_stored_outcome(
    call: Call[T], stored: Sequence[bytes], *, max_attempts: int
) -> Outcome[T] | None:
    """Read the stored attempts of a call; None where it has not ended, or was never made.

    The first readable reply is the answer, so that a newer reader can use an old reply without a
    new call. After `max_attempts` unreadable replies the call has failed.
    """
    last: CallFailure | VerdictParseError | None = None
    n_unread = 0
    for read in _read_attempts(call, stored):
        if isinstance(read, Outcome):
            return read
        if read is None:
            _log.warning(
                "a stored reply is damaged and is ignored: call %r of item hash %s",
                call.name,
                call.item.hex(),
            )
            continue
        n_unread = _n_unread(n_unread, read)
        last = None if isinstance(read, UnsupportedError) else read
    if isinstance(last, CallFailure):
        failure = last.failure()
    elif last is not None and (last.is_refusal or n_unread >= max_attempts):
        if last.partial is not None:
            return make_partial_outcome(last, is_reused=True)
        failure = make_parse_failure(last)
    else:
        return None
    return Outcome(failure=failure, is_reused=True)


def n_unreadable(call: Call[T], stored: Sequence[bytes]) -> int:
    """Count the unreadable replies since the last failure."""
    return reduce(_n_unread, _read_attempts(call, stored), 0)


def _n_unread(before: int, read: object) -> int:
    return 0 if isinstance(read, CallFailure) else before + isinstance(read, VerdictParseError)


def _read_attempts(
    call: Call[T], stored: Sequence[bytes]
) -> Iterator[Outcome[T] | CallFailure | VerdictParseError | UnsupportedError | None]:
    """Read attempts one by one: an answer, a failure, or a reading error; None if damaged."""
    for blob in stored:
        attempt = decode_attempt(blob)
        if attempt is None or isinstance(attempt, CallFailure):
            yield attempt
        else:
            try:
                value = call.read(attempt)
            except (VerdictParseError, UnsupportedError) as error:
                # the server gave no log-probabilities then, but it may now
                yield error
            else:
                yield Outcome(value=value, is_reused=True)


def make_partial_outcome(error: VerdictParseError, *, is_reused: bool = False) -> Outcome[Any]:
    """Make an outcome from the readable part of a reply."""
    return Outcome(value=error.partial, is_reused=is_reused, is_partial=True)
