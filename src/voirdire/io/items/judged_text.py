"""The text that is judged, out of the turn that answers a prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.io.items.messages import shown
from voirdire.io.items.reasoning import Answer, without_reasoning
from voirdire.io.items.row_errors import RowError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import Judged
    from voirdire.io.items.messages import Said

__all__ = ["judged_text", "judged_turn", "turn_start"]

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
