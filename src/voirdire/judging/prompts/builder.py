"""Builds a request to a model from questions and an item."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.judging.prompts.answer_form import (
    bound_name_tokens,
    get_scale_ends,
    is_whole,
    make_answer_form,
)
from voirdire.judging.prompts.fence import (
    escape_invisible,
    fence_item,
    quote_trusted,
    quote_untrusted,
)
from voirdire.judging.prompts.wording import WORDING, pick_language
from voirdire.models import ChatRequest
from voirdire.records import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from voirdire._types import ReplyForm
    from voirdire.judging.asking import Ask
    from voirdire.judging.prompts.wording import Wording
    from voirdire.records import Item
    from voirdire.rubrics import Question

__all__ = ["PromptBuilder"]

_MANY = 8
"""From this many questions of one kind on, the placeholder of their values is written once."""

_TOKENS_PER_KEY = 8  # quotes, colon, comma, and white space of a reply with line breaks
_TOKENS_PER_REPLY = 16


class PromptBuilder:
    """Makes the requests of one `Ask`.

    In joint mode the questions come first, in a system message that is the same object for every
    item, and the item last: servers cache the beginning of a prompt across items. In single mode
    the system message is short, the item comes next and the question last: servers cache the
    beginning across the questions of an item, as long as these share a nonce.

    Parameters
    ----------
    ask : Ask
        What to ask. Pairwise questions are asked apart from others, since they show two responses.

    Attributes
    ----------
    ask : Ask
        As given.

    Raises
    ------
    InputError
        If there is no question, if an id repeats, or if pairwise and other questions are mixed.
    """

    def __init__(self, ask: Ask) -> None:
        _check(ask.questions)
        words = WORDING[ask.language]
        forms = {row.id: make_answer_form(row, ask=ask) for row in ask.questions}
        self.ask = ask
        self._is_pair = ask.questions[0].kind == "pairwise"
        self._schema = msgspec.json.encode(
            {
                "type": "object",
                "properties": {name: form.schema for name, form in forms.items()},
                "required": list(forms),
                "additionalProperties": False,
            }
        )
        self._max_tokens = _TOKENS_PER_REPLY + sum(
            _TOKENS_PER_KEY + bound_name_tokens(name) + form.n_tokens
            for name, form in forms.items()
        )
        self._system = Message(role="system", content=_system_text(ask, words))
        self._opening = f"{words.opening}\n"
        self._closing = f"\n{_closing_text(ask, words)}"

    def request(
        self,
        item: Item,
        *,
        nonce: str,
        form: ReplyForm,
        top_logprobs: int | None = None,
        temperature: float | None = None,
        seed: int | None = None,
    ) -> ChatRequest:
        """Make the request about one item, with a system message and a user message.

        Parameters
        ----------
        item : Item
            The item.
        nonce : str
            Random code of its fence, from `new_nonce`. The single questions about an item may share
            one, so that servers can cache the item.
        form : {"json_schema", "json_object", "text"}
            How the form of the reply is enforced; the words are the same for all three.
        top_logprobs : int, optional
            How many likely tokens to give per token of the reply.
        temperature : float, optional
            At least 0; None takes the model's own setting.
        seed : int, optional
            For servers that can repeat themselves.

        Raises
        ------
        InputError
            If the question is pairwise and the item has no second response.
        """
        images = tuple(image for message in item.prompt for image in message.images)
        shown = fence_item(item.prompt, self._responses(item), nonce=nonce)
        content = f"{self._opening}{shown}{self._closing}"
        return ChatRequest(
            messages=(self._system, Message(role="user", content=content, images=images)),
            form=form,
            schema=b"" if form == "text" else self._schema,
            top_logprobs=top_logprobs,
            max_tokens=self._max_tokens,
            temperature=temperature,
            seed=seed,
        )

    def _responses(self, item: Item) -> dict[str, str]:
        if not self._is_pair:
            return {"response": item.response}
        if item.other is None:
            msg = (
                "`item` must have a second response for a pairwise question, got item "
                f"{shorten(item.id, width=40)!r} with one. Give it `other`."
            )
            raise InputError(msg)
        if self.ask.swapped:
            return {"response_a": item.other, "response_b": item.response}
        return {"response_a": item.response, "response_b": item.other}


def _check(questions: Sequence[Question]) -> None:
    ids = [row.id for row in questions]
    again = next((name for name in ids if ids.count(name) > 1), None)
    if again is not None:
        msg = f"`rubric` must name each question once, got {shorten(again)!r} again. Take one out."
        raise InputError(msg)
    n_pairwise = sum(row.kind == "pairwise" for row in questions)
    if not questions or n_pairwise not in (0, len(questions)):
        msg = (
            "`rubric` must have questions, and pairwise ones alone, as they show two responses, "
            f"got {len(questions)} with {n_pairwise} pairwise. Ask the others separately."
        )
        raise InputError(msg)


def _system_text(ask: Ask, words: Wording) -> str:
    """Make the text before the item, which is the same for all items."""
    is_joint, is_pair = ask.mode == "joint", ask.questions[0].kind == "pairwise"
    if is_pair:
        role = words.role_pair_joint if is_joint else words.role_pair_single
    else:
        role = words.role_joint if is_joint else words.role_single
    item = [
        f"{words.item_heading}\n",
        words.place_joint if is_joint else words.place_single,
        words.conversation,
        words.responses if is_pair else words.response,
        "",
        words.is_data,
        words.escapes,
    ]
    rules = [f"{words.rules_heading}\n", *words.rules, *(words.rules_pair if is_pair else ())]
    if is_joint:
        rules.append(words.rule_joint)
    sections = [role, "\n".join(item), "\n".join(rules)]
    if is_joint:
        sections += [_questions_text(ask, words), _reply_text(ask, words)]
    return "\n\n".join(sections)


def _closing_text(ask: Ask, words: Wording) -> str:
    """Make the text after the item."""
    if ask.mode == "joint":
        return words.closing
    return "\n\n".join([words.closing_single, _questions_text(ask, words), _reply_text(ask, words)])


def _questions_text(ask: Ask, words: Wording) -> str:
    is_single = ask.mode == "single"
    parts = [words.question_heading if is_single else words.questions_heading]
    if introduction := _introduction(ask, words):
        parts.append(introduction)
    for number, question in enumerate(ask.questions, start=1):
        lines = "\n".join(_question_lines(question, ask, words))
        parts.append(lines if is_single else f"{number}. {lines}")
    return "\n\n".join(parts)


def _introduction(ask: Ask, words: Wording) -> str:
    kinds = {row.kind for row in ask.questions}
    sentences = [words.introduction] if ask.mode == "joint" else []
    if "boolean" in kinds:
        sentences.append(words.if_boolean)
    if any(row.yes_examples or row.no_examples for row in ask.questions):
        sentences.append(words.if_examples)
    if "pairwise" in kinds:
        sentences.append(words.if_pair)
    return words.space.join(sentences)


def _question_lines(question: Question, ask: Ask, words: Wording) -> Iterator[str]:
    language = ask.language
    yield f"{quote_trusted(question.id)}{words.colon}{_kind(question, words)}"
    yield escape_invisible(pick_language(question.text, language) or "")
    for mark, examples in ((words.yes, question.yes_examples), (words.no, question.no_examples)):
        for example in pick_language(examples, language) or ():
            yield f"{mark}{quote_untrusted(example)}"
    for label, definition in question.labels.items():
        if meaning := pick_language(definition, language):
            yield f"- {quote_trusted(label)}{words.colon}{escape_invisible(meaning)}"
    for level, meanings in sorted(question.levels.items()):
        meaning = escape_invisible(pick_language(meanings, language) or "")
        yield f"- {_number(level)}{words.colon}{meaning}"


def _kind(question: Question, words: Wording) -> str:
    if question.kind == "scale":
        return _describe_scale(question, words.kinds)
    labels = words.comma.join(map(quote_trusted, question.labels))
    return words.kinds[question.kind].replace("{labels}", labels)


def _reply_text(ask: Ask, words: Wording) -> str:
    """Outline the reply."""
    form = words.reply_form if len(ask.questions) > 1 else words.reply_form_single
    places = [_place(row, ask, words) for row in ask.questions]
    keys = [quote_trusted(row.id) for row in ask.questions]
    if len(keys) >= _MANY and len(set(places)) == 1:
        form, outline = words.reply_form_alike.replace("{place}", places[0]), ", ".join(keys)
    else:
        outline = ", ".join(f"{key}: {place}" for key, place in zip(keys, places, strict=True))
        outline = f"{{{outline}}}"
    lines = [f"{words.reply_heading}\n\n{form}", outline]
    if any(row.kind == "boolean" for row in ask.questions):
        is_stated = ask.probability == "stated"
        lines.append(words.reply_if_stated if is_stated else words.reply_if_boolean)
    return "\n".join(lines)


def _place(question: Question, ask: Ask, words: Wording) -> str:
    """Return the placeholder for the value of a question."""
    if question.kind == "scale":
        return _describe_scale(question, words.places)
    is_stated = question.kind == "boolean" and ask.probability == "stated"
    return words.places["stated" if is_stated else question.kind]


def _describe_scale(question: Question, texts: Mapping[str, str]) -> str:
    low, high = map(_number, get_scale_ends(question))
    form = texts["whole" if is_whole(question) else "number"]
    return form.replace("{minimum}", low).replace("{maximum}", high)


def _number(value: float) -> str:
    """Format a number in full where it is whole and short, else as Python does."""
    is_short = float(value).is_integer() and abs(value) < 1e15
    return str(int(value)) if is_short else repr(float(value))
