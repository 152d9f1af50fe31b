"""Computes from a pilot study how many more items and annotators an examination needs."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import shorten
from voirdire._validation import change_fields
from voirdire.errors import InputError
from voirdire.records import as_plain
from voirdire.stats.cautions import list_names
from voirdire.stats.comparison import compare_labels, frequent_labels
from voirdire.stats.intervals import take_units
from voirdire.stats.label_arrays import is_present
from voirdire.stats.noise_model import fit_noise_model, pooled_kappas
from voirdire.stats.plan import TestPlan
from voirdire.stats.power_analysis import (
    PowerResult,
    PowerSettings,
    bound_power,
    resample_rows,
    simulate_rows,
)
from voirdire.stats.results import make_caution
from voirdire.studies.examination import check_alignment, choose_alignment
from voirdire.studies.label_matrix import align
from voirdire.studies.study import check_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from voirdire._types import AlignmentName
    from voirdire.io import LabelTable
    from voirdire.stats import Caution
    from voirdire.stats.comparison import Comparison
    from voirdire.stats.noise_model import NoiseModel

_FEW_ITEMS = 50
_FEW_CLUSTERS = 20


def power_from_pilot(
    humans: LabelTable,
    judges: LabelTable,
    *,
    judge: str | None = None,
    question: str | None = None,
    alignment: AlignmentName | None = None,
    labels: Sequence[Any] | None = None,
    clustered: bool = False,
    **settings: Any,
) -> PowerResult:
    """Find how many items and annotators an examination needs, from a pilot study.

    For at most as many annotators as the pilot had, studies are drawn from it: some of its
    annotators, and its items with replacement. For more annotators a noise model is fitted to the
    pilot and simulated, which is possible for questions with one label out of several. Each row's
    `route` says which.

    Parameters
    ----------
    humans, judges : LabelTable
        As `voirdire.io.read_labels` gives them; of one kind.
    judge, question : str, optional
        Which judge and which question; needed where there are several.
    alignment : str, optional
        How close two labels are, see `voirdire.alt_test`; by default ``"neg_rmse"`` for a scale,
        else ``"accuracy"``.
    labels : sequence, optional
        The declared label universe.
    clustered : bool, optional
        Whether the table's clusters are the independent units: then whole clusters are drawn,
        and errors are cluster-robust.
    **settings
        Fields of `voirdire.stats.PowerSettings`, as in `voirdire.power`; by default there are as
        many annotators as the pilot's.

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
    the rows do not show. `low` and `high` of the smallest plans do: percentiles over 60 pilots
    that are drawn from its items, with 60 studies from each.

    Items that the judge was not asked about are left out; those on which it failed are drawn, and
    left out of the test of the study as the examination's main figures leave them out. Missing
    labels of annotators are drawn with their items; where noise is simulated as many are missing,
    of annotators and of the judge, but at random.

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
    alignment = alignment or choose_alignment(humans.kind)
    check_alignment(alignment)
    check_kinds([humans.kind, judges.kind], [alignment])
    question = _choose_one(humans.questions, question, what="question")
    matrix = align(
        judges.of_raters([_choose_one(judges.raters, judge, what="judge")]),
        humans,
        question=question,
        labels=labels,
        clusters=clustered,
    )
    if alignment == "neg_rmse":
        matrix = matrix.as_numbers()
    n_pilot = len(matrix.annotators)
    if n_pilot < 2:
        msg = "`humans` must hold labels of at least 2 annotators, got 1."
        raise InputError(msg)
    grid = change_fields(PowerSettings(), {"n_annotators": n_pilot} | settings)
    is_asked = is_present(matrix.answers[:, 0]) | matrix.failed[:, 0]
    people, answers = matrix.humans[is_asked], matrix.answers[is_asked, 0]
    units = take_units(matrix.clusters, is_asked)
    constants, _ = frequent_labels(
        people, rng=np.random.default_rng(0), label_sets=matrix.label_sets
    )
    candidates = [answers, *(np.full_like(answers, label) for label in constants)]
    pilot = compare_labels(
        np.stack(candidates, axis=1),
        people,
        plan=TestPlan(),
        alignment=alignment,
        label_sets=matrix.label_sets,
        values=matrix.categories or None,
        clusters=units,
    )
    is_nominal = matrix.kind in ("boolean", "choice") and alignment == "accuracy"
    kappas = pooled_kappas(answers, people) if is_nominal else (math.nan, math.nan)
    larger = [m for m in grid.n_annotators if m > n_pilot]
    model = _fit_model(pilot, larger, alignment, is_nominal=is_nominal)
    label_share = float(is_present(people).mean())
    rows = [
        row
        for m in grid.n_annotators
        if m not in larger
        for row in resample_rows(pilot, grid, n_annotators=m, label_share=label_share)
    ]
    if larger and model is not None:
        shares = {"label_share": label_share, "judge_share": float(is_present(answers).mean())}
        rows += simulate_rows(model, grid, route="noise_model", annotators=larger, **shares)
    n_clusters = None if units is None else len(np.unique(units))
    result = PowerResult.of(
        rows,
        wanted_power=grid.wanted_power,
        human_kappa=kappas[0],
        judge_kappa=kappas[1],
        human_noise=math.nan if model is None else model.human_noise,
        judge_noise=math.nan if model is None else model.judge_noise,
        cautions=tuple(_cautions(pilot, matrix.failed, n_clusters, simulated=bool(larger))),
        settings=as_plain(grid)
        | {
            "judge": matrix.judges[0],
            "pilot_items": len(people),
            "pilot_annotators": n_pilot,
            "pilot_clusters": n_clusters,
            "question": question,
            "alignment": alignment,
            "clustered": clustered,
        },
    )
    plans = []
    for plan in result.smallest_plans:
        if plan.n_items is not None and plan.n_annotators <= n_pilot:
            one = replace(grid, n_items=(plan.n_items,), epsilon=(plan.epsilon,))
            low, high = bound_power(pilot, one, n_annotators=plan.n_annotators)
            plan = replace(plan, low=low, high=high)  # noqa: PLW2901
        plans.append(plan)
    return replace(result, smallest_plans=tuple(plans))


def _fit_model(
    pilot: Comparison, larger: Sequence[int], alignment: AlignmentName, *, is_nominal: bool
) -> NoiseModel | None:
    """Fit the noise model for panels that are larger than the pilot's; None where none fits."""
    if larger and not (is_nominal and pilot.clusters is None):
        why = "items that share clusters are not simulated"
        if not is_nominal:
            why = f"only boolean and choice questions under accuracy are simulated, not {alignment}"
        msg = (
            f"`n_annotators` must be at most the {pilot.humans.shape[1]} of the pilot here, got "
            f"more: {why}. Ask about fewer annotators."
        )
        raise InputError(msg)
    try:
        return fit_noise_model(pilot.judges[:, 0], pilot.humans) if is_nominal else None
    except InputError:
        if larger:
            raise
        return None


def _choose_one(names: Sequence[str], name: str | None, *, what: str) -> str:
    """Return the named value, or the only one."""
    if not names:
        msg = f"the tables must hold at least one {what}, got none."
    elif name is None and len(names) > 1:
        msg = f"`{what}` must name one of {list_names(names)}, got {len(names)} to choose from."
    elif name is not None and name not in names:
        msg = f"`{what}` must be one of {list_names(names)}, got {shorten(name)!r}."
    else:
        return name or names[0]
    raise InputError(msg)


def _cautions(
    pilot: Comparison, failed: NDArray[np.bool_], n_clusters: int | None, *, simulated: bool
) -> Iterator[Caution]:
    is_labelled = is_present(pilot.humans)
    n_items, n_failed = len(is_labelled), int(np.count_nonzero(failed))
    if n_items < _FEW_ITEMS:
        yield make_caution("pilot_few_items", n_items=n_items)
    if n_clusters is not None and n_clusters < _FEW_CLUSTERS:
        yield make_caution("pilot_few_clusters", n_clusters=n_clusters)
    if not is_labelled.all():
        where = "; where noise is simulated, they are at random" if simulated else ""
        percent = math.floor(100 * is_labelled.mean())  # so that a gap never shows as 100%
        yield make_caution("pilot_gaps", {"where": where}, percent=percent)
    if n_failed:
        yield make_caution("pilot_failures", n_failed=n_failed, n_items=n_items)
    if simulated:
        yield make_caution("pilot_simulated")
