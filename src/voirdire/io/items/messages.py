"""Chat messages of every dialect, as one sort of record."""

from __future__ import annotations

from typing import Any

import msgspec

from voirdire._validation import shorten
from voirdire.io.items.row_errors import RowError, got
from voirdire.records import Message

__all__ = ["Said", "as_prompt", "is_message", "said_by", "said_by_all", "shown"]

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
_TEXT_PARTS = {"text": "text", "input_text": "text", "output_text": "text", "refusal": "refusal"}
_REASONING_PARTS = {"thinking": "thinking", "reasoning": "text"}


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One message.

    Attributes
    ----------
    role : str
        ``user``, ``assistant``, ``system``, ``developer``, ``tool``, or what the file says.
    text : str or None
        Its text, parts joined; None where there is none.
    reasoning : str or None
        The reasoning that stands beside the text, in a field of its own.
    calls : tuple of str
        The calls of tools in it, as ``name(arguments)``.
    name : str or None
        Whose message it is, where the file says more than the role.
    """

    role: str
    text: str | None
    reasoning: str | None = None
    calls: tuple[str, ...] = ()
    name: str | None = None


def is_message(value: dict[str, Any]) -> bool:
    """Tell a message by its keys."""
    return "role" in value or "from" in value


def said_by_all(value: Any, *, column: str) -> list[Said]:
    """Read a list of messages, or one message."""
    if isinstance(value, dict) and is_message(value):
        value = [value]
    if not isinstance(value, list | tuple):
        raise RowError(f"messages must be a list, got {got(value)}", column=column)
    return [said_by(message, number, column=column) for number, message in enumerate(value, 1)]


def said_by(message: Any, number: int, *, column: str) -> Said:
    """Read one message; `number` is its place among the others."""
    role = None
    if isinstance(message, dict):
        role, content = message.get("role"), message.get("content")
        if len(message) == 2 and role in _KNOWN and isinstance(content, str):
            return Said(role=role, text=content)  # nearly all of them
        role = message.get("from") if role is None else role
    if not isinstance(role, str):
        reason = f"message {number} must be an object with a role and a content, got {got(message)}"
        raise RowError(reason, column=column)
    word = role.strip().lower()
    content = message.get("content")
    content = message.get("value") if content is None else content
    text, reasoning = _content(content, number, column=column)
    refusal = message.get("refusal")
    if isinstance(refusal, str) and refusal:
        text = f"{text}\n{refusal}" if text else refusal
    calls = _calls(message)
    if word in _CALL_ROLES and text is not None:
        calls, text = (*calls, text), None
    name = message.get("name")
    return Said(
        role=_ROLES.get(word, word if word in _KNOWN else role),
        text=text,
        reasoning=_reasoning(message, reasoning),
        calls=calls,
        name=name if isinstance(name, str) else None,
    )


def as_prompt(messages: list[Said]) -> tuple[Message, ...]:
    """Messages as a prompt has them: tool calls shown in their text."""
    return tuple(Message(role=said.role, content=shown(said)) for said in messages)


def shown(said: Said, *, with_reasoning: bool = False, with_calls: bool = True) -> str:
    """Give what a message says as text."""
    pieces = [] if said.text is None else [said.text]
    if with_reasoning and said.reasoning is not None:
        pieces.insert(0, f"<think>\n{said.reasoning}\n</think>\n")
    if with_calls:
        pieces += [f"tool call: {call}" for call in said.calls]
    return "\n".join(pieces)


def _content(content: Any, number: int, *, column: str) -> tuple[str | None, str | None]:
    """Text, and reasoning that stands among its parts."""
    if content is None or isinstance(content, str):
        return content, None
    if not isinstance(content, list | tuple):
        reason = f"content of message {number} must be text or a list of parts, got {got(content)}"
        raise RowError(reason, column=column)
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(kind, str):
            reason = f"part of message {number} must be an object with a type, got {got(part)}"
            raise RowError(reason, column=column)
        elif kind in _REASONING_PARTS:
            thoughts.append(_part_text(part, _REASONING_PARTS[kind], number, column=column))
        elif kind in _TEXT_PARTS:
            texts.append(_part_text(part, _TEXT_PARTS[kind], number, column=column))
        else:
            texts.append(_stand_in(kind))
    # nothing but reasoning is not an empty text
    text = None if thoughts and not texts else "\n".join(texts)
    return text, "\n".join(thoughts) if thoughts else None


def _part_text(part: dict[str, Any], key: str, number: int, *, column: str) -> str:
    text = part.get(key)
    if not isinstance(text, str):
        reason = f"part of message {number} must have a text `{key}`, got {got(part)}"
        raise RowError(reason, column=column)
    return text


def _stand_in(kind: str) -> str:
    """``image_url``, ``input_image`` and ``image`` are all ``[image]``."""
    word = kind.removeprefix("input_").removesuffix("_url")
    return f"[{shorten(word, width=20)}]"


def _reasoning(message: dict[str, Any], among_parts: str | None) -> str | None:
    for key in _REASONING:
        text = message.get(key)
        if isinstance(text, str) and text:
            return text
    return among_parts


def _calls(message: dict[str, Any]) -> tuple[str, ...]:
    calls = message.get("tool_calls")
    found = list(calls) if isinstance(calls, list | tuple) else []
    if message.get("function_call") is not None:
        found.append(message["function_call"])
    return tuple(_call(call) for call in found)


def _call(call: Any) -> str:
    """``name(arguments)``; a call of another form as JSON."""
    function = call.get("function", call) if isinstance(call, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return _json(call)
    arguments = function.get("arguments")
    if arguments is None:
        arguments = ""
    return f"{function['name']}({arguments if isinstance(arguments, str) else _json(arguments)})"


def _json(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()
