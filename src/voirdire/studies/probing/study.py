"""Probes a judge: judges changed versions of items, and tests which changes affect its answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from voirdire._validation import change_fields
from voirdire.judging.answering import judge_by_plan
from voirdire.judging.binding import EngineJudge
from voirdire.judging.call_plan import hash_item
from voirdire.judging.estimate import estimate_calls
from voirdire.judging.outputs import open_replies
from voirdire.studies.probing.findings import Answers, find_biases, measure_stability
from voirdire.studies.probing.results import ProbeReport
from voirdire.studies.probing.self_preference import find_self_preference, read_failures
from voirdire.studies.probing.settings import ProbeSettings
from voirdire.studies.probing.variants import change_plan, lay_out

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from voirdire.judging import CallSummary, JudgingProgress, LlmJudge, RunEstimate
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Verdicts
    from voirdire.rubrics import Rubric
    from voirdire.studies.probing.variants import Layout
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
    layout = lay_out(items, judge, rubric, settings)
    failures = read_failures(layout, humans)
    verdicts, calls = _ask(layout, progress)
    answers = Answers(layout.plan.rubric.questions, verdicts)
    runs = [answers.read("items", layout.ids)]
    runs += [answers.read(f"repeat {run}", layout.ids) for run in range(1, settings.n_runs)]
    lines = [dict(zip(layout.neutral.places, ids, strict=True)) for ids in layout.neutral.ids]
    floor = [
        answers.read("items", [own.get(place) for place in range(len(layout.items))])
        for own in lines
    ]
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
        probes=find_biases(layout, answers, floor),
        stability=measure_stability(runs, layout),
        neutral=measure_stability(floor, layout),
        self_preference=find_self_preference(layout, verdicts["items"], failures),
        n_judged=sum(len(request.items) for request in layout.requests),
        calls=calls,
        dropped=layout.dropped,
        notes=(*layout.plan.notes, *layout.notes),
    )


def _ask(
    layout: Layout, progress: Callable[[str, JudgingProgress], None] | None
) -> tuple[dict[str, Verdicts], tuple[CallSummary, ...]]:
    """Judge all requests, one after the other, with one cost limit of each judge over all."""
    verdicts: dict[str, Verdicts] = {}
    calls: list[CallSummary] = []
    spent: Counter[str] = Counter()
    for request in layout.requests:
        plan, name = request.plan, request.plan.judge.name

        def reduce_limit(judge: LlmJudge, spent: float = spent[name]) -> LlmJudge:
            if judge.max_cost is None:
                return judge
            # a limit must be above 0; the first call then exceeds it
            return replace(judge, max_cost=max(judge.max_cost - spent, 1e-9))

        judged = judge_by_plan(
            request.items,
            change_plan(plan, reduce_limit) if spent[name] else plan,
            replies=layout.settings.replies,
            progress=None if progress is None else partial(progress, request.name),
        )
        verdicts[request.name] = judged
        if judged.calls is not None:
            calls.append(judged.calls)
            spent[name] += judged.calls.cost or 0.0  # type: ignore[assignment]
    return verdicts, tuple(calls)


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
    layout = lay_out(items, judge, rubric, settings)
    estimates = []
    with open_replies(settings.replies, makes=False) as replies:
        for request in layout.requests:
            if isinstance(request.plan.judge, EngineJudge):
                distinct = {hash_item(item): item for item in request.items}  # one call each
                row = estimate_calls(distinct.values(), request.plan, replies)
                estimates.append(replace(row, judge=f"{row.judge}: {request.name}"))
    return sum(len(row.items) for row in layout.requests), tuple(estimates)
