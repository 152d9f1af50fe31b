"""What is kept of every attempt at a call: the reply, or why there is none, as bytes.

The first byte says how the rest is written, so that a later version can still read what an
earlier one kept. A checksum follows, so that a damaged row is no reply.
"""

from __future__ import annotations

from zlib import crc32

import msgspec

from voirdire._types import ReplyForm  # noqa: TC001  # msgspec reads the annotation
from voirdire.records import Failure, Reply, TokenStep, Usage

__all__ = ["CallFailure", "decode_attempt", "encode_attempt"]

_REPLY, _FAILURE = b"\x03", b"\x04"
_UNCHECKED_REPLY, _UNCHECKED_FAILURE = b"\x01", b"\x02"
"""As earlier versions wrote them: without a checksum."""


class CallFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A call that ended without a reply.

    Attributes
    ----------
    reason : str
        What went wrong, in a word or two: the `reason` of the error.
    message : str
        What the error said, shortened.
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
        """Say it as verdicts do."""
        return Failure(reason=f"{self.reason}: {self.message}" if self.message else self.reason)


class _KeptReply(msgspec.Struct, frozen=True, array_like=True):
    """A `Reply` as it is written: by position, without what is true of one moment only."""

    text: str
    form: ReplyForm
    finish_reason: str | None
    model: str | None
    usage: Usage | None
    steps: tuple[TokenStep, ...] | None


class _KeptFailure(msgspec.Struct, frozen=True, array_like=True):
    """A `CallFailure` as it is written."""

    reason: str
    message: str
    form: ReplyForm
    status: int | None
    n_tries: int


_encode = msgspec.msgpack.Encoder().encode
_decode_reply = msgspec.msgpack.Decoder(_KeptReply).decode
_decode_failure = msgspec.msgpack.Decoder(_KeptFailure).decode


def encode_attempt(attempt: Reply | CallFailure) -> bytes:
    """Write a reply or a failure as bytes.

    Parameters
    ----------
    attempt : Reply or CallFailure
        What came of the attempt. The `headroom` of a reply is left out.

    Returns
    -------
    bytes
        One byte for the version, four of a checksum (CRC-32), then msgpack.

    Raises
    ------
    UnicodeEncodeError
        If a text holds half a surrogate pair, which no file can hold.
    """
    if isinstance(attempt, Reply):
        kept = _KeptReply(
            attempt.text,
            attempt.form,
            attempt.finish_reason,
            attempt.model,
            attempt.usage,
            attempt.steps,
        )
        return _checked(_REPLY, _encode(kept))
    failure = _KeptFailure(
        attempt.reason, attempt.message, attempt.form, attempt.status, attempt.n_tries
    )
    return _checked(_FAILURE, _encode(failure))


def _checked(version: bytes, content: bytes) -> bytes:
    return version + crc32(content).to_bytes(4) + content


def decode_attempt(blob: bytes) -> Reply | CallFailure | None:
    """Read what `encode_attempt` wrote.

    Parameters
    ----------
    blob : bytes
        As it was stored.

    Returns
    -------
    Reply, CallFailure or None
        What came of the attempt; None where the bytes are damaged, or something else.
    """
    version, rest = blob[:1], memoryview(blob)[1:]
    if version in (_REPLY, _FAILURE):
        checksum, rest = rest[:4], rest[4:]
        if crc32(rest).to_bytes(4) != checksum:
            return None
    try:
        if version in (_REPLY, _UNCHECKED_REPLY):
            kept = _decode_reply(rest)
            return Reply(
                text=kept.text,
                steps=kept.steps,
                form=kept.form,
                finish_reason=kept.finish_reason,
                model=kept.model,
                usage=kept.usage,
            )
        if version in (_FAILURE, _UNCHECKED_FAILURE):
            return CallFailure(**msgspec.structs.asdict(_decode_failure(rest)))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return None
