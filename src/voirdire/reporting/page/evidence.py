"""What the verdict rests on: the annotators' agreement, the human ceiling, the controls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.reporting.page.content import defined
from voirdire.reporting.page.speech import (
    Decimal,
    Interval,
    Label,
    Listing,
    Margin,
    Name,
    Percent,
    Said,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.reporting.page.content import Coefficient, Control, Examination
    from voirdire.reporting.page.grouping import Family, QuestionPart

__all__ = [
    "FIXED_BAR",
    "CeilingRow",
    "agreement_sentences",
    "ceiling_rows",
    "control_sentences",
    "fixed_bar_sentences",
]

FIXED_BAR = 0.6
"""The κ from which on agreement is often called good enough, whoever the annotators are."""
_WORDS = ((0.8, "strong"), (0.667, "fair"), (0.4, "moderate"), (0.2, "weak"), (-math.inf, "hardly"))
_COLUMNS = ("raw_agreement", "cohen_kappa", "gwet_ac", "majority_agreement", "majority_kappa")
_MOST_NAMED = 6
_ABOUT_AS_CLOSE = 0.1
"""A judge whose κ with people is lower than theirs by more than this is further from them."""


@dataclass(frozen=True, kw_only=True)
class CeilingRow:
    """A row of the table of agreement: the annotators among themselves, or a judge.

    Attributes
    ----------
    judge : str or None
        None for the annotators.
    cells : tuple of Coefficient or None
        One per column; None where there is no such coefficient.
    """

    judge: str | None
    cells: tuple[Coefficient | None, ...]


def agreement_sentences(part: QuestionPart) -> tuple[Said, ...]:
    """Say how far the annotators agree, in figures and in a plain word."""
    agreement = part.main.fullest.rows[0].human_agreement
    if agreement is None:
        return (say("agreement.none"),)
    if agreement.alpha is None:
        return (say("agreement.undefined"),)
    word = next(word for bound, word in _WORDS if agreement.alpha >= bound)
    said = say(
        "agreement.alpha",
        alpha=with_interval(
            agreement.alpha, agreement.low, agreement.high, level=agreement.confidence_level
        ),
        word=say(f"agreement.word.{word}"),
    )
    return said, say(f"agreement.means.{word}")


def with_interval(
    value: float | None, low: float | None, high: float | None, *, level: float | None
) -> Said | Decimal:
    """Say a figure, with its interval and the level of it where there is one."""
    if low is None or high is None:
        return Decimal(value)
    return say(
        "figure.with_level",
        value=Decimal(value),
        interval=Interval(low, high),
        level=Percent(level),
    )


def ceiling_rows(part: QuestionPart) -> tuple[tuple[str, ...], tuple[CeilingRow, ...]]:
    """Return the columns and rows of the table of agreement, judges in the order of ρ."""
    agreement = part.found.agreement
    if agreement is None:
        return (), ()
    by_judge = {row.judge: _by_name(row.coefficients) for row in agreement.judges}
    known = [_by_name(agreement.ceiling), *by_judge.values()]
    columns = tuple(name for name in _COLUMNS if any(name in row for row in known))
    order = [judge.judge for judge in part.main.judges if judge.judge in by_judge]
    rows = [CeilingRow(judge=None, cells=tuple(known[0].get(name) for name in columns))]
    rows += [
        CeilingRow(judge=judge, cells=tuple(by_judge[judge].get(name) for name in columns))
        for judge in order
    ]
    return columns, tuple(rows)


def _by_name(coefficients: Sequence[Coefficient]) -> dict[str, Coefficient]:
    return {row.coefficient: row for row in coefficients}


def fixed_bar_sentences(part: QuestionPart) -> tuple[Said, ...]:
    """Say where a fixed bar of κ ≥ .6 would have decided otherwise, and why it is no good bar."""
    agreement = part.found.agreement
    if agreement is None:
        return ()
    human = _estimate(agreement.ceiling)
    kappas = {row.judge: _estimate(row.coefficients) for row in agreement.judges}
    passed, failed = [], []
    for judge in part.main.judges:
        kappa = kappas.get(judge.judge, math.nan)
        passing = [row for row in judge.rows if row.outcome == "passed"]
        if passing and kappa < FIXED_BAR:
            passed.append((passing[0], kappa))
        elif judge.rows[-1].outcome == "failed" and kappa >= FIXED_BAR:
            failed.append((judge.rows[-1], kappa))
    return (*_misled("passed", passed, human), *_misled("failed", failed, human))


def _misled(key: str, found: Sequence[tuple[Examination, float]], human: float) -> tuple[Said, ...]:
    if not found or math.isnan(human):
        return ()
    named = [
        say(
            "bar.judge",
            judge=Name(row.judge),
            kappa=_near_the_bar(kappa),
            epsilon=Margin(row.epsilon),
        )
        for row, kappa in found
    ]
    side = "low" if human < FIXED_BAR else "high"
    judges = Listing(tuple(named), most=_MOST_NAMED)
    return (
        say(f"bar.{key}.{_number(found)}", judges=judges, bar=Decimal(FIXED_BAR, 1)),
        say(f"bar.{key}.{side}", human=_near_the_bar(human), bar=Decimal(FIXED_BAR, 1)),
        *(_distances(found, human) if key == "passed" else ()),
        say("bar.why"),
    )


def _distances(found: Sequence[tuple[Examination, float]], human: float) -> Iterator[Said]:
    """Tell judges that are as close to people as people are from those that the margin carries."""
    close = [pair for pair in found if human - pair[1] <= _ABOUT_AS_CLOSE]
    far = [pair for pair in found if human - pair[1] > _ABOUT_AS_CLOSE]
    for key, group in (("close", close), ("far", far)):
        if group:
            names = Listing(tuple(Name(row.judge) for row, _ in group), most=_MOST_NAMED)
            yield say(f"bar.{key}.{_number(group)}", judges=names)


def _number(found: Sequence[Any]) -> str:
    return "one" if len(found) == 1 else "many"


def _near_the_bar(kappa: float) -> Decimal:
    """Give a third digit to a figure that two digits would put onto the bar."""
    return Decimal(kappa, 3 if round(kappa, 2) == FIXED_BAR != kappa else 2)


def _estimate(coefficients: Sequence[Coefficient]) -> float:
    found = _by_name(coefficients).get("cohen_kappa")
    return math.nan if found is None else defined(found.estimate)


def control_sentences(family: Family) -> tuple[Said, ...]:
    """Say what judges that know nothing, or everything, would get, and what that means."""
    rows = family.fullest.rows
    found = []
    for name in ("constant", "random", "majority_vote"):
        by_row = [
            (row, control) for row in rows for control in row.controls if control.control == name
        ]
        if by_row:
            found.append(_control(name, by_row))
    return tuple(found) or (say("controls.none"),)


def _control(name: str, found: Sequence[tuple[Examination, Control]]) -> Said:
    passing = [row for row, control in found if control.passed]
    row, control = found[-1]
    figures = {
        "omega": Decimal(control.winning_rate),
        "rho": Decimal(control.advantage_probability),
        "epsilon": Margin(row.epsilon),
        "passing": Listing(tuple(Margin(each.epsilon) for each in passing), most=12),
        "label": Label(control.label or ""),
    }
    fate = "passes" if passing else "fails"
    return say(f"control.{name}.{fate}", **figures)
