"""What judges that know nothing, or all votes, would get: the worst case over the judges' items."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from voirdire.reporting.page.reference import against
from voirdire.reporting.page_frame.speech import Decimal, Label, Listing, Margin, Said, say

if TYPE_CHECKING:
    from voirdire.reporting.page.content import Control
    from voirdire.reporting.page.grouping import Family

__all__ = ["ControlRow", "control_sentences", "worst_controls"]

ControlName = Literal["constant", "random", "majority_vote"]
_NAMES: tuple[ControlName, ...] = ("constant", "random", "majority_vote")


@dataclass(frozen=True, kw_only=True)
class ControlRow:
    """One control at every margin.

    A control takes the test on the items that a judge answered, so that it differs by judge where
    coverage does. A control that knows nothing is shown where it does best, the majority vote
    where it does worst.

    Attributes
    ----------
    control : str
        Which.
    by_margin : dict of float to Control
        The worst case at each margin.
    differs : bool
        Whether the figures differ by judge.
    """

    control: ControlName
    by_margin: dict[float, Control]
    differs: bool

    @cached_property
    def widest(self) -> Control:
        """Its figures at the widest margin."""
        return self.by_margin[max(self.by_margin)]

    @property
    def passing(self) -> tuple[float, ...]:
        """The margins at which it passes."""
        return tuple(margin for margin in sorted(self.by_margin) if self.by_margin[margin].passed)


def worst_controls(family: Family) -> tuple[ControlRow, ...]:
    """Collect the controls of a family, each where it is the most telling."""
    found: dict[str, dict[float, list[Control]]] = {name: {} for name in _NAMES}
    for judge in family.judges:
        for row in judge.rows:
            for control in row.controls:
                found[control.control].setdefault(row.epsilon, []).append(control)
    return tuple(
        ControlRow(
            control=name,
            by_margin={
                margin: (min if name == "majority_vote" else max)(controls, key=_strength)
                for margin, controls in found[name].items()
            },
            differs=any(len(set(map(_strength, each))) > 1 for each in found[name].values()),
        )
        for name in _NAMES
        if found[name]
    )


def _strength(control: Control) -> tuple[bool, float, float]:
    known = [control.winning_rate, control.advantage_probability]
    omega, rho = (-1.0 if value is None else value for value in known)
    return control.passed, omega, rho


def control_sentences(family: Family) -> tuple[Said, ...]:
    """Say what judges that know nothing, or all votes, would get, and what that means."""
    rows = worst_controls(family)
    if not rows:
        return (say("controls.none"),)
    differ = (say("controls.differ"),) if any(row.differs for row in rows) else ()
    return (*(_sentence(row, family) for row in rows), *differ)


def _sentence(row: ControlRow, family: Family) -> Said:
    widest, passing = row.widest, row.passing
    label = Label(widest.label or "")
    if not passing and None in (widest.winning_rate, widest.advantage_probability):
        return say(f"control.{row.control}.undefined", label=label)
    key = f"control.{row.control}.{'passes' if passing else 'fails'}"
    if key == "control.majority_vote.fails":  # beside a reference, votes are no measure of a judge
        key = against(key, family.first)
    return say(
        key,
        omega=Decimal(widest.winning_rate),
        rho=Decimal(widest.advantage_probability),
        epsilon=Margin(max(row.by_margin)),
        passing=Listing(tuple(Margin(each) for each in passing), most=12),
        label=label,
    )
