"""A paragraph to paste into a paper: what was done, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from voirdire.reporting.page.content import Uncertainty
from voirdire.reporting.page.evidence import with_interval
from voirdire.reporting.page.speech import (
    Count,
    Decimal,
    Label,
    Listing,
    Margin,
    Name,
    Said,
    say,
)
from voirdire.reporting.page.verdicts import the_others

if TYPE_CHECKING:
    from voirdire.reporting.page.content import Examination
    from voirdire.reporting.page.grouping import Family, JudgeRows, QuestionPart

__all__ = ["Paper", "alignment_words", "write_paper"]

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


def alignment_words(name: str) -> Said:
    """Say what an alignment measures."""
    if name in _ALIGNMENTS:
        return say(f"alignment.{name}", name=Name(name))
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
    if row.settings.get("n_clusters"):
        references.append("liang")
    return Paper(
        method=_method(part.main, row, version=version, rate=false_discovery_rate),
        results=_results(part.main, row),
        references=tuple(references),
    )


def _method(family: Family, row: Examination, *, version: str, rate: float) -> tuple[Said, ...]:
    settings = row.settings
    reference = (
        "gold" if settings.get("gold") else "expert" if _has_expert(row) else "leave_one_out"
    )
    first = say(
        "paper.what",
        judges=_judge_names(family),
        question=Name(family.question),
        items=Count(row.n_items, "items"),
        annotators=Count(len(row.annotators) + len(row.untested), "annotators"),
    )
    second = say(
        f"paper.design.{reference}",
        alignment=alignment_words(family.alignment),
        others=the_others(row),
        min_items=Count(int(_number(settings.get("min_items"), 30)), "items"),
    )
    null = say(f"paper.null.{row.epsilon_mode}")
    tested = say("paper.test", test=_test(row), q=Decimal(rate))
    variants = [say(f"paper.variant.{key}", **figures) for key, figures in _variants(row)]
    margins = Listing(tuple(Margin(each) for each in family.epsilons), most=12)
    return (
        first,
        second,
        null,
        tested,
        *variants,
        say("paper.margin.one" if len(family.epsilons) == 1 else "paper.margin.many", all=margins),
        say("paper.software", version=version),
    )


def _judge_names(family: Family) -> Listing:
    return Listing(tuple(Name(judge.judge) for judge in family.judges), most=_MOST_JUDGES)


def _has_expert(row: Examination) -> bool:
    return row.settings.get("expert") is not None


def _number(value: Any, default: float) -> float:
    return value if isinstance(value, int | float) and abs(value) < 1e15 else default


def _test(row: Examination) -> Said:
    clusters = row.settings.get("n_clusters")
    if row.method == "exact":
        return say("paper.test.exact")
    if isinstance(clusters, int):
        return say("paper.test.clustered", clusters=Count(clusters, "clusters"))
    return say("paper.test.t")


def _variants(row: Examination) -> list[tuple[str, dict[str, Any]]]:
    settings = row.settings
    found: list[tuple[str, dict[str, Any]]] = []
    if settings.get("weights"):
        found.append(("weights", {}))
    if settings.get("quality"):
        found.append(("quality", {}))
    if settings.get("normalize") in ("zscore", "rank"):
        found.append((f"normalize.{settings['normalize']}", {}))
    if settings.get("gold") and row.epsilon == 0:
        found.append(("superiority", {}))
    return found


def _results(family: Family, row: Examination) -> tuple[Said, ...]:
    judges = [_result(judge) for judge in family.judges[:_MOST_JUDGES]]
    hidden = len(family.judges) - len(judges)
    if hidden:
        judges.append(say("paper.result.more", n=Count(hidden, "judges")))
    return (*_agreement(row), *judges, *_intervals(row), *_controls(family))


def _agreement(row: Examination) -> tuple[Said, ...]:
    found = row.human_agreement
    if found is None or found.alpha is None:
        return ()
    alpha = with_interval(found.alpha, found.low, found.high, level=found.confidence_level)
    return (say("paper.agreement", alpha=alpha),)


def _result(judge: JudgeRows) -> Said:
    row = judge.rows[0]
    found = row.uncertainty or Uncertainty()
    rho = with_interval(
        row.advantage_probability,
        found.advantage_low,
        found.advantage_high,
        level=found.confidence_level,
    )
    figures = {
        "judge": Name(judge.judge),
        "rho": rho,
        "human": Decimal(row.human_advantage),
        "rates": _rates(judge),
    }
    if not row.worst_case.n_failures:
        return say("paper.result", **figures)
    failures = Count(row.worst_case.n_failures, "failed_calls")
    return say("paper.result.failures", failures=failures, **figures)


def _rates(judge: JudgeRows) -> Said | Listing:
    """Say ω at each margin: in full where they are few, else as a series."""
    if len(judge.rows) <= _FEW_MARGINS:
        return Listing(
            tuple(
                say(
                    f"paper.result.{row.outcome}",
                    epsilon=Margin(row.epsilon),
                    omega=Decimal(row.winning_rate),
                    won=Count(row.n_won),
                    annotators=Count(len(row.annotators)),
                )
                for row in judge.rows
            )
        )
    passing = tuple(Margin(row.epsilon) for row in judge.rows if row.outcome == "passed")
    return say(
        "paper.result.series" if passing else "paper.result.series.none",
        omegas=Listing(tuple(Decimal(row.winning_rate) for row in judge.rows), most=12),
        epsilons=Listing(tuple(Margin(row.epsilon) for row in judge.rows), most=12),
        **({"passing": Listing(passing, most=12)} if passing else {}),
    )


def _intervals(row: Examination) -> tuple[Said, ...]:
    found = row.uncertainty
    if found is None or found.advantage_low is None or not found.n_resamples:
        return ()
    key = "paper.interval.clusters" if found.clustered else "paper.interval.items"
    return (say(key, n=Count(found.n_resamples)),)


def _controls(family: Family) -> tuple[Said, ...]:
    rows = family.fullest.rows
    found = {control.control: control for control in rows[-1].controls}
    if not {"constant", "random", "majority_vote"} <= set(found):
        return (say("paper.controls.none"),)
    return (
        say(
            "paper.controls",
            epsilon=Margin(rows[-1].epsilon),
            label=Label(found["constant"].label or ""),
            constant=Decimal(found["constant"].winning_rate),
            random=Decimal(found["random"].winning_rate),
            majority=Decimal(found["majority_vote"].winning_rate),
        ),
    )
