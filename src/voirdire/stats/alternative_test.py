r"""Runs the alternative annotator test on arrays, for any number of judges and ε in one pass."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import change_fields
from voirdire.errors import DegenerateDataWarning
from voirdire.stats.cautions import cautions_at_epsilon, cautions_of_judge
from voirdire.stats.comparison import compare_labels, make_controls
from voirdire.stats.crowd import (
    compare_with_crowd,
    decide_in_crowd,
    explain_untestable,
)
from voirdire.stats.fdr import benjamini_yekutieli
from voirdire.stats.figures import Figures, passes, smallest_epsilons
from voirdire.stats.judge_difference import PairedGap
from voirdire.stats.label_arrays import is_present, name_columns
from voirdire.stats.outcome import CONSTANT_LEVEL, Yardsticks, decide_outcome, describe_panel
from voirdire.stats.outcome_sums import OutcomeSums
from voirdire.stats.plan import TestPlan
from voirdire.stats.results import AltTestResult, AnnotatorResult, ControlResult, TTest, WorstCase
from voirdire.stats.uncertainty import bootstrap_judge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire._types import AlignmentName, Finding, Outcome
    from voirdire.records.items import Dropped
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.comparison import Comparison, Controls
    from voirdire.stats.crowd import Crowd
    from voirdire.stats.label_arrays import LabelSets
    from voirdire.stats.results import Caution


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
    copies: ArrayLike | None = None,
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
    copies : array_like of int, shape (n_items,), optional
        How many items have the labels of each row, at least 1, where items with the same labels
        are one row: the figures are those of the rows repeated, without the random control.
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
    plan = change_fields(plan or TestPlan(n_resamples=0), settings, of=alt_test)
    names = names or Names()
    labels = compare_labels(
        judges,
        humans,
        plan=plan,
        alignment=alignment,
        label_sets=label_sets,
        values=values,
        n_codes=n_codes,
        failed=failed,
        gold=gold,
        clusters=clusters,
        copies=copies,
        annotators=names.annotators,
    )
    n_judges, n_annotators = labels.judges.shape[1], labels.humans.shape[1]
    names = replace(
        names,
        judges=name_columns("names.judges", names.judges or None, n_judges),
        annotators=name_columns("names.annotators", names.annotators or None, n_annotators),
    )

    asked = is_present(labels.judges)
    if labels.failed is not None:
        asked |= labels.failed
    everywhere = asked.all(axis=0)
    together = [np.flatnonzero(everywhere).tolist()]
    together += [[judge] for judge in np.flatnonzero(~everywhere).tolist()]
    parts = [_Part(labels, asked[:, which[0]], which, names, plan) for which in together if which]
    places = {judge: (part, k) for part in parts for k, judge in enumerate(part.judges)}
    sums = [part.sums[place] for _, (part, place) in sorted(places.items())]
    figures = figures_lost = Figures(OutcomeSums.join([x for x, _ in sums]), labels.settings)
    if any(any(part.n_failures) for part in parts):
        figures_lost = Figures(OutcomeSums.join([x for _, x in sums]), labels.settings)
    crowds = {judge: crowd for part in parts for judge, crowd in part.crowds.items()}
    if plan.family == "judges":
        tested = {judge: crowd for judge, crowd in crowds.items() if crowd.tests}
        p_values = np.array([[test.p_value for test in x.tests] for x in tested.values()]).T
        shown = benjamini_yekutieli(p_values, false_discovery_rate=plan.false_discovery_rate).T
        for (judge, crowd), own in zip(tested.items(), shown.tolist(), strict=True):
            tests = (replace(x, shown=is_so) for x, is_so in zip(crowd.tests, own, strict=True))
            crowds[judge] = replace(crowd, tests=tuple(tests))
    untested = np.flatnonzero(~figures.tested.any(axis=-1)).tolist()
    if any(judge not in crowds or not crowds[judge].tests for judge in untested):
        msg = f"ω is undefined: no annotator has {plan.min_items} items to compare with some judge."
        warnings.warn(msg, DegenerateDataWarning, stacklevel=2)
    smallest: list[float | None] = [None] * n_judges
    if plan.n_resamples:
        smallest = smallest_epsilons(figures_lost.sums, labels.settings)
    return [
        result
        for judge, (part, place) in sorted(places.items())
        for result in part.results(
            place, figures, figures_lost, crowd=crowds.get(judge), smallest_epsilon=smallest[judge]
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
    cautions, dropped : dict
        By name of a judge, what else its results hold under these names.
    """

    judges: Sequence[str] = ()
    annotators: Sequence[str] = ()
    question: str = "label"
    label: Callable[[Any], str] = str
    settings: dict[str, Any] = field(default_factory=dict)
    cautions: dict[str, tuple[Caution, ...]] = field(default_factory=dict)
    dropped: dict[str, tuple[Dropped, ...]] = field(default_factory=dict)


class _Part:
    """Judges who were asked about the same items, with what they are measured by."""

    def __init__(
        self,
        labels: Comparison,
        asked: NDArray[np.bool_],
        judges: list[int],
        names: Names,
        plan: TestPlan,
    ) -> None:
        self.names, self.plan, self.judges = names, plan, judges
        alone = len(judges) < labels.judges.shape[1]
        labels = labels.take(
            slice(None) if asked.all() else asked, judges if alone else slice(None)
        )
        if labels.clusters is not None:
            labels = labels.take(np.argsort(labels.clusters, kind="stable"))
        self.labels, settings = labels, labels.settings
        self.panel = describe_panel(labels, label=names.label)
        controls = make_controls(labels, seed=plan.seed)
        self.n_failures = [0] * len(judges)
        if labels.failed is not None:
            self.n_failures = labels.count(labels.failed.T).tolist()
        self.yardsticks: Yardsticks | None = None
        self.control_rows: list[tuple[ControlResult, ...]] = [()] * len(settings.epsilons)
        constant = None if controls is None else self._measure_controls(controls)
        self.sums: list[tuple[OutcomeSums, OutcomeSums]] = []
        self.n_items: list[int] = []
        self.gaps: list[PairedGap] = []
        for outcomes, lost in labels.judge_outcomes():
            sums = labels.sum(outcomes)
            self.sums.append((sums, sums if lost is outcomes else labels.sum(lost)))
            compared = (outcomes >= 0).any(axis=0)
            if settings.excluded is not None:
                compared = (np.delete(outcomes, settings.excluded, axis=0) >= 0).any(axis=0)
            self.n_items.append(int(labels.count(compared)))
            if constant is not None:
                self.gaps.append(PairedGap.between(lost, constant, labels))
        self.crowds: dict[int, Crowd] = {}
        if controls is None:
            return
        # where nobody can be tested, and no variant that a crowd has no test for is asked for
        if settings.design == "items" and settings.quality is None and not settings.has_reference:
            for place, (_, sums) in enumerate(self.sums):
                if not (sums.n_items >= settings.min_items).any():
                    crowd = compare_with_crowd(labels, place, controls, label=names.label)
                    self.crowds[judges[place]] = crowd

    def _measure_controls(self, controls: Controls) -> NDArray[np.int8] | None:
        """Test the controls, and return the outcomes of the best constant of them."""
        labels = self.labels
        sums = labels.sum_all(controls.answers)
        figures = Figures(sums, replace(labels.settings, family="annotators"))
        advantages = figures.advantage_probability
        words = [self.names.label(constant) for constant in controls.constants]
        self.control_rows = [
            _control_rows(controls, words, rates, advantages.tolist())
            for rates in figures.exact_winning_rate.T.tolist()
        ]
        if np.isnan(advantages[: len(words)]).all():
            return None
        best = int(np.nanargmax(advantages[: len(words)]))
        ceiling = "reference" if labels.settings.has_reference else "majority_vote"
        self.yardsticks = Yardsticks(
            constant=words[best],
            figures=Figures(sums.rows([controls.kinds.index(ceiling), best]), figures.settings),
        )
        return next(labels.outcomes(controls.answers[:, [best]]))

    def results(
        self,
        place: int,
        figures: Figures,
        lost: Figures,
        *,
        crowd: Crowd | None,
        smallest_epsilon: float | None,
    ) -> list[AltTestResult]:
        """Report one judge, one result per ε."""
        judge, settings, names = self.judges[place], figures.settings, self.names
        untested = tuple(
            name
            for column, name in enumerate(names.annotators)
            if not figures.tested[judge, column] and column != settings.excluded
        )
        rows = _annotator_rows(figures, lost, judge, names.annotators)
        in_crowd = crowd is not None and bool(crowd.tests)
        cautions = tuple(
            cautions_of_judge(
                rows[0], untested, self.panel, min_items=settings.min_items, in_crowd=in_crowd
            )
        )
        uncertainties = bootstrap_judge(
            self.labels,
            place,
            tested=figures.tested[judge],
            tested_lost=lost.tested[judge],
            plan=self.plan,
        )
        gap = self.gaps[place] if self.gaps else None
        rho, rho_lost = (x.advantage_probability[judge].item() for x in (figures, lost))
        rho_human = figures.human_advantage[judge].item()
        if crowd is not None and crowd.tests:
            rho, rho_lost, rho_human = crowd.advantages
        results = []
        for number, (annotators, uncertainty) in enumerate(zip(rows, uncertainties, strict=True)):
            finding: Finding
            if crowd is not None and crowd.tests:
                finding, because = decide_in_crowd(crowd, number, mode=settings.mode)
            else:
                finding, because = decide_outcome(
                    lost, judge, number, yardsticks=self.yardsticks, gap=gap
                )
                if crowd is not None:
                    because = explain_untestable(crowd, min_items=settings.min_items)
            outcome: Outcome = "failed" if finding == "not_shown" or finding == "worse" else finding
            winning_rate = lost.exact_winning_rate[judge, number].item()
            winning_rate_bh = lost.winning_rate_bh[judge, number].item()
            worst_case = WorstCase(
                n_failures=self.n_failures[place],
                winning_rate=winning_rate,
                advantage_probability=rho_lost,
                passed=outcome == "passed",
                winning_rate_answered=figures.exact_winning_rate[judge, number].item(),
            )
            result = AltTestResult(
                question=names.question,
                judge=names.judges[judge],
                alignment=self.labels.alignment_name,
                epsilon=float(settings.epsilons[number]),
                epsilon_mode=settings.mode,
                n_items=self.n_items[place],
                n_annotators=len(annotators),
                winning_rate=winning_rate,
                winning_rate_bh=winning_rate_bh,
                advantage_probability=rho,
                human_advantage=rho_human,
                passed=outcome == "passed",
                outcome=outcome,
                finding=finding,
                n_within=int(np.count_nonzero(lost.within[judge, number])),
                n_shown=int(np.count_nonzero(lost.exact_rejected[judge, number])),
                because=because,
                annotators=annotators,
                untested=untested,
                worst_case=worst_case,
                t_test=TTest(
                    winning_rate=figures.winning_rate[judge, number].item(),
                    passed=all(
                        bool(passes(x.winning_rate[judge, number])) for x in (figures, lost)
                    ),
                    p_values=tuple(row.p_value for row in annotators),
                ),
                controls=self.control_rows[number],
                crowd=crowd.tests[number] if crowd is not None and crowd.tests else None,
                human_agreement=self.panel.agreement,
                cautions=(
                    *cautions,
                    *cautions_at_epsilon(
                        worst_case,
                        self.panel,
                        uncertainty,
                        winning_rate_bh=winning_rate_bh,
                        is_above_constant=gap is not None and gap.p_value <= CONSTANT_LEVEL,
                    ),
                    *names.cautions.get(names.judges[judge], ()),
                ),
                dropped=names.dropped.get(names.judges[judge], ()),
                settings=names.settings | {"n_clusters": self.panel.n_clusters},
                smallest_epsilon=smallest_epsilon,
                uncertainty=uncertainty,
            )
            results.append(result)
        return results


def _annotator_rows(
    figures: Figures, lost: Figures, judge: int, names: Sequence[str]
) -> list[tuple[AnnotatorResult, ...]]:
    """Report the tested annotators of a judge, one tuple per ε."""
    tested = np.flatnonzero(figures.tested[judge])
    counts = figures.sums.counts[judge, tested]
    n_items = counts.sum(axis=-1)
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
    varied = figures.difference | {
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
            AnnotatorResult.of(zip(names_of_figures, row, strict=True))
            for row in zip(*same.values(), *columns, strict=True)
        )
        for columns in zip(*of_epsilon, strict=True)
    ]


def _control_rows(
    controls: Controls, words: list[str], rates: list[float], advantages: list[float]
) -> tuple[ControlResult, ...]:
    """Report the best constant, the random control where there is one, and the majority vote."""
    rows = []
    for kind in ("constant", "random", "majority_vote"):
        places = [place for place, each in enumerate(controls.kinds) if each == kind]
        if not places:
            continue
        # where rates are undefined, annotators have too few items for every control
        best = max(places, key=lambda place: (rates[place], advantages[place]))
        row = ControlResult(
            control=kind,
            label=words[best] if kind == "constant" else None,
            winning_rate=rates[best],
            advantage_probability=advantages[best],
        )
        rows.append(row)
    return tuple(rows)
