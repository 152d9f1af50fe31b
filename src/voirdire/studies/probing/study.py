"""Probes a judge: judges changed versions of items, and tests which changes affect its answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from voirdire._validation import change_fields
from voirdire.judging.answering import judge_by_plan
from voirdire.judging.binding import EngineJudge, check_behavior, plan_judging
from voirdire.judging.call_plan import hash_item
from voirdire.judging.estimate import estimate_calls
from voirdire.judging.outputs import open_replies
from voirdire.studies.probing.asking import change_plan, lay_out, limit_cost
from voirdire.studies.probing.findings import Codes, find_biases, measure_stability
from voirdire.studies.probing.results import ProbeReport
from voirdire.studies.probing.self_preference import find_self_preference, read_annotations
from voirdire.studies.probing.settings import ProbeSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from voirdire.judging import CallSummary, JudgingProgress, RunEstimate
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Verdicts
    from voirdire.rubrics import Rubric
    from voirdire.studies.probing.asking import Layout
    from voirdire.studies.study import Labels

__all__ = ["estimate_probing", "probe_judge"]


def probe_judge(
    items: Any,
    judge: JudgeLike = "local",
    *,
    rubric: Rubric | str | Path = "safety",
    settings: ProbeSettings | None = None,
    humans: Labels | None = None,
    progress: Callable[[str, JudgingProgress], None] | None = None,
    **fields: Any,
) -> ProbeReport:
    """Find out which influences change a judge's answers.

    Each probe makes two versions of an item: one with a suspected influence, such as a citation
    that supports nothing, and a control of the same length without it. A fair judge answers both
    alike. Shifts and flips are tested against the noise of asking twice.

    Parameters
    ----------
    items : sequence of Item or of mapping, or a data frame
        Items, or rows as a file of items has them.
    judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
        Who is probed, as in `voirdire.judge`.
    rubric : Rubric, str or path, optional
        What is asked. A rubric of pairwise questions is probed for the position of responses too.
    settings : ProbeSettings, optional
        Which probes, how many items, how the judge is asked, and when a bias counts as found.
    humans : optional
        Annotators' labels, in any form that `voirdire.examine` takes: for self-preference.
    progress : callable, optional
        Called with the name of what is asked and a `voirdire.judging.JudgingProgress`.
    **fields
        Fields of `ProbeSettings`, each of which counts before that of `settings`; `threshold`,
        `judged`, `behavior`, `store` and `retry_failures` are as for `voirdire.judge`.

    Returns
    -------
    ProbeReport
        Findings, and the noise floor.

    Raises
    ------
    NoDataError
        If there are fewer than two items.
    InputError
        If an argument breaks its rule, or a probe is not known.
    ModelCallError, CostLimitReachedError
        As `voirdire.judge`; what came is stored.

    Notes
    -----
    *Cost*: `estimate_probing` says it beforehand. *Order, errors, retries and caching* are those of
    `voirdire.judge`: what was asked once is not asked again. *Multiplicity*: Benjamini-Hochberg
    over the probes.

    Examples
    --------
    >>> from voirdire.studies import ProbeSettings, probe_judge
    >>> rows = [
    ...     {"id": f"r{k}", "prompt": f"Is {k} even?", "response": f"Sorry, I can't say about {k}."}
    ...     for k in range(12)
    ... ]
    >>> report = probe_judge(rows, "local", settings=ProbeSettings(only=["bandwagon"]))
    >>> [row.probe for row in report.probes]
    ['bandwagon/majority']
    """
    settings = change_fields(settings or ProbeSettings(), fields)
    layout = _make_layout(items, judge, rubric, settings)
    annotations = read_annotations(layout, humans)
    verdicts: dict[str, Verdicts] = {}
    calls: list[CallSummary] = []
    spent: Counter[str] = Counter()  # dollars by judge, for one cost limit over all requests
    for request in layout.requests:
        name = request.plan.judge.name
        judged = judge_by_plan(
            request.items,
            limit_cost(request.plan, spent[name]),
            replies=settings.replies,
            progress=None if progress is None else partial(progress, request.name),
        )
        verdicts[request.name] = judged
        if judged.calls is not None:
            calls.append(judged.calls)
            spent[name] += judged.calls.cost or 0.0  # type: ignore[assignment]
    codes, usual = Codes(layout.plan.rubric.questions), verdicts["items"]
    names = ["items", *(f"repeat {run}" for run in range(1, settings.n_runs))]
    runs = [codes.answers(verdicts[name], layout.ids) for name in names]
    first, second = (
        codes.answers(usual, ids).expand_to(layout.neutral.places, len(layout.items))
        for ids in layout.neutral.ids
    )
    return ProbeReport(
        judge=layout.plan.judge.name,
        rubric=f"{layout.plan.rubric.name} {layout.plan.rubric.version}",
        fingerprint=layout.plan.fingerprint,
        n_items=len(layout.items),
        confidence_level=settings.confidence_level,
        false_discovery_rate=settings.false_discovery_rate,
        least_effect=settings.least_effect,
        most_flips=settings.most_flips,
        seed=settings.seed,
        probes=find_biases(layout, verdicts, codes, (first, second)),
        stability=measure_stability(runs, units=layout.units, settings=settings),
        neutral=measure_stability((first, second), units=layout.units, settings=settings),
        self_preference=find_self_preference(layout, usual, annotations),
        n_judged=sum(len(request.items) for request in layout.requests),
        calls=tuple(calls),
        dropped=layout.dropped,
        notes=(*layout.plan.notes, *layout.notes),
    )


def estimate_probing(
    items: Any,
    judge: JudgeLike = "local",
    *,
    rubric: Rubric | str | Path = "safety",
    settings: ProbeSettings | None = None,
    **fields: Any,
) -> tuple[int, tuple[RunEstimate, ...]]:
    """Estimate the calls and the cost of `probe_judge`; the arguments are the same.

    Parameters
    ----------
    items, judge, rubric, settings, **fields
        As for `probe_judge`.

    Returns
    -------
    tuple of (int, tuple of RunEstimate)
        Versions of items to judge, repeats included; and one estimate per prompt, none for a judge
        that makes no calls.
    """
    settings = change_fields(settings or ProbeSettings(), fields)
    layout = _make_layout(items, judge, rubric, settings)
    estimates = []
    with open_replies(settings.replies, makes=False) as replies:
        for request in layout.requests:
            if isinstance(request.plan.judge, EngineJudge):
                distinct = {hash_item(item): item for item in request.items}  # one call each
                row = estimate_calls(distinct.values(), request.plan, replies)
                estimates.append(replace(row, judge=f"{row.judge}: {request.name}"))
    return sum(len(row.items) for row in layout.requests), tuple(estimates)


def _make_layout(
    items: Any,
    judge: JudgeLike,
    rubric: Rubric | str | Path,
    settings: ProbeSettings,
) -> Layout:
    plan = plan_judging(
        judge, rubric, threshold=settings.threshold, judged=settings.judged, whole=False
    )
    check_behavior(settings.behavior, plan.rubric)
    raw = change_plan(plan, lambda judge: replace(judge, calibration=None))
    layout = lay_out(items, raw, settings)
    if raw is plan:
        return layout
    note = "the judge's calibration is left out: it was fitted for one way of asking"
    return replace(layout, notes=(*layout.notes, note))
