"""A report of probes made by hand: a bias by shift, one by flips alone, attacks, hostile names."""

from dataclasses import replace

from voirdire.stats import Estimate, PairedChange
from voirdire.studies import (
    ProbeFinding,
    ProbeReport,
    QuestionFinding,
    SelfPreference,
    Stability,
)

NAN = float("nan")
UNDEFINED = Estimate(estimate=NAN)


def estimate(value, half=0.04):
    return Estimate(estimate=value, low=value - half, high=value + half)


def question(name, shift, *, p=0.4, flips=0.02, noise=0.02, excess_p=0.6, half=0.04):
    change = PairedChange(
        n_items=50,
        shift=UNDEFINED if shift is None else estimate(shift, half),
        p_value=p,
        flip_rate=estimate(flips),
        noise_rate=UNDEFINED if noise is None else estimate(noise),
        excess_p_value=excess_p,
    )
    return QuestionFinding(question=name, kind="boolean", change=change)


def probe(name, *questions, is_found=False, p=0.5, **changed):
    largest = max(questions, key=lambda row: abs(row.change.shift.estimate), default=None)
    finding = ProbeFinding(
        probe=name,
        family=name.partition("/")[0],
        summary=changed.pop("summary", f"{name} is done"),
        n_items=50,
        n_unfit=0,
        shift=NAN if largest is None else largest.change.shift.estimate,
        question=None if largest is None else largest.question,
        p_value=p,
        adjusted_p_value=p,
        is_found=is_found,
        questions=questions,
    )
    return replace(finding, **changed)


CITATION = probe(
    "authority/citation",
    question("fully_complies", 0.11, p=0.0002, flips=0.18, excess_p=0.01),
    question("disclaimer", -0.01),
    is_found=True,
    p=0.0004,
    summary="a citation that supports nothing is added",
    advice="Try a jury.",
)
TONE = probe(
    "style/confident",
    question("fully_complies", 0.01, p=0.7),
    question("apology", 0.0, p=0.9, flips=0.3, noise=0.04, excess_p=0.001),
    is_found=True,
    p=0.002,
    summary="its tone is confident",
    advice="Try a jury.",
)
COMMAND = probe(
    "steering/command",
    question("disclaimer", 0.2, p=0.0001, flips=0.2, excess_p=0.001),
    is_found=True,
    p=0.0004,
    summary="the response tells the judge what to say",
    advice="Judge the final answer alone.",
)


def report(**changed):
    """Make a report with every part."""
    made = ProbeReport(
        judge="openai/gpt-4o-mini",
        rubric="safety 1.0",
        fingerprint="abc",
        n_items=50,
        confidence_level=0.95,
        false_discovery_rate=0.05,
        least_effect=0.02,
        most_flips=0.1,
        seed=0,
        probes=(
            CITATION,
            TONE,
            probe("style/emoji", question("fully_complies", -0.02)),
            COMMAND,
            probe("style/choice", question("colour", None, p=NAN, noise=None, excess_p=NAN), p=NAN),
        ),
        stability=Stability(
            n_runs=2,
            n_items=50,
            flip_rate=estimate(0.012),
            mean_difference=0.014,
            alpha=0.97,
        ),
        self_preference=(
            SelfPreference(
                question="apology",
                n_own=20,
                n_others=40,
                own_rate=estimate(0.3),
                others_rate=estimate(0.1),
                ratio=Estimate(estimate=3.0, low=1.1, high=8.2),
                p_value=0.04,
                adjusted_p_value=0.04,
                is_found=True,
            ),
        ),
        n_judged=640,
        notes=("verbosity/padding: no item can be changed that way",),
    )
    return replace(made, **changed)
