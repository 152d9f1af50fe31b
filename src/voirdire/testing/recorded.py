"""A model whose replies were recorded in a file, and are given again."""

from __future__ import annotations

import hashlib
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from voirdire._validation import shorten
from voirdire.errors import (
    AccessError,
    BadRequestError,
    ContentFilterError,
    InputError,
    ModelCallError,
    RefusalError,
    ServerError,
    UnsupportedError,
)
from voirdire.models.port import Capabilities  # noqa: TC001  # msgspec reads the annotation
from voirdire.records import Reply, TokenChoice, TokenStep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.models.port import ChatModel, ChatRequest

__all__ = ["RecordedModel"]

T = TypeVar("T")

_FORMAT = "voirdire.recorded/1"
_NEVER = -9999.0  # the logarithm of 0, as servers write it
_FENCE_LINE = r"^-----(?:BEGIN|END) ITEM ([0-9a-f]{16,64})-----$"  # around an item in our prompts
# Failures that come of the request and not of the moment are recorded beside replies.
_LASTING = (RefusalError, ContentFilterError, BadRequestError)


class _Header(msgspec.Struct, frozen=True, kw_only=True):
    """First line of a file: which model it records."""

    schema: str
    name: str
    settings: dict[str, Any]
    capabilities: Capabilities


class _Failed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    kind: str
    message: str
    status: int | None = None
    feature: str | None = None


class _Line(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A request, by its hash, and what came of it."""

    request: str
    reply: Reply | None = None
    error: _Failed | None = None


class RecordedModel:
    """Gives recorded replies again, and records what is missing if it is given a model.

    Parameters
    ----------
    path : str or path
        A file of JSON lines: the model's name and settings, then one line per reply.
    model : ChatModel, optional
        Answers what the file lacks; its replies are added to the file. None only reads.
    mask : str, optional
        Regular expression that finds codes which differ from call to call. Every match's first
        group is taken out of the request, wherever it stands, before the request is looked up.
        The default finds the code in the lines around an item in voirdire's own prompts.

    Raises
    ------
    InputError
        If the file is missing and there is no `model`, if it is no such file, if it records
        another model, or if `mask` is no regular expression with a group.

    Notes
    -----
    Requests are told apart by a hash over their messages, form, schema and settings. A request
    that was answered several times gets these replies in turn; then it is asked again, or, without
    a model, gets the last one again.
    Refusals and requests that the server cannot serve are recorded too, and raised again; what may
    go better another time, such as a timeout, is not. A line that was cut off at the end of the
    file, since the recording was killed, is passed over.

    Examples
    --------
    >>> import asyncio, tempfile
    >>> from pathlib import Path
    >>> from voirdire.models import ChatRequest
    >>> from voirdire.testing import RecordedModel, ScriptedModel
    >>> request = ChatRequest(messages=())
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "replies.jsonl")
    ...     live = ScriptedModel(lambda request: '{"apology": true}')
    ...     first = asyncio.run(RecordedModel(path, model=live).reply(request))
    ...     again = asyncio.run(RecordedModel(path).reply(request))
    >>> again.text
    '{"apology": true}'
    """

    def __init__(
        self, path: str | Path, *, model: ChatModel | None = None, mask: str = _FENCE_LINE
    ) -> None:
        self._path = Path(path)
        self._model = model
        self._mask = _compiled(mask)
        self._header, self._lines = _read_recording(self._path, live=model)
        self._given: dict[str, int] = {}
        self._guard = threading.Lock()

    def __repr__(self) -> str:
        return f"RecordedModel({str(self._path)!r}, name={self.name!r})"

    @property
    def name(self) -> str:
        """What verdicts call it: the recorded model's name."""
        return self._header.name

    @property
    def settings(self) -> Mapping[str, Any]:
        """The recorded model's settings: its verdicts are that model's."""
        return self._header.settings

    @property
    def capabilities(self) -> Capabilities:
        """What the recorded model could do."""
        return self._header.capabilities

    async def reply(self, request: ChatRequest) -> Reply:
        """Return the recorded reply, or ask the model and record its reply.

        Parameters
        ----------
        request : ChatRequest
            What is asked.

        Returns
        -------
        Reply
            As it was recorded.

        Raises
        ------
        ModelCallError
            The recorded failure; `AccessError` where the file lacks the request and there is no
            model; what the model raises, otherwise.
        """
        key = _key(request, self._mask)
        line = self._next(key)
        if line is None:
            line = await self._recorded(request, key)
        if line.reply is None:
            raise _again(line.error)
        return msgspec.structs.replace(line.reply, form=request.form)

    async def close(self) -> None:
        """Close the model, if there is one."""
        if self._model is not None:
            await self._model.close()

    def _next(self, key: str) -> _Line | None:
        with self._guard:
            lines = self._lines.get(key)
            if not lines:
                return None
            turn = self._given.get(key, 0)
            if turn >= len(lines) and self._model is not None:
                return None
            self._given[key] = turn + 1
            return lines[min(turn, len(lines) - 1)]

    async def _recorded(self, request: ChatRequest, key: str) -> _Line:
        if self._model is None:
            msg = (
                f"{self._path} must hold a reply to every request, got one that it lacks: "
                f"{shorten(_last_words(request))!r}. Record it with `RecordedModel(path, "
                "model=...)`, or record anew if the prompts have changed."
            )
            raise AccessError(msg)
        try:
            reply = await self._model.reply(request)
        except _LASTING as error:
            self._add(_Line(request=key, error=_failure(error)))
            raise
        line = _Line(request=key, reply=_without_limits(reply))
        self._add(line)
        return line

    def _add(self, line: _Line) -> None:
        """Put a line into the file and into memory; it counts as given."""
        with self._guard:
            _append_line(self._path, line, header=self._header)
            self._lines.setdefault(line.request, []).append(line)
            self._given[line.request] = self._given.get(line.request, 0) + 1


def _compiled(mask: str) -> re.Pattern[str]:
    try:
        pattern = re.compile(mask, re.MULTILINE)
    except re.error as error:
        msg = f"`mask` must be a regular expression, got {shorten(mask)!r}: {error}."
        raise InputError(msg) from None
    if pattern.groups < 1:
        msg = f"`mask` must have a group, got {shorten(mask)!r}. Put the code in parentheses."
        raise InputError(msg)
    return pattern


def _key(request: ChatRequest, mask: re.Pattern[str]) -> str:
    """Hash a request without the codes that differ from call to call."""
    contents = [message.content for message in request.messages]
    codes = {match.group(1) for text in contents for match in mask.finditer(text)}
    for code in sorted(codes - {None, ""}, key=lambda code: (-len(code), code)):
        contents = [text.replace(code, "\0") for text in contents]
    told = [
        [[message.role, text] for message, text in zip(request.messages, contents, strict=True)],
        msgspec.to_builtins(request, builtin_types=(bytes,)) | {"messages": None},
    ]
    return hashlib.sha256(msgspec.json.encode(told, order="sorted")).hexdigest()


def _last_words(request: ChatRequest) -> str:
    return request.messages[-1].content if request.messages else ""


def _failure(error: RefusalError | ContentFilterError | BadRequestError) -> _Failed:
    return _Failed(
        kind=type(error).__name__,
        message=str(error),
        status=error.status,
        feature=getattr(error, "feature", None),
    )


def _again(recorded: _Failed | None) -> ModelCallError:
    if recorded is None:
        return ServerError("The recording holds neither a reply nor a failure.")
    if recorded.kind == UnsupportedError.__name__:
        feature = recorded.feature or "unknown"
        return UnsupportedError(recorded.message, feature=feature, status=recorded.status)
    kinds = {kind.__name__: kind for kind in _LASTING}
    return kinds.get(recorded.kind, BadRequestError)(recorded.message, status=recorded.status)


def _without_limits(reply: Reply) -> Reply:
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


def _read_recording(
    path: Path, *, live: ChatModel | None
) -> tuple[_Header, dict[str, list[_Line]]]:
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
    header = _checked_header(path, first, live=live)
    lines: dict[str, list[_Line]] = {}
    for number, row in enumerate(rest, start=2):
        line = _decoded(path, row, number=number, kind=_Line)
        lines.setdefault(line.request, []).append(line)
    return header, lines


def _append_line(path: Path, line: _Line, *, header: _Header) -> None:
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


def _checked_header(path: Path, row: bytes, *, live: ChatModel | None) -> _Header:
    ours = None
    if live is not None:
        settings = msgspec.json.decode(msgspec.json.encode(live.settings))
        ours = _Header(
            schema=_FORMAT, name=live.name, settings=settings, capabilities=live.capabilities
        )
    if not row and ours is not None:
        return ours
    found = _decoded(path, row, number=1, kind=_Header)
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
