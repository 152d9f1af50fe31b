"""Questions in words, and the outline of the reply to them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from voirdire.judging.prompts.harmless import json_text, quoted, visible
from voirdire.judging.prompts.schema import ends_of, is_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from voirdire._types import Language
    from voirdire.judging.asking import Ask
    from voirdire.judging.prompts.wording import Wording
    from voirdire.rubrics import Question

__all__ = ["said", "written_questions", "written_reply"]

T = TypeVar("T")

_MANY = 8
"""From so many questions of one kind on, what stands for their values is said once: in a joint
prompt of twenty it would be a twentieth of all tokens."""


def written_questions(ask: Ask, words: Wording) -> str:
    """Write the section with the questions."""
    is_single = ask.mode == "single"
    own = words.questions
    parts = [own.heading_single if is_single else own.heading]
    if introduction := _introduction(ask, words):
        parts.append(introduction)
    for number, question in enumerate(ask.questions, start=1):
        lines = [*_question_lines(question, ask, words)]
        if not is_single:
            lines[0] = f"{number}. {lines[0]}"
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


def written_reply(ask: Ask, words: Wording) -> str:
    """Write the section that outlines the reply."""
    own = words.reply
    form = own.form if len(ask.questions) > 1 else own.form_single
    places = [_place(row, ask, words) for row in ask.questions]
    keys = [json_text(row.id) for row in ask.questions]
    if len(keys) >= _MANY and len(set(places)) == 1:
        form, outline = own.form_alike.replace("{place}", places[0]), ", ".join(keys)
    else:
        outline = ", ".join(f"{key}: {place}" for key, place in zip(keys, places, strict=True))
        outline = f"{{{outline}}}"
    lines = [f"{own.heading}\n\n{form}", outline]
    if any(row.kind == "boolean" for row in ask.questions):
        lines.append(own.if_stated if ask.probability == "stated" else own.if_boolean)
    return "\n".join(lines)


def said(texts: Mapping[Language, T], language: Language) -> T | None:
    """Find what is said in a language, or else in the other one."""
    return texts.get(language) or next(iter(texts.values()), None)


def _introduction(ask: Ask, words: Wording) -> str:
    own = words.questions
    kinds = {row.kind for row in ask.questions}
    sentences = [own.introduction] if ask.mode == "joint" else []
    if "boolean" in kinds:
        sentences.append(own.if_boolean)
    if any(row.yes_examples or row.no_examples for row in ask.questions):
        sentences.append(own.if_examples)
    if "pairwise" in kinds:
        sentences.append(own.if_pair)
    # Chinese puts no space between sentences.
    return ("" if ask.language == "zh" else " ").join(sentences)


def _question_lines(question: Question, ask: Ask, words: Wording) -> Iterator[str]:
    own, language = words.questions, ask.language
    yield f"{json_text(question.id)}{own.colon}{_kind(question, words)}"
    yield visible(said(question.text, language) or "")
    for mark, examples in ((own.yes, question.yes_examples), (own.no, question.no_examples)):
        for example in said(examples, language) or ():
            yield f"{mark}{quoted(example)}"
    for label, definition in question.labels.items():
        if meaning := said(definition, language):
            yield f"- {json_text(label)}{own.colon}{visible(meaning)}"
    for level, meanings in sorted(question.levels.items()):
        yield f"- {_number(level)}{own.colon}{visible(said(meanings, language) or '')}"


def _kind(question: Question, words: Wording) -> str:
    own = words.questions
    if question.kind == "scale":
        return _on_scale(question, own.whole, own.number)
    form: str = getattr(own, question.kind)
    if question.kind in ("choice", "multilabel"):
        return form.replace("{labels}", own.comma.join(map(json_text, question.labels)))
    return form


def _place(question: Question, ask: Ask, words: Wording) -> str:
    own = words.reply
    if question.kind == "scale":
        return _on_scale(question, own.whole, own.number)
    if question.kind == "boolean" and ask.probability == "stated":
        return own.stated
    place: str = getattr(own, question.kind)
    return place


def _on_scale(question: Question, whole: str, number: str) -> str:
    low, high = map(_number, ends_of(question))
    form = whole if is_whole(question) else number
    return form.replace("{minimum}", low).replace("{maximum}", high)


def _number(value: float) -> str:
    """Write a number in full where it is whole and short, else as Python does."""
    is_short = float(value).is_integer() and abs(value) < 1e15
    return str(int(value)) if is_short else repr(float(value))
