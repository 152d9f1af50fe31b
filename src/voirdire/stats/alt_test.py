r"""The alternative annotator test on arrays: any number of judges and ε in one pass."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import check_count, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.controls import make_controls
from voirdire.stats.figures import compute_figures
from voirdire.stats.outcome_units import UnitCollector
from voirdire.stats.panel_evidence import describe_panel
from voirdire.stats.preparation import prepare
from voirdire.stats.report import Names, Run, report
from voirdire.stats.smallest_epsilon import smallest_epsilons
from voirdire.stats.uncertainty import Resampling, bootstrap_judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from voirdire._types import AlignmentName, EpsilonMode, Method, Normalization, WeightScheme
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.controls import Control
    from voirdire.stats.label_sets import LabelSets
    from voirdire.stats.outcome import Panel
    from voirdire.stats.preparation import Prepared
    from voirdire.stats.results import AltTestResult

__all__ = ["alt_test"]

FEWEST_RESAMPLES = 100


def alt_test(
    judges: ArrayLike,
    humans: ArrayLike,
    *,
    alignment: AlignmentName | VectorizedScore = "accuracy",
    epsilon: float | Sequence[float] = 0.2,
    epsilon_mode: EpsilonMode = "additive",
    method: Method = "t",
    label_sets: ArrayLike | LabelSets | None = None,
    values: Sequence[Any] | None = None,
    similarity: VectorizedScore | None = None,
    n_codes: int | None = None,
    failed: ArrayLike | None = None,
    weights: WeightScheme | None = None,
    quality: ArrayLike | None = None,
    expert: int | None = None,
    gold: ArrayLike | None = None,
    normalize: Normalization | None = None,
    clusters: ArrayLike | None = None,
    min_items: int = 30,
    min_annotators: int = 2,
    false_discovery_rate: float = 0.05,
    controls: bool = True,
    n_resamples: int = 0,
    confidence_level: float = 0.95,
    seed: int = 0,
    names: Names | None = None,
) -> list[AltTestResult]:
    r"""Examine judges against annotators, leaving one annotator out at a time.

    For annotator j and item i, :math:`W^f_{ij} = 1` if the judge's label is at least as close to
    the labels of the other annotators as annotator j's is, and :math:`W^h_{ij} = 1` for the
    reverse; ties count for both. The judge wins annotator j if the hypothesis
    :math:`\rho^f_j \le \rho^h_j - \varepsilon` falls [1]_, and passes if it wins half of them.

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
    epsilon : float or sequence of float, optional
        Cost-benefit margin, fractions in [0, 1). Guidance: .2 for experts, .15 for skilled
        annotators, .1 for crowd workers.
    epsilon_mode : {"additive", "multiplicative"}, optional
        Whether the annotator's advantage is reduced by ε or by the share ε of itself.
    method : {"t", "exact"}, optional
        The t-test, or the exact unconditional test (refused with weights or clusters).
    label_sets : array_like of bool, shape (n_sets, n_labels), or LabelSets, optional
        For multi-label questions: which labels the set of each code holds. Its width is the
        label universe.
    values : sequence, optional
        For ``"similarity"`` and a callable: the label of each code.
    similarity : callable, optional
        For ``"similarity"``: scores of pairs, by default `character_cosine`.
    n_codes : int, optional
        Size of a declared label universe; by default the largest code plus one.
    failed : array_like of bool, shape of `judges`, optional
        Items on which a judge was asked and gave no usable answer.
    weights : {"imbalance"}, optional
        Inverse probability weights for skewed labels. Memory is O(n_items * n_annotators).
    quality : array_like of float, shape (n_annotators,), optional
        Positive weights of annotators, in S and in ω.
    expert : int, optional
        The annotator who stands for "the others" of everyone else, and is not tested.
    gold : array_like, shape (n_items,), optional
        Labels that do so without belonging to an annotator. With ε = 0: outperforms humans.
    normalize : {"zscore", "rank"}, optional
        For ``"neg_rmse"``: rescale each rater's labels first.
    clusters : array_like of int, shape (n_items,), optional
        Which independent unit each item belongs to; errors become cluster-robust.
    min_items : int, optional
        Fewest items for an annotator to be tested; at least 2.
    min_annotators : int, optional
        Fewest annotators for an item to take part; at least 2.
    false_discovery_rate : float, optional
        q, over annotators, in (0, 1).
    controls : bool, optional
        Whether to run the constant, random and majority-vote controls; without them `outcome`
        cannot see a constant judge pass.
    n_resamples : int, optional
        Bootstrap resamples of items (or clusters) for the interval of ρ and the stability of ω,
        at least 100; 0 for none, and then `smallest_epsilon` is not searched either.
    confidence_level : float, optional
        Nominal coverage of that interval, in (0, 1).
    seed : int, optional
        Of the random control and of the resamples.
    names : Names, optional
        Names for the results; positions otherwise.

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
    seed = check_count("seed", seed, minimum=0)
    resampling = _check_resampling(n_resamples, confidence_level, seed)
    prepared = prepare(
        judges,
        humans,
        alignment=alignment,
        epsilon=epsilon,
        epsilon_mode=epsilon_mode,
        method=method,
        label_sets=label_sets,
        values=values,
        similarity=similarity,
        n_codes=n_codes,
        failed=failed,
        weights=weights,
        quality=quality,
        expert=expert,
        gold=gold,
        normalize=normalize,
        clusters=clusters,
        min_items=min_items,
        min_annotators=min_annotators,
        false_discovery_rate=false_discovery_rate,
    )
    raters, universe = prepared.raters, prepared.universe
    names = names or Names.positions(raters)
    panel = describe_panel(
        raters, universe, alignment, min_annotators=min_annotators, label=names.label
    )
    control_judges = (
        make_controls(raters.humans, seed=seed, label_sets=universe.label_sets) if controls else []
    )
    run = _run(prepared, panel, control_judges, resampling)
    if np.isnan(run.figures.winning_rate).any():
        msg = f"ω is undefined: no annotator has {min_items} items to compare with some judge."
        warnings.warn(msg, DegenerateDataWarning, stacklevel=2)
    shown = alignment if isinstance(alignment, str) else getattr(alignment, "__name__", "custom")
    return report(run, names, alignment=shown)


def _run(
    prepared: Prepared, panel: Panel, controls: Sequence[Control], resampling: Resampling | None
) -> Run:
    raters, settings = prepared.raters, prepared.settings
    n_judges = raters.judges.shape[1]
    failed = raters.failed
    n_failures = np.zeros(n_judges, np.int64) if failed is None else failed.sum(axis=0)
    collectors = []
    if resampling is not None:
        collectors = [UnitCollector(seed=resampling.seed, lost=count > 0) for count in n_failures]
    sums = prepared.comparison.run(raters, controls, collectors)
    figures = compute_figures(sums.judges, settings)
    worst = figures if failed is None else compute_figures(sums.worst, settings)
    return Run(
        sums=sums,
        settings=settings,
        figures=figures,
        worst=worst,
        control_figures=None if sums.controls is None else compute_figures(sums.controls, settings),
        controls=controls,
        panel=panel,
        n_failures=n_failures,
        smallest_epsilons=()
        if resampling is None
        else smallest_epsilons(
            [sums.judges, sums.worst] if n_failures.any() else [sums.judges], settings
        ),
        uncertainties=[
            bootstrap_judge(
                collector.units(),
                tested=figures.tested[judge],
                tested_lost=worst.tested[judge] if collector.lost else None,
                settings=settings,
                resampling=resampling,
            )
            for judge, collector in enumerate(collectors)
            if resampling is not None
        ],
    )


def _check_resampling(n_resamples: int, confidence_level: float, seed: int) -> Resampling | None:
    check_count("n_resamples", n_resamples, minimum=0)
    check_fraction("confidence_level", confidence_level)
    if not n_resamples:
        return None
    if n_resamples < FEWEST_RESAMPLES:
        msg = (
            f"`n_resamples` must be 0 or at least {FEWEST_RESAMPLES}, got {n_resamples}. "
            "The ends of an interval are rare resamples."
        )
        raise InputError(msg)
    return Resampling(n_resamples=n_resamples, confidence_level=confidence_level, seed=seed)
