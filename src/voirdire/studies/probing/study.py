"""Probes a judge: judges changed versions of items, and tests which changes affect its answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Unpack

import numpy as np

from voirdire.judging import LlmJudge
from voirdire.judging.call_plan import hash_item
from voirdire.judging.plan import check_behavior, needs_engine, plan_judging
from voirdire.judging.runs.estimate import estimate_calls
from voirdire.judging.runs.outputs import open_replies
from voirdire.stats.intervals import estimate_mean
from voirdire.studies.probing.answers import Codes
from voirdire.studies.probing.asking import (
    Asker,
    change_models,
    get_public_judge,
    lay_out,
    replan,
    swap_responses,
)
from voirdire.studies.probing.beside import (
    check_beside,
    find_degradations,
    find_prompt_agreement,
    find_self_preference,
)
from voirdire.studies.probing.findings import Comparison, find_biases, measure_stability
from voirdire.studies.probing.mitigating import advice_on, compare_mitigated, plan_mitigation
from voirdire.studies.probing.results import ProbeReport
from voirdire.studies.probing.settings import ProbeSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from voirdire.judging import JudgingProgress, RunEstimate
    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.probes import Probe
    from voirdire.records import Verdicts
    from voirdire.rewards import RewardModel
    from voirdire.rubrics import Rubric
    from voirdire.stats import Estimate
    from voirdire.studies.probing.answers import Answers
    from voirdire.studies.probing.asking import Layout, Pairing
    from voirdire.studies.probing.settings import ProbeFields
    from voirdire.studies.study import Labels

__all__ = ["estimate_probing", "probe_judge"]


def probe_judge(
    items: Any,
    judge: JudgeLike = "local",
    *,
    rubric: Rubric | str | Path = "safety",
    settings: ProbeSettings | None = None,
    own_probes: Sequence[Probe] = (),
    humans: Labels | None = None,
    reward: RewardModel | None = None,
    writer: LlmJudge | str | None = None,
    mitigation: JudgeLike | Literal["auto"] | None = None,
    progress: Callable[[str, JudgingProgress], None] | None = None,
    **fields: Unpack[ProbeFields],
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
    own_probes : sequence of Probe, optional
        Probes of your own, as `voirdire.probes.own_probe` makes them; they are always run.
    humans : optional
        Annotators' labels, in any form that `voirdire.examine` takes: for the outcome under other
        prompts, and for self-preference.
    reward : RewardModel, optional
        Says what each bias would do to it.
    writer : LlmJudge or str, optional
        A language model that paraphrases responses and questions and translates items; it checks
        that each keeps its meaning. By default there are no such probes.
    mitigation : JudgeLike or "auto", optional
        Another judge, prompt or vote with which biases that were found are probed again;
        ``"auto"`` asks a language model differently.
    progress : callable, optional
        Called with the name of what is asked and a `voirdire.judging.JudgingProgress`.
    **fields
        Fields of `ProbeSettings`, each of which counts before that of `settings`; `threshold`,
        `judged`, `behavior`, `store` and `retry_failures` are as for `voirdire.judge`.

    Returns
    -------
    ProbeReport
        Findings, noise floor, and what was done about them.

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
    over the probes, and apart from that over all questions of all probes.

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
    chosen = replace(settings or ProbeSettings(), **fields)
    layout = _make_layout(items, judge, rubric, chosen, own_probes)
    people = check_beside(layout, humans)
    tried = None if mitigation is None else plan_mitigation(layout.plan, mitigation)
    asker = Asker(chosen.replies, progress)
    if writer is not None:
        layout = _add_written_versions(layout, writer, asker)
    asked = _ask(layout, asker)
    found = tuple(
        replace(
            row,
            reward_shift=None
            if reward is None
            else _compute_reward_shift(row.probe, asked, reward),
            advice=advice_on(row, layout.plan) if row.is_found else None,
        )
        for row in find_biases(asked.comparisons, layout.settings)
    )
    names = {row.probe for row in found if row.is_found and row.family != "prompt"}
    if mitigation == "auto":  # pairs are shown in both orders already
        names.discard("position/first")
    again = None
    if tried is not None and names:
        plan, what = tried
        other = _ask(layout.only(names, plan), asker)
        kept = [row for row in asked.comparisons if row.probe in names]
        again = compare_mitigated(kept, other.comparisons, plan.judge.name, what, layout.settings)
    verdicts = asked.verdicts["items"]
    neutral = measure_stability(asked.floor, layout.questions, units=layout.units, settings=chosen)
    return ProbeReport(
        judge=layout.plan.judge.name,
        rubric=f"{layout.plan.rubric.name} {layout.plan.rubric.version}",
        fingerprint=layout.plan.fingerprint,
        n_items=len(layout.items),
        confidence_level=chosen.confidence_level,
        false_discovery_rate=chosen.false_discovery_rate,
        least_effect=chosen.least_effect,
        seed=chosen.seed,
        probes=found,
        stability=measure_stability(
            asked.runs, layout.questions, units=layout.units, settings=chosen
        ),
        neutral=next(iter(neutral), None),
        degradations=find_degradations(layout, verdicts, asked.runs),
        prompts=find_prompt_agreement(layout, asked.verdicts, people),
        self_preference=find_self_preference(layout, verdicts, people),
        mitigation=again,
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
    own_probes: Sequence[Probe] = (),
    **fields: Unpack[ProbeFields],
) -> tuple[int, tuple[RunEstimate, ...]]:
    """Estimate the calls and the cost of `probe_judge`; the arguments are the same.

    Parameters
    ----------
    items, judge, rubric, settings, own_probes, **fields
        As for `probe_judge`. A writer and a mitigation are not counted.

    Returns
    -------
    tuple of (int, tuple of RunEstimate)
        Versions of items to judge, repeats included; and one estimate per prompt, none for a judge
        that makes no calls.
    """
    chosen = replace(settings or ProbeSettings(), **fields)
    layout = _make_layout(items, judge, rubric, chosen, own_probes)
    found = []
    with open_replies(chosen.replies, makes=False) as replies:
        for request in layout.requests:
            if needs_engine(request.plan.judge):
                apart = {hash_item(item): item for item in request.items}  # one call each
                row = estimate_calls(partial(list, apart.values()), request.plan, replies)
                found.append(replace(row, judge=f"{row.judge}: {request.name}"))
    return sum(len(row.items) for row in layout.requests), tuple(found)


def _make_layout(
    items: Any,
    judge: JudgeLike,
    rubric: Rubric | str | Path,
    settings: ProbeSettings,
    own_probes: Sequence[Probe],
) -> Layout:
    plan = plan_judging(
        judge, rubric, threshold=settings.threshold, judged=settings.judged, whole=False
    )
    check_behavior(settings.behavior, plan.rubric)
    asked = get_public_judge(plan.judge)
    raw = change_models(asked, lambda each: replace(each, calibration=None))
    notes: tuple[str, ...] = ()
    if raw != asked:
        plan = replan(plan, judge=raw)
        notes = ("the judge's calibration is left out: it was fitted for one way of asking",)
    layout = lay_out(items, plan, settings, own_probes=own_probes)
    return replace(layout, notes=(*layout.notes, *notes))


def _add_written_versions(layout: Layout, writer: LlmJudge | str, asker: Asker) -> Layout:
    """Add the probes of a writer, and its paraphrased questions."""
    from voirdire.studies.probing.rewriting import paraphrase_rubric, write_probes

    if isinstance(writer, str):
        writer = LlmJudge(model=writer, probability="stated")
    more, notes = write_probes(layout.items, writer, asker)
    prompts = []
    if layout.prompts:
        rubric = paraphrase_rubric(layout.plan.rubric, writer, asker)
        what = "the questions are reworded by the writer"
        prompts = [("paraphrased", what, replan(layout.plan, rubric=rubric))]
    return replace(layout.extend(more, prompts), notes=(*layout.notes, *notes))


@dataclass(frozen=True, kw_only=True, eq=False)
class _JudgeAnswers:
    """The judge's answers to the whole layout."""

    layout: Layout
    verdicts: dict[str, Verdicts]
    runs: tuple[Answers, ...]
    floor: tuple[Answers, Answers]
    comparisons: tuple[Comparison, ...]


def _ask(layout: Layout, asker: Asker) -> _JudgeAnswers:
    """Judge the whole layout, and pair the answers."""
    found = {row.name: asker.ask(row.name, row.plan, row.items) for row in layout.requests}
    codes = Codes(layout.plan.rubric.questions)
    names = ["items", *(name for name in found if name.startswith("repeat "))]
    runs = tuple(codes.answers(found[name], layout.ids) for name in names)
    n_items, pairing = len(layout.items), layout.neutral
    floor = (
        codes.answers(found["items"], pairing.before).expand_to(pairing.places, n_items),
        codes.answers(found["items"], pairing.after).expand_to(pairing.places, n_items),
    )
    comparisons = tuple(_list_comparisons(layout, found, codes, runs[0], floor))
    return _JudgeAnswers(
        layout=layout, verdicts=found, runs=runs, floor=floor, comparisons=comparisons
    )


def _list_comparisons(
    layout: Layout,
    found: dict[str, Verdicts],
    codes: Codes,
    usual: Answers,
    floor: tuple[Answers, Answers],
) -> Iterator[Comparison]:
    everything = range(len(layout.items))

    def compare(
        before: Answers, after: Answers, *, places: Sequence[int] = everything, **said: Any
    ) -> Comparison:
        # pairs in one order have no noise floor, since the other answers are over both orders
        is_place = said["family"] == "position"
        noise = None if is_place else (floor[0].rows(places), floor[1].rows(places))
        return Comparison(
            before=before,
            after=after,
            questions=layout.questions,
            kinds=tuple(row.kind for row in layout.plan.rubric.questions),
            units=layout.units[list(places)],
            noise=noise,
            n_unfit=len(everything) - len(places),
            **said,
        )

    def compare_pairing(pairing: Pairing, **said: Any) -> Comparison:
        return compare(
            codes.answers(found["items"], pairing.before),
            codes.answers(found["items"], pairing.after),
            places=pairing.places,
            **said,
        )

    for probe, pairing in layout.probes:
        yield compare_pairing(
            pairing,
            probe=probe.id,
            family=probe.family,
            summary=probe.summary,
            touches=probe.touches,
            aim=probe.aim,
        )
    if layout.translated.places:
        yield compare_pairing(
            layout.translated,
            probe="language/translated",
            family="language",
            summary="the item is given in the other language",
        )
    if layout.single_order is not None:
        swapped = codes.answers(
            found["position"], [swap_responses(item).id for item in layout.items]
        )
        yield compare(
            codes.unswap(swapped),
            codes.answers(found["position"], layout.ids),
            probe="position/first",
            family="position",
            summary="a response is shown first instead of second",
        )
    for name, what, _ in layout.prompts:
        answers = codes.answers(found[f"prompt/{name}"], layout.ids)
        yield compare(usual, answers, probe=f"prompt/{name}", family="prompt", summary=what)


def _compute_reward_shift(probe: str, asked: _JudgeAnswers, reward: RewardModel) -> Estimate | None:
    """Compute the effect of a change on a reward, in standard deviations of the unchanged items."""
    layout = asked.layout
    pairing = next((pair for row, pair in layout.probes if row.id == probe), None)
    if pairing is None:
        return None
    known = {item.id: item for item in (*layout.items, *layout.versions)}
    plain, before, after = (
        reward.score(
            [known[name] for name in names], verdicts=asked.verdicts["items"], other_judge=True
        ).rule_rewards
        for names in (layout.ids, pairing.before, pairing.after)
    )
    moved = (after - before) / float(np.nanstd(plain, ddof=1))
    kept = np.isfinite(moved)
    units = np.unique(layout.units[list(pairing.places)][kept], return_inverse=True)[1]
    level = layout.settings.confidence_level
    return estimate_mean(moved[kept], units, confidence_level=level)
