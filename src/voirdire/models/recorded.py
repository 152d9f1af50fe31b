"""A model whose replies were recorded in a file, and are given again."""

from __future__ import annotations

import hashlib
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire import errors
from voirdire._validation import shorten
from voirdire.errors import (
    AccessError,
    BadRequestError,
    ContentFilterError,
    InputError,
    RefusalError,
    UnsupportedError,
)
from voirdire.models.recording_file import Line, Refused, append_line, read_recording, writable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.models.port import Capabilities, ChatModel, ChatRequest
    from voirdire.records import Reply

__all__ = ["RecordedModel"]

_FENCE_LINE = r"^-----(?:BEGIN|END) ITEM ([0-9a-f]{16,64})-----$"
"""The lines around an item in the prompts of voirdire."""


_LASTING = (RefusalError, ContentFilterError, BadRequestError)
"""What is recorded beside replies: failures that come of the request and not of the moment."""


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
    >>> from voirdire.models import ChatRequest, RecordedModel, ScriptedModel
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
        self._header, self._lines = read_recording(self._path, live=model)
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
        """Give the recorded reply, or ask the model and record what it says.

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

    def _next(self, key: str) -> Line | None:
        with self._guard:
            lines = self._lines.get(key)
            if not lines:
                return None
            turn = self._given.get(key, 0)
            if turn >= len(lines) and self._model is not None:
                return None
            self._given[key] = turn + 1
            return lines[min(turn, len(lines) - 1)]

    async def _recorded(self, request: ChatRequest, key: str) -> Line:
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
            self._add(Line(request=key, error=_refused(error)))
            raise
        line = Line(request=key, reply=writable(reply))
        self._add(line)
        return line

    def _add(self, line: Line) -> None:
        """Put a line into the file and into memory; it counts as given."""
        with self._guard:
            append_line(self._path, line, header=self._header)
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


def _refused(error: RefusalError | ContentFilterError | BadRequestError) -> Refused:
    return Refused(
        kind=type(error).__name__,
        message=str(error),
        status=error.status,
        feature=getattr(error, "feature", None),
    )


def _again(recorded: Refused | None) -> errors.ModelCallError:
    if recorded is None:
        return errors.ServerError("The recording holds neither a reply nor a failure.")
    if recorded.kind == UnsupportedError.__name__:
        feature = recorded.feature or "unknown"
        return UnsupportedError(recorded.message, feature=feature, status=recorded.status)
    kinds = {kind.__name__: kind for kind in _LASTING}
    return kinds.get(recorded.kind, BadRequestError)(recorded.message, status=recorded.status)
