"""Defines what a trainer or a client sends, and what it gets back: turns and their rewards."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec
import numpy as np

from voirdire.errors import InputError
from voirdire.io.criteria import CRITERIA_COLUMNS, REFERENCE_COLUMNS, read_of_item
from voirdire.io.files import RowError
from voirdire.io.messages import turn_item
from voirdire.judging.live import LiveVerdicts
from voirdire.records import Item, Verdicts
from voirdire.records.reasoning import closes_unopened_thoughts, find_answer
from voirdire.rewards.criteria import CRITERIA
from voirdire.rewards.scores import NOT_ADDED, Scores, read_given_base

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire._types import Judged
    from voirdire.rewards.model import RewardModel

Truncated: TypeAlias = Literal["paid", "missing"]
"""Whether responses that a trainer cut off have rewards."""

_CUT_OFF = "the trainer cut the response off"
_NO_TEXT = "the response or its prompt is neither text nor messages"
_NO_NAME = "the behavior is no text"
_NO_LIST = "the criteria cannot be read"
_UNFINISHED = "the response ends inside its thoughts"


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One response of a model in training.

    Attributes
    ----------
    response : str or sequence of mapping
        Text, or the messages that answer the prompt.
    prompt : str or sequence of mapping, optional
        The user's text, or the messages before the response.
    behavior : str or None
        The behavior that the prompt deserves.
    base_reward : float or None
        What another reward model gave; None where there is none. It is added where the reward was
        fitted beside one, or where one is named.
    group : str or None
        What the responses to one prompt share; by default the prompt says.
    n_tokens : int or None
        Length of the response in tokens, where it is known.
    truncated : bool
        Whether the trainer cut the response off.
    id : str or None
        A name that the caller knows it by; by default its place.
    criteria : list of str or of mapping, or None
        Those of the prompt, as a row of items has them, for a reward that pays these.
    reference : str or None
        An answer that is known to be right, which a judge of criteria is shown.
    """

    response: Any
    prompt: Any = None
    behavior: str | None = None
    base_reward: float | None = None
    group: str | None = None
    n_tokens: int | None = None
    truncated: bool = False
    id: str | None = None
    criteria: Any = None
    reference: Any = None


def make_turn_items(
    turns: Sequence[Turn],
    *,
    judged: Judged,
    behavior: str | None = None,
    of_item: bool = False,
) -> tuple[list[Item], dict[str, str]]:
    """Make items of turns, and name them by their places, whatever ids the turns have.

    A turn that cannot be read becomes an empty item, and its reason is returned too. `behavior` is
    for turns without one. With `of_item` they bring criteria.

    Where two turns or a quarter of them end thoughts that they did not begin, the chat template
    begins them, and a turn that ends none is cut off inside its thoughts.
    """
    items: list[Item] = []
    reasons: dict[str, str] = {}
    cut_off = _find_cut_off(turns) if judged == "final_answer" else ()
    for place, turn in enumerate(turns):
        name = str(place)
        own: Any = behavior if _is_none(turn.behavior) else turn.behavior
        group = None if _is_none(turn.group) else str(turn.group)
        if own is not None and not isinstance(own, str):
            own, reasons[name] = None, _NO_NAME
        item = None
        try:
            item = turn_item(
                name,
                response=turn.response,
                prompt=turn.prompt,
                judged=judged,
                behavior=own,
                group=group,
            )
        except InputError:
            reasons.setdefault(name, _NO_TEXT)
        if item is None or place in cut_off:
            reasons.setdefault(name, _UNFINISHED)
            item = Item(id=name, response="", behavior=own, group=group)
        if of_item and name not in reasons and turn.criteria is not None:
            try:
                told = read_of_item({"criteria": turn.criteria, "reference": turn.reference})
                item = msgspec.structs.replace(item, **told)
            except RowError:
                reasons[name] = _NO_LIST
        items.append(item)
    return items, reasons


def find_criteria(row: Mapping[str, Any]) -> dict[str, Any]:
    """Find criteria and a reference answer among the columns of a trainer, as `Turn` has them."""
    names = {"criteria": CRITERIA_COLUMNS, "reference": REFERENCE_COLUMNS}
    return {
        field: next((row[name] for name in known if row.get(name) is not None), None)
        for field, known in names.items()
    }


def make_turn(row: Mapping[str, Any], **turn: Any) -> Turn:
    """Make a turn of what a trainer says beside it: behavior, criteria, reference answer."""
    told: dict[str, Any] = {"behavior": row.get("behavior")} | find_criteria(row) | turn
    if isinstance(told["behavior"], str) and not told["behavior"]:
        told["behavior"] = None
    return Turn(**told)


def make_turns(**columns: Sequence[Any] | None) -> list[Turn]:
    """Make turns of a column for each field, as far as there is one; all are of one length."""
    known = {name: rows for name, rows in columns.items() if rows is not None}
    rows = zip(*known.values(), strict=True)
    return [Turn(**dict(zip(known, row, strict=True))) for row in rows]


def _find_cut_off(turns: Sequence[Turn]) -> set[int]:
    """Find turns that end inside thoughts which began in the prompt, as the others show."""
    texts: dict[int, str] = {}
    for place, turn in enumerate(turns):
        said = turn.response
        if isinstance(said, list) and said and isinstance(said[-1], dict):
            said = said[-1].get("content")
        if isinstance(said, str):
            texts[place] = said
    n_closing = sum(map(closes_unopened_thoughts, texts.values()))
    if n_closing < 2 and 4 * n_closing < max(len(turns), 1):
        return set()
    return {place for place, text in texts.items() if find_answer(text) == 0}


def read_turn_bases(
    turns: Sequence[Turn], *, adds_base: bool
) -> tuple[NDArray[np.float64], dict[str, str], tuple[str, ...]]:
    """Read base rewards, by place why one is missing, and a note where they are not added.

    A trainer may pass numbers of NumPy, tensors with one number, or text of a file.
    """
    if adds_base:
        bases = {str(place): turn.base_reward for place, turn in enumerate(turns)}
        return *read_given_base(bases, list(bases)), ()  # type: ignore[arg-type]  # checked there
    notes = (NOT_ADDED,) if any(turn.base_reward is not None for turn in turns) else ()
    return np.zeros(len(turns)), {}, notes


def _is_none(value: Any) -> bool:
    """Return whether a value is missing: None, or nan as in a data frame."""
    return value is None or (isinstance(value, float) and math.isnan(value))


@dataclass(frozen=True, kw_only=True, eq=False)
class LiveScores(LiveVerdicts):
    """Rewards of the items of one request.

    Attributes
    ----------
    scores : Scores
        Rewards in the order of the items; nan with a reason where there is none, never infinite.
    seconds : float
        How long it took.
    judged : Verdicts
        The verdicts behind them, in the same order.
    n_remembered, n_stored : int
        Items whose verdicts were in memory, and in the store.
    n_late : int
        Items whose verdicts did not come within the deadline.
    answered_by : tuple of str or None, or None
        By item which judge of a cascade it came to, answered or not; None for an item that came
        to neither, and as a whole where the judge is no cascade.
    """

    scores: Scores = field(repr=False)
    seconds: float

    @property
    def rewards(self) -> list[float | None]:
        """Plain numbers, None where there is no reward; what JSON and most trainers take."""
        rewards = self.scores.rewards.tolist()
        return [None if value != value else value for value in rewards]  # nan


def drop_truncated(found: LiveScores, turns: Sequence[Turn]) -> LiveScores:
    """Take the rewards of responses away that the trainer cut off."""
    is_cut = np.array([bool(turn.truncated) for turn in turns], dtype=bool)
    if not is_cut.any():
        return found
    scores = found.scores
    ids = [scores.items[place] for place in np.flatnonzero(is_cut).tolist()]
    rewards = np.where(is_cut, np.nan, scores.rewards)
    missing = {**scores.missing, **dict.fromkeys(ids, _CUT_OFF)}
    return replace(found, scores=replace(scores, rewards=rewards, missing=missing))


def make_missing_scores(
    reward: RewardModel, turns: Sequence[Turn], *, why: str, behavior: str | None = None
) -> LiveScores:
    """Make scores without any reward, all for one reason; `behavior` is for turns without one."""
    ids = tuple(str(place) for place in range(len(turns)))
    behaviors = tuple(behavior if turn.behavior is None else turn.behavior for turn in turns)
    if reward.criteria is not None:
        behaviors = (CRITERIA,) * len(turns)
    propositions = reward.columns
    scores = Scores(
        items=ids,
        behaviors=behaviors,
        rewards=np.full(len(turns), np.nan),
        base_rewards=np.full(len(turns), np.nan),
        rule_rewards=np.full(len(turns), np.nan),
        missing=dict.fromkeys(ids, why),
        gated=np.zeros(len(turns), dtype=bool),
        capped=np.zeros(len(turns), dtype=bool),
        margins=np.full(len(turns), np.nan),
    )
    judged = Verdicts(
        items=ids,
        questions=propositions,
        probabilities=np.full((len(turns), len(propositions)), np.nan),
        behaviors=behaviors,
        judge=reward.judge.name,
        fingerprint=reward.judge.fingerprint,
        threshold=reward.judge.threshold,
    ).with_reasons(dict.fromkeys(ids, why))
    return LiveScores(scores=scores, judged=judged, seconds=0.0)
