r"""The alternative annotator test on arrays: any number of judges and ε in one pass."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._types import AlignmentName, EpsilonMode, Method, WeightScheme
from voirdire._validation import check_choice, check_count, check_epsilons, check_fraction
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats.alignment import make_scorer
from voirdire.stats.comparison import Comparison, Raters
from voirdire.stats.controls import make_controls
from voirdire.stats.figures import TestSettings, compute_figures
from voirdire.stats.krippendorff import measure_agreement
from voirdire.stats.label_arrays import gather_raters
from voirdire.stats.label_sets import LabelSets
from voirdire.stats.outcome import Panel, sides_by_majority
from voirdire.stats.report import Names, Run, report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire._types import Normalization
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.controls import Control
    from voirdire.stats.label_distance import Level
    from voirdire.stats.paired_test import Design
    from voirdire.stats.results import AltTestResult

__all__ = ["alt_test"]

_ITEMS_AT_ONCE = 16_384


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
    seed : int, optional
        Of the random control.
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
    if not callable(alignment):
        check_choice("alignment", alignment, AlignmentName)
    if weights is not None and normalize is not None:
        msg = f"`weights` must be None with `normalize`, got {weights!r} and {normalize!r}."
        raise InputError(msg)
    settings = _make_settings(
        epsilon=epsilon,
        epsilon_mode=epsilon_mode,
        method=method,
        design=_choose_design(method, weights=weights, clusters=clusters),
        false_discovery_rate=false_discovery_rate,
        min_items=min_items,
        expert=expert,
    )
    raters = gather_raters(
        judges,
        humans,
        numeric=alignment == "neg_rmse",
        failed=failed,
        expert=expert,
        gold=gold,
        normalize=normalize,
        clusters=clusters,
        weighted=weights is not None,
    )
    universe = _Universe.of(raters, n_codes=n_codes, label_sets=label_sets, values=values)
    settings = replace(settings, quality=_check_quality(quality, raters.humans.shape[1]))
    comparison = Comparison(
        scorer=make_scorer(
            alignment,
            humans=raters.humans,
            n_codes=universe.n_codes,
            label_sets=universe.label_sets,
            values=values,
            similarity=similarity,
        ),
        quality=settings.quality,
        min_annotators=check_count("min_annotators", min_annotators, minimum=2),
        n_codes=raters.n_weight_codes(),
        excluded=expert,
    )
    panel = _describe_panel(raters, universe, alignment, min_annotators=min_annotators)
    seed = check_count("seed", seed, minimum=0)
    control_judges = (
        make_controls(raters.humans, seed=seed, label_sets=universe.label_sets) if controls else []
    )
    run = _run(comparison, raters, settings, panel, control_judges)
    if np.isnan(run.figures.winning_rate).any():
        msg = f"ω is undefined: no annotator has {min_items} items to compare with some judge."
        warnings.warn(msg, DegenerateDataWarning, stacklevel=2)
    shown = alignment if isinstance(alignment, str) else getattr(alignment, "__name__", "custom")
    return report(run, names or Names.positions(raters), alignment=shown)


@dataclass(frozen=True)
class _Universe:
    """The labels that there are."""

    n_codes: int
    label_sets: LabelSets | None
    declared: bool

    @staticmethod
    def of(
        raters: Raters,
        *,
        n_codes: int | None,
        label_sets: ArrayLike | LabelSets | None,
        values: Sequence[Any] | None,
    ) -> _Universe:
        sets = label_sets
        if sets is not None and not isinstance(sets, LabelSets):
            sets = LabelSets.from_membership(sets)
        seen = raters.n_codes_seen()
        sizes = {
            "n_codes": n_codes,
            "label_sets": None if sets is None else len(sets),
            "values": None if values is None else len(values),
        }
        for name, size in sizes.items():
            if size is not None and size < seen:
                msg = f"`{name}` must cover every code, got {size} for codes up to {seen - 1}."
                raise InputError(msg)
        declared = n_codes is not None
        return _Universe(n_codes=max(seen, n_codes or 0), label_sets=sets, declared=declared)


def _run(
    comparison: Comparison,
    raters: Raters,
    settings: TestSettings,
    panel: Panel,
    controls: Sequence[Control],
) -> Run:
    sums = comparison.run(raters, controls)
    figures = compute_figures(sums.judges, settings)
    return Run(
        sums=sums,
        settings=settings,
        figures=figures,
        worst=figures if raters.failed is None else compute_figures(sums.worst, settings),
        control_figures=None if sums.controls is None else compute_figures(sums.controls, settings),
        controls=controls,
        panel=panel,
        n_failures=np.zeros(raters.judges.shape[1], np.int64)
        if raters.failed is None
        else np.count_nonzero(raters.failed, axis=0),
    )


def _choose_design(method: Method, *, weights: WeightScheme | None, clusters: object) -> Design:
    check_choice("method", method, Method)
    if weights is not None:
        check_choice("weights", weights, WeightScheme)
    if method == "exact" and (weights is not None or clusters is not None):
        reason = "clusters" if weights is None else "weights"
        msg = (
            f"`method` must be 't' with {reason}, got 'exact'. "
            "The exact test needs independent, equally weighted items."
        )
        raise InputError(msg)
    if clusters is not None:
        return "clustered"
    return "items" if weights is None else "weighted"


def _make_settings(
    *,
    epsilon: float | Sequence[float],
    epsilon_mode: EpsilonMode,
    method: Method,
    design: Design,
    false_discovery_rate: float,
    min_items: int,
    expert: int | None,
) -> TestSettings:
    return TestSettings(
        epsilons=np.asarray(check_epsilons(epsilon)),
        mode=check_choice("epsilon_mode", epsilon_mode, EpsilonMode),
        method=method,
        design=design,
        false_discovery_rate=check_fraction("false_discovery_rate", false_discovery_rate),
        min_items=check_count("min_items", min_items, minimum=2),
        excluded=expert,
    )


def _check_quality(quality: ArrayLike | None, n_annotators: int) -> NDArray[np.float64] | None:
    if quality is None:
        return None
    weights = np.asarray(quality, dtype=np.float64)
    if weights.shape != (n_annotators,) or not (np.isfinite(weights) & (weights > 0)).all():
        msg = (
            f"`quality` must hold one positive number for each of {n_annotators} annotators, "
            f"got {weights.tolist()!r}."
        )
        raise InputError(msg)
    return weights


def _describe_panel(
    raters: Raters,
    universe: _Universe,
    alignment: AlignmentName | VectorizedScore,
    *,
    min_annotators: int,
) -> Panel:
    humans = raters.humans
    sides: tuple[int, int] | None = None
    level: Level | None = None
    if universe.label_sets is not None:
        level = "sets"
    elif alignment == "neg_rmse":
        level = "interval"
    elif alignment == "accuracy" or (
        callable(alignment) and not _mostly_distinct(humans, universe.n_codes)
    ):
        level = "nominal"
    if level == "nominal" and universe.label_sets is None:
        sides = _sides(raters, universe, min_annotators=min_annotators)
    agreement = None
    if level is not None:
        agreement = measure_agreement(
            humans, level=level, label_sets=universe.label_sets, clusters=raters.clusters
        )
    return Panel(sides=sides, agreement=agreement, has_reference=raters.reference is not None)


def _mostly_distinct(codes: NDArray[Any], n_codes: int) -> bool:
    """Tell free text, on which agreement word by word means nothing, by its many labels."""
    return bool(n_codes > np.count_nonzero(codes >= 0) / 2)


def _sides(raters: Raters, universe: _Universe, *, min_annotators: int) -> tuple[int, int] | None:
    """Items on either side of a question with two labels, whatever words a judge uses."""
    labels = raters.humans if raters.reference is None else raters.reference[:, np.newaxis]
    if universe.declared and universe.n_codes != 2:
        return None
    used = _labels_in_use(labels, universe.n_codes)
    if len(used) > 2:
        return None
    fewest = min_annotators if raters.reference is None else 1
    return sides_by_majority(labels, used, min_annotators=fewest)


def _labels_in_use(labels: NDArray[Any], n_codes: int) -> NDArray[np.intp]:
    """Codes that occur, or the first three found: more are not told apart."""
    used = np.zeros(n_codes + 1, dtype=np.bool_)
    for start in range(0, len(labels), _ITEMS_AT_ONCE):
        used[labels[start : start + _ITEMS_AT_ONCE] + 1] = True
        if np.count_nonzero(used[1:]) > 2:
            break
    return np.flatnonzero(used[1:])
