"""Calls that several items may wait for, made once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from voirdire.judging.client.call import Outcome
from voirdire.records import Failure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.client.call import Call
    from voirdire.judging.live.stretch import Stretch
    from voirdire.judging.llm.chunk import Unit

__all__ = ["Job", "JobName", "job_name", "plainly"]

JobName: TypeAlias = tuple[bytes, tuple[str, ...]]
"""Hash of what calls are about, and their names."""


@dataclass(eq=False, slots=True)
class Job:
    """Calls to make, and all units that wait for what comes of them.

    Attributes
    ----------
    name : tuple
        What is called; two jobs of one name at a time would pay twice.
    parts : list of (Stretch, Unit)
        Who waits, the first of them with the calls to make.
    """

    name: JobName
    parts: list[tuple[Stretch, Unit]]

    @property
    def calls(self) -> Sequence[Call[Any]]:
        """What is called."""
        return self.parts[0][1].calls

    @property
    def stored(self) -> list[Sequence[bytes]]:
        """For every call its attempts that are stored."""
        unit = self.parts[0][1]
        return [unit.stored.get(call.name, ()) for call in unit.calls]

    @property
    def wanted_until(self) -> float:
        """When the last who waits for it gives up."""
        return max(stretch.wanted_until(unit.key) for stretch, unit in self.parts)

    @property
    def is_answered(self) -> bool:
        """Whether nobody can get an answer from it any more."""
        return all(stretch.is_answered(unit.key) for stretch, unit in self.parts)

    def deliver(self, outcomes: Sequence[Outcome[Any]]) -> None:
        """Hand the outcomes to everybody who waits."""
        told = [plainly(outcome) for outcome in outcomes]
        for _, unit in self.parts:
            unit.deliver(told)

    def fail(self, why: str) -> None:
        """Tell everybody who waits that nothing comes."""
        outcome: Outcome[Any] = Outcome(failure=Failure(reason=why))
        for _, unit in self.parts:
            unit.deliver([outcome] * len(unit.calls))


def job_name(unit: Unit) -> JobName:
    """Name the calls of a unit."""
    return unit.key, tuple(call.name for call in unit.calls)


def plainly(outcome: Outcome[Any]) -> Outcome[Any]:
    """Leave the kind of a failure, without what was said: that may quote the item."""
    if outcome.failure is not None:
        return replace(outcome, failure=_kind(outcome.failure))
    if outcome.value is None or not outcome.is_partial:
        return outcome
    values = (_kind(row) if isinstance(row, Failure) else row for row in outcome.value.values)
    return replace(outcome, value=replace(outcome.value, values=tuple(values)))


def _kind(failure: Failure) -> Failure:
    return Failure(reason=failure.reason.partition(":")[0])
