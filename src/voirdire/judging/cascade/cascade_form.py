"""The YAML form ``voirdire.cascade/1`` as pydantic models: which keys there are, what they hold."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic_core import PydanticCustomError

from voirdire.judging.cascade.bounds import DEFAULT
from voirdire.rubrics.form import Filled, Form
from voirdire.rubrics.names import NAME_RULE, is_rubric_name

__all__ = ["CascadeFileForm", "CascadeForm"]


def _rule(words: str) -> PydanticCustomError:
    # pydantic fills in braces of a message
    return PydanticCustomError("rule", "{words_of_rule}", {"words_of_rule": words})


def _name(word: str) -> str:
    if not is_rubric_name(word):
        raise _rule(f"be {NAME_RULE}")
    return word


def _bounds(value: Any) -> Any:
    """Read one pair of numbers, or pairs by proposition."""
    if not isinstance(value, dict):
        return _pair(value)
    if DEFAULT not in value:
        raise _rule(f"have the key `{DEFAULT}` beside those of propositions")
    return {str(name): _pair(pair) for name, pair in value.items()}


def _pair(value: Any) -> tuple[float, float]:
    numbers = [x for x in value if _is_number(x)] if isinstance(value, list) else []
    if len(numbers) != 2 or len(value) != 2 or numbers[0] > numbers[1]:
        raise _rule("be two numbers such as [0.05, 0.95], the lower one first")
    return float(numbers[0]), float(numbers[1])


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


class CascadeForm(Form):
    """What stands under `cascade`; the second judge is read by the form of a file of judges."""

    name: Annotated[str, AfterValidator(_name)] | None = None
    first: Filled
    unsure: Annotated[Any, BeforeValidator(_bounds)]
    propositions: Annotated[list[Filled], Field(min_length=1)] | None = None
    then: Any


class CascadeFileForm(Form):
    """The whole file."""

    schema_: Annotated[Literal["voirdire.cascade/1"], Field(alias="schema")]
    cascade: Any
