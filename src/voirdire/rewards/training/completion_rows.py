"""Completions of a training run as rows: at once a file of items, and a wide file of verdicts."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from voirdire.records.thresholds import threshold_to_cell
from voirdire.rewards.training.step_sums import group_of, n_characters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.live.live_scores import LiveScores
    from voirdire.rewards.live.turns import Turn

__all__ = ["ANSWERED_BY", "HEAD_COLUMNS", "completion_rows", "proposition_column"]

HEAD_COLUMNS = (
    "id",
    "step",
    "prompt",
    "response",
    "behavior",
    "group",
    "base_reward",
    "reward",
    "rule_reward",
    "missing",
    "n_tokens",
    "n_characters",
    "judge",
    "fingerprint",
    "threshold",
    "session",
    "name",
)
"""What a row begins with; the propositions follow."""

ANSWERED_BY = "answered_by"
"""What a row ends with where the judge is a cascade: which of the two the completion came to."""

_PREFIX = "proposition:"


def completion_rows(
    scores: LiveScores, turns: Sequence[Turn], *, session: str, first: int, step: int
) -> list[dict[str, Any]]:
    """Make the rows of a call; `first` is how many the session wrote before."""
    found, judged = scores.scores, scores.judged
    columns = [proposition_column(name) for name in judged.questions]
    rows = []
    for place, (turn, name) in enumerate(zip(turns, found.items, strict=True)):
        values = judged.probabilities[place].tolist()
        row = {
            "id": f"{session}-{first + place}",
            "step": step,
            "prompt": _kept(turn.prompt),
            "response": _kept(turn.response),
            "behavior": found.behaviors[place],
            "group": group_of(turn),
            "base_reward": _number(found.base_rewards[place]),
            "reward": _number(found.rewards[place]),
            "rule_reward": _number(found.rule_rewards[place]),
            "missing": found.missing.get(name),
            "n_tokens": None if turn.n_tokens is None else int(turn.n_tokens),
            "n_characters": n_characters(turn.response),
            "judge": judged.judge,
            "fingerprint": judged.fingerprint,
            "threshold": threshold_to_cell(judged.threshold),
            "session": session,
            "name": turn.id,
        }
        row |= dict(zip(columns, map(_number, values), strict=True))
        if scores.answered_by is not None and ANSWERED_BY not in columns:
            row[ANSWERED_BY] = scores.answered_by[place]
        rows.append(row)
    return rows


def proposition_column(name: str) -> str:
    """Name the column of a proposition: its id, where no other column is called that."""
    return f"{_PREFIX}{name}" if name in HEAD_COLUMNS else name


def _kept(said: Any) -> Any:
    """Keep text and messages; whatever else a trainer hands over is nothing that can be read."""
    if said is None or isinstance(said, str):
        return said
    if not isinstance(said, dict | list | tuple):
        return None
    try:
        return json.loads(json.dumps(said, allow_nan=False))
    except (TypeError, ValueError, RecursionError):
        return None


def _number(value: Any) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
