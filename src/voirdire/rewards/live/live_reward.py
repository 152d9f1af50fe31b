"""A reward that lives as long as a training run or a server."""

from __future__ import annotations

import time
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.judging.binding import EngineJudge
from voirdire.judging.live import LiveJudge
from voirdire.judging.settings import LiveSettings
from voirdire.rewards.against_demands import (
    describe_paid_against_demands,
    find_paid_against_demands,
)
from voirdire.rewards.criteria import CRITERIA, NO_CRITERIA
from voirdire.rewards.live.turns import LiveScores, make_turn_items, read_turn_bases
from voirdire.rewards.scores import (
    BASE_COLUMNS,
    Combiner,
    choose_base_column,
    hide_unknown_behaviors,
    read_given_base,
    read_item_base,
)
from voirdire.rewards.verdict_source import plan_reward_judging

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from voirdire.judging.engine import LiveState
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Item
    from voirdire.rewards.live.turns import Turn
    from voirdire.rewards.model import RewardModel


class LiveReward:
    """Gives rewards request by request, in one event loop.

    Parameters
    ----------
    reward : RewardModel
        The reward.
    judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
        As for `RewardModel.score`.
    other_judge : bool, optional
        Take another judge than the weights were fitted on.
    store : str or path, optional
        Where a language model's replies are kept, shared with the command line.
    center : bool, optional
        Take each behavior's mean off its rule rewards.
    base_column : str, optional
        Add base rewards although the reward was fitted without one: those of items in this
        column, and those of turns.
    settings : LiveSettings, optional
        Deadline, memory and bounds.

    Attributes
    ----------
    reward : RewardModel
        The reward.
    adds_base : bool
        Whether base rewards are added.
    base_column : str
        Where they stand.
    notes : tuple of str
        What the reader should know of the judge.
    store : str, path or None
        Where replies are kept; None where the judge makes no calls, or nothing is kept.
    judge : LiveJudge
        Who gives the verdicts.

    Raises
    ------
    InputError
        As `RewardModel.score` does of judge and settings; nothing is called yet.

    Notes
    -----
    *Order*: rewards follow the items. *Errors*: where a judge fails, the reward is missing with its
    reason, never an exception; items with equal ids, or base rewards of another length, are the
    caller's mistake and raise. *Cancellation*: a request may be cancelled; its calls go on, and
    their replies are stored. *Memory*: bounded by the settings. *Retries and caching*: the judge's
    limits hold over all requests together; equal items are asked about once.
    """

    def __init__(
        self,
        reward: RewardModel,
        *,
        judge: JudgeLike | None = None,
        other_judge: bool = False,
        store: str | Path | None = None,
        center: bool = False,
        base_column: str | None = None,
        settings: LiveSettings | None = None,
    ) -> None:
        self.reward = reward
        self.adds_base = reward.uses_base or base_column is not None
        self._named_base, self.base_column = base_column, base_column or BASE_COLUMNS[0]
        self._plan = plan_reward_judging(reward, judge, other_judge=other_judge)
        warning = describe_paid_against_demands(find_paid_against_demands(reward))
        self.notes = (*self._plan.notes, *filter(None, [warning]))
        self._combiner = Combiner(reward, center=center)
        propositions = self._plan.rubric.propositions
        answers_all = isinstance(self._plan.judge, EngineJudge)
        answers_all &= reward.criteria is None
        self._combiner.check_questions(reward.columns if answers_all else propositions)
        self.settings = LiveSettings() if settings is None else settings
        self.store = store if isinstance(self._plan.judge, EngineJudge) else None
        self.judge = LiveJudge(
            self._plan, store=store, settings=self.settings, numbers_of=reward.questions
        )

    @property
    def judge_fingerprint(self) -> str:
        """The fingerprint of the judge alone, without rubric and threshold."""
        return self._plan.judge.fingerprint

    @property
    def state(self) -> LiveState:
        """The state of the judge."""
        return self.judge.state

    @property
    def n_waiting(self) -> int:
        """Items that wait for the judge, also those whose requests were answered without them."""
        return self.judge.n_waiting

    async def start(self) -> None:
        """Start the judge; call it in the event loop that asks for rewards."""
        await self.judge.start()

    async def close(self, *, drain_s: float = 30.0) -> None:
        """Wait at most `drain_s` seconds for calls in flight, then close the judge."""
        await self.judge.close(drain_s=drain_s)

    async def rewards(
        self,
        items: Sequence[Item],
        *,
        base_rewards: ArrayLike | Mapping[str, float] | None = None,
        deadline_s: float | None = None,
    ) -> LiveScores:
        """Give items their rewards.

        Parameters
        ----------
        items : sequence of Item
            With unique ids; may be empty.
        base_rewards : array_like or mapping, optional
            One per item, or by item id; by default the items' own where they are added.
        deadline_s : float, optional
            Seconds after which the rewards so far are returned; by default that of the settings.

        Returns
        -------
        LiveScores
            In the order of the items.

        Raises
        ------
        InputError
            If ids repeat, or `base_rewards` do not fit.
        """
        ids = [item.id for item in items]
        if len(set(ids)) < len(ids):
            repeated = next(name for place, name in enumerate(ids) if name in ids[:place])
            msg = (
                f"`items` must have unique ids, got {shorten(repeated)!r} twice. Number them, or "
                "hand over turns."
            )
            raise InputError(msg)
        if base_rewards is None:
            column, notes = choose_base_column(
                items, named=self._named_base, uses_base=self.reward.uses_base
            )
            base = *read_item_base(items, column=column), notes
        else:
            base = *read_given_base(base_rewards, ids), ()
        return await self._score(items, base, deadline_s=deadline_s)

    async def turn_rewards(
        self,
        turns: Sequence[Turn],
        *,
        behavior: str | None = None,
        deadline_s: float | None = None,
        adds_base: bool = False,
    ) -> LiveScores:
        """Give turns their rewards; one that cannot be read has none, and a reason.

        Parameters
        ----------
        turns : sequence of Turn
            Of any trainer.
        behavior : str, optional
            Of turns that have none.
        deadline_s : float, optional
            As for `rewards`.
        adds_base : bool, optional
            Add their base rewards in any case.

        Returns
        -------
        LiveScores
            In the order of the turns; the items are called by their places, from ``"0"``.

        Raises
        ------
        InputError
            If `deadline_s` is no number of seconds.
        """
        items, reasons = make_turn_items(
            turns, judged=self._plan.judged, behavior=behavior, of_item=self._plan.rubric.of_item
        )
        base = read_turn_bases(turns, adds_base=adds_base or self.adds_base)
        return await self._score(items, base, not_asked=reasons, deadline_s=deadline_s)

    async def _score(
        self,
        items: Sequence[Item],
        base: tuple[NDArray[np.float64], dict[str, str], tuple[str, ...]],
        *,
        not_asked: Mapping[str, str] = MappingProxyType({}),
        deadline_s: float | None,
    ) -> LiveScores:
        """Judge items, and compute their rewards."""
        began = time.monotonic()
        rests = self._combiner.guards.list_rests(items)
        rule = self.reward.criteria
        if rule is not None:
            lacking = [item.id for item in items if not item.criteria]
            not_asked = {**dict.fromkeys(lacking, NO_CRITERIA), **not_asked}
        verdicts = await self.judge.ask(
            [*hide_unknown_behaviors(items, self._plan.rubric), *rests],
            not_asked=not_asked,
            deadline_s=deadline_s,
        )
        behaviors, given = [item.behavior for item in items], None
        if rule is None:
            judged = verdicts.judged.take([item.id for item in items])
        else:
            judged, given = rule.combine(items, verdicts.judged, not_asked=not_asked)
            behaviors = [CRITERIA] * len(items)
        scores = self._combiner.score(
            judged,
            behaviors=behaviors,
            base=base[0],
            base_reasons=base[1],
            items=[None if item.id in not_asked else item for item in items],
            behind=verdicts.judged.take([item.id for item in rests]) if rests else None,
            given=given,
        )
        if base[2]:
            scores = replace(scores, notes=base[2])
        names = verdicts.answered_by
        about = vars(verdicts) | {"judged": judged, "answered_by": names and names[: len(items)]}
        return LiveScores(**about, scores=scores, seconds=time.monotonic() - began)
