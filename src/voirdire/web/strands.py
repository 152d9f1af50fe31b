"""Which of the trainings that one server sees a step belongs to, where nobody says.

A trainer that goes back to a checkpoint and a second trainer look alike at first: a step far behind
the last one comes. They differ in what comes then: the first trainer goes on, or it does not. So a
step that is far from all others begins a strand of its own, and each strand is recorded as a
session of its own. What becomes of them is settled where the run is read: a session that wrote no
more after another began was replaced by it, and two that wrote side by side add up.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["LATE_STEPS", "MOST_STRANDS", "Strand", "Strands"]

W = TypeVar("W")

LATE_STEPS = 8
"""How far the clients of one training may be apart."""

MOST_STRANDS = 8
"""Strands at once: each has files that are open."""

_SILENT_S = 600.0
"""Seconds after which a strand may be ended to make room for another."""


@dataclass(slots=True, kw_only=True, eq=False)
class Strand(Generic[W]):
    """Steps that are taken for those of one training.

    Attributes
    ----------
    writer : object
        What records them.
    step : int or None
        How far it is; None where its clients say no step.
    stride : int
        By how much it last went on.
    heard_s : float
        When a step last came.
    """

    writer: W
    step: int | None
    stride: int = field(default=0)
    heard_s: float

    def is_near(self, step: int) -> bool:
        """Tell whether a step may well be the next one, or a late one."""
        if self.step is None:
            return False
        return -LATE_STEPS <= step - self.step <= max(LATE_STEPS, self.stride)

    def take(self, step: int | None, now: float) -> None:
        """Note a step."""
        self.heard_s = now
        if step is not None and self.step is not None and step > self.step:
            self.stride, self.step = step - self.step, step


class Strands(Generic[W]):
    """Tells strands apart.

    Parameters
    ----------
    begin : callable
        Makes what records a strand.
    end : callable
        Takes what records no more.

    Notes
    -----
    A step belongs to the strand it is near, the one that was heard last if to several; else to the
    one that is the least behind it. Where there is none it begins a strand. With as many strands
    as there may be, all heard in the last ten minutes, none is begun: whoever sends steps at random
    adds to the nearest one, and makes no more files.
    """

    def __init__(self, begin: Callable[[], W], end: Callable[[W], None]) -> None:
        self._begin = begin
        self._end = end
        self._strands: list[Strand[W]] = []  # the one heard last is the last

    def writer_of(self, step: int | None, *, now: float) -> W:
        """Give what records a step that came now.

        Parameters
        ----------
        step : int or None
            None where the client says none.
        now : float
            Seconds, of a clock that never goes back.
        """
        found = self._strand_of(step)
        if found is None:
            found = self._begun(step, now)
        self._strands.remove(found)
        self._strands.append(found)
        found.take(step, now)
        return found.writer

    def end(self) -> None:
        """End all."""
        strands, self._strands = self._strands, []
        for strand in strands:
            self._end(strand.writer)

    def _strand_of(self, step: int | None) -> Strand[W] | None:
        if step is None:
            silent = [strand for strand in self._strands if strand.step is None]
            return next(reversed(silent or self._strands), None)
        near = [strand for strand in self._strands if strand.is_near(step)]
        if near:
            return near[-1]
        behind = [one for one in self._strands if one.step is not None and one.step < step]
        return max(behind, key=_step, default=None)

    def _begun(self, step: int | None, now: float) -> Strand[W]:
        if len(self._strands) >= MOST_STRANDS:
            oldest = self._strands[0]
            if step is not None and oldest.heard_s + _SILENT_S > now:
                told = [one for one in self._strands if one.step is not None]
                if told:
                    return min(told, key=lambda one: abs(_step(one) - step))
            self._strands.remove(oldest)
            self._end(oldest.writer)
        made = Strand(writer=self._begin(), step=step, heard_s=now)
        self._strands.append(made)
        return made


def _step(strand: Strand[W]) -> int:
    return -1 if strand.step is None else strand.step
