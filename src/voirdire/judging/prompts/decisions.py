"""Builds a request to a decision model: typed questions, and the item as the state they are about.

The state is JSON, so that no text of an item can end it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.judging.prompts.answer_form import get_scale_ends, is_whole
from voirdire.judging.prompts.builder import pick_language, responses_of
from voirdire.models import ChatRequest, TypedQuestion
from voirdire.records import Message

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from voirdire._types import Language
    from voirdire.judging.asking import Ask
    from voirdire.records import Item
    from voirdire.rubrics import Question

_SIDES = (("A", "response_a"), ("B", "response_b"), ("tie", "neither of the two"))


class DecisionBuilder:
    """Makes the requests of one `Ask` to a decision model.

    Parameters
    ----------
    ask : Ask
        What to ask.
    """

    def __init__(self, ask: Ask) -> None:
        self.ask = ask
        typed = [type_question(row, ask.language) for row in ask.questions]
        self._questions = tuple(part for parts in typed for part in parts)
        self._is_pair = ask.questions[0].kind == "pairwise"

    def request(self, item: Item, **_: Any) -> ChatRequest:
        """Make the request about one item; a decision model knows no fence and no sampling."""
        state: dict[str, Any] = {}
        if item.prompt:
            state["conversation"] = [
                {"role": message.role, "content": message.content} for message in item.prompt
            ]
        state |= responses_of(item, is_pair=self._is_pair, swapped=self.ask.swapped)
        try:
            written = msgspec.json.encode(state)
        except UnicodeEncodeError:  # half a surrogate pair
            written = json.dumps(state, ensure_ascii=False).encode(errors="replace")
        images = tuple(image for message in item.prompt for image in message.images)
        message = Message(role="user", content=written.decode(), images=images)
        return ChatRequest(messages=(message,), form="json_schema", questions=self._questions)


def name_parts(question: Question) -> list[str]:
    """Name what a question is asked as: a set of labels is a predicate for each of them."""
    if question.kind != "multilabel":
        return [question.id]
    return [f"{question.id}.{place}" for place in range(1, len(question.labels) + 1)]


def type_question(question: Question, language: Language) -> Sequence[TypedQuestion]:
    """Put a question of a rubric as a decision model is asked.

    Raises
    ------
    InputError
        If it asks for a text, or for a number on a scale without whole steps.
    """
    text = pick_language(question.text, language) or ""
    meanings = [(label, pick_language(row, language)) for label, row in question.labels.items()]
    name, kind = question.id, question.kind

    def ask(kind: Any, options: Any = (), *, part: str = name, about: str = "") -> TypedQuestion:
        whole = f"{text}\n{about}" if about else text
        return TypedQuestion(name=part, kind=kind, instructions=whole, options=tuple(options))

    if kind == "boolean":
        sides = [("true", question.yes_examples), ("false", question.no_examples)]
        shown = [(side, _list_examples(examples, language)) for side, examples in sides]
        options = [(side, examples) for side, examples in shown if examples]
        if len(options) == 1:  # a server wants both or none
            return [ask("predicate", about=": ".join(options[0]))]
        return [ask("predicate", options)]
    if kind in ("choice", "pairwise"):
        return [ask("choice", meanings if kind == "choice" else _SIDES)]
    if kind == "multilabel":
        parts = zip(name_parts(question), meanings, strict=True)
        return [ask("predicate", part=p, about=": ".join(filter(None, row))) for p, row in parts]
    if kind == "scale" and is_whole(question):
        levels = {step: pick_language(row, language) for step, row in question.levels.items()}
        return [ask("score", [(f"{step:g}", levels.get(step)) for step in list_steps(question)])]
    msg = "a decision model must be asked for truth, labels or whole steps of a scale, got question"
    way = "Ask a language model, or leave it out."
    raise InputError(f"{msg} {shorten(name)!r} of kind {kind}. {way}")


def list_steps(question: Question) -> list[float]:
    """List the steps of a whole scale, the lowest first."""
    low, high = get_scale_ends(question)
    return [float(step) for step in range(int(low), int(high) + 1)]


def _list_examples(examples: Mapping[Language, Iterable[str]], language: Language) -> str:
    shown = pick_language(examples, language) or ()
    return "; ".join(f"“{example}”" for example in shown)
