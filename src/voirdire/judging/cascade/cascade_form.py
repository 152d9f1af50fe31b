"""The YAML form ``voirdire.cascade/1`` as pydantic models: which keys there are, what they hold."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from voirdire.documents import Filled, Form, Name, rule_error
from voirdire.judging.cascade.bounds import DEFAULT

__all__ = ["CascadeFileForm", "CascadeForm"]


def _bounds(value: Any) -> Any:
    """Read one pair of numbers, or pairs by proposition."""
    if not isinstance(value, dict):
        return _pair(value)
    if DEFAULT not in value:
        raise rule_error(f"have the key `{DEFAULT}` beside those of propositions")
    return {str(name): _pair(pair) for name, pair in value.items()}


def _pair(value: Any) -> tuple[float, float]:
    numbers = [x for x in value if _is_number(x)] if isinstance(value, list) else []
    if len(numbers) != 2 or len(value) != 2 or numbers[0] > numbers[1]:
        raise rule_error("be two numbers such as [0.05, 0.95], the lower one first")
    return float(numbers[0]), float(numbers[1])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class CascadeForm(Form):
    """What stands under `cascade`; the second judge is read by the form of a file of judges."""

    name: Name | None = None
    first: Filled
    unsure: Annotated[Any, BeforeValidator(_bounds)]
    propositions: Annotated[list[Filled], Field(min_length=1)] | None = None
    then: Any


class CascadeFileForm(Form):
    """The whole file."""

    schema_: Annotated[Literal["voirdire.cascade/1"], Field(alias="schema")]
    cascade: Any
