"""Defines the form of an answer, for the server's schema and for the reader of replies.

Both come from one place, since servers follow a schema only in part.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from voirdire.judging.asking import Answer, Ask
    from voirdire.rubrics import Question

OTHER_SIDE = {"A": "B", "B": "A", "tie": "tie"}
"""The answer to a pair that is shown with B first, as one about A and B."""

_WIDEST_WITHOUT_LEVELS = 20
_TEXT_TOKENS = 1_024
_NUMBER_TOKENS = 20
_WORD_TOKENS = 8
_REASON_TOKENS = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerForm:
    """The form of the answer to one question.

    Attributes
    ----------
    schema : dict
        Its JSON Schema, with only widely supported keywords; so it cannot say that a set has no
        repeated label.
    n_tokens : int
        Most tokens of the answer: enough for any tokenizer, and a limit for an endless reply.
    json_type : object
        The type for msgspec.
    rule : str
        The form in words.
    finish : callable or None
        Makes the answer from the decoded value, or returns None where the value breaks the rule.
        None where the decoded value is the answer.
    n_strings : int or None
        Number of JSON strings in the answer; None where it varies.
    """

    schema: dict[str, Any]
    n_tokens: int
    json_type: Any
    rule: str
    finish: Callable[[Any], Answer | None] | None = None
    n_strings: int | None = 0


def name_reason(question_id: str) -> str:
    """Name the key of a reason; no question has a dot in its id."""
    return f"{question_id}.reason"


def make_reply_forms(ask: Ask) -> dict[str, AnswerForm]:
    """Make the forms of all keys of a reply in order: before an answer its reason, if any."""
    reason = AnswerForm(schema={"type": "string"}, n_tokens=_REASON_TOKENS, json_type=str,
                        rule="a sentence", n_strings=1)  # fmt: skip
    forms: dict[str, AnswerForm] = {}
    for row in ask.questions:
        if ask.reasons:
            forms[name_reason(row.id)] = reason
        forms[row.id] = make_answer_form(row, ask=ask)
    return forms


def make_answer_form(question: Question, *, ask: Ask) -> AnswerForm:
    """Make the form of the answer to a question."""
    match question.kind:
        case "boolean" if ask.probability == "stated":
            return AnswerForm(
                schema={"type": "number", "minimum": 0, "maximum": 1},
                n_tokens=_NUMBER_TOKENS,
                json_type=Annotated[float, Meta(ge=0, le=1)],
                rule="a number from 0 to 1",
            )
        case "boolean":
            schema, rule = {"type": "boolean"}, "true or false"
            return AnswerForm(
                schema=schema, n_tokens=_WORD_TOKENS, json_type=bool, rule=rule, finish=float
            )
        case "choice" | "pairwise":
            labels = list(OTHER_SIDE if question.kind == "pairwise" else question.labels)
            return AnswerForm(
                schema={"type": "string", "enum": labels},
                n_tokens=max([_WORD_TOKENS, *map(bound_name_tokens, labels)]),
                json_type=Literal[tuple(labels)],
                rule=f"one of {_list_labels(labels)}",
                finish=OTHER_SIDE.get if question.kind == "pairwise" and ask.swapped else None,
                n_strings=1,
            )
        case "multilabel":
            labels = list(question.labels)
            return AnswerForm(
                schema={"type": "array", "items": {"type": "string", "enum": labels}},
                n_tokens=sum(4 + bound_name_tokens(label) for label in labels),
                json_type=list[Literal[tuple(labels)]],  # type: ignore[misc]  # made at run time
                rule=f"a list of any of {_list_labels(labels)}, none of them twice",
                # in the order of the rubric, so that equal sets compare equal
                finish=lambda said: (
                    tuple(label for label in labels if label in said)
                    if len(set(said)) == len(said)
                    else None
                ),
                n_strings=None,
            )
        case "scale":
            low, high = get_scale_ends(question)
            whole = is_whole(question)
            kind, least, most = ("integer", int(low), int(high)) if whole else ("number", low, high)
            return AnswerForm(
                schema={"type": kind, "minimum": least, "maximum": most},
                n_tokens=_NUMBER_TOKENS,
                json_type=Annotated[float, Meta(ge=low, le=high)],
                rule=f"a {'whole ' if whole else ''}number from {low:g} to {high:g}",
                finish=(lambda number: number if number.is_integer() else None) if whole else None,
            )
        case "text":
            schema = {"type": "string"}
            return AnswerForm(
                schema=schema, n_tokens=_TEXT_TOKENS, json_type=str, rule="a text", n_strings=1
            )


def is_whole(question: Question) -> bool:
    """Return whether answers on a scale are whole numbers.

    They are where its ends and levels are whole, and where it has levels or few points.
    """
    low, high = get_scale_ends(question)
    are_whole = all(float(number).is_integer() for number in (low, high, *question.levels))
    return are_whole and (bool(question.levels) or high - low <= _WIDEST_WITHOUT_LEVELS)


def get_scale_ends(question: Question) -> tuple[float, float]:
    """Return the ends of a scale; raise an `InputError` where one is missing."""
    if question.minimum is None or question.maximum is None:
        msg = f"question {question.id!r} must have `minimum` and `maximum`, got None. Add them."
        raise InputError(msg)
    return question.minimum, question.maximum


def bound_name_tokens(name: str) -> int:
    """Return the most tokens of a name, at two bytes a token; English has about four."""
    return len(name.encode("utf-8", "replace")) // 2 + 2


def _list_labels(labels: Iterable[str]) -> str:
    return shorten(", ".join(map(repr, labels)))
