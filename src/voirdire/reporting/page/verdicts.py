"""The verdict in one sentence per judge and question, and what to do where there is none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire.reporting.page.closeness import (
    closeness,
    failed_calls,
    figures_of,
    lost_by_failures,
    shortfall,
)
from voirdire.reporting.page.noted import advice, noted
from voirdire.reporting.page.reference import asks_superiority
from voirdire.reporting.page_frame.speech import (
    Clauses,
    Count,
    Decimal,
    Listing,
    Margin,
    Name,
    Percent,
    Said,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.reporting.page.content import Examination, Note
    from voirdire.reporting.page.grouping import JudgeRows

__all__ = ["State", "Verdict", "is_close", "judge_verdict", "reasons_of", "state_of"]

State: TypeAlias = Literal["passed", "depends", "failed", "no_evidence"]

_MOST_REASONS = 4
_MOST_MARGINS = 12
_CLOSE = 0.1
"""A judge that passes in at least this share of the resamples, and fails in as many."""
_FAULTS_OF_THE_LABELS = {
    "constant_passes",
    "one_sided",
    "undefined_agreement",
    "unpassable",
    "weak_agreement",
}
"""Reasons by which no judge could be told from a useless one; others may be the judge's own."""


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
        What else belongs to it: other margins, failures, how often it would be made again.
    todo : tuple of Said
        What to do where there is no evidence.
    is_close : bool
        Whether it hangs on the items drawn.
    """

    judge: str
    state: State
    short: Said
    sentence: Said
    more: tuple[Said, ...] = ()
    todo: tuple[Said, ...] = ()
    is_close: bool = False


def judge_verdict(judge: JudgeRows, *, n_asked: int = 0, alignment: str = "") -> Verdict:
    """Say whether a judge may stand in for an annotator.

    Parameters
    ----------
    judge : JudgeRows
        Its rows under the main alignment.
    n_asked : int, optional
        Items of the question, whether the judge answered them or not; 0 where that is not known.
    alignment : str, optional
        Which alignment the verdict is by, where there are others.

    Returns
    -------
    Verdict
    """
    state = state_of(judge)
    short, close = _short(judge, state), _stability(judge)
    by = (say("verdict.by", name=Name(alignment)),) if alignment else ()
    if state == "no_evidence":
        sentence, todo = _no_evidence(judge.rows[-1], n_asked)
        return Verdict(
            judge=judge.judge, state=state, short=short, sentence=sentence, more=by, todo=todo
        )
    sentence, more = _SENTENCES[state](judge)
    # with several margins some are always close to where the judge begins to pass: no news
    marked = bool(close) and len(judge.rows) == 1
    return Verdict(
        judge=judge.judge,
        state=state,
        short=say("short.close", short=short) if marked else short,
        sentence=sentence,
        more=(*by, *close, *more),
        is_close=marked,
    )


def state_of(judge: JudgeRows) -> State:
    """Sum the outcomes at all margins up."""
    outcomes = {row.outcome for row in judge.rows}
    if outcomes == {"passed"}:
        return "passed"
    if "passed" in outcomes:
        return "depends"
    return "no_evidence" if outcomes == {"no_evidence"} else "failed"


def _short(judge: JudgeRows, state: State) -> Said:
    if state == "depends":
        passing = _with("passed", judge)
        if _reaches_the_top(passing, judge):
            return say("short.depends", epsilon=Margin(passing[0].epsilon))
        return say("short.depends_listed", epsilons=_margins(passing, either=True))
    better = asks_superiority(judge.rows[0]) and (state == "passed" or len(judge.rows) == 1)
    return say(f"short.{state}.outperforms" if better and state in _BETTER else f"short.{state}")


_BETTER = ("passed", "failed")


def _with(outcome: str, judge: JudgeRows) -> list[Examination]:
    return [row for row in judge.rows if row.outcome == outcome]


def _reaches_the_top(passing: Sequence[Examination], judge: JudgeRows) -> bool:
    return list(judge.rows[len(judge.rows) - len(passing) :]) == list(passing)


def _margins(rows: Sequence[Examination], *, either: bool = False) -> Listing:
    return Listing(tuple(Margin(row.epsilon) for row in rows), most=_MOST_MARGINS, either=either)


def _stability(judge: JudgeRows) -> tuple[Said, ...]:
    """Say where the outcome would often have been another, at the margins that decide."""
    deciding = [*_with("passed", judge)[:1], *_with("failed", judge)[-1:]]
    found = [
        (row.epsilon, Percent(row.uncertainty.stability), row.uncertainty.clustered)
        for row in deciding
        if row.uncertainty is not None
        and row.uncertainty.stability is not None
        and is_close(row.uncertainty.stability)
    ]
    if not found:
        return ()
    epsilon, share, clustered = found[0]
    key = "verdict.close.clusters" if clustered else "verdict.close.items"
    if len(judge.rows) == 1:
        return (say(key, share=share),)
    if len(found) == 1:
        return (say(f"{key}.at", share=share, epsilon=Margin(epsilon)),)
    below, share_below, _ = found[1]
    figures = {"below": Margin(below), "share_below": share_below}
    return (say(f"{key}.two", share=share, epsilon=Margin(epsilon), **figures),)


def is_close(stability: float) -> bool:
    """Whether an outcome would be another in more than a few resamples."""
    return _CLOSE <= stability <= 1 - _CLOSE


def _passed(judge: JudgeRows) -> tuple[Said, tuple[Said, ...]]:
    row = judge.rows[0]
    if asks_superiority(row):
        key = "verdict.outperforms"
    else:
        key = "verdict.passed" if len(judge.rows) == 1 else "verdict.passed_all"
    sentence = say(key, close=closeness(row), **figures_of(row))
    return sentence, (*_decided(row), *_failures(row))


def _decided(row: Examination) -> tuple[Said, ...]:
    """Say what decided the outcome."""
    return () if row.because is None else (say("note", what=noted(row.because)),)


def _depends(judge: JudgeRows) -> tuple[Said, tuple[Said, ...]]:
    passing = _with("passed", judge)
    row = passing[0]
    key = "verdict.depends" if _reaches_the_top(passing, judge) else "verdict.depends_listed"
    alternatives = _margins(passing, either=True)
    sentence = say(key, close=closeness(row), all=alternatives, **figures_of(row))
    more = []
    failing = _with("failed", judge)
    if failing:
        key = "verdict.not_at.lost" if lost_by_failures(failing[-1]) else "verdict.not_at"
        more.append(say(key, epsilons=_margins(failing), **figures_of(failing[-1])))
    return sentence, (*_decided(row), *more, *_smallest(judge), *_silent(judge), *_failures(row))


def _failed(judge: JudgeRows) -> tuple[Said, tuple[Said, ...]]:
    failing = _with("failed", judge)
    row = failing[-1]
    sentence = say(
        _failed_key(judge, failing), why=shortfall(row), all=_margins(failing), **figures_of(row)
    )
    failures = () if lost_by_failures(row) else _failures(row)
    return sentence, (*_decided(row), *_smallest(judge), *_silent(judge), *failures)


def _failed_key(judge: JudgeRows, failing: Sequence[Examination]) -> str:
    if len(judge.rows) == 1:
        return "verdict.failed.outperforms" if asks_superiority(failing[0]) else "verdict.failed"
    return "verdict.failed_all" if len(failing) == len(judge.rows) else "verdict.failed_at"


def _no_evidence(row: Examination, n_asked: int) -> tuple[Said, tuple[Said, ...]]:
    notes = row.all_reasons
    blind = any(note.code in _FAULTS_OF_THE_LABELS for note in notes)
    key = "verdict.no_evidence.labels" if blind else "verdict.no_evidence"
    sentence = say(key, reasons=reasons_of(row, n_asked=n_asked), **figures_of(row))
    todo = dict.fromkeys(_todo(note, row, n_asked) for note in notes)
    return sentence, tuple(advice(code) for code in todo)


def _todo(note: Note, row: Examination, n_asked: int) -> str:
    """Name the advice: what an annotator cannot mend is not the annotators' to do."""
    if _left_too_much_out(note, row, n_asked):
        return "failures" if row.worst_case.n_failures else "not_judged"
    return note.code


def reasons_of(row: Examination, *, n_asked: int = 0) -> Clauses | Said:
    """Say why there is no evidence.

    Parameters
    ----------
    row : Examination
        Which.
    n_asked : int, optional
        Items of the question.
    """
    notes = row.all_reasons
    if not notes:
        return say("reason.unknown")
    return Clauses(tuple(_reason(note, row, n_asked) for note in notes[:_MOST_REASONS]))


def _reason(note: Note, row: Examination, n_asked: int) -> Any:
    if not _left_too_much_out(note, row, n_asked):
        return noted(note)
    key = "reason.answered" if row.n_items else "reason.answered_none"
    return say(key, n=Count(row.n_items), items=Count(n_asked, "items"))


def _left_too_much_out(note: Note, row: Examination, n_asked: int) -> bool:
    return note.code == "untestable" and row.n_items < n_asked


def _silent(judge: JudgeRows) -> tuple[Said, ...]:
    """Say at which margins there is no evidence, and why."""
    silent = _with("no_evidence", judge)
    if not silent:
        return ()
    return (say("verdict.silent_at", epsilons=_margins(silent), reasons=reasons_of(silent[-1])),)


def _smallest(judge: JudgeRows) -> tuple[Said, ...]:
    """Name the smallest margin of all, where it says more than those examined."""
    smallest = judge.rows[0].smallest_epsilon
    examined = {row.epsilon for row in judge.rows if row.outcome == "passed"}
    if smallest is None or (examined and smallest >= min(examined)):
        return ()
    key = "verdict.smallest.silent" if judge.smallest_is_silent else "verdict.smallest"
    return (say(key, epsilon=Margin(round(smallest, 3))),)


def _failures(row: Examination) -> tuple[Said, ...]:
    """Say what failed calls change; nothing is said of an ω that is not defined."""
    worst = row.worst_case
    if not worst.n_failures:
        return ()
    figures = {"failures": failed_calls(row), "worst": Decimal(worst.winning_rate)}
    if worst.winning_rate is None:
        return (say("verdict.failures.only", n=Count(worst.n_failures)),)
    if row.outcome == "passed":
        return (say("verdict.failures", n=Count(worst.n_failures), worst=figures["worst"]),)
    return (say("verdict.failures.lost", **figures),)


_SENTENCES: dict[State, Any] = {"passed": _passed, "depends": _depends, "failed": _failed}
