"""The file of recorded replies: which model, then one line per reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.models.port import Capabilities  # noqa: TC001  # msgspec reads the annotation
from voirdire.records import Reply, TokenChoice, TokenStep

if TYPE_CHECKING:
    from pathlib import Path

    from voirdire.models.port import ChatModel

__all__ = ["Header", "Line", "Refused", "append_line", "read_recording", "writable"]

T = TypeVar("T")

_FORMAT = "voirdire.recorded/1"

_NEVER = -9999.0
"""The logarithm of 0, as servers write it."""


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """First line of a file: which model it records."""

    schema: str
    name: str
    settings: dict[str, Any]
    capabilities: Capabilities


class Refused(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A failure that asking again would not mend."""

    kind: str
    message: str
    status: int | None = None
    feature: str | None = None


class Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request, by its hash, and what came of it."""

    request: str
    reply: Reply | None = None
    error: Refused | None = None


def writable(reply: Reply) -> Reply:
    """Leave out the server's limits, and write the logarithm of 0 as JSON can."""
    steps = reply.steps
    if steps is not None:
        steps = tuple(
            TokenStep(
                token=step.token,
                logprob=max(_NEVER, step.logprob),
                top=tuple(
                    TokenChoice(token=choice.token, logprob=max(_NEVER, choice.logprob))
                    for choice in step.top
                ),
            )
            for step in steps
        )
    return msgspec.structs.replace(reply, headroom=None, steps=steps)


def read_recording(path: Path, *, live: ChatModel | None) -> tuple[Header, dict[str, list[Line]]]:
    """Read a file, and see that it is the model's; a file that is to be made is empty."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        data = _nothing_yet(path, live=live)
    except OSError as error:
        msg = f"`path` must be a file that can be read, got {str(path)!r}: {error.strerror}."
        raise InputError(msg) from None
    whole = data[: data.rfind(b"\n") + 1]
    if len(whole) < len(data) and live is not None:
        # The next line must not be glued to the half of one.
        path.write_bytes(whole)
    first, *rest = whole.splitlines() or [b""]
    header = _header(path, first, live=live)
    lines: dict[str, list[Line]] = {}
    for number, row in enumerate(rest, start=2):
        line = _decoded(path, row, number=number, kind=Line)
        lines.setdefault(line.request, []).append(line)
    return header, lines


def append_line(path: Path, line: Line, *, header: Header) -> None:
    """Add a line to a file, and the first line to an empty one: whole or not at all."""
    try:
        with path.open("ab", buffering=0) as file:
            begin = file.tell()
            first = b"" if begin else msgspec.json.encode(header) + b"\n"
            rest = memoryview(first + msgspec.json.encode(line) + b"\n")
            try:
                while rest:
                    rest = rest[file.write(rest) :]
            except OSError:
                file.truncate(begin)  # the next line must not be glued to the half of one
                raise
    except OSError as error:
        msg = (
            f"{path}: the reply cannot be recorded ({error.strerror}). Make room: what was "
            "recorded before is kept."
        )
        raise InputError(msg) from error


def _nothing_yet(path: Path, *, live: ChatModel | None) -> bytes:
    if live is None:
        way = "Record them with `RecordedModel(path, model=...)`."
    elif not path.parent.is_dir():
        way = "Make its folder first."
    else:
        return b""
    msg = (
        f"`path` must be a file of recorded replies, got {str(path)!r}, which does not exist. {way}"
    )
    raise InputError(msg)


def _header(path: Path, row: bytes, *, live: ChatModel | None) -> Header:
    ours = None
    if live is not None:
        settings = msgspec.json.decode(msgspec.json.encode(live.settings))
        ours = Header(
            schema=_FORMAT, name=live.name, settings=settings, capabilities=live.capabilities
        )
    if not row and ours is not None:
        return ours
    found = _decoded(path, row, number=1, kind=Header)
    if found.schema != _FORMAT:
        msg = f"{path}:1: `schema` must be {_FORMAT!r}, got {shorten(found.schema)!r}."
        raise InputError(msg)
    if ours is not None and (found.name, found.settings) != (ours.name, ours.settings):
        msg = (
            f"`model` must be the one that {path} records, {shorten(found.name)!r} with the same "
            f"settings, got {shorten(ours.name)!r}. Record into another file."
        )
        raise InputError(msg)
    return found


def _decoded(path: Path, row: bytes, *, number: int, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(row, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        msg = f"{path}:{number}: must be a line of recorded replies: {shorten(str(error))}."
        raise InputError(msg) from None
