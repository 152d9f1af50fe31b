"""Chat messages of every dialect as one sort of record, and the text of them that is judged."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.io.files import RowError, got, plain_value
from voirdire.records import Item, Message

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire._types import Judged

__all__ = [
    "Answer",
    "Said",
    "as_prompt",
    "is_message",
    "judged_text",
    "judged_turn",
    "said_by",
    "said_by_all",
    "turn_item",
    "turn_start",
    "without_reasoning",
]

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


# Reasoning --------------------------------------------------------------------------------------

_TAG = r"(?P<tag><(?P<close>/?)(?P<name>think|thinking|reasoning)>)"
# A tag inside code is text about tags: fenced blocks, and spans on one line.
_MARKS = re.compile(
    rf"{_TAG}|^[ \t]*(?P<fence>```+|~~~+)|``[^`\n]++``|`[^`\n]*+`",
    re.MULTILINE,
)
_TAGS_ALONE = re.compile(_TAG)
_FENCE_END = re.compile(r"^[ \t]*(?P<fence>```+|~~~+)[ \t]*$", re.MULTILINE)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What is left of a text without its reasoning.

    Attributes
    ----------
    text : str
        The answer; the text itself, to the letter, where it holds no reasoning.
    is_unfinished : bool
        Whether the text ends inside the reasoning.
    """

    text: str
    is_unfinished: bool = False


def without_reasoning(text: str) -> Answer:
    """Take out ``<think>``, ``<thinking>`` and ``<reasoning>`` blocks.

    A block without an end goes to the end of the text. Where the first tag is a closing one, the
    text before it is reasoning: some chat templates write the opening tag into the prompt.
    """
    if not ("<think" in text or "</think" in text or "reasoning>" in text):
        return Answer(text=text)
    may_hold_code = "`" in text or "~~~" in text
    marks = _MARKS if may_hold_code else _TAGS_ALONE
    kept: list[str] = []
    at = start = 0  # where to look on, and where the answer goes on
    is_first = True
    is_changed = False
    while match := marks.search(text, at):
        at = match.end()
        if may_hold_code and match["fence"]:
            at = _end_of_fence(text, at, fence=match["fence"])
        elif match["tag"] and match["close"]:
            if is_first:
                start = at
                is_changed = True
            is_first = False
        elif match["tag"]:
            kept.append(text[start : match.start()])
            is_first, is_changed = False, True
            end = text.find(f"</{match['name']}>", at)
            if end < 0:
                return Answer(text="".join(kept).strip(), is_unfinished=True)
            at = start = end + len(match["name"]) + len("</>")
    kept.append(text[start:])
    return Answer(text="".join(kept).strip()) if is_changed else Answer(text=text)


def _end_of_fence(text: str, at: int, *, fence: str) -> int:
    """Find where a code block ends; one that is not closed goes to the end of the text."""
    for match in _FENCE_END.finditer(text, at):
        if match["fence"].startswith(fence):
            return match.end()
    return len(text)


# What is judged ---------------------------------------------------------------------------------

_NO_TEXT = "no response: the last message by the assistant has no text"


def turn_start(messages: Sequence[Said]) -> int:
    """Index of the first message after the last one that is neither assistant's nor tool's."""
    for index in range(len(messages), 0, -1):
        if messages[index - 1].role not in ("assistant", "tool"):
            return index
    return 0


def judged_text(text: str, *, judged: Judged) -> Answer:
    """Of a response that is plain text: all of it, or its final answer."""
    return without_reasoning(text) if judged == "final_answer" else Answer(text=text)


def judged_turn(turn: Sequence[Said], *, judged: Judged, column: str) -> Answer:
    """Of the messages that answer a prompt: what `judged` declares."""
    last = next((said for said in reversed(turn) if said.role == "assistant"), None)
    if last is None:
        raise RowError("no response: nothing after the prompt is by the assistant", column=column)
    if judged == "whole_turn" and any(said.role == "assistant" and _says(said) for said in turn):
        return Answer(text=_rendered(turn))
    if judged == "with_reasoning":
        answer = Answer(text=shown(last, with_reasoning=True, with_calls=False))
    else:
        answer = _final(last)
    if last.calls and not answer.text.strip():
        hint = "but a tool call; declare judged='whole_turn'"
        raise RowError(f"{_NO_TEXT}, {hint}", column=column)
    if last.text is None and last.reasoning is None:
        raise RowError(_NO_TEXT, column=column)
    return answer


def _final(last: Said) -> Answer:
    """Give the text without reasoning; where there is only reasoning, it never came to one."""
    text = last.text or ""
    if last.reasoning is not None and not text.strip():
        return Answer(text="", is_unfinished=True)
    return without_reasoning(text)


def _says(said: Said) -> bool:
    return said.text is not None or said.reasoning is not None or bool(said.calls)


def _rendered(turn: Sequence[Said]) -> str:
    """Role by role; a single message without calls as it is."""
    if len(turn) == 1 and not turn[0].calls:
        return shown(turn[0], with_reasoning=True)
    return "\n\n".join(
        f"{said.role} ({said.name}):\n{shown(said, with_reasoning=True)}"
        if said.name
        else f"{said.role}:\n{shown(said, with_reasoning=True)}"
        for said in turn
    )


# One response in memory -------------------------------------------------------------------------


def turn_item(
    item_id: str,
    *,
    response: Any,
    prompt: Any = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    group: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Item:
    """Make an item of a response and its prompt.

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
    metadata : mapping, optional
        Of the item.

    Returns
    -------
    Item
        As a file with the same prompt and response would give it.

    Raises
    ------
    InputError
        If response or prompt is neither text nor messages, or the response holds no text.
    """
    try:
        prompt, response = plain_value(prompt), plain_value(response)
        before: tuple[Message, ...] = ()
        if isinstance(prompt, str):
            before = (Message(role="user", content=prompt),) if prompt else ()
        elif prompt is not None:
            before = as_prompt(said_by_all(prompt, column="prompt"))
        if isinstance(response, str):
            text = judged_text(response, judged=judged).text
        else:
            said = said_by_all(response, column="response")
            start = turn_start(said)
            before += as_prompt(said[:start])
            text = judged_turn(said[start:], judged=judged, column="response").text
    except RowError as error:
        msg = f"`response` must be text or messages with a response: {shorten(str(error))}."
        raise InputError(msg) from error
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        # arguments of a tool call may be any objects of a trainer's, which no file could hold
        msg = f"`response` must be text or messages with a response, got {type(error).__name__}."
        raise InputError(msg) from None
    return Item(
        id=item_id,
        prompt=before,
        response=text,
        behavior=plain_value(behavior),
        group=plain_value(group),
        metadata={} if metadata is None else metadata,
    )
