"""Paraphrases and translates texts with a model, and checks that their meaning is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from voirdire.judging.plan import plan_judging
from voirdire.probes import Probe
from voirdire.records import Item, Message
from voirdire.rubrics import Question, Rubric

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging import LlmJudge
    from voirdire.records import Verdicts
    from voirdire.studies.probing.asking import Asker

__all__ = ["paraphrase_rubric", "write_probes"]

_SAME = {
    "en": "Does the response say what the first message of the conversation says, no more and no "
    "less, in whatever words or language?",
    "zh": "回复所说的内容是否与对话中第一条消息完全一致，不多也不少，不论用词或语言？",
}
_PARAPHRASED = {
    "en": "The response in other words and in its own language, about as long, with exactly the "
    "same meaning and tone.",
    "zh": "用同一种语言换一种说法改写该回复，长度相近，意思和语气完全不变。",
}
_TRANSLATED = {
    "en": "The {what}, translated into Chinese; into English where it is in Chinese. Nothing is "
    "added and nothing is left out.",
    "zh": "将{what}译成中文；若原文为中文，则译成英文。不增不减。",
}
_WHAT = {
    "response": {"en": "response", "zh": "回复"},
    "prompt": {"en": "last message of the conversation", "zh": "对话的最后一条消息"},
}


def _rubric(name: str, *questions: Question) -> Rubric:
    return Rubric(name=name, version="1", questions=questions)


def _text(name: str, texts: dict[str, str], **words: dict[str, str]) -> Question:
    texts_by_language = {
        code: text.format(**{key: value[code] for key, value in words.items()})
        for code, text in texts.items()
    }
    return Question(id=name, kind="text", text=texts_by_language)  # type: ignore[arg-type]  # en and zh


def _ask_writer(items: Sequence[Item], writer: LlmJudge, rubric: Rubric, asker: Asker) -> Verdicts:
    return asker.ask(rubric.name, plan_judging(writer, rubric), items)


def write_probes(
    items: Sequence[Item], writer: LlmJudge, asker: Asker
) -> tuple[tuple[Probe, ...], tuple[str, ...]]:
    """Paraphrase responses and translate items; leave out those with another meaning.

    Return the probes, and notes on items that were left out.
    """
    texts = _rubric(
        "rewriting",
        _text("paraphrase", _PARAPHRASED),
        _text("translation", _TRANSLATED, what=_WHAT["response"]),
        _text("translated_prompt", _TRANSLATED, what=_WHAT["prompt"]),
    )
    written = _ask_writer(items, writer, texts, asker)
    pairs: list[tuple[Item, Item]] = []
    for row, item in enumerate(items):
        for name in ("paraphrase", "translation"):
            text = written.answers(name)[row]
            prompt = written.answers("translated_prompt")[row] if name == "translation" else None
            if text is None or text == item.response or (name == "translation" and not prompt):
                continue
            pairs.append((item, _make_version(item, text, prompt, f"{item.id}+{name}")))
    kept = _select_same_meaning(pairs, writer, asker)
    notes = [
        f"rewriting: {len(items) - n} of {len(items)} items have no {name} that keeps its meaning"
        for name in ("paraphrase", "translation")
        if (n := sum(key.endswith(f"+{name}") for key in kept)) < len(items)
    ]
    probes = (
        _make_lookup_probe(
            "wording/paraphrase", "wording", "the response is put in other words", kept
        ),
        _make_lookup_probe(
            "language/translation", "language", "prompt and response are translated", kept
        ),
    )
    return probes, tuple(notes)


def _select_same_meaning(
    pairs: Sequence[tuple[Item, Item]], writer: LlmJudge, asker: Asker
) -> dict[str, Item]:
    """Select, by id, the rewritten items whose response means what the original says."""
    items = []
    for before, after in pairs:
        prompt = (Message(role="user", content=before.response),)
        items.append(Item(id=after.id, prompt=prompt, response=after.response))
    if not items:
        return {}
    question = Question(id="same_meaning", kind="boolean", text=_SAME)  # type: ignore[arg-type]
    verdicts = _ask_writer(items, writer, _rubric("rewriting_check", question), asker)
    same = verdicts.answers("same_meaning")
    return {after.id: after for (_, after), is_same in zip(pairs, same, strict=True) if is_same}


def _make_version(item: Item, text: str, prompt: str | None, key: str) -> Item:
    before = item.prompt
    if prompt is not None and before:
        before = (*before[:-1], msgspec.structs.replace(before[-1], content=prompt))
    return msgspec.structs.replace(
        item, id=key, prompt=before, response=text, cluster=item.cluster or item.id
    )


def _make_lookup_probe(name: str, family: str, summary: str, kept: dict[str, Item]) -> Probe:
    word = name.partition("/")[2]
    return Probe(
        id=name,
        family=family,
        summary=summary,
        change=lambda item: kept.get(f"{item.id}+{word}"),
    )


def paraphrase_rubric(rubric: Rubric, writer: LlmJudge, asker: Asker) -> Rubric:
    """Paraphrase the questions; keep the original of one whose meaning is not kept."""
    items = [
        Item(id=f"{row.id}/{code}", response=text)
        for row in rubric.questions
        for code, text in row.text.items()
    ]
    texts = _rubric("rewording", _text("paraphrase", _PARAPHRASED))
    written = _ask_writer(items, writer, texts, asker).answers("paraphrase")
    pairs = [
        (item, msgspec.structs.replace(item, response=text))
        for item, text in zip(items, written, strict=True)
        if text is not None
    ]
    wording = {item.id: item.response for item in items}
    wording |= {
        name: item.response for name, item in _select_same_meaning(pairs, writer, asker).items()
    }
    questions = (
        replace(row, text={code: wording[f"{row.id}/{code}"] for code in row.text})
        for row in rubric.questions
    )
    return replace(rubric, questions=tuple(questions))
