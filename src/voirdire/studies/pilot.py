"""Power from a pilot study: how many more items and annotators an examination needs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.stats.alignment import make_scorer
from voirdire.stats.comparison import frequent_labels
from voirdire.stats.noise_model import PooledKappas, noise_from_kappas, pooled_kappas
from voirdire.stats.pilot_studies import PilotLabels, resample_rows
from voirdire.stats.power_analysis import (
    DEFAULT_EPSILONS,
    DEFAULT_SIZES,
    PowerGrid,
    PowerResult,
    simulate_rows,
)
from voirdire.studies.examination import check_alignment, kind_of
from voirdire.studies.label_matrix import align

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire._types import AlignmentName, EpsilonMode, Method
    from voirdire.io import LabelTable
    from voirdire.stats.noise_model import NoiseModel
    from voirdire.studies.label_matrix import LabelMatrix

__all__ = ["power_from_pilot"]

_FEW_ITEMS = 50
_FEW_CLUSTERS = 20
_NOMINAL = ("boolean", "choice")


def power_from_pilot(
    humans: LabelTable,
    judges: LabelTable,
    *,
    judge: str | None = None,
    question: str | None = None,
    alignment: AlignmentName = "accuracy",
    labels: Sequence[Any] | None = None,
    clustered: bool = False,
    n_items: int | Sequence[int] = DEFAULT_SIZES,
    n_annotators: int | Sequence[int] | None = None,
    epsilon: float | Sequence[float] = DEFAULT_EPSILONS,
    epsilon_mode: EpsilonMode = "additive",
    method: Method = "t",
    false_discovery_rate: float = 0.05,
    min_items: int = 30,
    wanted_power: float = 0.8,
    n_simulations: int = 1_000,
    seed: int = 0,
) -> PowerResult:
    """Find how many items and annotators an examination needs, from a pilot study.

    Up to as many annotators as the pilot had, studies are drawn from it: some of its annotators,
    and its items with replacement. For more annotators a noise model is fitted to the pilot and
    simulated, which is possible for questions with one label out of several. Each row's `route`
    says which.

    Parameters
    ----------
    humans, judges : LabelTable
        As `voirdire.io.read_labels` gives them; of one kind.
    judge, question : str, optional
        Which judge and which question; needed where there are several.
    alignment : str, optional
        How close two labels are, see `voirdire.alt_test`.
    labels : sequence, optional
        The declared label universe.
    clustered : bool, optional
        Whether the table's clusters are the independent units: then whole clusters are drawn,
        and errors are cluster-robust.
    n_items, n_annotators : int or sequence of int, optional
        Sizes of study to look at, at least 2 each; by default as many annotators as the pilot's.
    epsilon, epsilon_mode, method, false_discovery_rate, min_items
        As in `voirdire.power`.
    wanted_power, n_simulations, seed
        Likewise.

    Returns
    -------
    PowerResult
        As `voirdire.power` gives it, with cautions about the pilot.

    Raises
    ------
    InputError
        If a setting breaks a rule, if judge or question must be named, or if more annotators are
        asked about than the pilot has and no noise model can be fitted.
    NoDataError
        If there are no annotations, or the judge has no item in common with them.

    Notes
    -----
    A pilot is a small sample: its power figures inherit its error, which the standard errors of
    the rows do not show. Items that the judge was not asked about are left out; those on which it
    failed are drawn, and left out of the test of the study as the examination's main figures
    leave them out. Missing labels of annotators are drawn with their items; where noise is
    simulated as many are missing, of annotators and of the judge, but at random.

    The exact test takes its time: about 10 s for 6 annotators, 200 simulations and one ε at the
    default sizes, and more for each further ε and number of annotators.

    Examples
    --------
    >>> import polars as pl
    >>> from voirdire.io import read_labels
    >>> truth = [place % 2 for place in range(60)]
    >>> noisy = lambda slip: [1 - x if i % 12 == slip else x for i, x in enumerate(truth)]
    >>> people = {name: noisy(slip) for slip, name in enumerate(["ann", "bob", "eve"])}
    >>> wide = pl.DataFrame({"item": range(60), **people})
    >>> humans = read_labels(wide, role="annotator", kind="choice", source_name="pilot")
    >>> frame = pl.DataFrame({"item": range(60), "label": noisy(3)})
    >>> judges = read_labels(frame, role="judge", kind="choice", source_name="mine")
    >>> result = power_from_pilot(humans, judges, epsilon=0.1, n_annotators=[3, 5])
    >>> [(size.n_annotators, size.n_items) for size in result.smallest_sizes]
    [(3, 150), (5, 150)]
    """
    _check_kinds(humans, judges, alignment)
    question = _one_question(humans, question)
    matrix = align(
        _one_judge(judges, judge),
        humans,
        question=question,
        labels=labels,
        clusters=clustered,
    )
    if alignment == "neg_rmse":
        matrix = matrix.as_numbers()
    _check_panel(matrix)
    grid = PowerGrid.of(
        n_items=n_items,
        n_annotators=len(matrix.annotators) if n_annotators is None else n_annotators,
        epsilon=epsilon,
        epsilon_mode=epsilon_mode,
        method=method,
        false_discovery_rate=false_discovery_rate,
        min_items=min_items,
        wanted_power=wanted_power,
        n_simulations=n_simulations,
        seed=seed,
        clustered=clustered,
    )
    result = _planned(_asked_about(matrix), grid, alignment, kind=humans.kind)
    settings = {"question": question, "alignment": alignment, "clustered": clustered}
    return replace(result, settings=result.settings | settings)


def _planned(
    matrix: LabelMatrix, grid: PowerGrid, alignment: AlignmentName, *, kind: str
) -> PowerResult:
    """Resample for panels up to the pilot's size, and simulate larger ones."""
    n_pilot = len(matrix.annotators)
    larger = [m for m in grid.annotators if m > n_pilot]
    nominal = kind in _NOMINAL and alignment == "accuracy"
    if larger:
        _check_can_grow(matrix, alignment, nominal=nominal)
    kappas, model = PooledKappas(human=math.nan, judge=math.nan), None
    if nominal:
        kappas = pooled_kappas(matrix.answers[:, 0], matrix.humans)
        model = _fitted(matrix, kappas, needed=bool(larger))
    pilot = _pilot_labels(matrix, alignment)
    rows = [
        row
        for m in grid.annotators
        if m <= n_pilot
        for row in resample_rows(pilot, grid, n_annotators=m)
    ]
    if larger and model is not None:
        rows += simulate_rows(
            model, grid, route="noise_model", annotators=larger, given=pilot.given
        )
    return PowerResult.of(
        rows,
        wanted_power=grid.wanted_power,
        human_kappa=kappas.human,
        judge_kappa=kappas.judge,
        human_noise=math.nan if model is None else model.human_noise,
        judge_noise=math.nan if model is None else model.judge_noise,
        cautions=tuple(_cautions(matrix, simulated=bool(larger))),
        settings=grid.as_settings() | _pilot_settings(matrix),
    )


def _pilot_labels(matrix: LabelMatrix, alignment: AlignmentName) -> PilotLabels:
    return PilotLabels(
        humans=matrix.humans,
        judge=matrix.answers[:, 0],
        constants=frequent_labels(
            matrix.humans, rng=np.random.default_rng(0), label_sets=matrix.label_sets
        )[0],
        scorer=make_scorer(
            alignment,
            humans=matrix.humans,
            n_codes=len(matrix.categories),
            label_sets=matrix.label_sets,
            values=matrix.categories or None,
        ),
        clusters=matrix.clusters,
    )


def _fitted(matrix: LabelMatrix, kappas: PooledKappas, *, needed: bool) -> NoiseModel | None:
    """Fit the noise model; where it cannot be fitted that matters only if it is needed."""
    try:
        return noise_from_kappas(kappas, matrix.answers[:, 0], matrix.humans)
    except InputError:
        if needed:
            raise
        return None


def _check_can_grow(matrix: LabelMatrix, alignment: AlignmentName, *, nominal: bool) -> None:
    """Refuse to add annotators where the noise model does not describe the pilot."""
    if nominal and matrix.clusters is None:
        return
    why = "items that share clusters are not simulated"
    if not nominal:
        why = f"only boolean and choice questions under accuracy are simulated, not {alignment}"
    msg = (
        f"`n_annotators` must be at most the {len(matrix.annotators)} of the pilot here, got more: "
        f"{why}. Ask about fewer annotators."
    )
    raise InputError(msg)


def _check_kinds(humans: LabelTable, judges: LabelTable, alignment: AlignmentName) -> None:
    check_alignment(alignment)
    if humans.kind != judges.kind:
        msg = f"`humans` and `judges` must be of one kind, got {humans.kind!r}, {judges.kind!r}."
        raise InputError(msg)
    if kind_of(alignment) not in ("choice", "text", humans.kind):
        msg = f"`alignment` must suit a {humans.kind} question, got {alignment!r}."
        raise InputError(msg)


def _check_panel(matrix: LabelMatrix) -> None:
    if len(matrix.annotators) < 2:
        msg = "`humans` must hold labels of at least 2 annotators, got 1."
        raise InputError(msg)


def _one_judge(judges: LabelTable, judge: str | None) -> LabelTable:
    return judges.of_raters([_only(judges.raters, judge, what="judge")])


def _one_question(humans: LabelTable, question: str | None) -> str:
    return _only(humans.questions, question, what="question")


def _only(names: Sequence[str], wanted: str | None, *, what: str) -> str:
    """Return the one that is meant."""
    listed = ", ".join(repr(shorten(name)) for name in names[:10])
    if not names:
        msg = f"the tables must hold at least one {what}, got none."
        raise InputError(msg)
    if wanted is None and len(names) > 1:
        msg = f"`{what}` must name one of {listed}, got {len(names)} to choose from."
        raise InputError(msg)
    if wanted is not None and wanted not in names:
        msg = f"`{what}` must be one of {listed}, got {shorten(wanted)!r}."
        raise InputError(msg)
    return names[0] if wanted is None else wanted


def _known(labels: NDArray[Any]) -> NDArray[np.bool_]:
    return ~np.isnan(labels) if labels.dtype.kind == "f" else labels >= 0


def _asked_about(matrix: LabelMatrix) -> LabelMatrix:
    """Keep the items that the judge was asked about."""
    return matrix.rows(_known(matrix.answers[:, 0]) | matrix.failed[:, 0])


def _cautions(matrix: LabelMatrix, *, simulated: bool) -> Iterator[str]:
    n_items = len(matrix.items)
    if n_items < _FEW_ITEMS:
        yield f"the pilot has {n_items} items: its own error is larger than the figures show"
    if matrix.clusters is not None:
        n_clusters = len(np.unique(matrix.clusters))
        if n_clusters < _FEW_CLUSTERS:
            yield f"the pilot has {n_clusters} clusters: its own error is larger than shown"
    known = _known(matrix.humans)
    if not known.all():
        where = "; where noise is simulated, they are at random" if simulated else ""
        yield (
            # rounded down: with a gap it is never 100%
            f"annotators of the pilot labelled {math.floor(100 * known.mean())}% of its items on "
            f"average, and studies have as many gaps{where}"
        )
    n_failed = int(np.count_nonzero(matrix.failed))
    if n_failed:
        yield (
            f"the judge failed on {n_failed} of {n_items} items, which are left out of a study's "
            "test; an examination also counts them as lost"
        )
    if simulated:
        yield (
            "more annotators than the pilot's are simulated with independent errors and equal "
            "noise: people who err on the same items need other numbers"
        )


def _pilot_settings(matrix: LabelMatrix) -> dict[str, Any]:
    clusters = matrix.clusters
    return {
        "judge": matrix.judges[0],
        "pilot_items": len(matrix.items),
        "pilot_annotators": len(matrix.annotators),
        "pilot_clusters": None if clusters is None else len(np.unique(clusters)),
    }
