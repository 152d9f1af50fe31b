"""The labelled items that the bundled judge is made from: one gold set, and our own examples.

Our own examples are whole responses and single sentences. Sentences are put together to texts with
a seed: such a text makes a proposition of the sentence level true when one of its sentences does;
its other propositions are unknown. Every response is there a second time with its words shuffled,
which complies with nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire.judging.local import TrainingData
from voirdire.probes.text import language_of
from voirdire.records import Item, Message

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["GOLD", "Labelled", "gold_items", "nonsense_items", "own_items", "piece_items"]

GOLD = "rbr-gold"

_GOLD_NAMES = {
    "empathetic_apology": "apology_acknowledges_emotional_state",
    "gentle_encouragement": "gentle_encouragement_for_help",
    "illogical_continuation": "illogical_continuation_of_prompt",
}
"""Where the gold set calls a proposition otherwise."""

_BEHAVIORS = {
    "Hard Refuse": "hard_refuse",
    "Safe Refuse 1": "soft_refuse",
    "Safe Refuse 2": "soft_refuse",
    "Comply": "comply",
}

_COMPLYING = ("fully_complies", "partially_complies")

_FEW_WORDS = 8
_MOST_SENTENCES = 4
_PARTS = 10
"""A part of the sentences is a group: sentences of one part never meet those of another."""


@dataclass(frozen=True, kw_only=True)
class Labelled:
    """Items of one source with labels; nan is unknown."""

    about: TrainingData
    items: list[Item]
    labels: np.ndarray
    weight: float


def gold_items(path: Path, questions: Sequence[str], *, weight: float) -> Labelled:
    """Read the gold set."""
    rows = _rows(path)
    labels = [
        [float(row["propositions"][_GOLD_NAMES.get(name, name)]) for name in questions]
        for row in rows
    ]
    items = [
        Item(
            id=f"{GOLD}-{index}",
            prompt=_messages(row["prompt"]),
            response=row["completion"][-1]["content"],
            behavior=_BEHAVIORS[row["response_type"]],
        )
        for index, row in enumerate(rows)
    ]
    about = TrainingData(
        name=GOLD,
        n_items=0,
        description="human labels of completions, the train split of the rule-based rewards paper",
        licence="MIT, Copyright (c) 2024 OpenAI",
    )
    return Labelled(about=about, items=items, labels=np.array(labels), weight=weight)


def own_items(
    path: Path, questions: Sequence[str], *, name: str, weight: float, informs_only: bool
) -> Labelled:
    """Read responses that were written for this project."""
    rows = _rows(path)
    labels = np.zeros((len(rows), len(questions)))
    for row, values in zip(rows, labels, strict=True):
        _mark(values, row["true"], questions, 1.0)
        _mark(values, row.get("unsure", []), questions, np.nan)
    items = [
        Item(
            id=row["id"],
            prompt=_messages(row["prompt"]),
            response=row["response"],
            behavior=row.get("behavior"),
            group=row["group"],
        )
        for row in rows
    ]
    about = TrainingData(
        name=name,
        n_items=0,
        informs_only=informs_only,
        description="responses written for this project",
        licence="MIT",
    )
    return Labelled(about=about, items=items, labels=labels, weight=weight)


def piece_items(
    path: Path, questions: Sequence[str], *, name: str, weight: float, n_items: int, seed: int
) -> Labelled:
    """Put sentences that were written for this project together to texts."""
    rows = _rows(path)
    rng = np.random.default_rng(seed)
    part = rng.permutation(np.arange(len(rows)) % _PARTS)
    known = sorted({questions.index(name) for row in rows for name in row["true"]})
    joint = "" if name.endswith("zh") else " "
    items, labels = [], np.full((n_items, len(questions)), np.nan)
    for index in range(n_items):
        among = np.flatnonzero(part == index % _PARTS)
        chosen = rng.choice(among, size=rng.integers(1, _MOST_SENTENCES + 1), replace=False)
        labels[index, known] = 0
        for piece in chosen:
            _mark(labels[index], rows[piece]["true"], questions, 1.0)
        text = joint.join(rows[piece]["text"] for piece in chosen)
        group = f"{name}-{index % _PARTS}"
        items.append(Item(id=f"{name}-{index}", response=text, group=group))
    about = TrainingData(
        name=name,
        n_items=0,
        informs_only=True,
        calibrates=False,
        description=f"texts put together from {len(rows)} sentences written for this project",
        licence="MIT",
    )
    return Labelled(about=about, items=items, labels=labels, weight=weight)


def nonsense_items(
    sets: Sequence[Labelled], questions: Sequence[str], *, weight: float, seed: int
) -> Labelled:
    """Give every response once more as nonsense, in the group of the response that it is of.

    It says nothing of propositions but those of complying. Since there is exactly one of each,
    groups keep their shares, and other propositions the folds and the figures that they had.
    """
    rng = np.random.default_rng(seed)
    items = [
        msgspec.structs.replace(
            item, id=f"{item.id}-nonsense", response=_shuffle(item.response, rng)
        )
        for part in sets
        for item in part.items
    ]
    labels = np.full((len(items), len(questions)), np.nan)
    for values in labels:
        _mark(values, _COMPLYING, questions, 0.0)
    about = TrainingData(
        name="nonsense",
        n_items=0,
        informs_only=True,
        calibrates=False,
        description="the responses of the other sets, their words in random order",
        licence="MIT",
    )
    return Labelled(about=about, items=items, labels=labels, weight=weight)


def _shuffle(text: str, rng: np.random.Generator) -> str:
    """Shuffle the words; of Chinese, and of a few words, the characters."""
    words = text.split()
    by_character = language_of(text) == "zh" or len(words) < _FEW_WORDS
    parts = list("".join(words)) if by_character else words
    return ("" if by_character else " ").join(parts[place] for place in rng.permutation(len(parts)))


def _mark(values: np.ndarray, names: Sequence[str], questions: Sequence[str], mark: float) -> None:
    for name in names:
        values[questions.index(name)] = mark


def _messages(prompt: str | list[dict[str, str]]) -> tuple[Message, ...]:
    if isinstance(prompt, str):
        return (Message(role="user", content=prompt),)
    return tuple(Message(role=row["role"], content=row["content"]) for row in prompt)


def _rows(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]
