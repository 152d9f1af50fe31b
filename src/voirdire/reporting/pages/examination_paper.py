"""Write a paragraph for a paper: what was examined, how, and what came out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from voirdire.reporting.pages.examination_sections import worst_controls
from voirdire.reporting.pages.examination_verdicts import (
    against,
    list_margins,
    say_rho,
    the_others,
    with_interval,
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

__all__ = ["alignment_words", "list_references", "write_paragraph"]

_LONGEST_REASON = 300
_MOST_JUDGES = 10
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
    """Give the keys of the works that the paragraph cites."""
    clusters = ["liang"] if _count_clusters(part.main.fullest) else []
    return ["calderon", "benjamini", *clusters]


def _count_clusters(row: AltTestResult) -> int:
    return int(_number(row.settings.get("n_clusters"), 0))


def _number(value: Any, default: float) -> float:
    return value if isinstance(value, int | float) and abs(value) < 1e15 else default


def write_paragraph(part: QuestionPart, *, version: str) -> Said:
    """Write the paragraph about a question, by this version of voirdire."""
    row, family = part.main.fullest, part.main
    settings, resampled, agreement = row.settings, row.uncertainty, row.human_agreement
    stated = settings.get("epsilon_reason")
    fixed = say("paper.open")
    if isinstance(stated, str) and stated.strip() and not family.epsilons[1:]:
        fixed = say("paper.fixed", reason=Name(stated.strip().rstrip(".。"), _LONGEST_REASON))
    alpha = Decimal(None) if agreement is None else with_interval(
        agreement.alpha, agreement.low, agreement.high, level=agreement.confidence_level
    )  # fmt: skip
    controls = {each.control: each.widest for each in worst_controls(family)}
    rates = {
        name: Decimal(controls[name].winning_rate if name in controls else None)
        for name in ("constant", "random", "majority_vote")
    }
    return say(
        "paper",
        judges=Listing(tuple(Name(each.judge) for each in family.judges), most=_MOST_JUDGES),
        question=Name(family.question),
        items=Count(part.n_asked, "items"),
        annotators=Count(len(row.annotators) + len(row.untested), "annotators"),
        min_items=Count(int(_number(settings.get("min_items"), 30)), "items"),
        others=the_others(row),
        alignment=alignment_words(family),
        tests=_say_tests(row),
        q=Decimal(_number(settings.get("false_discovery_rate"), 0.05)),
        margins=list_margins(family.judges[0].rows, either=True),
        mode=say(f"paper.margin.{row.epsilon_mode}"),
        fixed=fixed,
        alpha=alpha,
        results=Clauses(tuple(map(_say_result, family.judges[:_MOST_JUDGES]))),
        n=Count(resampled.n_resamples if resampled else 0),
        epsilon=Margin(family.epsilons[-1]),
        label=Label(controls["constant"].label or "" if "constant" in controls else ""),
        version=version,
        **rates,
    )


def _say_tests(row: AltTestResult) -> Clauses:
    """Name the test, and what was weighted in it."""
    clusters = _count_clusters(row)
    test = say("paper.test.t")
    if clusters:
        test = say("paper.test.clustered", clusters=Count(clusters, "clusters"))
    weighted = [name for name in ("weights", "quality") if row.settings.get(name)]
    return Clauses((test, *(say(f"paper.variant.{name}") for name in weighted)))


def _say_result(judge: JudgeRows) -> Said:
    row = judge.rows[0]
    return say(
        "paper.result",
        judge=Name(judge.judge),
        items=Count(row.n_items, "items"),
        failures=Count(row.worst_case.n_failures, "failed_calls"),
        rho=say_rho(row),
        human=Decimal(row.human_advantage),
        rates=Listing(tuple(map(_say_rate, judge.rows)), most=12),
    )


def _say_rate(row: AltTestResult) -> Said:
    return say(
        "paper.rate",
        omega=Decimal(row.winning_rate),
        epsilon=Margin(row.epsilon),
        outcome=say(f"paper.outcome.{row.outcome}"),
    )
