"""What the verdict rests on: the annotators' agreement and the human ceiling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.reporting.page.content import defined
from voirdire.reporting.page_frame.speech import (
    Decimal,
    Interval,
    Listing,
    Margin,
    Name,
    Percent,
    Said,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.reporting.page.content import Coefficient, Examination
    from voirdire.reporting.page.grouping import JudgeRows, QuestionPart

__all__ = [
    "FIXED_BAR",
    "CeilingRow",
    "agreement_sentences",
    "ceiling_rows",
    "fixed_bar_sentences",
]

FIXED_BAR = 0.6
"""The κ from which on agreement is often called good enough, whoever the annotators are."""
_WORDS = ((0.8, "strong"), (0.667, "fair"), (0.4, "moderate"), (0.2, "weak"), (-math.inf, "hardly"))
_COLUMNS = (
    "raw_agreement",
    "cohen_kappa",
    "gwet_ac",
    "majority_agreement",
    "majority_kappa",
    "panel_majority_kappa",
)
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
    order = [judge.judge for judge in part.main.shown if judge.judge in by_judge]
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
    human = _by_name(agreement.ceiling).get("cohen_kappa")
    known = {row.judge: _by_name(row.coefficients) for row in agreement.judges}
    passed, failed = [], []
    for judge in part.main.judges:
        at_bar = _at_bar(judge, known.get(judge.judge, {}))
        if at_bar.passes and _all_below(at_bar):
            passed.append(at_bar)
        elif at_bar.row.outcome == "failed" and at_bar.kappa >= FIXED_BAR:
            failed.append(at_bar)
    return (*_misled("passed", passed, human), *_misled("failed", failed, human))


@dataclass(frozen=True, kw_only=True)
class _AtBar:
    """A judge beside the bar: κ with single annotators, and with the majority of all of them."""

    row: Examination
    passes: bool
    kappa: float
    majority: float


def _at_bar(judge: JudgeRows, known: dict[str, Coefficient]) -> _AtBar:
    passing = [row for row in judge.rows if row.outcome == "passed"]
    return _AtBar(
        row=(passing or judge.rows[-1:])[0],
        passes=bool(passing),
        kappa=_estimate(known.get("cohen_kappa")),
        majority=_estimate(known.get("panel_majority_kappa")),
    )


def _all_below(judge: _AtBar) -> bool:
    """Whether the bar turns it down, whichever κ is held against the bar."""
    return judge.kappa < FIXED_BAR and not judge.majority >= FIXED_BAR


def _misled(key: str, found: Sequence[_AtBar], people: Coefficient | None) -> tuple[Said, ...]:
    human = _estimate(people)
    if not found or people is None or math.isnan(human):
        return ()
    side = "low" if human < FIXED_BAR else "high"
    judges = Listing(tuple(_beside_bar(judge) for judge in found), most=_MOST_NAMED)
    weighted = people.weights in ("linear", "quadratic", "jaccard")
    return (
        say(f"bar.{key}.{_number(found)}", judges=judges, bar=Decimal(FIXED_BAR, 1)),
        *([say("bar.weights", weights=say(f"weights.{people.weights}"))] if weighted else []),
        say(f"bar.{key}.{side}", human=_near_the_bar(human), bar=Decimal(FIXED_BAR, 1)),
        *(_distances(found, human) if key == "passed" else ()),
        say("bar.why"),
    )


def _beside_bar(judge: _AtBar) -> Said:
    figures = {
        "judge": Name(judge.row.judge),
        "kappa": _near_the_bar(judge.kappa),
        "epsilon": Margin(judge.row.epsilon),
    }
    if math.isnan(judge.majority):
        return say("bar.judge", **figures)
    return say("bar.judge.majority", majority=_near_the_bar(judge.majority), **figures)


def _distances(found: Sequence[_AtBar], human: float) -> Iterator[Said]:
    """Tell judges that are as close to people as people are from those that the margin carries."""
    close = [judge for judge in found if human - judge.kappa <= _ABOUT_AS_CLOSE]
    far = [judge for judge in found if human - judge.kappa > _ABOUT_AS_CLOSE]
    for key, group in (("close", close), ("far", far)):
        if group:
            names = Listing(tuple(Name(judge.row.judge) for judge in group), most=_MOST_NAMED)
            yield say(f"bar.{key}.{_number(group)}", judges=names)


def _number(found: Sequence[Any]) -> str:
    return "one" if len(found) == 1 else "many"


def _near_the_bar(kappa: float) -> Decimal:
    """Give a third digit to a figure that two digits would put onto the bar."""
    return Decimal(kappa, 3 if round(kappa, 2) == FIXED_BAR != kappa else 2)


def _estimate(found: Coefficient | None) -> float:
    return math.nan if found is None else defined(found.estimate)
