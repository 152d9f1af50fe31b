"""Write the paragraphs of a paper's methods and results sections."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.examination_sections import (
    rho_with_interval,
    with_interval,
    worst_controls,
)
from voirdire.reporting.pages.examination_verdicts import (
    against,
    asks_superiority,
    reason_of,
    reference_of,
    the_others,
)
from voirdire.reporting.pages.speech import (
    Clauses,
    Count,
    Decimal,
    Label,
    Listing,
    Margin,
    Name,
    Said,
    say,
)

if TYPE_CHECKING:
    from voirdire.reporting.pages.examination_views import Family, JudgeRows, QuestionPart
    from voirdire.stats import AltTestResult

__all__ = ["Paper", "alignment_words", "write_paper"]

_LONGEST_REASON = 300
_MOST_JUDGES = 10
_FEW_MARGINS = 3
_ALIGNMENTS = (
    "accuracy",
    "neg_rmse",
    "similarity",
    "jaccard",
    "jaccard_macro",
    "jaccard_slots",
    "hamming",
)


@dataclass(frozen=True, kw_only=True)
class Paper:
    """Paragraphs, each made of sentences, and the keys of the works they cite."""

    method: tuple[Said, ...]
    results: tuple[Said, ...]
    references: tuple[str, ...]


def alignment_words(family: Family) -> Said:
    """Say what the alignment of a family measures."""
    name = family.alignment
    if name in _ALIGNMENTS:
        return say(against(f"alignment.{name}", family.first), name=Name(name))
    return say("alignment.own", name=Name(name))


def write_paper(part: QuestionPart, *, version: str, false_discovery_rate: float) -> Paper:
    """Write the paragraphs of a question.

    Parameters
    ----------
    part : QuestionPart
        Under its main alignment.
    version : str
        Of voirdire.
    false_discovery_rate : float
        q.

    Returns
    -------
    Paper
    """
    row = part.main.fullest.rows[0]
    references = ["calderon", "benjamini"]
    if _number(row.settings.get("n_clusters"), 0):
        references.append("liang")
    return Paper(
        method=_write_method(part, row, version=version, rate=false_discovery_rate),
        results=_write_results(part, row),
        references=tuple(references),
    )


def _write_method(
    part: QuestionPart, row: AltTestResult, *, version: str, rate: float
) -> tuple[Said, ...]:
    settings, family = row.settings, part.main
    first = say(
        "paper.what",
        judges=_judge_names(family),
        question=Name(family.question),
        items=Count(part.n_asked, "items"),
        annotators=Count(len(row.annotators) + len(row.untested), "annotators"),
    )
    second = say(
        f"paper.design.{reference_of(row)}",
        alignment=alignment_words(family),
        others=the_others(row),
        min_items=Count(int(_number(settings.get("min_items"), 30)), "items"),
    )
    null = say(f"paper.null.{row.epsilon_mode}")
    share = say("paper.share.weight" if settings.get("quality") else "paper.share.count")
    tested = say("paper.test", test=_test(row), q=Decimal(rate), share=share)
    variants = [say(f"paper.variant.{key}", **figures) for key, figures in _variants(row)]
    margins = Listing(tuple(Margin(each) for each in family.epsilons), most=12, either=True)
    return (
        first,
        *_name_incomplete_judges(part),
        second,
        null,
        tested,
        *variants,
        _margin(margins, settings, one=len(family.epsilons) == 1),
        say("paper.software", version=version),
    )


def _margin(margins: Listing, settings: dict[str, Any], *, one: bool) -> Said:
    """Say the margin and why it was fixed, where that is known; else leave room for it."""
    reason = settings.get("epsilon_reason")
    if one and isinstance(reason, str) and reason.strip():
        why = Name(reason.strip().rstrip(".。"), width=_LONGEST_REASON)
        return say("paper.margin.reason", all=margins, reason=why)
    return say("paper.margin.one" if one else "paper.margin.many", all=margins)


def _judge_names(family: Family) -> Listing:
    return Listing(tuple(Name(judge.judge) for judge in family.judges), most=_MOST_JUDGES)


def _name_incomplete_judges(part: QuestionPart) -> tuple[Said, ...]:
    """Say which judges did not answer every item."""
    fewer = [
        say("paper.answered.judge", judge=Name(judge.judge), n=Count(judge.rows[0].n_items))
        for judge in part.main.judges
        if judge.rows[0].n_items < part.n_asked
    ]
    if not fewer:
        return ()
    return (say("paper.answered", judges=Listing(tuple(fewer), most=_MOST_JUDGES)),)


def _number(value: Any, default: float) -> float:
    return value if isinstance(value, int | float) and abs(value) < 1e15 else default


def _test(row: AltTestResult) -> Said:
    clusters = _number(row.settings.get("n_clusters"), 0)
    if row.method == "exact":
        return say("paper.test.exact")
    if clusters:
        return say("paper.test.clustered", clusters=Count(int(clusters), "clusters"))
    return say("paper.test.t")


def _variants(row: AltTestResult) -> list[tuple[str, dict[str, Any]]]:
    settings = row.settings
    found: list[tuple[str, dict[str, Any]]] = []
    if settings.get("weights"):
        found.append(("weights", {}))
    if settings.get("quality"):
        found.append(("quality", {}))
    if settings.get("normalize") in ("zscore", "rank"):
        found.append((f"normalize.{settings['normalize']}", {}))
    if asks_superiority(row):
        found.append(("superiority", {}))
    return found


def _write_results(part: QuestionPart, row: AltTestResult) -> tuple[Said, ...]:
    family = part.main
    judges = [_result(judge, n_asked=part.n_asked) for judge in family.judges[:_MOST_JUDGES]]
    hidden = len(family.judges) - len(judges)
    if hidden:
        judges.append(say("paper.result.more", n=Count(hidden, "judges")))
    return (*_agreement(row), *judges, *_intervals(row), *_controls(family))


def _agreement(row: AltTestResult) -> tuple[Said, ...]:
    found = row.human_agreement
    if found is None or not is_defined(found.alpha):
        return ()
    alpha = with_interval(found.alpha, found.low, found.high, level=found.confidence_level)
    if not is_defined(found.low):
        return (say("paper.agreement", alpha=alpha),)
    key = "paper.interval.alpha.clusters" if _clustered(row) else "paper.interval.alpha"
    return say("paper.agreement", alpha=alpha), say(key)


def _clustered(row: AltTestResult) -> bool:
    return _number(row.settings.get("n_clusters"), 0) > 0


def _result(judge: JudgeRows, *, n_asked: int) -> Said:
    row = judge.rows[0]
    figures = {
        "judge": Name(judge.judge),
        "rho": rho_with_interval(row),
        "human": Decimal(row.human_advantage),
        "rates": _rates(judge, n_asked=n_asked),
    }
    if not row.worst_case.n_failures:
        return say("paper.result", **figures)
    failures = Count(row.worst_case.n_failures, "failed_calls")
    return say("paper.result.failures", failures=failures, **figures)


def _rates(judge: JudgeRows, *, n_asked: int) -> Said | Listing | Clauses:
    """Say ω at each margin: in full where they are few, else as a series."""
    if len(judge.rows) <= _FEW_MARGINS:
        return Listing(tuple(_rate(row) for row in judge.rows))
    passing = _margins(judge, "passed")
    series = say(
        "paper.result.series" if passing.parts else "paper.result.series.none",
        omegas=Listing(tuple(Decimal(row.winning_rate) for row in judge.rows), most=12),
        epsilons=Listing(tuple(Margin(row.epsilon) for row in judge.rows), most=12),
        **({"passing": passing} if passing.parts else {}),
    )
    return Clauses((series, *_worst_series(judge), *_name_silent_margins(judge, n_asked=n_asked)))


def _margins(judge: JudgeRows, outcome: str) -> Listing:
    return Listing(
        tuple(Margin(row.epsilon) for row in judge.rows if row.outcome == outcome), most=12
    )


def _rate(row: AltTestResult) -> Said:
    details = [say(f"paper.outcome.{row.outcome}")]
    if row.worst_case.n_failures:
        details.insert(0, say("paper.worst", worst=Decimal(row.worst_case.winning_rate)))
    if not row.settings.get("quality"):  # a count of annotators would not give a weighted share
        counts = {"won": Count(row.n_won), "annotators": Count(len(row.annotators))}
        details.insert(0, say("paper.won", **counts))
    return say(
        "paper.rate",
        epsilon=Margin(row.epsilon),
        omega=Decimal(row.winning_rate),
        details=Clauses(tuple(details)),
    )


def _worst_series(judge: JudgeRows) -> tuple[Said, ...]:
    if not judge.rows[0].worst_case.n_failures:
        return ()
    worst = tuple(Decimal(row.worst_case.winning_rate) for row in judge.rows)
    return (say("paper.worst.series", omegas=Listing(worst, most=12)),)


def _name_silent_margins(judge: JudgeRows, *, n_asked: int) -> tuple[Said, ...]:
    """Name the margins without evidence, and the reasons at the widest of them."""
    silent = [row for row in judge.rows if row.outcome == "no_evidence"]
    if not silent:
        return ()
    reasons = reason_of(silent[-1], n_asked=n_asked)
    return (say("paper.silent", epsilons=_margins(judge, "no_evidence"), reasons=reasons),)


def _intervals(row: AltTestResult) -> tuple[Said, ...]:
    found = row.uncertainty
    if found is None or not is_defined(found.advantage_low) or not found.n_resamples:
        return ()
    key = "paper.interval.clusters" if found.clustered else "paper.interval.items"
    return (say(key, n=Count(found.n_resamples)),)


def _controls(family: Family) -> tuple[Said, ...]:
    found = {row.control: row.widest for row in worst_controls(family)}
    if len(found) < 3:  # constant, random, majority vote
        return (say("paper.controls.none"),)
    return (
        say(
            "paper.controls",
            epsilon=Margin(family.epsilons[-1]),
            label=Label(found["constant"].label or ""),
            constant=Decimal(found["constant"].winning_rate),
            random=Decimal(found["random"].winning_rate),
            majority=Decimal(found["majority_vote"].winning_rate),
        ),
    )
