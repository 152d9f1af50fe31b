"""Advises mitigations of a bias, and measures their effect."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from voirdire.judging import LlmJudge
from voirdire.judging.plan import needs_engine
from voirdire.stats.paired_change import measure_change
from voirdire.studies.probing.asking import get_public_judge, replan
from voirdire.studies.probing.findings import find_biases
from voirdire.studies.probing.results import MitigatedProbe, Mitigation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.bound import JudgingPlan
    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.studies.probing.findings import Comparison
    from voirdire.studies.probing.results import ProbeFinding
    from voirdire.studies.probing.settings import ProbeSettings

__all__ = ["advice_on", "compare_mitigated", "plan_mitigation"]

_ANOTHER = "Try a jury of different models (jury.yaml), or another model."
_IN_PROCESS = (
    "Train the judge on such texts too (voirdire distill), or take a language model as judge."
)
_ADVICE = {
    "position": "Show every pair in both orders (both_orders, the default): a verdict that depends "
    "on the order becomes a tie.",
    "prompt": "Ask in several orders (`orders: 4` in a file of judges), or each question in a call "
    "of its own (--mode single), and certify the judge with the prompt that you use.",
    "verbosity": "Ask each question in a call of its own, with examples (--mode single). In a "
    "reward, watch the length of completions in training.",
    "style": "Ask each question in a call of its own, with examples (--mode single).",
    "authority": "Ask each question in a call of its own, with examples (--mode single). "
    + _ANOTHER,
    "bandwagon": "Ask each question in a call of its own, with examples (--mode single). "
    + _ANOTHER,
    "sentiment": "Ask each question in a call of its own, with examples (--mode single). "
    + _ANOTHER,
    "steering": "Judge the final answer alone (--judged final_answer), and do not train on this "
    "judge without a person who reads samples. " + _ANOTHER,
    "language": "Ask in the language of the items (--prompt-language), and examine the judge for "
    "each language.",
}


def advice_on(finding: ProbeFinding, plan: JudgingPlan) -> str:
    """Return advice against a bias that was found."""
    if not needs_engine(plan.judge):
        return _IN_PROCESS
    return _ADVICE.get(finding.family, _ANOTHER)


def plan_mitigation(
    plan: JudgingPlan, mitigation: JudgeLike | Literal["auto"]
) -> tuple[JudgingPlan, str] | None:
    """Make a plan of mitigation with a description; None where there is no automatic one."""
    if not (isinstance(mitigation, str) and mitigation == "auto"):
        other = replan(plan, judge=mitigation)
        return other, "another judge"
    judge = get_public_judge(plan.judge)
    if not isinstance(judge, LlmJudge):
        return None
    if judge.mode == "joint" and len(plan.rubric.questions) > 1:
        other = replan(plan, judge=replace(judge, mode="single"))
        return other, "each question has a call of its own, with its examples"
    if judge.probability != "vote":
        voting = replace(judge, probability="vote", temperature=None)
        return replan(plan, judge=voting), f"a vote of {voting.n_samples} samples"
    return None


def compare_mitigated(
    before: Sequence[Comparison],
    after: Sequence[Comparison],
    judge: str,
    description: str,
    settings: ProbeSettings,
) -> Mitigation:
    """Compare the shifts of the same probes under two judges."""
    findings = {row.probe: row for row in find_biases(after, settings)}
    comparisons = {row.probe: row for row in after}
    mitigated_probes = []
    for stream, row in enumerate(before):
        if row.probe not in comparisons:
            continue
        second = comparisons[row.probe]
        results = row.measured(settings, stream=stream), second.measured(settings, stream=stream)
        sizes = [abs(x.shift.estimate) for x in results[0].questions]
        largest = 0 if np.isnan(sizes).all() else int(np.nanargmax(sizes))
        change = measure_change(
            row.differences(),
            second.differences(),
            clusters=row.units,
            n_swaps=settings.n_swaps,
            rng=np.random.default_rng([settings.seed, stream, 1]),
        )
        mitigated_probes.append(
            MitigatedProbe(
                probe=row.probe,
                question=row.questions[row.kept[largest]],
                before=results[0].questions[largest].shift,
                after=results[1].questions[largest].shift,
                p_value=change.p_value,
                still_found=findings[row.probe].is_found,
            )
        )
    return Mitigation(judge=judge, what=description, probes=tuple(mitigated_probes))
