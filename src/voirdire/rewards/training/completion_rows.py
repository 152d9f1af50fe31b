"""Completions of a training run as rows, which serve as items, verdicts and figures."""

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
    "make_item",
    "make_rows",
    "name_class_column",
    "name_proposition_column",
    "read_texts",
    "write_prompt",
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
"""The first columns of a row and their kinds; numbers of propositions and classes follow."""

WHOLE = frozenset(name for name, kind in HEAD.items() if kind == "whole")
_TYPES: dict[str, Any] = {"text": pl.String, "number": pl.Float64, "whole": pl.Int64}
TEXTS = ("prompt", "response", "messages")
"""Columns that take most of a file, and that figures do not need."""

ITEM_COLUMNS = (*TEXTS, "behavior")
"""Columns that a judge sees; completions that are equal in them are one item."""


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
            *map(name_proposition_column, self.propositions),
            *map(name_class_column, self.class_names),
        )

    @property
    def schema(self) -> dict[str, Any]:
        """Give the type of each column in polars."""
        return {name: _TYPES[kind] for name, kind in HEAD.items()} | dict.fromkeys(
            self.numbers, pl.Float64
        )


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the reward, with its time and the number of its first completion."""

    scores: LiveScores
    turns: Sequence[Turn]
    step: int
    time: float
    first: int

    @classmethod
    def of(cls, scores: LiveScores, turns: Sequence[Turn], *, step: int, first: int = 0) -> Call:
        """Record a call that just ended; messages are copied, since callers may change them."""
        copies = [
            turn
            if _is_text(turn.prompt) and _is_text(turn.response)
            else replace(
                turn, prompt=_copy_message(turn.prompt), response=_copy_message(turn.response)
            )
            for turn in turns
        ]
        return cls(scores, copies, step, time.time(), first)


def name_proposition_column(name: str) -> str:
    """Name the column of a proposition: its id, with a prefix where a column has that name."""
    return f"proposition:{name}" if name in HEAD else name


def name_class_column(name: str) -> str:
    """Name the column of a completion class."""
    return f"class:{name}"


def make_rows(calls: Sequence[Call], layout: RowLayout, *, session: str = "") -> dict[str, Column]:
    """Make columns from calls, in the order of the calls; unknown numbers are nan."""
    turns = [turn for call in calls for turn in call.turns]
    sizes = [len(call.turns) for call in calls]
    scores_of_calls = [call.scores.scores for call in calls]
    verdicts_of_calls = [call.scores.judged for call in calls]
    responses = [_read_text(turn.response) for turn in turns]
    rows: dict[str, Column] = {
        "item": [f"{session}-{c.first + k}" for c in calls for k in range(len(c.turns))],
        "step": np.repeat(np.array([call.step for call in calls], dtype=np.int64), sizes),
        **_collect_texts(turns),
        "behavior": [name for scores in scores_of_calls for name in scores.behaviors],
        "group": [_name_group(turn) for turn in turns],
        "base_reward": _join_numbers([scores.base_rewards for scores in scores_of_calls]),
        "reward": _join_numbers([scores.rewards for scores in scores_of_calls]),
        "rule_reward": _join_numbers([scores.rule_rewards for scores in scores_of_calls]),
        "missing": [
            scores.missing.get(name) for scores in scores_of_calls for name in scores.items
        ],
        "nonsense": [
            None if text is None else _find_nonsense_once(text, _read_last_text(turn.prompt))
            for text, turn in zip(responses, turns, strict=True)
        ],
        "n_tokens": np.array([_read_count(turn.n_tokens) for turn in turns], dtype=np.float64),
        "n_characters": np.array([len(text or "") for text in responses], dtype=np.int64),
        "judge": _repeat_words([one.judge for one in verdicts_of_calls], sizes),
        "fingerprint": _repeat_words([one.fingerprint for one in verdicts_of_calls], sizes),
        "threshold": _repeat_words(
            [str(threshold_to_cell(one.threshold)) for one in verdicts_of_calls], sizes
        ),
        "answered_by": [
            name
            for call, n in zip(calls, sizes, strict=True)
            for name in call.scores.answered_by or (None,) * n
        ],
        "name": [None if turn.id is None else str(turn.id) for turn in turns],
        "time": np.repeat([call.time for call in calls], sizes),
        "session": [session] * len(turns),
    }
    probabilities = _collect_probabilities(calls, layout.propositions)
    rows |= zip(map(name_proposition_column, layout.propositions), probabilities.T, strict=True)
    return rows | _collect_class_probabilities(calls, layout, n_rows=len(turns))


def _join_numbers(parts: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    values = np.concatenate([np.zeros(0), *parts])
    return np.where(np.isfinite(values), values, np.nan)


def _repeat_words(words: Sequence[str], sizes: Sequence[int]) -> list[str]:
    return [word for word, n in zip(words, sizes, strict=True) for _ in range(n)]


def _collect_probabilities(calls: Sequence[Call], names: Sequence[str]) -> NDArray[np.float64]:
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


def _collect_class_probabilities(
    calls: Sequence[Call], layout: RowLayout, *, n_rows: int
) -> dict[str, NDArray[np.float64]]:
    """Collect class probabilities, which are the last features of a behavior."""
    by_class = {name: np.full(n_rows, np.nan) for name in layout.class_names}
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
            by_class[name][places.get(behavior, [])] = column
    return {name_class_column(name): values for name, values in by_class.items()}


def _name_group(turn: Turn) -> str | None:
    """Name the group of a turn by its own group, else by its prompt."""
    prompt = turn.prompt
    if turn.group is not None:
        return _hash_text(str(turn.group))
    if prompt is None or prompt in ("", [], ()):
        return None
    return _hash_text(f"prompt {prompt if isinstance(prompt, str) else json.dumps(prompt)}")


@lru_cache(maxsize=1_024)
def _hash_text(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _collect_texts(turns: Sequence[Turn]) -> dict[str, list[str | None]]:
    """Collect texts as they are; messages become JSON, with the other side of the turn."""
    texts: dict[str, list[str | None]] = {name: [] for name in TEXTS}
    for turn in turns:
        row: tuple[str | None, ...] = (turn.prompt, turn.response, None)
        if not (_is_text(turn.prompt) and _is_text(turn.response)):
            both = json.dumps({"prompt": turn.prompt, "response": turn.response})
            row = (None, None, both)
        for name, value in zip(TEXTS, row, strict=True):
            texts[name].append(value)
    return texts


def _is_text(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _copy_message(value: Any) -> Any:
    """Copy text and messages; other values of a trainer cannot be read and become None."""
    if not isinstance(value, str | dict | list | tuple):
        return None
    try:
        return json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return None


@lru_cache(maxsize=1_024)
def _find_nonsense_once(text: str, prompt: str) -> str | None:
    """Find nonsense with a cache: the trainer's metrics and the record ask about the same texts."""
    return find_nonsense(text, prompt)


def _read_text(value: Any) -> str | None:
    """Read the text of a response, of messages all contents; None where it is empty."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return _read_text(value.get("content", value.get("text")))
    if isinstance(value, list | tuple):
        return "".join(_read_text(part) or "" for part in value if isinstance(part, dict)) or None
    return None


def _read_last_text(prompt: Any) -> str:
    """Read the text of a prompt, of messages the last one."""
    return _read_text(prompt[-1:] if isinstance(prompt, list | tuple) else prompt) or ""


def _read_count(value: Any) -> float:
    try:
        return math.nan if value is None else float(int(value))
    except (TypeError, ValueError, OverflowError):
        return math.nan


# Rows as items ----------------------------------------------------------------------------------


def read_texts(row: Mapping[str, Any]) -> tuple[Any, Any]:
    """Read prompt and response of a row: text or messages, None where the trainer gave neither."""
    if row["messages"] is None:
        return row["prompt"], row["response"]
    try:
        both = json.loads(row["messages"])
        return both["prompt"], both["response"]
    except (ValueError, TypeError, KeyError, RecursionError):  # another program wrote the file
        return None, None


def make_item(row: Mapping[str, Any], *, name: str, judged: str) -> Item | None:
    """Make an item of a row; None where its response is neither text nor messages."""
    prompt, response = read_texts(row)
    part: Any = judged if judged in get_args(Judged) else "final_answer"
    try:
        return turn_item(
            name, response=response, prompt=prompt, judged=part, behavior=row["behavior"]
        )
    except InputError:
        return None


def write_prompt(item: Item) -> str:
    """Write the prompt of an item as one text; several messages follow their roles."""
    messages = item.prompt
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"{message.role}: {message.content}" for message in messages)
