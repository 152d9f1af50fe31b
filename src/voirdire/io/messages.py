"""Reads chat messages of all formats into one record, and selects the text that is judged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.io.files import RowError, got, plain_value
from voirdire.records import Item, Message
from voirdire.records.reasoning import find_opening, strip_reasoning

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import Judged

_ROLES = {
    "human": "user",
    "gpt": "assistant",
    "model": "assistant",
    "ai": "assistant",
    "function_call": "assistant",
    "tool_call": "assistant",
    "function": "tool",
    "observation": "tool",
    "tool_response": "tool",
}
_CALL_ROLES = ("function_call", "tool_call")
_KNOWN = ("system", "developer", "user", "assistant", "tool")
_REASONING = ("reasoning_content", "reasoning", "thinking")
_PARTS = {
    "text": "text",
    "input_text": "text",
    "output_text": "text",
    "refusal": "refusal",
    "thinking": "thinking",
    "reasoning": "text",
}
_REASONING_PARTS = ("thinking", "reasoning")
_IMAGE = re.compile(r"https://\S+|data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]+", re.I)
_UNSEEN = {"image": "an image", "audio": "a sound", "video": "a video", "file": "a file"}
"""Parts that a judge of text cannot see: two items may differ in these alone."""


class ParsedMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message.

    Attributes
    ----------
    role : str
        ``user``, ``assistant``, ``system``, ``developer``, ``tool``, or what the file says.
    text : str or None
        Its text, parts joined; None where there is none.
    reasoning : str or None
        The reasoning, where it has a field of its own.
    calls : tuple of str
        The calls of tools in it, as ``name(arguments)``.
    name : str or None
        Name of the author, where the file has more than the role.
    images : tuple of str
        The addresses of its images; empty text for one that a model cannot be sent.
    """

    role: str
    text: str | None
    reasoning: str | None = None
    calls: tuple[str, ...] = ()
    name: str | None = None
    images: tuple[str, ...] = ()


def is_message(value: dict[str, Any]) -> bool:
    """Return whether a value is a message, by its keys."""
    return "role" in value or "from" in value


def parse_messages(value: Any, *, column: str) -> list[ParsedMessage]:
    """Read a list of messages, or one message."""
    if isinstance(value, dict) and is_message(value):
        value = [value]
    if not isinstance(value, list | tuple):
        raise RowError(f"messages must be a list, got {got(value)}", column=column)
    return [
        parse_message(message, number, column=column) for number, message in enumerate(value, 1)
    ]


def parse_message(message: Any, number: int, *, column: str) -> ParsedMessage:
    """Read one message; `number` is its place among the others."""
    role = content = None
    if isinstance(message, dict):
        role, content = message.get("role"), message.get("content")
        if len(message) == 2 and role in _KNOWN and isinstance(content, str):
            return ParsedMessage(role=role, text=content)  # nearly all of them
        role = message.get("from") if role is None else role
    if not isinstance(role, str):
        reason = f"message {number} must be an object with a role and a content, got {got(message)}"
        raise RowError(reason, column=column)
    word = role.strip().lower()
    content = message.get("value") if content is None else content
    text, reasoning, images = _content(content, number, column=column)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        text = f"{text}\n{refusal}" if text else refusal
    found = message.get("tool_calls")
    calls = [_call(call) for call in found] if isinstance(found, list | tuple) else []
    if message.get("function_call") is not None:
        calls.append(_call(message["function_call"]))
    if word in _CALL_ROLES and text is not None:
        calls, text = [*calls, text], None
    beside = [message.get(key) for key in _REASONING]
    name = message.get("name")
    return ParsedMessage(
        role=_ROLES.get(word, word if word in _KNOWN else role),
        text=text,
        reasoning=next((why for why in beside if isinstance(why, str) and why), reasoning),
        calls=tuple(calls),
        name=name if isinstance(name, str) else None,
        images=images,
    )


def make_prompt(messages: list[ParsedMessage]) -> tuple[Message, ...]:
    """Convert messages to a prompt, with tool calls as text."""
    return tuple(
        Message(role=said.role, content=render_message(said), images=said.images)
        for said in messages
    )


def check_images(prompt: tuple[Message, ...], *, are_seen: bool) -> None:
    """Refuse images that a judge cannot see, or that cannot be sent to its model."""
    images = [image for message in prompt for image in message.images]
    if images and not are_seen:
        reason = "the prompt holds an image, and judges read text only, unless they declare more"
        raise RowError(f"{reason} (`capabilities: {{images: true}}` in a file of judges)")
    if "" in images:
        reason = "the prompt holds an image that is neither an `https:` address nor base64 data of "
        raise RowError(f"{reason}PNG, JPEG, GIF or WebP")


def prompt_of_text(text: str) -> tuple[Message, ...]:
    """Make a prompt of text: one message by the user, or none for empty text."""
    return (Message(role="user", content=text),) if text else ()


def render_message(
    said: ParsedMessage, *, with_reasoning: bool = False, with_calls: bool = True
) -> str:
    """Return a message as text."""
    pieces = [] if said.text is None else [said.text]
    if with_reasoning and said.reasoning is not None:
        pieces.insert(0, f"<think>\n{said.reasoning}\n</think>\n")
    if with_calls:
        pieces += [f"tool call: {call}" for call in said.calls]
    return "\n".join(pieces)


def _content(
    content: Any, number: int, *, column: str
) -> tuple[str | None, str | None, tuple[str, ...]]:
    """Return the text, the reasoning among its parts, and the images."""
    if content is None or isinstance(content, str):
        return content, None, ()
    if not isinstance(content, list | tuple):
        reason = f"content of message {number} must be text or a list of parts, got {got(content)}"
        raise RowError(reason, column=column)
    texts: list[str] = []
    thoughts: list[str] = []
    images: list[str] = []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
            continue
        kind = part.get("type") if isinstance(part, dict) else None
        if not isinstance(kind, str):
            reason = f"part of message {number} must be an object with a type, got {got(part)}"
            raise RowError(reason, column=column)
        key = _PARTS.get(kind)
        if key is None:  # image_url, input_image and image are all an image
            word = kind.removeprefix("input_").removesuffix("_url")
            if word == "image":
                images.append(_image(part))
            elif word in _UNSEEN:
                reason = f"message {number} holds {_UNSEEN[word]}, and judges read text only"
                raise RowError(reason, column=column)
            texts.append(f"[{shorten(word, width=20)}]")
        elif isinstance(text := part.get(key), str):
            (thoughts if kind in _REASONING_PARTS else texts).append(text)
        else:
            reason = f"part of message {number} must have a text `{key}`, got {got(part)}"
            raise RowError(reason, column=column)
    # a message of reasoning alone has no text, not an empty one
    text = None if thoughts and not texts else "\n".join(texts)
    return text, "\n".join(thoughts) if thoughts else None, tuple(images)


def _image(part: dict[str, Any]) -> str:
    """Return the address in a part of OpenAI's, Anthropic's or Hugging Face's form."""
    found = part.get("image_url") or part.get("source") or part.get("image") or part.get("url")
    if isinstance(found, dict) and isinstance(found.get("data"), str):
        found = f"data:{found.get('media_type')};base64,{found['data']}"
    elif isinstance(found, dict):
        found = found.get("url")
    return found if isinstance(found, str) and _IMAGE.fullmatch(found) else ""


def _call(call: Any) -> str:
    """``name(arguments)``; a call of another form as JSON."""
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return _json(call)
    arguments = function.get("arguments")
    shown = arguments if isinstance(arguments, str) else _json(arguments)
    return f"{function['name']}({'' if arguments is None else shown})"


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


# What is judged ---------------------------------------------------------------------------------

_NO_TEXT = "no response: the last message by the assistant has no text"
_UNFINISHED = "no response: it ends inside its thoughts"


def turn_start(messages: Sequence[ParsedMessage]) -> int:
    """Return the index of the first message after the last one by neither assistant nor tool."""
    for index in range(len(messages), 0, -1):
        if messages[index - 1].role not in ("assistant", "tool"):
            return index
    return 0


class UnfinishedError(RowError):
    """The response ends inside its thoughts: it has no final answer."""


def select_text_answer(text: str, *, judged: Judged, prompt: tuple[Message, ...] = ()) -> str:
    """Select the judged part of a plain text: all of it, or its final answer."""
    answer = _final_answer(text, prompt) if judged == "final_answer" else text
    if answer is None:
        raise UnfinishedError(_UNFINISHED)
    return answer


def select_turn_answer(
    turn: Sequence[ParsedMessage],
    *,
    judged: Judged,
    column: str,
    prompt: tuple[Message, ...] = (),
) -> str:
    """Select the judged part of the messages that answer a prompt."""
    last = next((said for said in reversed(turn) if said.role == "assistant"), None)
    if last is None:
        raise RowError("no response: nothing after the prompt is by the assistant", column=column)
    if any(said.images for said in turn):
        raise RowError("the response holds an image, and judges read text only", column=column)
    if judged == "whole_turn" and any(
        said.role == "assistant" and (said.text, said.reasoning, said.calls) != (None, None, ())
        for said in turn
    ):
        return _render_turn(turn)
    text = last.text or ""
    answer: str | None
    if judged == "with_reasoning":
        answer = render_message(last, with_reasoning=True, with_calls=False)
    elif last.reasoning is not None and not text.strip():
        answer = None
    else:
        answer = _final_answer(text, prompt)
    if last.calls and not (answer or "").strip():
        hint = "but a tool call; declare judged='whole_turn'"
        raise RowError(f"{_NO_TEXT}, {hint}", column=column)
    if last.text is None and last.reasoning is None:
        raise RowError(_NO_TEXT, column=column)
    if answer is None:
        raise UnfinishedError(_UNFINISHED, column=column)
    return answer


def _final_answer(text: str, prompt: tuple[Message, ...]) -> str | None:
    """Return a text without its thoughts; None where it ends inside them.

    They begin in the prompt where this ends with their opening marker: in the template around a
    single message, or in a message by the assistant that the response goes on with.
    """
    is_begun = bool(prompt) and (len(prompt) == 1 or prompt[-1].role == "assistant")
    return strip_reasoning((find_opening(prompt[-1].content) if is_begun else "") + text)


def _render_turn(turn: Sequence[ParsedMessage]) -> str:
    """Write messages with their roles; a single message without calls as plain text."""
    if len(turn) == 1 and not turn[0].calls:
        return render_message(turn[0], with_reasoning=True)
    names = [f"{said.role} ({said.name})" if said.name else said.role for said in turn]
    texts = [render_message(said, with_reasoning=True) for said in turn]
    return "\n\n".join(f"{name}:\n{text}" for name, text in zip(names, texts, strict=True))


class Draft(msgspec.Struct, frozen=True, kw_only=True):
    """An item without the fields that all items of its row share.

    Attributes
    ----------
    prompt : tuple of Message
        The conversation before the response.
    response : str
        The text that is judged.
    other : str or None
        The second response of a pair.
    suffix : str
        Added to the id, to distinguish the items of one row.
    metadata : dict, optional
        Metadata of this item alone.
    """

    prompt: tuple[Message, ...]
    response: str
    other: str | None = None
    suffix: str = ""
    metadata: dict[str, Any] | None = None


def split_turn(
    messages: list[ParsedMessage],
    *,
    judged: Judged,
    column: str,
    prompt: tuple[Message, ...] = (),
) -> Draft:
    """Split messages into the prompt, at least the first one, and the response."""
    start = turn_start(messages)
    prompt += make_prompt(messages[:start])
    response = select_turn_answer(messages[start:], judged=judged, column=column, prompt=prompt)
    return Draft(prompt=prompt, response=response)


# One response in memory -------------------------------------------------------------------------


def turn_item(
    item_id: str,
    *,
    response: Any,
    prompt: Any = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    group: str | None = None,
) -> Item | None:
    """Make an item from a response and its prompt.

    Parameters
    ----------
    item_id : str
        Its id.
    response : str or sequence of mapping
        Text, or the messages that answer the prompt.
    prompt : str or sequence of mapping, optional
        The user's text, or the messages before the response.
    judged : {"final_answer", "with_reasoning", "whole_turn"}, optional
        What of the response the item holds.
    behavior, group : str, optional
        Of the item.

    Returns
    -------
    Item or None
        As a file with the same prompt and response would give it; None where the response ends
        inside its thoughts.

    Raises
    ------
    InputError
        If response or prompt is neither text nor messages, or the response holds no text.
    """
    try:
        prompt, response = plain_value(prompt), plain_value(response)
        if prompt is None or isinstance(prompt, str):
            before = prompt_of_text(prompt or "")
        else:
            before = make_prompt(parse_messages(prompt, column="prompt"))
            check_images(before, are_seen=False)
        if isinstance(response, str):
            text = select_text_answer(response, judged=judged, prompt=before)
        else:
            said = parse_messages(response, column="response")
            draft = split_turn(said, judged=judged, column="response", prompt=before)
            before, text = draft.prompt, draft.response
    except UnfinishedError:
        return None
    except RowError as error:
        msg = f"`response` must be text or messages with a response: {shorten(str(error))}."
        raise InputError(msg) from error
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        # a trainer's tool calls may hold any objects
        msg = f"`response` must be text or messages with a response, got {type(error).__name__}."
        raise InputError(msg) from None
    return Item(
        id=item_id,
        prompt=before,
        response=text,
        behavior=plain_value(behavior),
        group=plain_value(group),
    )
