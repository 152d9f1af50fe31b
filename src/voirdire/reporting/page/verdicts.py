"""The verdict in one sentence per judge and question, and what to do where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire.reporting.page.content import defined
from voirdire.reporting.page.noted import advice, noted
from voirdire.reporting.page.speech import (
    Clauses,
    Count,
    Decimal,
    Interval,
    Listing,
    Margin,
    Name,
    Said,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.reporting.page.content import Examination
    from voirdire.reporting.page.grouping import JudgeRows

__all__ = ["State", "Verdict", "judge_verdict", "state_of", "the_others"]

State: TypeAlias = Literal["passed", "depends", "failed", "no_evidence"]

_MOST_REASONS = 4


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What is said about one judge on one question.

    Attributes
    ----------
    judge : str
        Which.
    state : {"passed", "depends", "failed", "no_evidence"}
        At every margin examined the same, or, for "depends", passed at some of them.
    short : Said
        A few words.
    sentence : Said
        The verdict.
    more : tuple of Said
        What else belongs to it: other margins, failures, what to do.
    """

    judge: str
    state: State
    short: Said
    sentence: Said
    more: tuple[Said, ...]


def judge_verdict(judge: JudgeRows) -> Verdict:
    """Say whether a judge may stand in for an annotator.

    Parameters
    ----------
    judge : JudgeRows
        Its rows under the main alignment.

    Returns
    -------
    Verdict
    """
    state = state_of(judge)
    sentence, more = _SENTENCES[state](judge)
    return Verdict(
        judge=judge.judge, state=state, short=_short(judge, state), sentence=sentence, more=more
    )


def state_of(judge: JudgeRows) -> State:
    """Sum the outcomes at all margins up."""
    outcomes = {row.outcome for row in judge.rows}
    if outcomes == {"passed"}:
        return "passed"
    if "passed" in outcomes:
        return "depends"
    return "no_evidence" if outcomes == {"no_evidence"} else "failed"


def the_others(row: Examination) -> Said:
    """Say with whom judge and annotator are compared."""
    if row.settings.get("gold"):
        return say("others.gold")
    if row.settings.get("expert") is not None:
        return say("others.expert", name=Name(str(row.settings["expert"])))
    return say("others.annotators")


def _short(judge: JudgeRows, state: State) -> Said:
    if state != "depends":
        return say(f"short.{state}")
    passing = _with("passed", judge)
    if _reaches_the_top(passing, judge):
        return say("short.depends", epsilon=Margin(passing[0].epsilon))
    return say("short.depends_listed", epsilons=_margins(passing))


def _with(outcome: str, judge: JudgeRows) -> list[Examination]:
    return [row for row in judge.rows if row.outcome == outcome]


def _reaches_the_top(passing: Sequence[Examination], judge: JudgeRows) -> bool:
    return list(judge.rows[len(judge.rows) - len(passing) :]) == list(passing)


def _margins(rows: Sequence[Examination]) -> Listing:
    return Listing(tuple(Margin(row.epsilon) for row in rows), most=12)


def _figures(row: Examination) -> dict[str, Any]:
    uncertainty = row.uncertainty
    rho: Said | Decimal = Decimal(row.advantage_probability)
    if uncertainty is not None and uncertainty.advantage_low is not None:
        ends = Interval(uncertainty.advantage_low, uncertainty.advantage_high)
        rho = say("figure.with_interval", value=rho, interval=ends)
    return {
        "judge": Name(row.judge),
        "question": Name(row.question),
        "epsilon": Margin(row.epsilon),
        "won": _won(row),
        "omega": Decimal(row.winning_rate),
        "rho": rho,
        "others": the_others(row),
    }


def _won(row: Examination) -> Said:
    n_won, n_all = row.n_won, len(row.annotators)
    if n_all == 1:
        return say("won.only" if n_won else "won.not_even")
    key = "won.none" if not n_won else "won.all" if n_won == n_all else "won.some"
    return say(key, won=Count(n_won), annotators=Count(n_all, "annotators"))


def _closeness(row: Examination) -> Said:
    """Say against how many annotators the judge holds its own, at this margin."""
    if not row.annotators:
        return say("close.untested")
    key = "close.zero" if row.epsilon == 0 else f"close.{row.epsilon_mode}"
    return say(key, **_figures(row))


def _passed(judge: JudgeRows) -> tuple[Said, tuple[Said, ...]]:
    row = judge.rows[0]
    one = len(judge.rows) == 1
    sentence = say(
        "verdict.passed" if one else "verdict.passed_all",
        close=_closeness(row),
        all=_margins(judge.rows),
        **_figures(row),
    )
    return sentence, _failures(row)


def _depends(judge: JudgeRows) -> tuple[Said, tuple[Said, ...]]:
    passing = _with("passed", judge)
    row = passing[0]
    key = "verdict.depends" if _reaches_the_top(passing, judge) else "verdict.depends_listed"
    sentence = say(key, close=_closeness(row), all=_margins(passing), **_figures(row))
    more = []
    failing = _with("failed", judge)
    if failing:
        more.append(say("verdict.not_at", epsilons=_margins(failing), **_figures(failing[-1])))
    return sentence, (*more, *_smallest(judge), *_silent(judge), *_failures(row))


def _failed(judge: JudgeRows) -> tuple[Said, tuple[Said, ...]]:
    failing = _with("failed", judge)
    row = failing[-1]
    key = "verdict.failed" if len(judge.rows) == 1 else "verdict.failed_all"
    sentence = say(key, close=_closeness(row), all=_margins(failing), **_figures(row))
    lost = _lost_by_failures(row)
    return sentence, (*lost, *_smallest(judge), *_silent(judge), *(() if lost else _failures(row)))


def _no_evidence(judge: JudgeRows) -> tuple[Said, tuple[Said, ...]]:
    row = judge.rows[-1]
    sentence = say("verdict.no_evidence", reasons=_reasons(row), **_figures(row))
    todo = dict.fromkeys(note.code for note in row.all_reasons)
    return sentence, tuple(say("verdict.todo", what=advice(code)) for code in todo)


def _reasons(row: Examination) -> Clauses | Said:
    notes = row.all_reasons
    if not notes:
        return say("reason.unknown")
    return Clauses(tuple(noted(note) for note in notes[:_MOST_REASONS]))


def _silent(judge: JudgeRows) -> tuple[Said, ...]:
    """Say at which margins there is no evidence, and why."""
    silent = _with("no_evidence", judge)
    if not silent:
        return ()
    return (say("verdict.silent_at", epsilons=_margins(silent), reasons=_reasons(silent[-1])),)


def _smallest(judge: JudgeRows) -> tuple[Said, ...]:
    """Name the smallest margin of all, where it says more than those examined."""
    smallest = judge.rows[0].smallest_epsilon
    examined = {row.epsilon for row in judge.rows if row.outcome == "passed"}
    if smallest is None or (examined and smallest >= min(examined)):
        return ()
    return (say("verdict.smallest", epsilon=Margin(round(smallest, 3))),)


def _lost_by_failures(row: Examination) -> tuple[Said, ...]:
    if not (row.passed and not row.worst_case.passed and row.worst_case.n_failures):
        return ()
    figures = {"omega": Decimal(row.winning_rate), "worst": Decimal(row.worst_case.winning_rate)}
    return (say("verdict.lost_by_failures", failures=_failed_calls(row), **figures),)


def _failures(row: Examination) -> tuple[Said, ...]:
    if not row.worst_case.n_failures:
        return ()
    worst = Decimal(defined(row.worst_case.winning_rate))
    return (say("verdict.failures", failures=_failed_calls(row), worst=worst),)


def _failed_calls(row: Examination) -> Count:
    return Count(row.worst_case.n_failures, "failed_calls")


_SENTENCES: dict[State, Any] = {
    "passed": _passed,
    "depends": _depends,
    "failed": _failed,
    "no_evidence": _no_evidence,
}
