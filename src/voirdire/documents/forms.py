"""Provides parts of the pydantic models that define the keys of a document."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError

from voirdire.documents.problems import NAME_RULE, is_name

__all__ = ["Filled", "Form", "Line", "Name", "Number", "rule_error"]


class Form(BaseModel):
    """A mapping in which only its own keys may stand, each of exactly its own kind."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def rule_error(words: str) -> PydanticCustomError:
    """Make the error of a value that must ``words``, such as ``be on one line``."""
    # pydantic fills in braces of a message
    return PydanticCustomError("rule", "{words_of_rule}", {"words_of_rule": words})


def _strip_text(text: str) -> str:
    """Take off white space around a text; how a YAML block ends is formatting."""
    text = text.strip()
    if not text:
        raise rule_error("not be empty")
    return text


def _check_one_line(text: str) -> str:
    if "\n" in text:
        raise rule_error("be on one line")
    return text


def _name(word: str) -> str:
    if not is_name(word):
        raise rule_error(f"be {NAME_RULE}")
    return word


Filled = Annotated[str, AfterValidator(_strip_text)]
Line = Annotated[Filled, AfterValidator(_check_one_line)]
Name = Annotated[str, AfterValidator(_name)]
Number = Annotated[float, Field(allow_inf_nan=False)]
