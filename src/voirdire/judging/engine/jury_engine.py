"""A jury: every judge is asked about every item, and their answers are combined."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING

from voirdire.judging.client.client import added_states
from voirdire.judging.engine.batch import PassedOn
from voirdire.judging.engine.combining import ItemVerdict, combined_answer
from voirdire.judging.engine.port import Engine, LiveState
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire.judging.asking import Answer
    from voirdire.judging.bound import BoundJury
    from voirdire.judging.client import ClientState
    from voirdire.judging.engine.batch import Asked

__all__ = ["JuryEngine"]


class JuryEngine(Engine):
    """Answers items with several engines, one for each judge.

    Parameters
    ----------
    bound : BoundJury
        Who answers what, and how answers are combined.
    members : sequence of Engine
        Those of the judges, in their order.

    Notes
    -----
    *Order*: each answer belongs to its own item. *Errors*: a judge without an answer is left out
    where the others weigh more than half; what ends a run of one judge ends it. *Cancellation*:
    `close` ends all of them within the same time. *Memory*: the items that wait. *Retries and
    caching*: those of the judges.
    """

    def __init__(self, bound: BoundJury, members: Sequence[Engine]) -> None:
        super().__init__()
        self._bound = bound
        self._members = tuple(members)
        for member in self._members:
            member.end_with(self.ended)

    @property
    def error(self) -> BaseException | None:
        """What ended the run."""
        errors = (each.error for each in self._members if each.error is not None)
        return self._error or next(errors, None)

    @property
    def calls(self) -> ClientState | None:
        """How the calls of a run stand, all judges together."""
        states = [state for each in self._members if (state := each.calls) is not None]
        return added_states(states) if states else None

    @property
    def state(self) -> LiveState:
        """How it stands: calls and cost of all; out of order where no answer can come about."""
        states = [each.state for each in self._members]
        costs = [state.cost for state in states]
        works = sum(
            share
            for share, state in zip(self._bound.jury.shares, states, strict=True)
            if not state.is_broken
        )
        return LiveState(
            n_waiting=self._n_waiting,
            n_calls=sum(state.n_calls for state in states),
            n_failures=self._n_failures,
            cost=None if None in costs else math.fsum(cost or 0.0 for cost in costs),
            is_broken=not _is_enough(works),
        )

    async def start(self) -> None:
        """Begin.

        Raises
        ------
        InputError
            If a store cannot be used.
        """
        for member in self._members:
            await member.start()

    def submit(self, asked: Sequence[Asked]) -> None:
        """Take items."""
        self._n_waiting += len(asked)
        ballots = [_Ballots(each, len(self._members), self._count) for each in asked]
        for place, member in enumerate(self._members):
            member.submit([_Ballot(each, place) for each in ballots])

    def stop(self) -> None:
        """Begin nothing more; what is sent comes to its end."""
        for member in self._members:
            member.stop()

    async def close(self, *, drain_s: float | None = None) -> None:
        """Take no more, and wait so long for what is on its way."""
        self.stop()
        await asyncio.gather(*(member.close(drain_s=drain_s) for member in self._members))

    def _count(self, asked: Asked, ballots: Sequence[ItemVerdict]) -> None:
        """Combine what the judges said of an item."""
        verdict = together(ballots, self._bound)
        self._note(verdict)
        asked.answer(verdict)


class _Ballots:
    """What the judges say of one item, as it comes."""

    def __init__(
        self, asked: Asked, n_judges: int, count: Callable[[Asked, Sequence[ItemVerdict]], None]
    ) -> None:
        self.asked = asked
        self.given: list[ItemVerdict | None] = [None] * n_judges
        self._count = count

    def take(self, place: int, verdict: ItemVerdict) -> None:
        """Take what one judge says."""
        if self.given[place] is not None:
            return
        self.given[place] = verdict
        known = [ballot for ballot in self.given if ballot is not None]
        if len(known) == len(self.given):
            self._count(self.asked, known)


class _Ballot(PassedOn):
    """An item as one judge of a jury has it."""

    __slots__ = ("_ballots", "_place")

    def __init__(self, ballots: _Ballots, place: int) -> None:
        super().__init__(ballots.asked)
        self._ballots, self._place = ballots, place

    @property
    def is_answered(self) -> bool:
        """Whether this judge has nothing to do about it any more."""
        return self._ballots.given[self._place] is not None or super().is_answered

    def answer(self, verdict: ItemVerdict) -> None:
        """Take the answer of this judge."""
        self._ballots.take(self._place, verdict)


def together(ballots: Sequence[ItemVerdict], bound: BoundJury) -> ItemVerdict:
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
            answer = combined_answer(question, [value for _, value in known])
        column += question.kind == "boolean"
        values.append(None if isinstance(answer, Failure) else answer)
        if isinstance(answer, Failure):
            failures.append((place, answer))
    return ItemVerdict(
        values=tuple(values),
        failures=tuple(failures),
        attempts=sum(ballot.attempts for ballot in ballots),
        is_stored=all(ballot.is_stored for ballot in ballots if ballot.attempts),
    )


def _is_enough(weight: float) -> bool:
    """Whether judges with so much of the weight can answer; crumbs of sums do not decide."""
    return weight > 0.5 + 1e-9


def _first_failure(ballots: Sequence[ItemVerdict], place: int) -> Failure:
    """Say why the first judge without an answer has none."""
    found = (why for ballot in ballots for k, why in ballot.failures if k == place)
    return next(found, Failure(reason="not asked"))
