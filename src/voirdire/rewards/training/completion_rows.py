"""Completions of a training run as rows, which serve as items, verdicts and figures."""

from __future__ import annotations

import hashlib
import json
import math
import time
from dataclasses import dataclass
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

    from voirdire.records import Item, Verdicts
    from voirdire.rewards.live.turns import LiveScores, Turn
    from voirdire.rewards.training.parquet_part import Column

Columns = dict[str, Any]
"""Rows by column: lists of text, and arrays of numbers."""

NO_CODE = -1

HEAD = {
    **dict.fromkeys(("item", "prompt", "response", "messages", "behavior", "group"), pl.String),
    "step": pl.Int64,
    **dict.fromkeys(("base_reward", "reward", "rule_reward", "margin"), pl.Float64),
    **dict.fromkeys(("missing", "nonsense"), pl.String),
    **dict.fromkeys(("gated", "capped", "truncated", "n_tokens", "n_characters"), pl.Int64),
    **dict.fromkeys(("judge", "fingerprint", "threshold", "answered_by", "name"), pl.String),
    "time": pl.Float64,
    "session": pl.String,
}
"""The first columns of a row and their types; numbers of propositions and classes follow."""

WHOLE = frozenset({"n_tokens"})
"""Columns of whole numbers that may be unknown, and are floats in memory."""

TEXTS = ("prompt", "response", "messages")
"""Columns that take most of a file, and that figures do not need."""


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
        return HEAD | dict.fromkeys(self.numbers, pl.Float64)


def name_proposition_column(name: str) -> str:
    """Name the column of a proposition: its id, with a prefix where a column has that name."""
    return f"proposition:{name}" if name in HEAD else name


def name_class_column(name: str) -> str:
    """Name the column of a completion class."""
    return f"class:{name}"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the reward, with its time and the number of its first completion."""

    scores: LiveScores
    turns: Sequence[Turn]
    texts: Sequence[tuple[str | None, str | None, str | None]]
    step: int
    first: int
    time: float

    @classmethod
    def of(
        cls, scores: LiveScores, turns: Sequence[Turn], *, step: int = 0, first: int = 0
    ) -> Call:
        """Note a call that just ended; messages are written now, since callers may change them."""
        return cls(scores, turns, [_write_texts(turn) for turn in turns], step, first, time.time())


def make_columns(calls: Sequence[Call], layout: RowLayout, *, session: str = "") -> Columns:
    """Make the rows of calls, in their order; numbers that are unknown are nan."""
    turns = [turn for call in calls for turn in call.turns]
    sizes = [len(call.turns) for call in calls]
    rewards = [call.scores.scores for call in calls]
    judged = [call.scores.judged for call in calls]
    responses = [_read_text(turn.response) for turn in turns]
    texts = [row for call in calls for row in call.texts]

    def join(name: str) -> Any:
        return np.concatenate([getattr(one, name) for one in rewards])

    def repeat(values: Sequence[str]) -> list[str]:
        return [value for value, n in zip(values, sizes, strict=True) for _ in range(n)]

    columns: Columns = {
        "item": [f"{session}-{call.first + k}" for call in calls for k in range(len(call.turns))],
        **{name: [row[k] for row in texts] for k, name in enumerate(TEXTS)},
        "behavior": [name for one in rewards for name in one.behaviors],
        "group": [_name_group(turn) for turn in turns],
        "step": np.repeat([call.step for call in calls], sizes),
        "base_reward": _keep_finite(join("base_rewards")),
        "reward": _keep_finite(join("rewards")),
        "rule_reward": _keep_finite(join("rule_rewards")),
        "margin": _keep_finite(join("margins")),
        "missing": [one.missing.get(name) for one in rewards for name in one.items],
        "nonsense": [
            None if text is None else _find_nonsense_once(text, _read_last_text(turn.prompt))
            for text, turn in zip(responses, turns, strict=True)
        ],
        "gated": join("gated").astype(np.int64),
        "capped": join("capped").astype(np.int64),
        "truncated": np.array([int(turn.truncated) for turn in turns], dtype=np.int64),
        "n_tokens": np.array([_read_count(turn.n_tokens) for turn in turns], dtype=np.float64),
        "n_characters": np.array([len(text or "") for text in responses], dtype=np.int64),
        "judge": repeat([one.judge for one in judged]),
        "fingerprint": repeat([one.fingerprint for one in judged]),
        "threshold": repeat([str(threshold_to_cell(one.threshold)) for one in judged]),
        "answered_by": [
            name
            for call, n in zip(calls, sizes, strict=True)
            for name in call.scores.answered_by or (None,) * n
        ],
        "name": [None if turn.id is None else str(turn.id) for turn in turns],
        "time": np.repeat([call.time for call in calls], sizes),
        "session": [session] * len(turns),
    }
    probabilities = np.concatenate([_order(one, layout.propositions) for one in judged])
    columns |= zip(map(name_proposition_column, layout.propositions), probabilities.T, strict=True)
    columns |= {name_class_column(x): np.full(len(turns), np.nan) for x in layout.class_names}
    for behavior, names in layout.classes.items():  # classes are the last features
        rows = np.array([own == behavior for own in columns["behavior"]], dtype=bool)
        parts = [one.features[behavior] for one in rewards if behavior in one.features]
        if not parts:
            continue
        own = np.concatenate(parts)
        own = own[:, own.shape[1] - len(names) :]
        own = np.where(np.isfinite(own).all(axis=1, keepdims=True), own, np.nan)
        for name, values in zip(names, own.T, strict=True):
            columns[name_class_column(name)][rows] = values
    return columns


def _order(judged: Verdicts, names: Sequence[str]) -> NDArray[np.float64]:
    """Put the probabilities of a call in the order of the propositions."""
    values = judged.probabilities
    if judged.questions == names:
        return values
    places = {name: place for place, name in enumerate(judged.questions)}
    lacking = np.full((len(values), 1), np.nan)
    return np.hstack([values, lacking])[:, [places.get(name, -1) for name in names]]


def join_columns(calls: Sequence[Columns]) -> dict[str, Column]:
    """Put the rows of calls one under the other."""
    return {
        name: np.concatenate([call[name] for call in calls])
        if isinstance(first, np.ndarray)
        else [value for call in calls for value in call[name]]
        for name, first in calls[0].items()
    }


def _write_texts(turn: Turn) -> tuple[str | None, str | None, str | None]:
    """Give texts as they are; messages and criteria become JSON, with the rest of the turn."""
    both = {"prompt": turn.prompt, "response": turn.response}
    if turn.criteria is not None:
        both |= {"criteria": turn.criteria, "reference": turn.reference}
    elif all(value is None or isinstance(value, str) for value in both.values()):
        return turn.prompt, turn.response, None
    try:
        return None, None, json.dumps(both, allow_nan=False, default=_list_array)
    except (TypeError, ValueError, RecursionError):  # a trainer's own objects
        kept = {name: x if isinstance(x, str) else None for name, x in both.items()}
        return None, None, json.dumps(kept)


def _list_array(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else None


def _keep_finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.where(np.isfinite(values), values, np.nan)


def _name_group(turn: Turn) -> str | None:
    """Name the group of a turn by its own group, else by its prompt."""
    prompt = turn.prompt
    if turn.group is not None:
        return _hash_text(str(turn.group))
    if prompt is None or (isinstance(prompt, str | list | tuple) and not len(prompt)):
        return None
    return _hash_text(f"prompt {prompt}")


@lru_cache(maxsize=1_024)
def _hash_text(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


_find_nonsense_once = lru_cache(maxsize=1_024)(find_nonsense)
"""With a cache: the trainer's metrics and the record ask about the same texts."""


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


def read_criteria_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """Read criteria and a reference answer of a row, as items have them; empty without any."""
    try:
        told = json.loads(row["messages"] or "{}")
    except (ValueError, RecursionError):
        return {}
    names = ("criteria", "reference")
    return {x: told[x] for x in names if told.get(x) is not None} if isinstance(told, dict) else {}


def make_item(row: Mapping[str, Any], *, name: str, judged: str) -> Item | None:
    """Make an item of a row; None where its response is neither text nor messages."""
    prompt, response = read_texts(row)
    part: Any = judged if judged in get_args(Judged) else "final_answer"
    about: dict[str, Any] = {"judged": part, "behavior": row["behavior"]}
    try:
        return turn_item(name, response=response, prompt=prompt, **about)
    except InputError:
        return None


def write_prompt(item: Item) -> str:
    """Write the prompt of an item as one text; several messages follow their roles."""
    messages = item.prompt
    if len(messages) == 1:
        return messages[0].content
    return "\n\n".join(f"{message.role}: {message.content}" for message in messages)
