"""Probes a judge: judges changed versions of items, and tests which changes affect its answers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from voirdire._validation import change_fields
from voirdire.judging.binding import EngineJudge, check_behavior, plan_judging
from voirdire.judging.call_plan import hash_item
from voirdire.judging.estimate import estimate_calls
from voirdire.judging.outputs import open_replies
from voirdire.studies.probing.answers import Codes
from voirdire.studies.probing.asking import Asker, change_plan, lay_out, swap_responses
from voirdire.studies.probing.findings import (
    Comparison,
    advice_on,
    find_biases,
    measure_stability,
)
from voirdire.studies.probing.results import ProbeReport
from voirdire.studies.probing.self_preference import find_self_preference, read_annotations
from voirdire.studies.probing.settings import ProbeSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from voirdire.judging import JudgingProgress, RunEstimate
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Verdicts
    from voirdire.rubrics import Rubric
    from voirdire.studies.probing.answers import Answers
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
    asker = Asker(settings.replies, progress)
    verdicts = {row.name: asker.ask(row.name, row.plan, row.items) for row in layout.requests}
    codes, usual = Codes(layout.plan.rubric.questions), verdicts["items"]
    runs = [
        codes.answers(verdicts[name], layout.ids)
        for name in verdicts
        if name == "items" or name.startswith("repeat ")
    ]
    n_items, pairing = len(layout.items), layout.neutral
    floor = (
        codes.answers(usual, pairing.before).expand_to(pairing.places, n_items),
        codes.answers(usual, pairing.after).expand_to(pairing.places, n_items),
    )
    comparisons = tuple(_list_comparisons(layout, verdicts, codes, runs[0], floor))
    findings = tuple(
        replace(row, advice=advice_on(row, layout.plan)) if row.is_found else row
        for row in find_biases(comparisons, settings)
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
        probes=findings,
        stability=measure_stability(runs, units=layout.units, settings=settings),
        neutral=measure_stability(floor, units=layout.units, settings=settings),
        self_preference=find_self_preference(layout, usual, annotations),
        n_judged=asker.n_judged,
        calls=tuple(asker.calls),
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


def _list_comparisons(
    layout: Layout,
    verdicts: dict[str, Verdicts],
    codes: Codes,
    usual: Answers,
    floor: tuple[Answers, Answers],
) -> Iterator[Comparison]:
    everything = range(len(layout.items))

    def compare(
        before: Answers, after: Answers, *, places: Sequence[int] = everything, **description: Any
    ) -> Comparison:
        # pairs in one order have no noise floor, since the other answers are over both orders
        is_place = description["family"] == "position"
        noise = None if is_place else (floor[0].rows(places), floor[1].rows(places))
        return Comparison(
            before=before,
            after=after,
            questions=layout.questions,
            kinds=tuple(row.kind for row in layout.plan.rubric.questions),
            units=layout.units[list(places)],
            noise=noise,
            n_unfit=len(everything) - len(places),
            **description,
        )

    for probe, pairing in layout.probes:
        yield compare(
            codes.answers(verdicts["items"], pairing.before),
            codes.answers(verdicts["items"], pairing.after),
            places=pairing.places,
            probe=probe.id,
            family=probe.family,
            summary=probe.summary,
            touches=probe.touches,
            aim=probe.aim,
        )
    if layout.single_order is not None:
        swapped = codes.answers(
            verdicts["position"], [swap_responses(item).id for item in layout.items]
        )
        yield compare(
            codes.unswap(swapped),
            codes.answers(verdicts["position"], layout.ids),
            probe="position/first",
            family="position",
            summary="a response is shown first instead of second",
        )
    for name, summary, _ in layout.prompts:
        answers, family = codes.answers(verdicts[name], layout.ids), name.partition("/")[0]
        yield compare(usual, answers, probe=name, family=family, summary=summary)
