"""What a trainer or a client hands over: a response, its prompt, and what is known of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.io.items.turns import turn_item
from voirdire.records import Item

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire._types import Judged

__all__ = ["Turn", "items_of_turns"]


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
        own = turn.behavior if turn.behavior is not None else behavior
        try:
            item = turn_item(
                name,
                response=turn.response,
                prompt=turn.prompt,
                judged=judged,
                behavior=own,
                group=turn.group,
            )
        except InputError:
            reasons[name] = "the response or its prompt is neither text nor messages"
            item = Item(id=name, response="", behavior=own, group=turn.group)
        items.append(item)
    return items, reasons
