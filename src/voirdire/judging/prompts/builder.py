"""Builds a request to a model from questions and an item.

The words are in ``data/prompts.yaml``, in English and in Chinese, each written on its own.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from voirdire._messages import shorten
from voirdire.documents import document_from_text
from voirdire.errors import InputError
from voirdire.judging.prompts.answer_form import (
    bound_name_tokens,
    get_scale_ends,
    is_whole,
    make_reply_forms,
    name_reason,
)
from voirdire.judging.prompts.fence import (
    escape_invisible,
    fence_item,
    quote_trusted,
    quote_untrusted,
)
from voirdire.models import ChatRequest
from voirdire.records import Message

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from voirdire._types import Language, ReplyForm
    from voirdire.judging.asking import Ask
    from voirdire.records import Item
    from voirdire.rubrics import Question

PROMPT_VERSION = "1"
"""Version of the wording of all prompts; increase it with every change."""

_MANY = 8
"""From this many questions of one kind on, the placeholder of their values is written once."""

_TOKENS_PER_KEY = 8  # quotes, colon, comma, and white space of a reply with line breaks
_TOKENS_PER_REPLY = 16

T = TypeVar("T")


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
    """

    def __init__(self, ask: Ask) -> None:
        words = read_words(ask.language)
        forms = make_reply_forms(ask)
        self.ask = ask
        self._is_pair = ask.questions[0].kind == "pairwise"
        schema: dict[str, Any] = {
            "type": "object",
            "properties": {name: form.schema for name, form in forms.items()},
            "required": list(forms),
            "additionalProperties": False,
        }
        self._schema = msgspec.json.encode(schema)
        n_tokens = [bound_name_tokens(name) + form.n_tokens for name, form in forms.items()]
        self._max_tokens = _TOKENS_PER_REPLY + _TOKENS_PER_KEY * len(forms) + sum(n_tokens)
        parts = [_questions_text(ask, words), _reply_text(ask, words)]
        if ask.mode == "joint":
            before, behind = [_rules_text(ask, words), *parts], [words["closing"]]
        else:
            before, behind = [_rules_text(ask, words)], [words["closing_single"], *parts]
        self._system = Message(role="system", content="\n\n".join(before))
        self._opening = f"{words['opening']}\n"
        self._closing = "\n" + "\n\n".join(behind)

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
        responses = responses_of(item, is_pair=self._is_pair, swapped=self.ask.swapped)
        shown = fence_item(item.prompt, responses, nonce=nonce)
        content = f"{self._opening}{shown}{self._closing}"
        images = tuple(image for message in item.prompt for image in message.images)
        return ChatRequest(
            messages=(self._system, Message(role="user", content=content, images=images)),
            form=form,
            schema=b"" if form == "text" else self._schema,
            top_logprobs=top_logprobs,
            max_tokens=self._max_tokens,
            temperature=temperature,
            seed=seed,
        )


def responses_of(item: Item, *, is_pair: bool, swapped: bool) -> dict[str, str]:
    """Return what is judged of an item by its names in a prompt: one response, or both of a pair.

    Raises
    ------
    InputError
        If there is one response where two are compared.
    """
    if not is_pair:
        known = {} if item.reference is None else {"reference_answer": item.reference}
        return {"response": item.response} | known
    if item.other is None:
        msg = (
            "`item` must have a second response for a pairwise question, got item "
            f"{shorten(item.id, width=40)!r} with one. Give it `other`."
        )
        raise InputError(msg)
    sides = (item.other, item.response) if swapped else (item.response, item.other)
    return dict(zip(("response_a", "response_b"), sides, strict=True))


@cache
def read_words(language: Language) -> dict[str, Any]:
    """Return the words of prompts in a language; ``{…}`` in them is filled in."""
    text = (files("voirdire") / "data" / "prompts.yaml").read_text(encoding="utf-8")
    words: dict[str, Any] = document_from_text(text, source="prompts.yaml", what="words").value
    return words[language]  # type: ignore[no-any-return]


def pick_language(texts: Mapping[Language, T], language: Language) -> T | None:
    """Return the text in a language, or else in the other one."""
    return texts.get(language) or next(iter(texts.values()), None)


def _rules_text(ask: Ask, words: Mapping[str, Any]) -> str:
    """Say who the model is, what the item is, and how to answer."""
    is_pair = ask.questions[0].kind == "pairwise"
    responses = words["responses" if is_pair else "response"]
    item = [words["item_heading"], "", words[f"place_{ask.mode}"], words["conversation"], responses]
    item += ["", words["is_data"], words["escapes"]]
    rules = [words["rules_heading"], "", *words["rules"], *(words["rules_pair"] if is_pair else ())]
    if ask.mode == "joint":
        rules.append(words["rule_joint"])
    role = words[f"role_{'pair_' if is_pair else ''}{ask.mode}"]
    return "\n\n".join([role, "\n".join(item), "\n".join(rules)])


def _questions_text(ask: Ask, words: Mapping[str, Any]) -> str:
    is_joint = ask.mode == "joint"
    kinds = {row.kind for row in ask.questions}
    sentences = [words["introduction"]] if is_joint else []
    if "boolean" in kinds:
        sentences.append(words["if_boolean"])
    if any(row.yes_examples or row.no_examples for row in ask.questions):
        sentences.append(words["if_examples"])
    if "pairwise" in kinds:
        sentences.append(words["if_pair"])
    parts = [words["questions_heading" if is_joint else "question_heading"]]
    if sentences:
        parts.append(words["space"].join(sentences))
    for number, question in enumerate(ask.questions, start=1):
        lines = "\n".join(_question_lines(question, ask.language, words))
        parts.append(f"{number}. {lines}" if is_joint else lines)
    return "\n\n".join(parts)


def _question_lines(
    question: Question, language: Language, words: Mapping[str, Any]
) -> Iterator[str]:
    colon = words["colon"]
    yield f"{quote_trusted(question.id)}{colon}{_describe(question, words['kinds'], words)}"
    yield escape_invisible(pick_language(question.text, language) or "")
    marked = {words["yes_mark"]: question.yes_examples, words["no_mark"]: question.no_examples}
    for mark, examples in marked.items():
        for example in pick_language(examples, language) or ():
            yield f"{mark}{quote_untrusted(example)}"
    for label, definition in question.labels.items():
        if meaning := pick_language(definition, language):
            yield f"- {quote_trusted(label)}{colon}{escape_invisible(meaning)}"
    for level, meanings in sorted(question.levels.items()):
        meaning = escape_invisible(pick_language(meanings, language) or "")
        yield f"- {_number(level)}{colon}{meaning}"


def _reply_text(ask: Ask, words: Mapping[str, Any]) -> str:
    """Outline the reply."""
    is_stated = ask.probability == "stated"
    texts = words["places"] | ({"boolean": words["places"]["stated"]} if is_stated else {})
    places = [_describe(row, texts, words) for row in ask.questions]
    keys = [quote_trusted(row.id) for row in ask.questions]
    if ask.reasons:
        places = [x for place in places for x in (words["places"]["reason"], place)]
        named = (x for row in ask.questions for x in (name_reason(row.id), row.id))
        keys = list(map(quote_trusted, named))
    if len(keys) >= _MANY and len(set(places)) == 1:
        form, outline = words["reply_form_alike"].replace("{place}", places[0]), ", ".join(keys)
    else:
        form = words["reply_form" if len(keys) > 1 else "reply_form_single"]
        outline = ", ".join(f"{key}: {place}" for key, place in zip(keys, places, strict=True))
        outline = f"{{{outline}}}"
    lines = [words["reply_heading"], "", form, outline]
    if any(row.kind == "boolean" for row in ask.questions):
        lines.append(words["reply_if_stated" if is_stated else "reply_if_boolean"])
    if ask.reasons:
        lines.append(words["reply_if_reasons"])
    return "\n".join(lines)


def _describe(question: Question, texts: Mapping[str, str], words: Mapping[str, Any]) -> str:
    """Describe the answer to a question by the text of its kind."""
    if question.kind == "scale":
        low, high = map(_number, get_scale_ends(question))
        text = texts["whole" if is_whole(question) else "number"]
        return text.replace("{minimum}", low).replace("{maximum}", high)
    labels = words["comma"].join(map(quote_trusted, question.labels))
    return texts[question.kind].replace("{labels}", labels)


def _number(value: float) -> str:
    """Format a number in full where it is whole and short, else as Python does."""
    is_short = float(value).is_integer() and abs(value) < 1e15
    return str(int(value)) if is_short else repr(float(value))
