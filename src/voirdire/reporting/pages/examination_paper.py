"""Write the paragraphs of a paper's methods and results sections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.reporting.number_formats import is_defined
from voirdire.reporting.pages.examination_sections import worst_controls
from voirdire.reporting.pages.examination_verdicts import (
    against,
    asks_superiority,
    list_margins,
    reason_of,
    reference_of,
    say_rho,
    the_others,
    with_interval,
)
from voirdire.reporting.pages.examination_views import false_discovery_rate
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
    from collections.abc import Iterator

    from voirdire.reporting.pages.examination_views import Family, JudgeRows, QuestionPart
    from voirdire.stats import AltTestResult

__all__ = ["alignment_words", "list_references", "write_method", "write_results"]

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


def alignment_words(family: Family) -> Said:
    """Say what the alignment of a family measures."""
    name = family.alignment
    if name in _ALIGNMENTS:
        return say(against(f"alignment.{name}", family.first), name=Name(name))
    return say("alignment.own", name=Name(name))


def list_references(part: QuestionPart) -> list[str]:
    """Give the keys of the works that the paragraphs cite."""
    clusters = ["liang"] if _count_clusters(part.main.fullest) else []
    return ["calderon", "benjamini", *clusters]


def write_method(part: QuestionPart, *, version: str) -> tuple[Said, ...]:
    """Write the paragraph of a methods section, by this version of voirdire."""
    row, family = part.main.fullest, part.main
    settings = row.settings
    first = say(
        "paper.what",
        judges=Listing(tuple(Name(judge.judge) for judge in family.judges), most=_MOST_JUDGES),
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
    tested = say(
        "paper.test",
        test=_test(row),
        q=Decimal(false_discovery_rate(family.first.settings)),
        share=share,
    )
    return (
        first,
        *_name_incomplete_judges(part),
        second,
        null,
        tested,
        *(say(f"paper.variant.{name}") for name in _list_variants(row)),
        _say_margin(family),
        say("paper.software", version=version),
    )


def _say_margin(family: Family) -> Said:
    """Say the margin and why it was fixed, where that is known; else leave room for it."""
    reason, margins = family.first.settings.get("epsilon_reason"), family.epsilons
    key, figures = ("paper.margin.many" if margins[1:] else "paper.margin.one"), {}
    if not margins[1:] and isinstance(reason, str) and reason.strip():
        key = "paper.margin.reason"
        figures["reason"] = Name(reason.strip().rstrip(".。"), width=_LONGEST_REASON)
    return say(key, all=Listing(tuple(map(Margin, margins)), most=12, either=True), **figures)


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
    clusters = _count_clusters(row)
    if row.method == "exact":
        return say("paper.test.exact")
    if clusters:
        return say("paper.test.clustered", clusters=Count(clusters, "clusters"))
    return say("paper.test.t")


def _list_variants(row: AltTestResult) -> Iterator[str]:
    yield from (name for name in ("weights", "quality") if row.settings.get(name))
    if row.settings.get("normalize") in ("zscore", "rank"):
        yield f"normalize.{row.settings['normalize']}"
    if asks_superiority(row):
        yield "superiority"


def write_results(part: QuestionPart) -> tuple[Said, ...]:
    """Write the paragraph of a results section."""
    row, family = part.main.fullest, part.main
    judges = [_result(judge, n_asked=part.n_asked) for judge in family.judges[:_MOST_JUDGES]]
    hidden = len(family.judges) - len(judges)
    if hidden:
        judges.append(say("paper.result.more", n=Count(hidden, "judges")))
    return (*_agreement(row), *judges, *_intervals(row), _controls(family))


def _agreement(row: AltTestResult) -> Iterator[Said]:
    agreement = row.human_agreement
    if agreement is None or not is_defined(agreement.alpha):
        return
    ends, level = (agreement.low, agreement.high), agreement.confidence_level
    yield say("paper.agreement", alpha=with_interval(agreement.alpha, *ends, level=level))
    if is_defined(agreement.low):
        clusters = ".clusters" if _count_clusters(row) > 0 else ""
        yield say(f"paper.interval.alpha{clusters}")


def _count_clusters(row: AltTestResult) -> int:
    return int(_number(row.settings.get("n_clusters"), 0))


def _result(judge: JudgeRows, *, n_asked: int) -> Said:
    row = judge.rows[0]
    figures = {
        "judge": Name(judge.judge),
        "rho": say_rho(row),
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
    passing = list_margins(judge.select("passed"))
    series = say(
        "paper.result.series" if passing.parts else "paper.result.series.none",
        omegas=Listing(tuple(Decimal(row.winning_rate) for row in judge.rows), most=12),
        epsilons=list_margins(judge.rows),
        **({"passing": passing} if passing.parts else {}),
    )
    worst = Listing(tuple(Decimal(row.worst_case.winning_rate) for row in judge.rows), most=12)
    failed = judge.rows[0].worst_case.n_failures > 0
    lost = [say("paper.worst.series", omegas=worst)] if failed else []
    return Clauses((series, *lost, *_name_silent_margins(judge, n_asked=n_asked)))


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


def _name_silent_margins(judge: JudgeRows, *, n_asked: int) -> tuple[Said, ...]:
    """Name the margins without evidence, and the reasons at the widest of them."""
    silent = judge.select("no_evidence")
    if not silent:
        return ()
    reasons = reason_of(silent[-1], n_asked=n_asked)
    return (say("paper.silent", epsilons=list_margins(silent), reasons=reasons),)


def _intervals(row: AltTestResult) -> Iterator[Said]:
    resampled = row.uncertainty
    if resampled and is_defined(resampled.advantage_low) and resampled.n_resamples:
        unit = "clusters" if resampled.clustered else "items"
        yield say(f"paper.interval.{unit}", n=Count(resampled.n_resamples))


def _controls(family: Family) -> Said:
    controls = {row.control: row.widest for row in worst_controls(family)}
    if len(controls) < 3:  # constant, random, majority vote
        return say("paper.controls.none")
    return say(
        "paper.controls",
        epsilon=Margin(family.epsilons[-1]),
        label=Label(controls["constant"].label or ""),
        constant=Decimal(controls["constant"].winning_rate),
        random=Decimal(controls["random"].winning_rate),
        majority=Decimal(controls["majority_vote"].winning_rate),
    )
