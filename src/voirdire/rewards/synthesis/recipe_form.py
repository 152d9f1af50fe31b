"""The YAML form ``voirdire.recipes/1`` as pydantic models: which keys there are, what they hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from voirdire._types import Language  # pydantic reads the annotation
from voirdire.documents import Filled, Form, Name, rule_error
from voirdire.rewards.synthesis.recipe import Start, Verify  # noqa: TC001

__all__ = ["RecipesForm", "SampledForm", "SlotForm"]

_MOST = 100
"""Completions of one sort, sorts per behavior, propositions to draw: far more than people write."""

_COUNT_RULE = f"be a whole number from 1 to {_MOST}, two of them, or the word fewest"


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST


def _count(value: Any) -> Any:
    if not _whole(value):
        raise rule_error(f"be a whole number from 1 to {_MOST}")
    return value


def _drawn(value: Any) -> Any:
    if value == "fewest" or _whole(value):
        return value
    is_pair = isinstance(value, list) and len(value) == 2 and all(map(_whole, value))
    if not is_pair or value[0] > value[1]:
        raise rule_error(_COUNT_RULE)
    return tuple(value)


def _probability(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < 1:
        raise rule_error("be a number between 0 and 1")
    return float(value)


def _in_english(value: Any) -> Any:
    return {"en": value} if isinstance(value, str) else value


TextForm = Annotated[dict[Language, Filled], BeforeValidator(_in_english), Field(min_length=1)]


class InstructionForm(Form):
    """The two sides of a proposition."""

    when_true: TextForm
    when_false: TextForm


class SampledForm(Form):
    """What is drawn."""

    among: Annotated[list[Filled], Field(alias="from", min_length=1, max_length=_MOST)]
    count: Annotated[Any, BeforeValidator(_drawn)] = None
    probability: Annotated[Any, BeforeValidator(_probability)] = None


class SlotForm(Form):
    """One sort of completion."""

    label: Filled
    count: Annotated[Any, BeforeValidator(_count)] = 1
    start: Start = "demanded"
    demands: Annotated[dict[str, bool], Field(default_factory=dict)]
    sampled: SampledForm | None = None
    verify: Verify = "both"
    brief: TextForm | None = None


class RecipesForm(Form):
    """A whole file."""

    schema_: Annotated[Literal["voirdire.recipes/1"], Field(alias="schema")]
    name: Name
    version: Filled
    rubric: Filled
    instructions: Annotated[dict[str, InstructionForm], Field(default_factory=dict)]
    implies: Annotated[dict[str, dict[str, bool]], Field(default_factory=dict)]
    recipes: Annotated[
        dict[str, Annotated[list[SlotForm], Field(min_length=1, max_length=_MOST)]],
        Field(min_length=1),
    ]
