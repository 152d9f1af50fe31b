"""Rows of two responses, TRL's preferences among them, with the prompt apart or in both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.io.items.judged_text import turn_start
from voirdire.io.items.messages import Said, said_by_all
from voirdire.io.items.row_errors import RowError, got

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire.io.items.row_shapes import RowShape

__all__ = ["Side", "sides_of"]


class Side(msgspec.Struct, frozen=True, kw_only=True):
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


def sides_of(row: Mapping[str, Any], shape: RowShape) -> list[Side]:
    """Read both sides of a row of two responses; one that is not there has an empty turn.

    Messages are the whole conversation where no prompt stands apart, or where they begin with one
    by somebody else than assistant and tools. What both sides then begin with is the prompt, at
    least up to the last such message.
    """
    columns = {"chosen": shape.first or "", "rejected": shape.second or ""}
    values = {name: _value(row.get(column), column=column) for name, column in columns.items()}
    is_preference = shape.name == "preference"  # those texts often begin with the prompt
    if is_preference and shape.prompt is None and str in map(type, values.values()):
        reason = "no prompt: where it ends in the texts chosen and rejected cannot be told"
        raise RowError(reason, column=columns["chosen"])
    whole = {
        name: value
        for name, value in values.items()
        if isinstance(value, list) and (shape.prompt is None or _begins_with_prompt(value))
    }
    n_shared = _n_shared(*whole.values()) if len(whole) == len(values) else 0
    sides = []
    for name, value in values.items():
        messages = value if isinstance(value, list) else []
        start = max(turn_start(messages), n_shared)
        sides.append(
            Side(
                name=name,
                column=columns[name],
                text=value if isinstance(value, str) else None,
                before=messages[:start],
                turn=messages[start:],
                is_whole=name in whole,
            )
        )
    return sides


def _value(value: Any, *, column: str) -> list[Said] | str | None:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list | tuple | dict):
        raise RowError(f"response must be text or messages, got {got(value)}", column=column)
    return said_by_all(value, column=column)


def _begins_with_prompt(messages: list[Said]) -> bool:
    return turn_start(messages[:1]) == 1


def _n_shared(first: list[Said], second: list[Said]) -> int:
    """Count the messages that both begin with, leaving each at least one."""
    longest = max(min(len(first), len(second)) - 1, 0)
    return next((n for n in range(longest) if first[n] != second[n]), longest)
