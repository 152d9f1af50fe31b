r"""Runs the alternative annotator test on arrays, for any number of judges and ε in one pass."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import change_fields, check_names
from voirdire.errors import DegenerateDataWarning
from voirdire.stats.cautions import cautions_at_epsilon, cautions_of_judge
from voirdire.stats.comparison import make_controls
from voirdire.stats.crowd import (
    compare_with_crowd,
    correct_over_judges,
    decide_in_crowd,
    explain_untestable,
)
from voirdire.stats.figures import Figures, passes, smallest_epsilons
from voirdire.stats.label_arrays import name_columns
from voirdire.stats.outcome import CONSTANT_LEVEL, Yardsticks, decide_outcome, describe_panel
from voirdire.stats.outcome_sums import OutcomeSums, UnitCollector
from voirdire.stats.plan import TestPlan
from voirdire.stats.preparation import LabelArrays, prepare
from voirdire.stats.results import AltTestResult, AnnotatorResult, ControlResult, TTest, WorstCase
from voirdire.stats.uncertainty import bootstrap_judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from voirdire._types import AlignmentName, Finding, Outcome
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.comparison import Control, Raters
    from voirdire.stats.figures import TestSettings
    from voirdire.stats.label_arrays import LabelSets
    from voirdire.stats.preparation import Prepared
    from voirdire.stats.results import Caution, Uncertainty

__all__ = ["Names", "alt_test"]


def alt_test(
    judges: ArrayLike,
    humans: ArrayLike,
    *,
    alignment: AlignmentName | VectorizedScore = "accuracy",
    label_sets: ArrayLike | LabelSets | None = None,
    values: Sequence[Any] | None = None,
    n_codes: int | None = None,
    failed: ArrayLike | None = None,
    gold: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    names: Names | None = None,
    plan: TestPlan | None = None,
    **settings: Any,
) -> list[AltTestResult]:
    r"""Examine judges against annotators, leaving one annotator out at a time.

    For annotator j and item i, :math:`W^f_{ij} = 1` if the judge's label is at least as close to
    the labels of the other annotators as annotator j's is, and :math:`W^h_{ij} = 1` for the
    reverse; ties count for both. The judge wins annotator j if the hypothesis
    :math:`\rho^f_j \le \rho^h_j - \varepsilon` falls [1]_; ω is the share of them that it wins.

    Parameters
    ----------
    judges : array_like, shape (n_items,) or (n_items, n_judges)
        Labels of the judges, in the form of `humans`.
    humans : array_like, shape (n_items, n_annotators)
        For ``"neg_rmse"`` numbers with nan for missing; for every other alignment integer codes
        from 0, with -1 for missing.
    alignment : str or callable, optional
        How close two labels are, see `voirdire.stats.alignment`; a callable takes two arrays of
        labels (items of `values`) and returns the score of each pair.
    label_sets : array_like of bool, shape (n_sets, n_labels), or LabelSets, optional
        For multi-label questions: which labels the set of each code holds. Its width is the
        label universe.
    values : sequence, optional
        For ``"similarity"`` and a callable: the label of each code.
    n_codes : int, optional
        Size of a declared label universe; by default the largest code plus one.
    failed : array_like of bool, shape of `judges`, optional
        Items on which a judge was asked and gave no usable answer.
    gold : array_like, shape (n_items,), optional
        Labels that stand for "the others" of everyone. With ε = 0: outperforms humans.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to; errors become cluster-robust.
    names : Names, optional
        Names for the results; column numbers otherwise.
    plan : TestPlan, optional
        Margins, weights and sizes of the test. Without it nothing is resampled.
    **settings
        Fields of `voirdire.studies.TestPlan`, such as ``epsilon=0.1``, each of which counts before
        that of `plan`. `quality` may be one number a column, and `expert` a column number.

    Returns
    -------
    list of AltTestResult
        One per judge and ε, judge by judge.

    Raises
    ------
    InputError
        If shapes, codes or settings break a rule above.

    Warns
    -----
    DegenerateDataWarning
        If ω is undefined for a judge.

    Notes
    -----
    A judge's missing labels that are no failures are items it was not asked about: its figures,
    and what it is measured against, rest on the others. `outcome` follows the rules of
    `voirdire.stats.outcome`: the exact test, failures lost, and a constant
    answer that the judge must beat.

    Ties are ties: scores are compared as whole numbers where they are (accuracy, whole-number
    squared errors), otherwise to 1e-9. Undefined figures are nan, never 0, and the outcome is
    then ``"no_evidence"``. Reference values in the tests are the authors' published figures and a
    plain-loop oracle. Time is O(n_items * n_annotators * (n_annotators + n_judges)); memory
    beyond the labels is bounded, except with weights or clusters.

    References
    ----------
    .. [1] N. Calderon, R. Reichart and R. Dror, "The Alternative Annotator Test for
       LLM-as-a-Judge: How to Statistically Justify Replacing Human Annotators with LLMs",
       ACL 2025, arXiv 2501.10970.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.integers(0, 3, 60)
    >>> humans = np.where(rng.random((60, 3)) < 0.8, truth[:, None], 0)
    >>> [result] = alt_test(truth, humans, epsilon=0.2)
    >>> result.winning_rate, result.outcome
    (1.0, 'passed')
    """
    known = [row.name for row in fields(TestPlan)] + [*inspect.signature(alt_test).parameters]
    check_names(settings, known, of="alt_test")
    plan = change_fields(plan or TestPlan(n_resamples=0), settings)
    names = names or Names()
    labels = LabelArrays(
        judges=judges,
        humans=humans,
        alignment=alignment,
        label_sets=label_sets,
        values=values,
        n_codes=n_codes,
        failed=failed,
        gold=gold,
        clusters=clusters,
        annotators=names.annotators,
    )
    prepared = prepare(labels, plan)
    names = names.of_everyone(prepared.raters)
    asked = prepared.comparison.asked(prepared.raters)
    together = [np.flatnonzero(asked.all(axis=0)).tolist()]
    together += [[judge] for judge in np.flatnonzero(~asked.all(axis=0)).tolist()]
    parts = [
        _Part(
            replace(prepared, raters=prepared.raters.take(asked[:, judges[0]]).of_judges(judges)),
            judges,
            names,
            plan,
            alignment=alignment,
        )
        for judges in together
        if judges
    ]
    run = _Run(parts, prepared.settings, plan)
    untested = np.flatnonzero(~run.plain.tested.any(axis=-1)).tolist()
    if any(judge not in run.crowds or not run.crowds[judge].tests for judge in untested):
        msg = f"ω is undefined: no annotator has {plan.min_items} items to compare with some judge."
        warnings.warn(msg, DegenerateDataWarning, stacklevel=2)
    part_of = {judge: part for part in parts for judge in part.judges}
    return [
        result
        for judge in sorted(part_of)
        for result in _judge_results(
            run, part_of[judge], judge, names=names, alignment=labels.alignment_name
        )
    ]


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names in the results.

    Attributes
    ----------
    judges, annotators : sequence of str, optional
        By column; by default column numbers.
    question : str
        The question.
    label : callable
        The name of a label code (or number), for constant controls.
    settings : dict
        Copied into every result.
    """

    judges: Sequence[str] = ()
    annotators: Sequence[str] = ()
    question: str = "label"
    label: Callable[[Any], str] = str
    settings: dict[str, Any] = field(default_factory=dict)

    def of_everyone(self, raters: Raters) -> Names:
        """Return names of all judges and annotators: column numbers where there are none."""
        n_judges, n_annotators = raters.judges.shape[1], raters.humans.shape[1]
        return replace(
            self,
            judges=name_columns("names.judges", self.judges or None, n_judges),
            annotators=name_columns("names.annotators", self.annotators or None, n_annotators),
        )


class _Part:
    """Judges who were asked about the same items, with their controls."""

    def __init__(
        self,
        prepared: Prepared,
        judges: list[int],
        names: Names,
        plan: TestPlan,
        *,
        alignment: AlignmentName | VectorizedScore,
    ) -> None:
        raters, comparison, settings = prepared.raters, prepared.comparison, prepared.settings
        self.judges = judges
        self.panel = describe_panel(prepared, alignment, label=names.label)
        controls = make_controls(raters, seed=plan.seed, label_sets=prepared.label_sets)
        if raters.clusters is not None:
            raters = raters.take(np.argsort(raters.clusters, kind="stable"))
        self.n_failures = np.zeros(len(judges), np.int64)
        if raters.failed is not None:
            self.n_failures = raters.failed.sum(axis=0)
        self.collectors = []
        if plan.n_resamples:
            self.collectors = [UnitCollector(seed=plan.seed, lost=bool(n)) for n in self.n_failures]
        self.plain, self.lost, self.n_items = comparison.sum_judges(
            raters, self.collectors, excluded=settings.excluded
        )
        figures = None
        self.control_rows: list[tuple[ControlResult, ...]] = [()] * len(settings.epsilons)
        if controls:
            sums = comparison.sum_controls(raters, controls)
            figures = Figures(sums, replace(settings, family="annotators"))
            self.control_rows = [
                _control_rows(controls, figures, number, label=names.label)
                for number in range(len(settings.epsilons))
            ]
        self.yardsticks = Yardsticks(
            raters, comparison, controls, figures, lost=self.lost, label=names.label
        )
        # where nobody can be tested, and no variant that a crowd has no test for is asked for
        is_plain = settings.design == "items" and settings.quality is None
        is_crowd = is_plain and raters.reference is None and bool(controls)
        is_tested = (self.lost.n_items >= settings.min_items).any(axis=1)
        self.crowds = {
            judges[place]: compare_with_crowd(
                raters, comparison, controls, judge=place, settings=settings, label=names.label
            )
            for place in np.flatnonzero(~is_tested & is_crowd).tolist()
        }


class _Run:
    """Figures of all judges, by number: with failures dropped and lost."""

    def __init__(self, parts: list[_Part], settings: TestSettings, plan: TestPlan) -> None:
        order = np.argsort([judge for part in parts for judge in part.judges])
        sums = OutcomeSums.join(part.plain for part in parts).rows(order)
        self.plain = self.lost = Figures(sums, settings)
        if any(part.n_failures.any() for part in parts):
            lost = OutcomeSums.join(part.lost for part in parts).rows(order)
            self.lost = Figures(lost, settings)
        self.crowds = {judge: crowd for part in parts for judge, crowd in part.crowds.items()}
        if settings.family == "judges":
            several = correct_over_judges([*self.crowds.values()], settings.false_discovery_rate)
            self.crowds = dict(zip(self.crowds, several, strict=True))
        n_judges, n_epsilons = len(order), len(settings.epsilons)
        self.smallest_epsilons: list[float | None] = [None] * n_judges
        self.uncertainties: list[Sequence[Uncertainty | None]] = [[None] * n_epsilons] * n_judges
        if not plan.n_resamples:
            return
        collectors = [collector for part in parts for collector in part.collectors]
        self.uncertainties = [
            bootstrap_judge(
                collectors[place].units(),
                tested=self.plain.tested[judge],
                tested_lost=self.lost.tested[judge] if collectors[place].lost else None,
                settings=settings,
                plan=plan,
            )
            for judge, place in enumerate(order.tolist())
        ]
        both = [sums] if self.lost is self.plain else [sums, self.lost.sums]
        self.smallest_epsilons = smallest_epsilons(both, settings)


def _judge_results(
    run: _Run, part: _Part, judge: int, *, names: Names, alignment: str
) -> list[AltTestResult]:
    """Report one judge, one result per ε."""
    figures, settings = run.plain, run.plain.settings
    place = part.judges.index(judge)
    untested = tuple(
        name
        for column, name in enumerate(names.annotators)
        if not figures.tested[judge, column] and column != settings.excluded
    )
    rows = _annotator_rows(figures, run.lost, judge, names.annotators)
    crowd = run.crowds.get(judge)
    in_crowd = crowd is not None and bool(crowd.tests)
    cautions = cautions_of_judge(
        rows[0], untested, part.panel, min_items=settings.min_items, in_crowd=in_crowd
    )
    results, gain = [], part.yardsticks.gains[place]
    advantages = [figures.advantage_probability, run.lost.advantage_probability]
    rho, rho_lost, rho_human = (
        float(each[judge]) for each in (*advantages, figures.human_advantage)
    )
    if crowd is not None and crowd.tests:
        rho, rho_lost, rho_human = crowd.advantages
    for number, annotators in enumerate(rows):
        uncertainty = run.uncertainties[judge][number]
        finding, outcome, because = _decide(run, part, judge, number)
        winning_rate = float(run.lost.exact_winning_rate[judge, number])
        winning_rate_bh = float(run.lost.winning_rate_bh[judge, number])
        worst_case = WorstCase(
            n_failures=int(part.n_failures[place]),
            winning_rate=winning_rate,
            advantage_probability=rho_lost,
            passed=outcome == "passed",
            winning_rate_answered=float(figures.exact_winning_rate[judge, number]),
        )
        t_test = TTest(
            winning_rate=float(figures.winning_rate[judge, number]),
            passed=bool((figures.passed & run.lost.passed)[judge, number]),
            p_values=tuple(row.p_value for row in annotators),
        )
        result = AltTestResult(
            question=names.question,
            judge=names.judges[judge],
            alignment=alignment,
            epsilon=float(settings.epsilons[number]),
            epsilon_mode=settings.mode,
            n_items=int(part.n_items[place]),
            n_annotators=len(annotators),
            winning_rate=winning_rate,
            winning_rate_bh=winning_rate_bh,
            advantage_probability=rho,
            human_advantage=rho_human,
            passed=outcome == "passed",
            outcome=outcome,
            finding=finding,
            n_within=int(np.count_nonzero(run.lost.within[judge, number])),
            n_shown=int(np.count_nonzero(run.lost.exact_rejected[judge, number])),
            because=because,
            annotators=annotators,
            untested=untested,
            worst_case=worst_case,
            t_test=t_test,
            controls=part.control_rows[number],
            crowd=crowd.tests[number] if crowd is not None and crowd.tests else None,
            human_agreement=part.panel.agreement,
            cautions=(
                *cautions,
                *cautions_at_epsilon(
                    worst_case,
                    part.panel,
                    uncertainty,
                    winning_rate_bh=winning_rate_bh,
                    is_above_constant=gain is not None and gain.p_value <= CONSTANT_LEVEL,
                ),
            ),
            settings=names.settings | {"n_clusters": part.panel.n_clusters},
            smallest_epsilon=run.smallest_epsilons[judge],
            uncertainty=uncertainty,
        )
        results.append(result)
    return results


def _decide(run: _Run, part: _Part, judge: int, number: int) -> tuple[Finding, Outcome, Caution]:
    """Decide what is found of a judge at one ε, and say why: in a crowd by the crowd's test."""
    crowd, settings = run.crowds.get(judge), run.lost.settings
    if crowd is not None and crowd.tests:
        finding, because = decide_in_crowd(crowd, number, mode=settings.mode)
        if finding == "not_shown" or finding == "worse":
            return finding, "failed", because
        return finding, finding, because
    outcome, because = decide_outcome(
        part.yardsticks,
        part.yardsticks.gains[part.judges.index(judge)],
        run.lost,
        judge=judge,
        number=number,
        has_reference=part.panel.has_reference,
    )
    if crowd is not None:
        because = explain_untestable(crowd, min_items=settings.min_items)
    if outcome != "failed":
        return outcome, outcome, because
    is_close = passes(run.lost.within_rate[judge, number])
    return "not_shown" if is_close else "worse", outcome, because


def _annotator_rows(
    figures: Figures, lost: Figures, judge: int, names: Sequence[str]
) -> list[tuple[AnnotatorResult, ...]]:
    """Report the tested annotators of a judge, one tuple per ε."""
    tested = np.flatnonzero(figures.tested[judge])
    counts = figures.sums.counts[judge, tested]
    n_items, difference = counts.sum(axis=-1), figures.difference
    same = {
        "annotator": [names[column] for column in tested.tolist()],
        "n_items": n_items.tolist(),
        "n_judge_wins": counts[:, 0].tolist(),
        "n_ties": counts[:, 1].tolist(),
        "n_human_wins": counts[:, 2].tolist(),
        "tie_share": (counts[:, 1] / n_items).tolist(),
        "advantage_judge": figures.advantage_judge[judge, tested].tolist(),
        "advantage_human": figures.advantage_human[judge, tested].tolist(),
    }
    varied = {
        "mean_difference": difference.mean,
        "standard_error": difference.standard_error,
        "degrees_of_freedom": difference.degrees_of_freedom,
        "p_value": figures.p_values,
        "rejected": figures.rejected,
        "rejected_bh": figures.rejected_bh,
        "exact_p_value": figures.exact_p_values,
        "deciding_p_value": lost.exact_p_values,
        "shown": lost.exact_rejected,
    }
    of_epsilon = [array[judge][:, tested].tolist() for array in varied.values()]
    names_of_figures = [*same, *varied]
    return [
        tuple(
            AnnotatorResult(**dict(zip(names_of_figures, row, strict=True)))
            for row in zip(*same.values(), *columns, strict=True)
        )
        for columns in zip(*of_epsilon, strict=True)
    ]


def _control_rows(
    controls: list[Control], figures: Figures, number: int, *, label: Callable[[Any], str]
) -> tuple[ControlResult, ...]:
    """Report the best constant, the random and the majority-vote control at one ε."""
    rates = figures.exact_winning_rate[:, number].tolist()
    advantages = figures.advantage_probability.tolist()
    rows = []
    for kind in ("constant", "random", "majority_vote"):
        places = [place for place, control in enumerate(controls) if control.control == kind]
        # where rates are undefined, annotators have too few items for every control
        best = max(places, key=lambda place: (rates[place], advantages[place]))
        constant = controls[best].constant if kind == "constant" else None
        rows.append(
            ControlResult(
                control=kind,
                label=None if constant is None else label(constant),
                winning_rate=rates[best],
                advantage_probability=advantages[best],
            )
        )
    return tuple(rows)
