"""The YAML form ``voirdire.rubric/1`` as pydantic models: which keys there are, and what they hold.

What the models cannot see, such as whether a behavior's demands are about questions that exist, is
checked in `question_checks` and `behavior_checks`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
)
from pydantic_core import PydanticCustomError

from voirdire._types import ClassRule, Language, RubricKind
from voirdire.rubrics.names import NAME_RULE, is_identifier, is_rubric_name

__all__ = [
    "LABEL_FORMS",
    "MOST_BEHAVIORS",
    "MOST_EXPRESSIONS",
    "MOST_QUESTIONS",
    "BehaviorForm",
    "Expression",
    "Filled",
    "Form",
    "Identifier",
    "QuestionForm",
    "RubricForm",
]

LABEL_FORMS = ("labels in a list", "labels in a mapping")
"""Names of the two ways to write labels; pydantic puts them into the place of an error."""

_IDENTIFIER_RULE = "be lower-case letters, digits and underscores, a letter first, at most 100"
# Far more than people write; checking the logic of a hostile file must not take minutes.
MOST_QUESTIONS = 2_000
MOST_EXPRESSIONS = 1_000
MOST_BEHAVIORS = 100


def _filled(text: str) -> str:
    """Take off white space around a text; how a YAML block ends is formatting."""
    text = text.strip()
    if not text:
        raise PydanticCustomError("empty", "not be empty")
    return text


def _identifier(word: str) -> str:
    if not is_identifier(word):
        raise PydanticCustomError("rule", _IDENTIFIER_RULE)
    return word


def _name(word: str) -> str:
    if not is_rubric_name(word):
        raise PydanticCustomError("rule", f"be {NAME_RULE}")
    return word


def _one_line(text: str) -> str:
    if "\n" in text:
        raise PydanticCustomError("rule", "be on one line")
    return text


def _expression(value: Any) -> Any:
    """Let ``true`` be an expression, and let lines and spaces be formatting."""
    if isinstance(value, bool):
        return str(value).lower()
    return " ".join(value.split()) if isinstance(value, str) else value


def _in_english(value: Any) -> Any:
    """Let a bare text, or list of texts, be the English one."""
    return {"en": value} if isinstance(value, str | list) else value


def _label_form(value: Any) -> str | None:
    if isinstance(value, list | dict):
        return LABEL_FORMS[isinstance(value, dict)]
    return None


Filled = Annotated[str, AfterValidator(_filled)]
Line = Annotated[Filled, AfterValidator(_one_line)]
Identifier = Annotated[str, AfterValidator(_identifier)]
Expression = Annotated[Filled, BeforeValidator(_expression)]
Text: TypeAlias = Annotated[
    dict[Language, Filled], Field(min_length=1), BeforeValidator(_in_english)
]
Texts: TypeAlias = Annotated[
    dict[Language, Annotated[list[Filled], Field(min_length=1)]],
    Field(min_length=1),
    BeforeValidator(_in_english),
]
Number = Annotated[float, Field(allow_inf_nan=False)]
Labels: TypeAlias = Annotated[
    Annotated[list[Line], Field(min_length=1), Tag(LABEL_FORMS[0])]
    | Annotated[dict[Line, Text | None], Field(min_length=1), Tag(LABEL_FORMS[1])],
    Discriminator(
        _label_form,
        custom_error_type="rule",
        custom_error_message="be a list of words, or a mapping of words to definitions",
    ),
]


class Form(BaseModel):
    """A mapping in which only its own keys may stand, each of exactly its own kind."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class QuestionForm(Form):
    """One entry of `questions`."""

    id: Identifier
    kind: RubricKind
    text: Text
    yes_examples: Texts | None = None
    no_examples: Texts | None = None
    labels: Labels | None = None
    minimum: Number | None = None
    maximum: Number | None = None
    levels: Annotated[dict[Number, Text], Field(min_length=1)] | None = None


class BehaviorForm(Form):
    """One entry of `behaviors`."""

    description: Text | None = None
    demands: Annotated[dict[str, str], Field(min_length=1)]
    unacceptable_when: Expression | None = None
    classes: Annotated[dict[Identifier, Expression], Field(min_length=1)] | None = None


class RubricForm(Form):
    """The whole file; each question and behavior is read by its own form."""

    schema_: Annotated[Literal["voirdire.rubric/1"], Field(alias="schema")]
    name: Annotated[str, AfterValidator(_name)]
    version: Line
    description: Text | None = None
    class_rule: ClassRule = "exact"
    threshold: Annotated[Number, Field(gt=0, lt=1)] = 0.5
    questions: Annotated[list[Any], Field(min_length=1, max_length=MOST_QUESTIONS)]
    expressions: (
        Annotated[dict[Identifier, Expression], Field(max_length=MOST_EXPRESSIONS)] | None
    ) = None
    behaviors: (
        Annotated[dict[Identifier, Any], Field(min_length=1, max_length=MOST_BEHAVIORS)] | None
    ) = None
