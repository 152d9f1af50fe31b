"""What a behavior says of a proposition: ``core required``, ``desired false``, ``allowed`` …."""

from __future__ import annotations

from typing import cast, get_args

from voirdire._types import DemandWord
from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.rubrics.names import did_you_mean
from voirdire.rubrics.rubric import Demand

__all__ = ["parse_demand", "write_demand"]

_POSITIVE = ("required", "desired")


def parse_demand(text: str) -> Demand:
    """Read a demand.

    Parameters
    ----------
    text : str
        One of the seven words; ``core`` may stand before ``required``, and ``false`` after
        ``required`` and ``desired``.

    Returns
    -------
    Demand
        With the state that meets it.

    Raises
    ------
    InputError
        If it is anything else.

    Examples
    --------
    >>> parse_demand("required false")
    Demand(word='required', demanded=False, core=False)
    """
    words = text.split()
    core = words[:1] == ["core"]
    rest = words[core:]
    negated = rest[1:] == ["false"]
    if not rest or rest[0] not in get_args(DemandWord) or (len(rest) > 1 and not negated):
        raise InputError(_rule(text, rest))
    word = cast("DemandWord", rest[0])
    if core and word != "required":
        msg = f"must have `core` before `required` only, got {shorten(text)!r}."
        raise InputError(msg)
    if negated and word not in _POSITIVE:
        msg = f"must have `false` after `required` and `desired` only, got {shorten(text)!r}."
        raise InputError(msg)
    if word == "allowed":
        return Demand(word=word, demanded=None)
    return Demand(word=word, demanded=word in _POSITIVE and not negated, core=core)


def write_demand(demand: Demand) -> str:
    """Write a demand as `parse_demand` reads it."""
    core = "core " if demand.core else ""
    negated = " false" if demand.word in _POSITIVE and demand.demanded is False else ""
    return f"{core}{demand.word}{negated}"


def _rule(text: str, rest: list[str]) -> str:
    known = get_args(DemandWord)
    words = ", ".join(f"`{word}`" for word in known)
    wrong = next((word for word in rest if word not in known), text)
    return (
        f"must be one of {words}, `core` before or `false` after where it fits, got "
        f"{shorten(wrong)!r}.{did_you_mean(wrong, known)}"
    )
