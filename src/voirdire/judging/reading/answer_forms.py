"""What the answer to a question looks like in JSON, and what it becomes.

The same rules as in the schema that the request carries, since servers keep to it only in part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from voirdire._validation import shorten
from voirdire.judging.prompts.schema import PAIR_LABELS, ends_of, is_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire.judging.asking import Answer, Ask
    from voirdire.rubrics import Question

__all__ = ["AnswerForm", "answer_form"]

_OTHER_SIDE = {"A": "B", "B": "A", "tie": "tie"}


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerForm:
    """What the answer to one question looks like.

    Attributes
    ----------
    json_type : object
        The type that msgspec decodes it as.
    rule : str
        The same in words.
    finish : callable or None
        Makes the answer of the decoded value, or None where the value breaks the rule after all;
        None where the decoded value is the answer.
    n_strings : int or None
        How many strings the answer is in JSON; None where that depends on the answer.
    """

    json_type: Any
    rule: str
    finish: Callable[[Any], Answer | None] | None = None
    n_strings: int | None = 0


def answer_form(question: Question, *, ask: Ask) -> AnswerForm:
    """Say what the answer to a question of an ask looks like."""
    match question.kind:
        case "boolean":
            return _STATED if ask.probability == "stated" else _TRUE_OR_FALSE
        case "choice":
            return _one_of(tuple(question.labels))
        case "multilabel":
            return _some_of(tuple(question.labels))
        case "scale":
            return _number_of(question)
        case "pairwise":
            return _one_of(PAIR_LABELS, finish=_OTHER_SIDE.get if ask.swapped else None)
        case "text":
            return _TEXT


_STATED = AnswerForm(json_type=Annotated[float, Meta(ge=0, le=1)], rule="a number from 0 to 1")
_TRUE_OR_FALSE = AnswerForm(json_type=bool, rule="true or false", finish=float)
_TEXT = AnswerForm(json_type=str, rule="a text", n_strings=1)


def _one_of(
    labels: Sequence[str], *, finish: Callable[[Any], Answer | None] | None = None
) -> AnswerForm:
    return AnswerForm(
        json_type=_literal(labels), rule=f"one of {_listed(labels)}", finish=finish, n_strings=1
    )


def _some_of(labels: Sequence[str]) -> AnswerForm:
    def in_order(found: list[str]) -> tuple[str, ...] | None:
        """Put a set of labels into the order of the rubric, so that equal sets are equal."""
        chosen = set(found)
        if len(chosen) != len(found):
            return None
        return tuple(label for label in labels if label in chosen)

    rule = f"a list of any of {_listed(labels)}, none of them twice"
    return AnswerForm(
        json_type=list[_literal(labels)],  # type: ignore[misc]  # a type only while running
        rule=rule,
        finish=in_order,
        n_strings=None,
    )


def _number_of(question: Question) -> AnswerForm:
    low, high = ends_of(question)
    only_whole = is_whole(question)
    return AnswerForm(
        json_type=Annotated[float, Meta(ge=low, le=high)],
        rule=f"a {'whole ' if only_whole else ''}number from {low:g} to {high:g}",
        finish=_if_whole if only_whole else None,
    )


def _if_whole(number: float) -> float | None:
    return number if number.is_integer() else None


def _literal(labels: Sequence[str]) -> Any:
    literal: Any = Literal
    return literal[tuple(labels)]


def _listed(labels: Sequence[str]) -> str:
    return shorten(", ".join(repr(label) for label in labels))
