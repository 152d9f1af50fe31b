"""The YAML form ``voirdire.judges/1`` as pydantic models: which keys there are, what they hold."""

from __future__ import annotations

import math
import re
import sys
from typing import Annotated, Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field

from voirdire._types import (  # noqa: TC001  # pydantic reads the annotations
    Language,
    Mode,
    ModelSource,
    ReplyForm,
)
from voirdire.documents import Filled, Form, Name, rule_error

__all__ = ["MOST_JUDGES", "CapabilitiesForm", "JudgeForm", "JudgesForm", "PriceForm", "SharedForm"]

MOST_JUDGES = 500

_MODEL = re.compile(r"[a-z][a-z0-9_.-]*/\S(?:.*\S)?")
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_HOTTEST = 2


def _whole(value: Any, *, least: int) -> Any:
    """Read a whole number; 1e6 is one, true is none."""
    if not _is_number(value) or value != int(value) or value < least:
        raise rule_error(f"be a whole number of at least {least}")
    return int(value)


def _at_least_zero(value: Any) -> Any:
    return _number(value, lambda number: number >= 0, "of at least 0")


def _above_zero(value: Any) -> Any:
    return _number(value, lambda number: number > 0, "above 0")


def _temperature(value: Any) -> Any:
    return _number(value, lambda number: 0 <= number <= _HOTTEST, f"from 0 to {_HOTTEST}")


def _number(value: Any, is_right: Any, words: str) -> float:
    if not _is_number(value) or not is_right(value):
        raise rule_error(f"be a number {words}")
    return float(value)


def _is_number(value: Any) -> bool:
    """Tell a number that fits a float; true is none."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) <= sys.float_info.max


def _model(word: str) -> str:
    if not _MODEL.fullmatch(word):
        raise rule_error("be a provider and a model, such as openai/gpt-4o-mini")
    return word


def _effort(word: str) -> str:
    if not _WORD.fullmatch(word):
        raise rule_error("be a word, such as low, medium or high")
    return word


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname)
        is_right = is_right and not (parts.query or parts.fragment or parts.username)
    except ValueError:
        is_right = False
    if not is_right or any(character.isspace() for character in text):
        raise rule_error("be an address such as https://api.example.com/v1")
    return text


def _forms(words: list[ReplyForm]) -> list[ReplyForm]:
    if len(set(words)) != len(words):
        raise rule_error("name each form once")
    return words


def _body(body: dict[str, Any]) -> dict[str, Any]:
    if not _is_json(body):
        raise rule_error("hold text for keys and finite numbers")
    return body


def _is_json(value: Any) -> bool:
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(inner) for key, inner in value.items())
    if isinstance(value, list):
        return all(_is_json(inner) for inner in value)
    return not isinstance(value, float) or math.isfinite(value)


Natural = Annotated[int, BeforeValidator(lambda value: _whole(value, least=0))]
Count = Annotated[int, BeforeValidator(lambda value: _whole(value, least=1))]
Several = Annotated[int, BeforeValidator(lambda value: _whole(value, least=2))]
Dollars = Annotated[float, BeforeValidator(_at_least_zero)]
Positive = Annotated[float, BeforeValidator(_above_zero)]
Url: TypeAlias = Annotated[Filled, AfterValidator(_url)]


class PriceForm(Form):
    """What tokens cost, in US dollars per million."""

    input: Dollars
    cached_input: Dollars | None = None
    output: Dollars


class CapabilitiesForm(Form):
    """What a server can do."""

    forms: Annotated[list[ReplyForm], Field(min_length=1), AfterValidator(_forms)] | None = None
    top_logprobs: Natural | None = None


class SharedForm(Form):
    """What a judge may say, and what `defaults` may say for all of them."""

    model: Annotated[Filled, AfterValidator(_model)] | None = None
    base_url: Url | None = None
    api_key_env: str | None = None
    reasoning_effort: Annotated[str, AfterValidator(_effort)] | None = None
    temperature: Annotated[float, BeforeValidator(_temperature)] | None = None
    max_tokens: Count | None = None
    mode: Mode | None = None
    probability: ModelSource | None = None
    language: Language | None = None
    samples: Count | None = None
    orders: Count | None = None
    order_check: Natural | None = None
    examples: Natural | None = None
    route: bool | None = None
    top_logprobs: Several | None = None
    seed: Natural | None = None
    concurrency: Count | None = None
    requests_per_minute: Count | None = None
    tokens_per_minute: Count | None = None
    timeout_s: Positive | None = None
    max_cost: Positive | None = None
    price: PriceForm | None = None
    capabilities: CapabilitiesForm | None = None
    extra: Annotated[dict[str, Any], AfterValidator(_body)] | None = None


class JudgeForm(SharedForm):
    """One entry of `judges`."""

    name: Name


class JudgesForm(Form):
    """The whole file; the defaults and each judge are read by their own forms."""

    schema_: Annotated[Literal["voirdire.judges/1"], Field(alias="schema")]
    defaults: Any = None
    judges: Annotated[list[Any], Field(min_length=1, max_length=MOST_JUDGES)]
