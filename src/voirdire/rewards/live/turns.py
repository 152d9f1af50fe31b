"""What a trainer or a client hands over: a response, its prompt, and what is known of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import InputError
from voirdire.io.messages import turn_item
from voirdire.records import Item

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import Judged

__all__ = ["Turn", "given_base_of", "items_of_turns"]

_NO_TEXT = "the response or its prompt is neither text nor messages"
_NO_NAME = "the behavior is no text"


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One response of a model in training.

    Attributes
    ----------
    response : str or sequence of mapping
        Text, or the messages that answer the prompt.
    prompt : str or sequence of mapping, optional
        The user's text, or the messages before the response.
    behavior : str or None
        The behavior that the prompt deserves.
    base_reward : float or None
        What another reward model gave; None where there is none.
    group : str or None
        What the responses to one prompt share; by default the prompt says.
    n_tokens : int or None
        Length of the response in tokens, where it is known.
    id : str or None
        A name that the caller knows it by; by default its place.
    """

    response: Any
    prompt: Any = None
    behavior: str | None = None
    base_reward: float | None = None
    group: str | None = None
    n_tokens: int | None = None
    id: str | None = None


def items_of_turns(
    turns: Sequence[Turn], *, judged: Judged, behavior: str | None = None
) -> tuple[list[Item], dict[str, str]]:
    """Make items of turns, numbered from 0, whatever the turns are called.

    Parameters
    ----------
    turns : sequence of Turn
        What was handed over.
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        What of the responses the items hold.
    behavior : str, optional
        Of turns that have none.

    Returns
    -------
    items : list of Item
        One per turn; empty where the turn is none.
    reasons : dict of str to str
        By item id why a turn is no item.
    """
    items: list[Item] = []
    reasons: dict[str, str] = {}
    for place, turn in enumerate(turns):
        name = str(place)
        own: Any = behavior if _is_none(turn.behavior) else turn.behavior
        group = None if _is_none(turn.group) else str(turn.group)
        if own is not None and not isinstance(own, str):
            own, reasons[name] = None, _NO_NAME
        try:
            item = turn_item(
                name,
                response=turn.response,
                prompt=turn.prompt,
                judged=judged,
                behavior=own,
                group=group,
            )
        except InputError:
            reasons.setdefault(name, _NO_TEXT)
            item = Item(id=name, response="", behavior=own, group=group)
        items.append(item)
    return items, reasons


def given_base_of(turns: Sequence[Turn]) -> dict[str, float]:
    """Read what another reward model gave, by place; nan for what is no number.

    Parameters
    ----------
    turns : sequence of Turn
        Whose base rewards may be whatever a trainer hands over: numbers of NumPy, tensors with
        one number, text of a file.

    Returns
    -------
    dict of str to float
        Turns without a base reward are left out.
    """
    return {
        str(place): _number(turn.base_reward)
        for place, turn in enumerate(turns)
        if turn.base_reward is not None
    }


def _number(given: Any) -> float:
    if type(given) is float:
        return given
    if isinstance(given, bool | np.bool_):
        return math.nan
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return math.nan


def _is_none(value: Any) -> bool:
    """Tell nothing; in a data frame that is nan."""
    return value is None or (isinstance(value, float) and math.isnan(value))
