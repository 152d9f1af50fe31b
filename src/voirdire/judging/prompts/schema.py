"""The form of a reply: its JSON Schema, and how many tokens it takes at most."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from voirdire.judging.asking import Ask
    from voirdire.rubrics import Question

__all__ = [
    "PAIR_LABELS",
    "ends_of",
    "is_whole",
    "name_tokens",
    "object_schema",
    "reply_schema",
    "reply_tokens",
]

PAIR_LABELS = ("A", "B", "tie")
"""What a pairwise answer may be."""

_WIDEST_WITHOUT_LEVELS = 20
_TEXT_TOKENS = 1_024
_NUMBER_TOKENS = 20
_BOOLEAN_TOKENS = 8
_TOKENS_PER_KEY = 8  # quotes, colon, comma, and white space of a reply that is set out in lines
_TOKENS_PER_REPLY = 16


def reply_schema(ask: Ask) -> dict[str, Any]:
    """Make the JSON Schema of a reply.

    Parameters
    ----------
    ask : Ask
        What is asked.

    Returns
    -------
    dict
        An object whose keys are exactly the ids asked, in their order. It holds only keywords
        that constrained decoding knows widely: a set of labels may not repeat one, and no server
        can be told so.
    """
    return object_schema({row.id: _value_schema(row, ask) for row in ask.questions})


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Make the schema of an object with all of `properties` and no others."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def is_whole(question: Question) -> bool:
    """Tell whether answers on a scale are whole numbers.

    They are where its ends and levels are whole, and where it has levels or few points.
    """
    low, high = ends_of(question)
    if not all(float(number).is_integer() for number in (low, high, *question.levels)):
        return False
    return bool(question.levels) or high - low <= _WIDEST_WITHOUT_LEVELS


def ends_of(question: Question) -> tuple[float, float]:
    """Give the ends of a scale; an `InputError` where it lacks one."""
    if question.minimum is None or question.maximum is None:
        msg = f"question {question.id!r} must have `minimum` and `maximum`, got None. Add them."
        raise InputError(msg)
    return question.minimum, question.maximum


def reply_tokens(ask: Ask) -> int:
    """Bound the tokens of a reply: enough for any tokenizer, and an end to a runaway."""
    return _TOKENS_PER_REPLY + sum(_answer_tokens(row, ask) for row in ask.questions)


def _value_schema(question: Question, ask: Ask) -> dict[str, Any]:
    kind = question.kind
    if kind == "boolean":
        if ask.probability == "stated":
            return {"type": "number", "minimum": 0, "maximum": 1}
        return {"type": "boolean"}
    if kind == "scale":
        return _scale_schema(question)
    if kind == "text":
        return {"type": "string"}
    labels = {"type": "string", "enum": list(question.labels or PAIR_LABELS)}
    return {"type": "array", "items": labels} if kind == "multilabel" else labels


def _scale_schema(question: Question) -> dict[str, Any]:
    low, high = ends_of(question)
    if is_whole(question):
        return {"type": "integer", "minimum": int(low), "maximum": int(high)}
    return {"type": "number", "minimum": low, "maximum": high}


def _answer_tokens(question: Question, ask: Ask) -> int:
    key = _TOKENS_PER_KEY + name_tokens((question.id,))
    if question.kind == "text":
        return key + _TEXT_TOKENS
    if question.kind == "scale" or (question.kind == "boolean" and ask.probability == "stated"):
        return key + _NUMBER_TOKENS
    if question.kind == "multilabel":
        return key + sum(4 + name_tokens((label,)) for label in question.labels)
    return key + max(_BOOLEAN_TOKENS, name_tokens(tuple(question.labels)))


def name_tokens(names: Sequence[str]) -> int:
    """Bound the tokens of the longest name, at two bytes a token; English has about four."""
    return max((len(name.encode("utf-8", "replace")) // 2 + 2 for name in names), default=0)
