"""Which shape a row has, told by its keys alone, and what a row of that shape says.

A key whose value is null counts as absent. The first line that fits decides:

==============================================  ====================================
keys                                            read as
==============================================  ====================================
`response` and `other`                          pair: one item with two responses
`response` or `completion`                      prompt and response; a chat completion
                                                where `response` is an object of one
`response_a` or `response_b`                    pair
`chosen` or `rejected`                          preference: one item for each, or a pair
`messages` or `conversations`                   chat that ends in the response
`choices`, and no prompt                        chat completion without its request
`output` or `answer`                            prompt and response
`error`                                         a request that failed: set aside
==============================================  ====================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.files import RowError, decode_json, got
from voirdire.io.messages import (
    Answer,
    Said,
    as_prompt,
    judged_text,
    judged_turn,
    said_by,
    said_by_all,
    turn_start,
)
from voirdire.records import Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire._types import Judged

__all__ = ["CHAT_COLUMNS", "ID_COLUMNS", "Draft", "RowShape", "ShapeFinder", "drafts_of"]

ShapeName: TypeAlias = Literal[
    "response", "pair", "preference", "chat", "choices", "failed", "none"
]

CHAT_COLUMNS = ("messages", "conversations")
"""Columns in which text is JSON, whatever the format."""

ID_COLUMNS = ("custom_id", "id", "item")
"""Where an item's id stands; the first that holds something."""

_PROMPTS = ("prompt", "question", "instruction", "input")
_RATERS = {"annotator", "judge", "rater"}
_MAX_SHAPES = 1_000
_MAX_NAMES_SHOWN = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class RowShape:
    """Where in a row everything stands; None for what is not there.

    Attributes
    ----------
    name : str
        The shape.
    body : str or None
        The key of the response, the messages (also of those that end in the first response of a
        pair) or the choices; where there is no response, the key that was declared for it.
    prompt : str or None
        The key of the prompt.
    prompt_is_chat : bool
        Whether that is a column of messages, where text is JSON.
    prompt_rest : str or None
        The key of the text that goes on with the prompt: `input` beside `instruction`.
    request : str or None
        The key of the request that a server was sent, where no prompt stands elsewhere.
    first, second : str or None
        The keys of two responses: of a pair, or the chosen and the rejected one.
    id, behavior, group, cluster : str or None
        Further keys.
    metadata : tuple of str
        All other keys.
    """

    name: ShapeName
    body: str | None
    prompt: str | None
    prompt_is_chat: bool
    prompt_rest: str | None
    request: str | None
    first: str | None
    second: str | None
    id: str | None
    behavior: str | None
    group: str | None
    cluster: str | None
    metadata: tuple[str, ...]


class ShapeFinder:
    """Tell the shapes of rows, each set of keys once."""

    def __init__(
        self,
        columns: Mapping[str, str] | None,
        *,
        json_columns: Sequence[str] = (),
        source: str,
        is_tabular: bool,
    ) -> None:
        self.columns = dict(columns or {})
        self.source = source
        self.is_tabular = is_tabular
        given = self.columns.get("messages")
        self.chat_columns = (given,) if given is not None else CHAT_COLUMNS
        self.unseen = {*self.columns.values(), *json_columns}
        self._known: dict[tuple[str, ...], RowShape] = {}
        content = ("prompt", "response", "other", "messages", "chosen", "rejected")
        # A column given for one part of an item is not taken for another by its name.
        self._taken = {self.columns[name] for name in content if name in self.columns}

    def shape(self, keys: tuple[str, ...]) -> RowShape:
        """Tell the shape of a row with these keys, nulls left out."""
        known = self._known.get(keys)
        if known is None:
            if len(self._known) >= _MAX_SHAPES:  # rows of a hostile file may all differ
                self._known.clear()
            known = self._known[keys] = self._found(keys)
        return known

    def check_header(self, header: Sequence[str]) -> None:
        """Refuse a table whose columns can give no item at all."""
        self.unseen -= set(header)
        self.check_seen(header)
        if not self.has_response(tuple(header)):
            self._refuse(header, missing="response", way_out=self.way_out(header))

    def has_response(self, keys: tuple[str, ...]) -> bool:
        """Tell keys that may give an item."""
        return self.shape(keys).name not in ("failed", "none")

    def check_seen(self, header: Sequence[str]) -> None:
        """Refuse a declared column that was not seen; `header` is shown beside it."""
        if self.unseen:
            missing = min(self.unseen)
            ours = "columns" if missing in self.columns.values() else "json_columns"
            self._refuse(header, missing=missing, way_out=f"Correct `{ours}`.")

    def way_out(self, header: Sequence[str]) -> str:
        """Say what to do about columns that give no item."""
        if {"item", "label"} <= set(header) or not _RATERS.isdisjoint(header):
            return "This looks like labels: name the file of the responses that they are about."
        return 'Name it with columns={"response": ...}.'

    def shown(self, header: Sequence[str]) -> str:
        """Show columns by name, not too many of them."""
        known = ", ".join(shorten(repr(column)) for column in header[:_MAX_NAMES_SHOWN])
        more = len(header) - _MAX_NAMES_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        return f"{known or 'none'}{rest}"

    def _refuse(self, header: Sequence[str], *, missing: str, way_out: str) -> NoReturn:
        message = (
            f"{self.source}: column `{shorten(missing)}` must exist, "
            f"got columns {self.shown(header)}. {way_out}"
        )
        raise InputError(message)

    def _key(self, keys: tuple[str, ...], concept: str, *ours: str) -> str | None:
        theirs = self.columns.get(concept)
        if theirs is not None:
            return theirs if theirs in keys else None
        return next((name for name in ours if name in keys and name not in self._taken), None)

    def _found(self, keys: tuple[str, ...]) -> RowShape:
        prompt = self._key(keys, "prompt", *_PROMPTS)
        chat = self._key(keys, "messages", *CHAT_COLUMNS)
        name, body, first, second = self._responses(keys, chat=chat, prompt=prompt)
        rest = request = None
        has_prompt = name in ("response", "pair", "preference")
        if first is not None and first == chat:
            body, chat = chat, None  # its last turn is the response: all else is the prompt
        prompt_is_chat = has_prompt and prompt is None
        if not has_prompt:
            prompt = None
        elif prompt is None:
            prompt = chat
            request = "request" if chat is None and "request" in keys else None
        elif prompt == "instruction" and "prompt" not in self.columns:
            rest = self._key(keys, "", "input")
        places = {
            "body": body, "prompt": prompt, "prompt_rest": rest, "request": request,
            "first": first, "second": second,
            "id": self._key(keys, "id", *ID_COLUMNS),
            "behavior": self._key(keys, "behavior", "behavior"),
            "group": self._key(keys, "group", "group"),
            "cluster": self._key(keys, "cluster", "cluster"),
        }  # fmt: skip
        used = set(places.values())
        metadata = tuple(key for key in keys if key not in used and not self._is_unnamed(key))
        return RowShape(name=name, prompt_is_chat=prompt_is_chat, metadata=metadata, **places)

    def _responses(
        self, keys: tuple[str, ...], *, chat: str | None, prompt: str | None
    ) -> tuple[ShapeName, str | None, str | None, str | None]:
        """Tell the shape, and where one response stands or two do."""
        pair = self._pair(keys, chat=chat)
        if pair is not None:
            return "pair", None, *pair
        response = self._key(keys, "response", "response", "completion")
        if response is not None:
            return "response", response, None, None
        chosen = self._key(keys, "chosen", "chosen")
        rejected = self._key(keys, "rejected", "rejected")
        if chosen is not None or rejected is not None:
            first, second = (self.columns.get(name, name) for name in ("chosen", "rejected"))
            return "preference", None, first, second
        return *self._body(keys, chat=chat, prompt=prompt), None, None

    def _pair(self, keys: tuple[str, ...], *, chat: str | None) -> tuple[str, str] | None:
        """Tell where the responses of a pair stand; one of them may be missing in this row."""
        response = self._key(keys, "response", "response", "completion")
        may_be_named = response is None and "response" not in self.columns
        given = self.columns.get("other")
        if given is not None:
            if may_be_named:
                response = self._key(keys, "", "response_a", "output", "answer") or chat
            return None if response is None else (response, given)
        if response == "response":
            other = self._key(keys, "", "other")
            return None if other is None else (response, other)
        first = self._key(keys, "", "response_a")
        second = self._key(keys, "", "response_b")
        if may_be_named and (first is not None or second is not None):
            return first or "response_a", second or "response_b"
        return None

    def _body(
        self, keys: tuple[str, ...], *, chat: str | None, prompt: str | None
    ) -> tuple[ShapeName, str | None]:
        if chat is not None:
            return "chat", chat
        choices = self._key(keys, "", "choices")
        if choices is not None and prompt is None:
            return "choices", choices
        response = None
        if "response" not in self.columns:
            response = self._key(keys, "", "output", "answer")
        if response is not None:
            return "response", response
        return ("failed", "error") if "error" in keys else ("none", self.columns.get("response"))

    def _is_unnamed(self, key: str) -> bool:
        """Tell the index column that pandas writes and reads without a name."""
        return self.is_tabular and (not key.strip() or key.startswith("Unnamed: "))


# Responses ------------------------------------------------------------------------------------


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """An item without what its row says of all its items.

    Attributes
    ----------
    prompt : tuple of Message
        The conversation before the response.
    answer : Answer
        The text that is judged.
    other : Answer or None
        The second response of a pair.
    suffix : str
        What makes the ids of several items of one row differ.
    metadata : dict, optional
        What the row says of this item alone.
    """

    prompt: tuple[Message, ...]
    answer: Answer
    other: Answer | None = None
    suffix: str = ""
    metadata: dict[str, Any] | None = None


def drafts_of(
    row: dict[str, Any], shape: RowShape, *, judged: Judged, pairs: bool
) -> list[Draft | RowError]:
    """Give every item of a row, or why it is none; `pairs` makes one item of a preference.

    Raises
    ------
    RowError
        If the whole row is to be set aside.
    """
    if shape.name == "chat":
        return [_chat(row, shape.body or "", judged=judged)]
    if shape.name == "pair":
        return [_pair(row, shape, judged=judged)]
    if shape.name == "preference" and pairs:
        return [_pair(row, shape, judged=judged, metadata={"preference": "A"})]
    if shape.name == "preference":
        return _preference(row, shape, judged=judged)
    if shape.name == "choices":
        return _choices(row, prompt=(), column=shape.body or "", judged=judged)
    if shape.name == "response":
        return _response(row, shape, judged=judged)
    if shape.name == "failed":
        raise RowError(_failure(row["error"]), column="error")
    raise RowError("no response: no column holds one", column=shape.body)


def _chat(row: dict[str, Any], column: str, *, judged: Judged) -> Draft:
    """Read messages whose last turn is the response."""
    messages = _messages(row[column], column=column)
    start = turn_start(messages)
    if messages and start == len(messages):
        who = got(messages[-1].role)
        raise RowError(f"no response: the last message is by {who}", column=column)
    answer = judged_turn(messages[start:], judged=judged, column=column)
    return Draft(prompt=as_prompt(messages[:start]), answer=answer)


def _response(row: dict[str, Any], shape: RowShape, *, judged: Judged) -> list[Draft | RowError]:
    """Read a response that is text, messages, or the reply of a server."""
    column = shape.body or ""
    response = row[column]
    if isinstance(response, str):
        answer = judged_text(response, judged=judged)
        return [Draft(prompt=_prompt(row, shape), answer=answer)]
    if isinstance(response, dict) and response.keys() & {"choices", "body", "status_code"}:
        reply = _reply(response, error=row.get("error"), column=column)
        return _choices(reply, prompt=_prompt(row, shape), column=column, judged=judged)
    messages = _response_messages(response, column=column)
    start = turn_start(messages)
    answer = judged_turn(messages[start:], judged=judged, column=column)
    return [Draft(prompt=_prompt(row, shape) + as_prompt(messages[:start]), answer=answer)]


def _response_messages(value: Any, *, column: str) -> list[Said]:
    if not isinstance(value, list | tuple | dict):
        raise RowError(f"response must be text or messages, got {got(value)}", column=column)
    return said_by_all(value, column=column)


def _prompt(row: dict[str, Any], shape: RowShape) -> tuple[Message, ...]:
    """Text is one message by the user; empty text is no prompt."""
    column = shape.prompt
    if column is None:
        return () if shape.request is None else _request_prompt(row[shape.request])
    value = row[column]
    if isinstance(value, str) and not shape.prompt_is_chat:
        rest = None if shape.prompt_rest is None else row[shape.prompt_rest]
        if isinstance(rest, str) and rest.strip():
            value = f"{value}\n\n{rest}"
        return (Message(role="user", content=value),) if value else ()
    if not isinstance(value, str | list | tuple | dict):
        raise RowError(f"prompt must be text or messages, got {got(value)}", column=column)
    return as_prompt(_messages(value, column=column))


def _messages(value: Any, *, column: str) -> list[Said]:
    """Messages as they are, or as JSON in a cell of text."""
    if isinstance(value, str):
        value = decode_json(value, what="messages", column=column)
    return said_by_all(value, column=column)


# Two responses, the prompt apart or in both ---------------------------------------------------


class _Side(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a row of two responses.

    Attributes
    ----------
    name : str
        ``"chosen"`` or ``"rejected"``; so are called the two of a pair as well.
    column : str
        Where it stands.
    text : str or None
        The response, where it is text.
    before, turn : list of Said
        Otherwise the messages before the response, and those that it is.
    is_whole : bool
        Whether the messages begin with the prompt, so that it does not stand elsewhere.
    """

    name: str
    column: str
    text: str | None = None
    before: list[Said]
    turn: list[Said]
    is_whole: bool

    def answer(self, judged: Judged) -> Answer:
        """Give what of it is judged."""
        if self.text is not None:
            return judged_text(self.text, judged=judged)
        return judged_turn(self.turn, judged=judged, column=self.column)

    def prompt(self, row: dict[str, Any], shape: RowShape) -> tuple[Message, ...]:
        """Give what it answers."""
        return (() if self.is_whole else _prompt(row, shape)) + as_prompt(self.before)


def _sides(row: Mapping[str, Any], shape: RowShape) -> list[_Side]:
    """Read both sides of a row of two responses; one that is not there has an empty turn.

    Messages are the whole conversation where no prompt stands apart, or where they begin with one
    by somebody else than assistant and tools. What both sides then begin with is the prompt, at
    least up to the last such message.
    """
    columns = {"chosen": shape.first or "", "rejected": shape.second or ""}
    texts: dict[str, str | None] = {}
    messages: dict[str, list[Said]] = {}
    for name, column in columns.items():
        value = row.get(column)
        texts[name] = value if isinstance(value, str) else None
        is_said = value is not None and not isinstance(value, str)
        messages[name] = _response_messages(value, column=column) if is_said else []
    is_preference = shape.name == "preference"  # those texts often begin with the prompt
    if is_preference and shape.prompt is None and any(text is not None for text in texts.values()):
        reason = "no prompt: where it ends in the texts chosen and rejected cannot be told"
        raise RowError(reason, column=columns["chosen"])
    is_whole = {
        name: texts[name] is None
        and row.get(column) is not None
        and (shape.prompt is None or turn_start(messages[name][:1]) == 1)
        for name, column in columns.items()
    }
    n_shared = _n_shared(*messages.values()) if all(is_whole.values()) else 0
    sides = []
    for name, said in messages.items():
        start = max(turn_start(said), n_shared)
        sides.append(
            _Side(
                name=name,
                column=columns[name],
                text=texts[name],
                before=said[:start],
                turn=said[start:],
                is_whole=is_whole[name],
            )
        )
    return sides


def _n_shared(first: list[Said], second: list[Said]) -> int:
    """Count the messages that both begin with, leaving each at least one."""
    longest = max(min(len(first), len(second)) - 1, 0)
    return next((n for n in range(longest) if first[n] != second[n]), longest)


def _preference(row: dict[str, Any], shape: RowShape, *, judged: Judged) -> list[Draft | RowError]:
    """Give the chosen response and the rejected one, each an item of one group."""
    drafts: list[Draft | RowError] = []
    for side in _sides(row, shape):
        try:
            draft = Draft(
                answer=side.answer(judged),
                prompt=side.prompt(row, shape),
                suffix=f":{side.name}",
                metadata={"preference": side.name},
            )
        except RowError as error:
            drafts.append(error)
        else:
            drafts.append(draft)
    return drafts


def _pair(
    row: dict[str, Any],
    shape: RowShape,
    *,
    judged: Judged,
    metadata: dict[str, Any] | None = None,
) -> Draft:
    """Give one item with both responses, if they answer one prompt."""
    if shape.body is not None and isinstance(row[shape.body], str):
        decoded = decode_json(row[shape.body], what="messages", column=shape.body)
        row = {**row, shape.body: decoded}
    sides = _sides(row, shape)
    for side in sides:
        if row.get(side.column) is None:
            raise RowError("no response: a pair must have two", column=side.column)
    # A text without a prompt beside it answers whatever the other one does.
    is_apart = shape.prompt is not None or shape.request is not None
    prompts = [side.prompt(row, shape) for side in sides if is_apart or side.text is None]
    if len(prompts) > 1 and prompts[0] != prompts[1]:
        reason = "both responses must answer one prompt, got two conversations"
        raise RowError(reason, column=sides[1].column)
    first, second = (side.answer(judged) for side in sides)
    prompt = prompts[0] if prompts else ()
    return Draft(prompt=prompt, answer=first, other=second, metadata=metadata)


# OpenAI's requests and replies, and lines of its Batch API ------------------------------------


def _choices(
    reply: dict[str, Any], *, prompt: tuple[Message, ...], column: str, judged: Judged
) -> list[Draft | RowError]:
    """Make an item of every choice of a reply."""
    choices = reply.get("choices")
    if not isinstance(choices, list | tuple) or not choices:
        raise RowError(f"`choices` must be a list of choices, got {got(choices)}", column=column)
    drafts: list[Draft | RowError] = []
    for number, choice in enumerate(choices):
        try:
            said = _said_in(choice, number, column=column)
            answer = judged_turn([said], judged=judged, column=column)
        except RowError as error:
            drafts.append(error)
            continue
        index, reason = choice.get("index"), choice.get("finish_reason")
        is_numbered = isinstance(index, int) and not isinstance(index, bool)
        suffix = f":{index if is_numbered else number}" if len(choices) > 1 else ""
        reason = reason if isinstance(reason, str) else None
        facts = {"model": reply.get("model"), "finish_reason": reason}
        metadata = {key: value for key, value in facts.items() if value is not None}
        drafts.append(Draft(prompt=prompt, answer=answer, suffix=suffix, metadata=metadata))
    return drafts


def _said_in(choice: Any, number: int, *, column: str) -> Said:
    """Read the message of a choice; of a plain completion its text."""
    if not isinstance(choice, dict):
        raise RowError(f"choice {number} must be an object, got {got(choice)}", column=column)
    message, text = choice.get("message"), choice.get("text")
    if message is None and isinstance(text, str):
        return Said(role="assistant", text=text)
    if isinstance(message, dict):
        return said_by({"role": "assistant", **message}, number, column=column)
    raise RowError(f"choice {number} must have a message, got {got(choice)}", column=column)


def _reply(response: dict[str, Any], *, error: Any, column: str) -> dict[str, Any]:
    """Unwrap the reply, or say why the request failed."""
    body = response.get("body", response) if "choices" not in response else response
    if isinstance(body, dict) and body.get("choices") is not None:
        return body
    within = body.get("error") if isinstance(body, dict) else None
    error = error if error is not None else within
    status = response.get("status_code")
    if error is None and status in (None, 200):
        found = got(list(body) if isinstance(body, dict) else body)
        raise RowError(f"reply must hold `choices`, got {found}", column=column)
    with_status = "" if status is None else f" (status {got(status)})"
    raise RowError(f"{_failure(error)}{with_status}", column=column)


def _failure(error: Any) -> str:
    """Say of a request that failed why it did."""
    if isinstance(error, dict):
        words = [error[key] for key in ("code", "message") if error.get(key) is not None]
        error = ": ".join(str(word) for word in words) or None
    return "the request failed" if error is None else f"the request failed: {got(str(error))}"


def _request_prompt(request: Any) -> tuple[Message, ...]:
    """Read the prompt of a request, bare or as the Batch API wraps it; text is the prompt."""
    if isinstance(request, str):
        request = {"prompt": request}
    if isinstance(request, dict) and isinstance(request.get("body"), dict):
        request = request["body"]
    if not isinstance(request, dict):
        raise RowError(f"request must be an object, got {got(request)}", column="request")
    messages, prompt = request.get("messages"), request.get("prompt")
    if messages is None and isinstance(prompt, str):
        return (Message(role="user", content=prompt),) if prompt else ()
    return as_prompt(said_by_all([] if messages is None else messages, column="request"))
