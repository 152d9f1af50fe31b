"""Write the verdict per judge and question in one sentence, with reasons, cautions and advice."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from voirdire._validation import is_number
from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.examination_cautions import say_advice, say_note
from voirdire.reporting.pages.speech import (
    Count,
    Decimal,
    Interval,
    Listing,
    Margin,
    Name,
    Percent,
    Said,
    Verbatim,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from voirdire.reporting.pages.examination_views import Glance, JudgeRows, QuestionPart
    from voirdire.stats import AltTestResult

__all__ = [
    "Reference",
    "State",
    "Verdict",
    "against",
    "brief",
    "closeness",
    "failed_calls",
    "figures_of",
    "glance_sentences",
    "headline",
    "is_close",
    "judge_verdict",
    "list_margins",
    "lost_by_failures",
    "next_step",
    "reason_of",
    "reference_of",
    "say_rho",
    "shortfall",
    "state_of",
    "the_others",
    "with_interval",
]

Reference: TypeAlias = Literal["leave_one_out", "expert", "gold"]


def reference_of(row: AltTestResult) -> Reference:
    """Tell what the labels are compared with."""
    if row.settings.get("gold"):
        return "gold"
    return "leave_one_out" if row.settings.get("expert") is None else "expert"


def the_others(row: AltTestResult) -> Said:
    """Name what the labels are compared with."""
    reference = reference_of(row)
    if reference == "gold":
        return say("others.gold")
    if reference == "expert":
        expert = row.settings["expert"]
        return say("others.expert", name=Name(expert if isinstance(expert, str) else repr(expert)))
    return say("others.annotators")


def against(key: str, row: AltTestResult) -> str:
    """Give the key of a phrase, or of its variant where nobody is left out."""
    return key if reference_of(row) == "leave_one_out" else f"{key}.reference"


def figures_of(row: AltTestResult) -> dict[str, Any]:
    """Give the figures that the sentences about a row are made of."""
    return {
        "judge": Name(row.judge),
        "question": Name(row.question),
        "epsilon": Margin(row.epsilon),
        "won": _say_won(row),
        "omega": Decimal(row.winning_rate),
        "exact": Decimal(_read_exact_rate(row)),
        "worst": Decimal(row.worst_case.winning_rate),
        "failures": failed_calls(row),
        "rho": say_rho(row, "figure.with_interval"),
        "others": the_others(row),
    }


def closeness(row: AltTestResult) -> Said:
    """Say whom the judge was shown to be as close as, at this margin."""
    if not row.annotators:
        return say("close.untested")
    return say(f"close.{'zero' if row.epsilon == 0 else row.epsilon_mode}", **figures_of(row))


def shortfall(row: AltTestResult) -> Said:
    """Say why a judge failed: too few annotators won, or won only with failed calls left out."""
    if lost_by_failures(row):
        return say("close.lost", **figures_of(row))
    # passed by the t-test, and not by the exact test, which decides
    if row.passed and row.outcome == "failed" and _read_exact_rate(row) is not None:
        return say("close.exact", **figures_of(row))
    return closeness(row)


def lost_by_failures(row: AltTestResult) -> bool:
    """Whether the judge passes with its failed calls left out, and not with them lost."""
    return row.passed and not row.worst_case.passed and row.worst_case.n_failures > 0


def _read_exact_rate(row: AltTestResult) -> float | None:
    """Read the ω that decided, where the file has one."""
    rate = row.because.figures.get("winning_rate")
    return rate if is_number(rate) and 0 <= rate <= 1 else None


def failed_calls(row: AltTestResult) -> Count:
    """Count the calls that gave no answer."""
    return Count(row.worst_case.n_failures, "failed_calls")


def with_interval(
    value: float, low: float, high: float, *, level: float, key: str = "figure.with_level"
) -> Said | Decimal:
    """Say a figure, with its interval and the level of it where there is one."""
    if not (is_defined(low) and is_defined(high)):
        return Decimal(value)
    ends = Interval(low, high)
    return say(key, value=Decimal(value), interval=ends, level=Percent(level))


def say_rho(row: AltTestResult, key: str = "figure.with_level") -> Said | Decimal:
    """Say ρ, with its interval and level where there is one."""
    resampled, rho = row.uncertainty, row.advantage_probability
    if resampled is None:
        return Decimal(rho)
    ends = (resampled.advantage_low, resampled.advantage_high)
    return with_interval(rho, *ends, level=resampled.confidence_level, key=key)


def list_margins(rows: Iterable[AltTestResult], *, either: bool = False) -> Listing:
    """List the margins of rows; `either` says that they are alternatives."""
    return Listing(tuple(Margin(row.epsilon) for row in rows), most=_MOST_MARGINS, either=either)


def _say_won(row: AltTestResult) -> Said:
    n_won, n_all = row.n_won, len(row.annotators)
    if row.settings.get("quality") and n_won < n_all:
        return say("won.weight", omega=Decimal(row.winning_rate))
    return say(against("won.some", row), won=Count(n_won), annotators=Count(n_all, "annotators"))


State: TypeAlias = Literal["passed", "depends", "failed", "no_evidence"]

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
"""Reasons that lie in the labels: no judge could be told from a useless one with them."""


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
    todo : Said or None
        What to do where there is no evidence.
    is_close : bool
        Whether it hangs on the items drawn.
    """

    judge: str
    state: State
    short: Said
    sentence: Said
    more: tuple[Said, ...] = ()
    todo: Said | None = None
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
        sentence, todo = _say_no_evidence(judge.rows[-1], n_asked)
        return Verdict(
            judge=judge.judge, state=state, short=short, sentence=sentence, more=by, todo=todo
        )
    sentence, more = _SENTENCES[state](judge)
    # with several margins, some are always close to the smallest one that the judge passes
    marked = bool(close) and len(judge.rows) == 1
    return Verdict(
        judge=judge.judge,
        state=state,
        short=say("short.close", short=short) if marked else short,
        sentence=sentence,
        more=(*by, *close, *more),
        is_close=marked,
    )


def headline(part: QuestionPart) -> tuple[Said, ...]:
    """Say in one sentence which judges may replace an annotator; of one judge its own verdict."""
    verdicts, family = list(part.verdicts.values()), part.main
    if len(verdicts) == 1:
        return (verdicts[0].sentence,)
    fit = _list_fit(part)
    silent = [verdict for verdict in verdicts if verdict.state == "no_evidence"]
    figures = {
        "question": Name(part.question),
        "judges": Count(len(family.judges), "judges"),
        "margin": _margin_words(family.epsilons, passed=bool(fit)),
    }
    if len(silent) == len(verdicts):
        return (say("headline.no_evidence", **figures),)
    if not fit:
        return (say("headline.none", **figures), *_name_verdicts("headline.silent", silent))
    close = [verdict for verdict in fit if verdict.is_close]
    return (
        say("headline.some", fit=Count(len(fit)), names=_names_of(fit), **figures),
        *_name_verdicts("headline.close", close),
        *_name_verdicts("headline.silent", silent),
    )


def glance_sentences(glance: Glance) -> Iterator[Said]:
    """Say on how many questions each judge may replace an annotator, and who is the closest."""
    families = [part.main for part in glance.parts]
    fit = Counter(each.judge for part in glance.parts for each in _list_fit(part))
    questions = Count(len(families), "questions")
    epsilons = sorted({epsilon for family in families for epsilon in family.epsilons})
    figures = {
        "judges": Count(len(glance.judges), "judges"),
        "margin": _margin_words(epsilons, passed=bool(fit)),
        "questions": questions,
    }
    if not fit:
        yield say("glance.none", **figures)
    elif len(glance.judges) == 1:
        yield say("glance.one", judge=Name(glance.judges[0]), n=fit.total(), **figures)
    else:
        each = [say("glance.judge", judge=Name(judge, 40), n=n) for judge, n in fit.most_common()]
        yield say("glance.some", fit=len(fit), names=Listing(tuple(each)), **figures)
    if len(glance.judges) == 1:
        closest = max((family.judges[0].rows[0] for family in families), key=_closeness_of_row)
        rho = Decimal(closest.advantage_probability)
        yield say("glance.closest.question", question=Name(closest.question, 40), rho=rho)
    else:
        [(judge, n)] = Counter(family.judges[0].judge for family in families).most_common(1)
        yield say("glance.closest", judge=Name(judge, 40), n=n, questions=questions)


def _closeness_of_row(row: AltTestResult) -> float:
    return row.advantage_probability if is_defined(row.advantage_probability) else -1.0


def _margin_words(epsilons: Sequence[float], *, passed: bool) -> Said:
    if len(epsilons) > 1:
        return say("headline.margins" if passed else "headline.margins.none")
    return say(
        "headline.margin" if epsilons[0] else "headline.margin.zero", epsilon=Margin(epsilons[0])
    )


def _names_of(verdicts: Sequence[Verdict]) -> Listing:
    return Listing(tuple(Name(verdict.judge, 40) for verdict in verdicts), most=5)


def _name_verdicts(key: str, verdicts: Sequence[Verdict]) -> tuple[Said, ...]:
    return (say(key, names=_names_of(verdicts)),) if verdicts else ()


def brief(part: QuestionPart) -> Said:
    """Say how many judges may replace an annotator."""
    key = "headline.brief.margins" if part.main.epsilons[1:] else "headline.brief"
    return say(key, fit=len(_list_fit(part)), judges=Count(len(part.verdicts), "judges"))


def _list_fit(part: QuestionPart) -> list[Verdict]:
    return [each for each in part.verdicts.values() if each.state in ("passed", "depends")]


def next_step(part: QuestionPart) -> Said:
    """Say the one thing to do next."""
    fit, verdicts = _list_fit(part), part.verdicts.values()
    if not fit:
        todo = [verdict.todo for verdict in verdicts if verdict.todo is not None]
        is_silent = all(verdict.state == "no_evidence" for verdict in verdicts)
        return todo[0] if is_silent and todo else say("next.improve")
    if all(verdict.is_close for verdict in fit):
        return say("next.more_items")
    return say("next.confirm" if len(verdicts) > 1 else "next.certify")


def state_of(judge: JudgeRows) -> State:
    """Combine the outcomes at all margins."""
    outcomes = {row.outcome for row in judge.rows}
    if outcomes == {"passed"}:
        return "passed"
    if "passed" in outcomes:
        return "depends"
    return "no_evidence" if outcomes == {"no_evidence"} else "failed"


def _short(judge: JudgeRows, state: State) -> Said:
    if state == "depends":
        passing = judge.select("passed")
        if list(judge.rows[-len(passing) :]) == list(passing):
            return say("short.depends", epsilon=Margin(passing[0].epsilon))
        return say("short.depends_listed", epsilons=list_margins(passing, either=True))
    return say(f"short.{state}")


def _stability(judge: JudgeRows) -> tuple[Said, ...]:
    """Say where the outcome would often have been another, at the margins that decide."""
    for row in (*judge.select("passed")[:1], *judge.select("failed")[-1:]):
        if row.uncertainty is not None and is_close(row.uncertainty.stability):
            unit = "clusters" if row.uncertainty.clustered else "items"
            share = Percent(row.uncertainty.stability)
            return (say(f"verdict.close.{unit}", share=share, epsilon=Margin(row.epsilon)),)
    return ()


def is_close(stability: float) -> bool:
    """Whether an outcome would be another in more than a few resamples."""
    return _CLOSE <= stability <= 1 - _CLOSE


def _say_passed(judge: JudgeRows) -> tuple[Said, tuple[Said, ...]]:
    passing = judge.select("passed")
    row = passing[0]
    key = "verdict.passed" if passing == [*judge.rows] else "verdict.depends"
    all_of_them = list_margins(passing, either=True)
    sentence = say(key, close=closeness(row), all=all_of_them, **figures_of(row))
    return sentence, (*_say_reason(row), *_say_silent_margins(judge), *_say_failures(row))


def _say_reason(row: AltTestResult) -> tuple[Said, ...]:
    """Say what decided the outcome; versions before 0.2 do not."""
    if not row.because.sentence:
        return ()
    reason = say("note", what=say_note(row.because))
    is_other = row.because.figures.get("n_shown", row.n_won) != row.n_won
    return (reason, say("verdict.tests")) if is_other else (reason,)


def _say_failed(judge: JudgeRows) -> tuple[Said, tuple[Said, ...]]:
    failing = judge.select("failed")
    row = failing[-1]
    why, margins = shortfall(row), list_margins(failing)
    sentence = say("verdict.failed", why=why, all=margins, **figures_of(row))
    return sentence, (*_say_reason(row), *_say_silent_margins(judge), *_say_failures(row))


def _say_no_evidence(row: AltTestResult, n_asked: int) -> tuple[Said, Said | None]:
    is_blind = row.because.code in _FAULTS_OF_THE_LABELS
    key = "verdict.no_evidence.labels" if is_blind else "verdict.no_evidence"
    sentence = say(key, reasons=reason_of(row, n_asked=n_asked), **figures_of(row))
    if not row.because.sentence:
        return sentence, None
    code = row.because.code
    if _left_too_much_out(row, n_asked):
        code = "failures" if row.worst_case.n_failures else "not_judged"
    return sentence, say_advice(code)


def reason_of(row: AltTestResult, *, n_asked: int = 0) -> Said | Verbatim:
    """Say why there is no evidence; `n_asked` counts the items of the question."""
    if not row.because.sentence:
        return say("reason.unknown")
    if not _left_too_much_out(row, n_asked):
        return say_note(row.because)
    key = "reason.answered" if row.n_items else "reason.answered_none"
    return say(key, n=Count(row.n_items), items=Count(n_asked, "items"))


def _left_too_much_out(row: AltTestResult, n_asked: int) -> bool:
    return row.because.code == "untestable" and row.n_items < n_asked


def _say_silent_margins(judge: JudgeRows) -> tuple[Said, ...]:
    """Say at which margins there is no evidence, and why."""
    silent = judge.select("no_evidence")
    if not silent:
        return ()
    return (say("verdict.silent_at", epsilons=list_margins(silent), reasons=reason_of(silent[-1])),)


def _say_failures(row: AltTestResult) -> tuple[Said, ...]:
    """Say what failed calls change."""
    if not row.worst_case.n_failures or lost_by_failures(row):
        return ()
    worst = Decimal(row.worst_case.winning_rate)
    return (say("verdict.failures", failures=failed_calls(row), worst=worst),)


_SENTENCES: dict[State, Any] = {
    "passed": _say_passed,
    "depends": _say_passed,
    "failed": _say_failed,
}
