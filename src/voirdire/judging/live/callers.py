"""The callers of a live judge, one after another: each ends with what it finds out of order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from voirdire.judging.client.client import Client

if TYPE_CHECKING:
    from voirdire.judging.client.client import ClientState, Commit
    from voirdire.judging.llm.judge import LlmJudge

__all__ = ["Callers"]


class Callers:
    """Makes a caller where there is none that works, and adds up what all of them did.

    Parameters
    ----------
    judge : LlmJudge
        Who is called, and how fast, how often, for how much in all.

    Raises
    ------
    InputError
        If the limits hold a cost and nobody knows the price.
    """

    def __init__(self, judge: LlmJudge) -> None:
        self._judge = judge
        price = judge.known_price
        self._price = None if price is None else price.cost
        self.commit: Commit | None = None
        self._old: list[Client] = []
        self._n_calls, self._cost, self._perhaps = 0, 0.0, 0.0
        self._reader = self._made(judge.limits.max_cost)  # reads what is stored; calls nobody
        self._current: Client | None = None

    @property
    def reader(self) -> Client:
        """One that reads what is stored, whatever the others do."""
        return self._reader

    @property
    def n_calls(self) -> int:
        """Calls that were made, by all of them."""
        return self._n_calls + sum(state.n_calls for state in self._states())

    @property
    def cost(self) -> float | None:
        """US dollars that all of them spent; None where nobody knows."""
        if self._reader.state.cost is None:
            return None
        return self._cost + sum(state.cost or 0.0 for state in self._states())

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left of what may be spent."""
        return self._left is not None and self._left <= 0

    def is_current(self, caller: Client) -> bool:
        """Say whether a caller is the one in use."""
        return caller is self._current

    def current(self) -> Client:
        """Give the one in use; a new one where the last was given up. Not where all is spent."""
        if self._current is None:
            self._current = self._made(self._left)
        return self._current

    def trial(self, *, timeout_s: float) -> Client:
        """Put one into use that makes one try, in so many seconds at most; then give it up."""
        self.give_up()
        limits = self._judge.limits
        self._current = self._made(
            self._left, timeout_s=min(timeout_s, limits.timeout_s), is_trial=True
        )
        return self._current

    def give_up(self) -> None:
        """Let what the one in use has sent come to its end, and begin nothing more with it."""
        if self._current is not None:
            self._current.stop()
            self._old.append(self._current)
            self._current = None
        self._add_up()

    @property
    def _left(self) -> float | None:
        most = self._judge.limits.max_cost
        if most is None:
            return None
        perhaps = self._perhaps + sum(state.perhaps_cost for state in self._states())
        return most - (self.cost or 0.0) - perhaps

    def _made(
        self, max_cost: float | None, *, timeout_s: float | None = None, is_trial: bool = False
    ) -> Client:
        limits = replace(self._judge.limits, max_cost=max_cost)
        if timeout_s is not None:
            limits = replace(limits, timeout_s=timeout_s)
        return Client(
            self._judge.model,
            limits=limits,
            commit=self.commit,
            price=self._price,
            is_trial=is_trial,
            ends_hopeless=False,
        )

    def _states(self) -> list[ClientState]:
        callers = self._old if self._current is None else [*self._old, self._current]
        return [caller.state for caller in callers]

    def _add_up(self) -> None:
        """Keep the sums of those that are done, and not the callers: a judge lives for months."""
        under_way: list[Client] = []
        for caller in self._old:
            state = caller.state
            if state.n_in_flight:
                under_way.append(caller)
                continue
            self._n_calls += state.n_calls
            self._cost += state.cost or 0.0
            self._perhaps += state.perhaps_cost
        self._old = under_way
