"""Engines of cascades and juries: a second judge where the first is unsure, or all judges."""

from __future__ import annotations

import asyncio
import math
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from voirdire.judging.binding import asks_a_model, is_cascade, is_jury, needs_engine
from voirdire.judging.client.client import add_states
from voirdire.judging.engine.batch import ItemRequest
from voirdire.judging.engine.call_queue import CLOSED, LATE
from voirdire.judging.engine.combining import ItemVerdict, combine_answers
from voirdire.judging.engine.port import Engine, LiveState
from voirdire.judging.engine.thread_engine import ThreadEngine
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire.judging.asking import Answer
    from voirdire.judging.binding import BoundCascade, BoundJudge, BoundJury, JudgingPlan
    from voirdire.judging.client import ClientState
    from voirdire.judging.settings import LiveSettings, StoredReplies

__all__ = ["CascadeEngine", "JuryEngine", "make_engine"]

_OVER = (CLOSED, LATE)
"""Reasons why the first judge was not asked; the second one is then not asked either."""


class _ForwardedItem(ItemRequest):
    """An item for one judge of several; its deadline is that of the caller's item."""

    __slots__ = ("_is_taken", "_take", "asked")

    def __init__(
        self, asked: ItemRequest, take: Callable[[ItemRequest, ItemVerdict], None]
    ) -> None:
        self.asked = asked
        super().__init__(asked.item)
        self._take = take
        self._is_taken = False

    @property
    def deadline(self) -> float:
        """When the last caller stops waiting for it; that may become later."""
        return self.asked.deadline

    @deadline.setter
    def deadline(self, until: float) -> None:
        """Ignored: the caller's item has the deadline."""

    @property
    def is_answered(self) -> bool:
        """Whether this judge need not answer it any more."""
        return self._is_taken or self.asked.is_answered

    def answer(self, verdict: ItemVerdict) -> None:
        """Pass on the first answer of this judge."""
        if not self._is_taken:
            self._is_taken = True
            self._take(self.asked, verdict)


class _CompositeEngine(Engine):
    """Answers items with the engines of several judges; an error that ends one run ends all."""

    def __init__(self, members: Sequence[Engine]) -> None:
        super().__init__()
        self._members = tuple(members)
        self.end_with(self.ended)

    def end_with(self, ended: asyncio.Event) -> None:
        """Set this event when the run of any judge ends."""
        self.ended = ended
        for member in self._members:
            member.end_with(ended)

    @property
    def error(self) -> BaseException | None:
        """What ended the run."""
        errors = (each.error for each in self._members if each.error is not None)
        return self._error or next(errors, None)

    @property
    def calls(self) -> ClientState | None:
        """State of the calls of a run, all judges together."""
        states = [state for each in self._members if (state := each.calls) is not None]
        return add_states(states) if states else None

    async def start(self) -> None:
        """Start; raise an `InputError` where a store cannot be used."""
        for member in self._members:
            await member.start()

    def stop(self) -> None:
        """Begin no more calls; calls that are sent may finish."""
        for member in self._members:
            member.stop()


class CascadeEngine(_CompositeEngine):
    """Answers items with a first engine, and with a second where the first judge is unsure.

    *Order*: each answer belongs to its own item, and is one judge's. *Errors*: an item that the
    first judge cannot answer is passed on, whatever the reason; an item that the language model
    does not answer is a failure, or late after the deadline. *Cancellation*: `close` ends the first
    judge, then the second, within the same time. *Memory*: the items that wait. *Retries and
    caching*: the language model's.
    """

    def __init__(self, bound: BoundCascade, *, first: Engine, then: Engine) -> None:
        super().__init__((first, then))
        self._bound = bound
        self._first, self._then = first, then
        self._called_first, self._called_then = bound.answerers
        self._unsure: list[ItemRequest] = []
        self._n_over = self._n_kept = 0
        kinds = [row.kind for row in bound.rubric.questions]
        self._places = [place for place, kind in enumerate(kinds) if kind == "boolean"]

    @property
    def state(self) -> LiveState:
        """State of the engine: calls, cost and outages are the language model's."""
        then = self._then.state
        return LiveState(
            n_waiting=self._first.state.n_waiting + len(self._unsure) + then.n_waiting,
            n_calls=then.n_calls,
            n_failures=self._n_over + then.n_failures,
            cost=then.cost,
            is_broken=then.is_broken,
        )

    @property
    def n_answered(self) -> int:
        """Items that have an answer."""
        return self._n_kept + self._then.n_answered

    def submit(self, asked: Sequence[ItemRequest]) -> None:
        """Take items."""
        self._first.submit([_ForwardedItem(each, self._take_first_answer) for each in asked])

    async def close(self, *, drain_s: float | None = None) -> None:
        """Take no more items, and pass none on to the second judge from now on."""
        loop = asyncio.get_running_loop()
        ends = None if drain_s is None else loop.time() + drain_s
        try:
            await self._first.close(drain_s=drain_s)
        finally:
            self._forward()
            left_s = None if ends is None else max(0.0, ends - loop.time())
            await self._then.close(drain_s=left_s)

    def _take_first_answer(self, asked: ItemRequest, verdict: ItemVerdict) -> None:
        """Answer an item with the first judge's verdict, or keep it for the second."""
        if asked.is_answered:
            return
        is_over = bool(verdict.failures) and verdict.failures[0][1].reason in _OVER
        values = np.array([verdict.values[place] for place in self._places], dtype=np.float64)
        if is_over or not self._bound.goes_on(values[None, :])[0]:
            self._n_over += is_over
            self._n_kept += not is_over
            asked.answered_by = None if is_over else self._called_first
            _give_answer(asked, verdict)
            return
        asked.answered_by = self._called_then
        if not self._unsure:  # pass on the items of one batch together
            asyncio.get_running_loop().call_soon(self._forward)
        self._unsure.append(_ForwardedItem(asked, _give_answer))

    def _forward(self) -> None:
        unsure, self._unsure = self._unsure, []
        if unsure:
            self._then.submit(unsure)


def _give_answer(asked: ItemRequest, verdict: ItemVerdict) -> None:
    """Answer an item, and record which judge answered."""
    asked.answer(msgspec.structs.replace(verdict, answered_by=asked.answered_by))


class JuryEngine(_CompositeEngine):
    """Answers items with several engines, one for each judge, and combines their verdicts.

    *Order*: each answer belongs to its own item. *Errors*: a judge without an answer is left out
    where the others weigh more than half. *Cancellation*: `close` ends all of them within the same
    time. *Memory*: the items that wait. *Retries and caching*: those of the judges.
    """

    def __init__(self, bound: BoundJury, members: Sequence[Engine]) -> None:
        super().__init__(members)
        self._bound = bound

    @property
    def state(self) -> LiveState:
        """Calls and cost of all judges; broken where too few judges work to answer."""
        states = [each.state for each in self._members]
        costs = [state.cost for state in states]
        works = sum(
            share
            for share, state in zip(self._bound.jury.shares, states, strict=True)
            if not state.is_broken
        )
        return LiveState(
            n_waiting=max(state.n_waiting for state in states),
            n_calls=sum(state.n_calls for state in states),
            n_failures=self._n_failures,
            cost=None if None in costs else math.fsum(cost or 0.0 for cost in costs),
            is_broken=not _is_enough(works),
        )

    def submit(self, asked: Sequence[ItemRequest]) -> None:
        """Take items."""
        ballots: list[list[ItemVerdict | None]] = [[None] * len(self._members) for _ in asked]
        for place, member in enumerate(self._members):
            takes = [partial(self._take, given, place) for given in ballots]
            member.submit([_ForwardedItem(*each) for each in zip(asked, takes, strict=True)])

    async def close(self, *, drain_s: float | None = None) -> None:
        """Take no more items, and wait `drain_s` seconds for open calls."""
        self.stop()
        await asyncio.gather(*(member.close(drain_s=drain_s) for member in self._members))

    def _take(
        self, given: list[ItemVerdict | None], place: int, asked: ItemRequest, said: ItemVerdict
    ) -> None:
        """Take one judge's verdict on an item; combine all verdicts when it is the last."""
        given[place] = said
        ballots = [ballot for ballot in given if ballot is not None]
        if len(ballots) == len(given):
            verdict = _combine_ballots(ballots, self._bound)
            self._note(verdict)
            asked.answer(verdict)


def _combine_ballots(ballots: Sequence[ItemVerdict], bound: BoundJury) -> ItemVerdict:
    """Combine the verdicts of all judges on one item."""
    shares, combine = bound.jury.shares, bound.jury.combine
    limits = bound.yes_from
    values: list[Answer | None] = []
    failures: list[tuple[int, Failure]] = []
    column = 0
    for place, question in enumerate(bound.rubric.questions):
        said = [(k, ballot.values[place]) for k, ballot in enumerate(ballots)]
        known = [(k, value) for k, value in said if value is not None]
        weight = math.fsum(shares[k] for k, _ in known)
        answer: Answer | Failure
        if not _is_enough(weight):
            answer = _first_failure(ballots, place)
        elif question.kind == "boolean":
            chances = [float(value) for _, value in known]  # type: ignore[arg-type]  # a proposition's
            if combine == "majority":
                chances = [
                    float(p >= limits[k][column]) for (k, _), p in zip(known, chances, strict=True)
                ]
            weighed = (shares[k] * p for (k, _), p in zip(known, chances, strict=True))
            answer = math.fsum(weighed) / weight
        else:
            answer = combine_answers(question, [value for _, value in known])
        column += question.kind == "boolean"
        values.append(None if isinstance(answer, Failure) else answer)
        if isinstance(answer, Failure):
            failures.append((place, answer))
    return ItemVerdict(
        values=tuple(values),
        failures=tuple(failures),
        is_stored=all(
            ballot.is_stored
            for ballot, plan in zip(ballots, bound.members, strict=True)
            if needs_engine(plan.judge)
        ),
    )


def _is_enough(weight: float) -> bool:
    """Whether judges with this share of the weight can answer; rounding errors do not decide."""
    return weight > 0.5 + 1e-9


def _first_failure(ballots: Sequence[ItemVerdict], place: int) -> Failure:
    """Return the failure of the first judge without an answer."""
    found = (why for ballot in ballots for k, why in ballot.failures if k == place)
    return next(found, Failure(reason="not asked"))


def make_engine(
    plan: JudgingPlan, replies: StoredReplies, *, settings: LiveSettings | None = None
) -> Engine:
    """Make the engine for a plan: of a live judge where there are `settings`, else of a run.

    Nothing is opened or called yet. A judge that cannot be asked this way raises an `InputError`.
    """

    def make_model_engine(bound: BoundJudge) -> Engine:
        from voirdire.judging.engine.model_engine import ModelEngine

        return ModelEngine(bound, replies, settings=settings)

    def make_for_plan(plan: JudgingPlan) -> Engine:
        judge: Any = plan.judge
        if is_jury(judge):
            return JuryEngine(judge, [make_for_plan(each) for each in judge.members])
        if is_cascade(judge):
            first = ThreadEngine(judge.first, settings)
            return CascadeEngine(judge, first=first, then=make_model_engine(judge.then))
        return make_model_engine(judge) if asks_a_model(judge) else ThreadEngine(plan, settings)

    return make_for_plan(plan)
