"""Items that were looked up together; each is answered when the last of its outcomes is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from voirdire.judging.live.answers import LiveAnswer, no_answer
from voirdire.judging.live.bugs import tell_bug
from voirdire.judging.llm.chunk import Chunk
from voirdire.judging.llm.combining import combine

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from voirdire.judging.client.call import Outcome
    from voirdire.judging.live.answers import Asked
    from voirdire.judging.llm.bound_judge import BoundJudge
    from voirdire.judging.llm.chunk import Unit

__all__ = ["Stretch"]


class Stretch(Chunk):
    """A chunk whose items do not wait for each other.

    Attributes
    ----------
    open : set of int
        Rows that have no answer yet.
    """

    open: set[int]
    _asked: Sequence[Asked]
    _bound: BoundJudge
    _tell: Callable[[LiveAnswer], None]
    _places: Sequence[int]

    @classmethod
    def about(
        cls,
        asked: Sequence[Asked],
        bound: BoundJudge,
        *,
        places: Sequence[int],
        tell: Callable[[LiveAnswer], None],
    ) -> Self:
        """Prepare a stretch; nothing is looked up yet.

        Parameters
        ----------
        asked : sequence of Asked
            What is waited for.
        bound : BoundJudge
            Who answers what.
        places : sequence of int
            Where in the rubric the propositions stand.
        tell : callable
            Takes every answer that was given.

        Returns
        -------
        Stretch
            All rows of it open.
        """
        items = [each.item for each in asked]
        stretch = cast("Self", cls.of(items, bound.calls))
        stretch._asked, stretch._bound, stretch._tell = asked, bound, tell
        stretch._places = places
        stretch.open = set(range(len(asked)))
        return stretch

    def units(self, *args: Any, **settings: Any) -> list[Unit]:
        """Fill in what the store has, answer what is then known, give what must be called."""
        units = super().units(*args, **settings)
        called = {unit.key for unit in units}
        self._answer([row for row in sorted(self.open) if self.keys[row] not in called])
        return units

    def deliver(self, unit: Unit, outcomes: Sequence[Outcome[Any]]) -> None:
        """Take the outcomes of a unit, and answer the rows that wait for nothing else."""
        super().deliver(unit, outcomes)
        rows = [row for row in self._rows_of[unit.key] if row in self.open]
        self._answer([row for row in rows if self._is_whole(row)])

    def give_up(self, why: str) -> None:
        """Answer every row that is open with a failure."""
        rows, self.open = self.open, set()
        for row in rows:
            self._set(row, self._failed(row, why))

    def wanted_until(self, key: bytes) -> float:
        """Say until when somebody waits for rows that a hash concerns."""
        rows = self._rows_of[key]
        return max((self._asked[row].wanted_until for row in rows if row in self.open), default=0.0)

    def is_answered(self, key: bytes) -> bool:
        """Say whether nobody can get an answer any more from what a hash concerns."""
        return all(self._asked[row].is_answered for row in self._rows_of[key])

    def _is_whole(self, row: int) -> bool:
        *calls, _ = self.rows[row]
        return None not in calls

    def _answer(self, rows: Sequence[int]) -> None:
        if not rows:
            return
        try:
            answers = [self._answer_of(row) for row in rows]
        except Exception as error:  # noqa: BLE001  # told, and nobody waits for ever
            tell_bug(error)
            why = f"the verdict could not be put together: {type(error).__name__}"
            answers = [self._failed(row, why) for row in rows]
        self.open.difference_update(rows)
        for row, answer in zip(rows, answers, strict=True):
            self._set(row, answer)

    def _answer_of(self, row: int) -> LiveAnswer:
        outcomes = self.rows[row]
        specs = self._bound.calls.specs
        verdict = combine(
            outcomes[: len(specs)],  # type: ignore[arg-type]  # every slot is filled
            specs=specs,
            questions=self._bound.rubric.questions,
            votes=self._bound.judge.probability == "vote",
        )
        said = [verdict.values[place] for place in self._places]
        reasons = [failure.reason for place, failure in verdict.failures if place in self._places]
        return LiveAnswer(
            probabilities=np.array(said, dtype=np.float64),  # None becomes nan
            behavior=self.items[row].behavior,
            failure=reasons[0] if reasons else None,
            is_stored=all(outcome is None or outcome.is_reused for outcome in outcomes),
        )

    def _failed(self, row: int, why: str) -> LiveAnswer:
        behavior = self.items[row].behavior
        return no_answer(len(self._bound.rubric.propositions), why, behavior=behavior)

    def _set(self, row: int, answer: LiveAnswer) -> None:
        self._tell(answer)
        self._asked[row].answer(answer)
