"""Completions of a training run as rows: at once items, verdicts, and what figures are made of."""

from __future__ import annotations

import hashlib
import json
import math
import time
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import polars as pl

from voirdire._types import Judged
from voirdire.errors import InputError
from voirdire.io.messages import turn_item
from voirdire.records.thresholds import threshold_to_cell
from voirdire.rewards.training.nonsense import find_nonsense

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Item
    from voirdire.rewards.live.turns import LiveScores, Turn
    from voirdire.rewards.training.parquet_part import Column

__all__ = [
    "HEAD",
    "ITEM_COLUMNS",
    "TEXTS",
    "WHOLE",
    "Call",
    "RowLayout",
    "class_column",
    "item_of_row",
    "prompt_text",
    "proposition_column",
    "rows_of",
    "texts_of_row",
]

HEAD = {
    "item": "text",
    "step": "whole",
    "prompt": "text",
    "response": "text",
    "messages": "text",
    "behavior": "text",
    "group": "text",
    "base_reward": "number",
    "reward": "number",
    "rule_reward": "number",
    "missing": "text",
    "nonsense": "text",
    "n_tokens": "whole",
    "n_characters": "whole",
    "judge": "text",
    "fingerprint": "text",
    "threshold": "text",
    "answered_by": "text",
    "name": "text",
    "time": "number",
    "session": "text",
}
"""What a row begins with; propositions and classes follow, which are numbers."""

WHOLE = frozenset(name for name, kind in HEAD.items() if kind == "whole")
_TYPES: dict[str, Any] = {"text": pl.String, "number": pl.Float64, "whole": pl.Int64}
TEXTS = ("prompt", "response", "messages")
"""Columns that figures do not need, and that are most of a file."""

ITEM_COLUMNS = (*TEXTS, "behavior")
"""What a judge sees of a completion: those that are equal in it are one item."""


@dataclass(frozen=True, kw_only=True)
class RowLayout:
    """Which columns the rows of a run have after the first ones.

    Attributes
    ----------
    propositions : tuple of str
        Of the rubric, in its order.
    classes : mapping of str to tuple of str
        By behavior of the reward its completion classes.
    """

    propositions: tuple[str, ...]
    classes: Mapping[str, tuple[str, ...]]

    @property
    def class_names(self) -> tuple[str, ...]:
        """Name the classes of all behaviors, each once."""
        return tuple(dict.fromkeys(name for names in self.classes.values() for name in names))

    @property
    def numbers(self) -> tuple[str, ...]:
        """Name the columns after the first ones."""
        return (
            *map(proposition_column, self.propositions),
            *map(class_column, self.class_names),
        )

    @property
    def schema(self) -> dict[str, Any]:
        """Give the type of each column in polars."""
        return {name: _TYPES[kind] for name, kind in HEAD.items()} | dict.fromkeys(
            self.numbers, pl.Float64
        )


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the reward: when it was, and the number of its first completion."""

    scores: LiveScores
    turns: Sequence[Turn]
    step: int
    time: float
    first: int

    @classmethod
    def of(cls, scores: LiveScores, turns: Sequence[Turn], *, step: int, first: int = 0) -> Call:
        """Take a call of now; messages are copied, since whoever holds them may change them."""
        kept = [
            turn
            if _is_text(turn.prompt) and _is_text(turn.response)
            else replace(turn, prompt=_plain(turn.prompt), response=_plain(turn.response))
            for turn in turns
        ]
        return cls(scores, kept, step, time.time(), first)


def proposition_column(name: str) -> str:
    """Name the column of a proposition: its id, where no other column is called that."""
    return f"proposition:{name}" if name in HEAD else name


def class_column(name: str) -> str:
    """Name the column of a completion class."""
    return f"class:{name}"


def rows_of(calls: Sequence[Call], layout: RowLayout, *, session: str = "") -> dict[str, Column]:
    """Lay calls out as columns, in the order of the calls; nan is what is not known."""
    turns = [turn for call in calls for turn in call.turns]
    sizes = [len(call.turns) for call in calls]
    found = [call.scores.scores for call in calls]
    judged = [call.scores.judged for call in calls]
    said = [_text_of(turn.response) for turn in turns]
    rows: dict[str, Column] = {
        "item": [f"{session}-{c.first + k}" for c in calls for k in range(len(c.turns))],
        "step": np.repeat(np.array([call.step for call in calls], dtype=np.int64), sizes),
        **_texts(turns),
        "behavior": [name for scores in found for name in scores.behaviors],
        "group": [_group_of(turn) for turn in turns],
        "base_reward": _joined([scores.base_rewards for scores in found]),
        "reward": _joined([scores.rewards for scores in found]),
        "rule_reward": _joined([scores.rule_rewards for scores in found]),
        "missing": [scores.missing.get(name) for scores in found for name in scores.items],
        "nonsense": [
            None if text is None else _nonsense_in(text, _last_of(turn.prompt))
            for text, turn in zip(said, turns, strict=True)
        ],
        "n_tokens": np.array([_count(turn.n_tokens) for turn in turns], dtype=np.float64),
        "n_characters": np.array([len(text or "") for text in said], dtype=np.int64),
        "judge": _repeated([one.judge for one in judged], sizes),
        "fingerprint": _repeated([one.fingerprint for one in judged], sizes),
        "threshold": _repeated([str(threshold_to_cell(one.threshold)) for one in judged], sizes),
        "answered_by": [
            name
            for call, n in zip(calls, sizes, strict=True)
            for name in call.scores.answered_by or (None,) * n
        ],
        "name": [None if turn.id is None else str(turn.id) for turn in turns],
        "time": np.repeat([call.time for call in calls], sizes),
        "session": [session] * len(turns),
    }
    asked = _proposition_values(calls, layout.propositions)
    rows |= zip(map(proposition_column, layout.propositions), asked.T, strict=True)
    return rows | _class_values(calls, layout, n_rows=len(turns))


def _joined(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    values = np.concatenate([np.zeros(0), *parts])
    return np.where(np.isfinite(values), values, np.nan)


def _repeated(words: Sequence[str], sizes: Sequence[int]) -> list[str]:
    return [word for word, n in zip(words, sizes, strict=True) for _ in range(n)]


def _proposition_values(calls: Sequence[Call], names: Sequence[str]) -> NDArray[np.float64]:
    """Put the probabilities of each call in the order of the propositions."""
    parts = [np.zeros((0, len(names)))]
    for call in calls:
        judged = call.scores.judged
        values = judged.probabilities
        if judged.questions != names:
            places = {name: place for place, name in enumerate(judged.questions)}
            lacking = np.full((len(values), 1), np.nan)
            values = np.hstack([values, lacking])[:, [places.get(name, -1) for name in names]]
        parts.append(values)
    return np.concatenate(parts)


def _class_values(
    calls: Sequence[Call], layout: RowLayout, *, n_rows: int
) -> dict[str, NDArray[np.float64]]:
    """Take class probabilities, which are the last features; nothing else needs working out."""
    found = {name: np.full(n_rows, np.nan) for name in layout.class_names}
    features: dict[str, list[NDArray[np.float64]]] = {}
    places: dict[str, list[int]] = {}
    first = 0
    for call in calls:
        scores = call.scores.scores
        for behavior, values in scores.features.items():
            features.setdefault(behavior, []).append(values)
        for place, name in enumerate(scores.behaviors, start=first):
            if name is not None and name in scores.features:
                places.setdefault(name, []).append(place)
        first += len(scores.behaviors)
    for behavior, parts in features.items():
        names = layout.classes.get(behavior, ())
        values = np.concatenate(parts)
        values = values[:, values.shape[1] - len(names) :]
        values = np.where(np.isfinite(values).all(axis=1, keepdims=True), values, np.nan)
        for name, column in zip(names, values.T, strict=True):
            found[name][places.get(behavior, [])] = column
    return {class_column(name): values for name, values in found.items()}


def _group_of(turn: Turn) -> str | None:
    """Name the group of a turn: by what it says itself, else by its prompt."""
    prompt = turn.prompt
    if turn.group is not None:
        return _digest(str(turn.group))
    if prompt is None or prompt in ("", [], ()):
        return None
    return _digest(f"prompt {prompt if isinstance(prompt, str) else json.dumps(prompt)}")


@lru_cache(maxsize=1_024)
def _digest(said: str) -> str:
    return hashlib.blake2b(said.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _texts(turns: Sequence[Turn]) -> dict[str, list[str | None]]:
    """Keep texts as they are, and messages as JSON with what stands beside them."""
    found: dict[str, list[str | None]] = {name: [] for name in TEXTS}
    for turn in turns:
        row: tuple[str | None, ...] = (turn.prompt, turn.response, None)
        if not (_is_text(turn.prompt) and _is_text(turn.response)):
            both = json.dumps({"prompt": turn.prompt, "response": turn.response})
            row = (None, None, both)
        for name, value in zip(TEXTS, row, strict=True):
            found[name].append(value)
    return found


def _is_text(said: Any) -> bool:
    return said is None or isinstance(said, str)


def _plain(said: Any) -> Any:
    """Copy text and messages; whatever else a trainer hands over is nothing that can be read."""
    if not isinstance(said, str | dict | list | tuple):
        return None
    try:
        return json.loads(json.dumps(said, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=1_024)
def _nonsense_in(text: str, prompt: str) -> str | None:
    """Remember what was found: the trainer's metrics and the record ask about the same texts."""
    return find_nonsense(text, prompt)


def _text_of(said: Any) -> str | None:
    """Give the text of a response: of messages all they say; None where that is nothing."""
    if isinstance(said, str):
        return said
    if isinstance(said, dict):
        return _text_of(said.get("content", said.get("text")))
    if isinstance(said, list | tuple):
        return "".join(_text_of(part) or "" for part in said if isinstance(part, dict)) or None
    return None


def _last_of(prompt: Any) -> str:
    """Give the text of a prompt: of messages the last one."""
    return _text_of(prompt[-1:] if isinstance(prompt, list | tuple) else prompt) or ""


def _count(value: Any) -> float:
    try:
        return math.nan if value is None else float(int(value))
    except (TypeError, ValueError, OverflowError):
        return math.nan


# Rows as items ----------------------------------------------------------------------------------


def texts_of_row(row: Mapping[str, Any]) -> tuple[Any, Any]:
    """Give prompt and response of a row: text or messages, None where neither was handed over."""
    if row["messages"] is None:
        return row["prompt"], row["response"]
    try:
        both = json.loads(row["messages"])
        return both["prompt"], both["response"]
    except (ValueError, TypeError, KeyError, RecursionError):  # no part of ours
        return None, None


def item_of_row(row: Mapping[str, Any], *, name: str, judged: str) -> Item | None:
    """Make an item of a row; None where its response is neither text nor messages."""
    prompt, response = texts_of_row(row)
    part: Any = judged if judged in get_args(Judged) else "final_answer"
    try:
        return turn_item(
            name, response=response, prompt=prompt, judged=part, behavior=row["behavior"]
        )
    except InputError:
        return None


def prompt_text(item: Item) -> str:
    """Give the prompt of an item as one text: of several messages each after its role."""
    said = item.prompt
    if len(said) == 1:
        return said[0].content
    return "\n\n".join(f"{message.role}: {message.content}" for message in said)
