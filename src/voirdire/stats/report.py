"""Turn the arrays of a run into result records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.errors import InputError
from voirdire.stats.cautions import find_cautions, find_instability
from voirdire.stats.outcome import Panel, decide_outcome
from voirdire.stats.results import AltTestResult, AnnotatorResult, ControlResult, WorstCase

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from voirdire.stats.comparison import Raters, RunSums
    from voirdire.stats.controls import Control
    from voirdire.stats.figures import Figures, TestSettings
    from voirdire.stats.results import Uncertainty

__all__ = ["Names", "Run", "report"]


@dataclass(frozen=True, kw_only=True)
class Names:
    """How the results call things.

    Attributes
    ----------
    judges, annotators : sequence of str
        By column.
    question : str
        What was asked.
    label : callable
        The name of a label code (or number), for constant controls.
    settings : dict
        Carried into every result as it is.
    """

    judges: Sequence[str]
    annotators: Sequence[str]
    question: str = "label"
    label: Callable[[Any], str] = str
    settings: dict[str, Any] = field(default_factory=dict)

    @staticmethod
    def positions(raters: Raters) -> Names:
        """Call everyone by column number."""
        return Names(
            judges=[str(number) for number in range(raters.judges.shape[1])],
            annotators=[str(number) for number in range(raters.humans.shape[1])],
        )


@dataclass(frozen=True, kw_only=True)
class Run:
    """Everything that a run computed."""

    sums: RunSums
    settings: TestSettings
    figures: Figures
    worst: Figures
    control_figures: Figures | None
    controls: Sequence[Control]
    panel: Panel
    n_failures: NDArray[np.int64]
    smallest_epsilons: Sequence[float | None] = ()
    uncertainties: Sequence[Sequence[Uncertainty]] = ()


def report(run: Run, names: Names, *, alignment: str) -> list[AltTestResult]:
    """Build one result per judge and ε, judge by judge."""
    for what, given, wanted in (
        ("judges", names.judges, run.figures.tested.shape[0]),
        ("annotators", names.annotators, run.figures.tested.shape[1]),
    ):
        if len(given) != wanted:
            msg = f"`names.{what}` must name all {wanted} of them, got {len(given)} names."
            raise InputError(msg)
    controls = [_control_rows(run, names, number) for number in range(len(run.settings.epsilons))]
    results = []
    for judge in range(len(names.judges)):
        people = _people(run, names, judge)
        results += [
            _result(run, names, judge, number, people, controls[number], alignment)
            for number in range(len(run.settings.epsilons))
        ]
    return results


def _result(
    run: Run,
    names: Names,
    judge: int,
    number: int,
    people: list[dict[str, Any]],
    controls: tuple[ControlResult, ...],
    alignment: str,
) -> AltTestResult:
    figures, settings = run.figures, run.settings
    annotators = _annotator_rows(run, judge, number, people)
    untested = _untested(run, names, judge)
    winning_rate = float(figures.winning_rate[judge, number])
    winning_rate_bh = float(figures.winning_rate_bh[judge, number])
    worst_case = _worst_case(run, judge, number)
    outcome, reasons = decide_outcome(
        run.panel,
        annotators,
        passed=bool(figures.passed[judge, number]),
        worst_case=worst_case,
        controls=controls,
        min_items=settings.min_items,
    )
    cautions = find_cautions(
        run.panel,
        annotators,
        untested=untested,
        worst_case=worst_case,
        has_controls=bool(run.controls),
        method=settings.method,
        min_items=settings.min_items,
        winning_rate=winning_rate,
        winning_rate_bh=winning_rate_bh,
    )
    uncertainty = run.uncertainties[judge][number] if run.uncertainties else None
    cautions += find_instability(uncertainty)
    return AltTestResult(
        question=names.question,
        judge=names.judges[judge],
        alignment=alignment,
        epsilon=float(settings.epsilons[number]),
        epsilon_mode=settings.mode,
        method=settings.method,
        n_items=int(run.sums.n_items[judge]),
        n_annotators=len(annotators),
        winning_rate=winning_rate,
        winning_rate_bh=winning_rate_bh,
        advantage_probability=float(figures.advantage_probability[judge]),
        human_advantage=float(figures.human_advantage[judge]),
        passed=bool(figures.passed[judge, number]),
        outcome=outcome,
        reasons=reasons,
        annotators=annotators,
        untested=untested,
        worst_case=worst_case,
        controls=controls,
        human_agreement=run.panel.agreement,
        cautions=cautions,
        settings=dict(names.settings),
        smallest_epsilon=run.smallest_epsilons[judge] if run.smallest_epsilons else None,
        uncertainty=uncertainty,
    )


def _worst_case(run: Run, judge: int, number: int) -> WorstCase:
    return WorstCase(
        n_failures=int(run.n_failures[judge]),
        winning_rate=float(run.worst.winning_rate[judge, number]),
        advantage_probability=float(run.worst.advantage_probability[judge]),
        passed=bool(run.worst.passed[judge, number]),
    )


def _people(run: Run, names: Names, judge: int) -> list[dict[str, Any]]:
    """Collect what does not depend on ε about each tested annotator."""
    counts = run.sums.judges.counts[judge].tolist()
    rows = zip(
        names.annotators,
        run.figures.tested[judge].tolist(),
        counts,
        run.figures.advantage_judge[judge].tolist(),
        run.figures.advantage_human[judge].tolist(),
        strict=True,
    )
    return [
        {
            "column": column,
            "annotator": name,
            "n_items": sum(outcomes),
            "advantage_judge": ahead,
            "advantage_human": behind,
            "n_judge_wins": outcomes[0],
            "n_ties": outcomes[1],
            "n_human_wins": outcomes[2],
        }
        for column, (name, tested, outcomes, ahead, behind) in enumerate(rows)
        if tested
    ]


def _annotator_rows(
    run: Run, judge: int, number: int, people: list[dict[str, Any]]
) -> tuple[AnnotatorResult, ...]:
    figures, settings = run.figures, run.settings
    place = (judge, number)
    columns = {
        "mean_difference": figures.difference.mean[place].tolist(),
        "standard_error": figures.difference.standard_error[place].tolist(),
        "degrees_of_freedom": figures.difference.degrees_of_freedom[place].tolist(),
        "p_value": figures.p_values[place].tolist(),
        "rejected": figures.rejected[place].tolist(),
        "rejected_bh": figures.rejected_bh[place].tolist(),
    }
    exact = (
        (float(settings.epsilons[number]), settings.mode) if settings.design == "items" else None
    )
    rows = []
    for person in people:
        column = person["column"]
        fixed = {key: value for key, value in person.items() if key != "column"}
        varying = {key: values[column] for key, values in columns.items()}
        rows.append(AnnotatorResult(**fixed, **varying, _exact=exact))
    return tuple(rows)


def _untested(run: Run, names: Names, judge: int) -> tuple[str, ...]:
    tested = run.figures.tested[judge]
    return tuple(
        name
        for column, name in enumerate(names.annotators)
        if not tested[column] and column != run.settings.excluded
    )


def _control_rows(run: Run, names: Names, number: int) -> tuple[ControlResult, ...]:
    """Report the best constant, the random and the majority-vote control at one ε."""
    figures = run.control_figures
    if figures is None:
        return ()
    rates = figures.winning_rate[:, number].tolist()
    advantages = figures.advantage_probability.tolist()
    rows = []
    for kind in ("constant", "random", "majority_vote"):
        places = [place for place, control in enumerate(run.controls) if control.control == kind]
        if not places:
            continue
        # undefined rates are undefined for every control alike: annotators have too few items
        best = max(places, key=lambda place: (rates[place], advantages[place]))
        constant = run.controls[best].constant if kind == "constant" else None
        rows.append(
            ControlResult(
                control=kind,
                label=None if constant is None else names.label(constant),
                winning_rate=rates[best],
                advantage_probability=advantages[best],
                passed=bool(figures.passed[best, number]),
            )
        )
    return tuple(rows)
