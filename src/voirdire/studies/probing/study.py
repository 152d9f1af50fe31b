"""Probes a judge: judges changed versions of items, and tests which changes affect its answers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from voirdire._messages import shorten
from voirdire._validation import change_fields
from voirdire.errors import InputError
from voirdire.io import Reading
from voirdire.judging.answering import judge_by_plan
from voirdire.judging.binding import EngineJudge
from voirdire.judging.call_plan import hash_item
from voirdire.judging.estimate import estimate_calls
from voirdire.judging.outputs import open_replies
from voirdire.stats.agreement import krippendorff_alpha
from voirdire.stats.cautions import list_names
from voirdire.stats.fdr import adjust_p_values
from voirdire.stats.intervals import (
    UNDEFINED,
    Estimate,
    clopper_pearson,
    estimate_share,
    take_units,
)
from voirdire.stats.paired_change import measure_change
from voirdire.studies.gold import majority_labels
from voirdire.studies.probing.results import (
    ProbeFinding,
    ProbeReport,
    QuestionFinding,
    SelfPreference,
    Stability,
)
from voirdire.studies.probing.settings import ProbeSettings
from voirdire.studies.probing.variants import lay_out, reduce_cost
from voirdire.studies.study import read_side

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from voirdire.judging import CallSummary, JudgingProgress, RunEstimate
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Verdicts
    from voirdire.rubrics import Question, Rubric
    from voirdire.stats.paired_change import ChangeResult
    from voirdire.studies.probing.variants import Layout, Trial
    from voirdire.studies.study import Labels


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
    failures = _read_failures(layout, humans)
    verdicts, calls = _ask(layout, progress)
    answers = _Answers(layout.plan.rubric.questions, verdicts)
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
        probes=_find_biases(layout, answers, floor),
        stability=_measure_stability(runs, layout),
        neutral=_measure_stability(floor, layout),
        self_preference=_find_self_preference(layout, verdicts["items"], failures),
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
        name = request.plan.judge.name
        judged = judge_by_plan(
            request.items,
            reduce_cost(request.plan, spent[name]),
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


# Answers --------------------------------------------------------------------------------------

_PAIR_VALUES = {"A": 1.0, "tie": 0.5, "B": 0.0}
_SWAPPED = {"A": "B", "B": "A", True: False, False: True}


_Answered: TypeAlias = "tuple[NDArray[np.float64], NDArray[np.int64]]"
"""Values and label codes by item and question, of shape (n_items, n_questions).

Values are probabilities; numbers on a scale as shares of its range, where it has ends; 1 for A, 1/2
for a tie and 0 for B; nan where answers have no order, or there is none. Codes are -1 for none.
"""


class _Answers:
    """Answers of all requests, in codes of labels that they share."""

    def __init__(self, questions: Sequence[Question], verdicts: Mapping[str, Verdicts]) -> None:
        self.questions = questions
        self._verdicts = verdicts
        self._codes: dict[Any, int] = {}

    def read(
        self, request: str, ids: Sequence[str | None], *, is_swapped: bool = False
    ) -> _Answered:
        """Return the answers about these items, in their order, with A and B swapped back."""
        verdicts = self._verdicts[request]
        rows = [
            (place, verdicts.places[name]) for place, name in enumerate(ids) if name is not None
        ]
        values = np.full((len(ids), len(self.questions)), np.nan)
        labels = np.full(values.shape, -1, dtype=np.int64)
        for column, question in enumerate(self.questions):
            is_boolean = question.kind == "boolean"
            probabilities = verdicts.probability(question.id) if is_boolean else None
            answers = verdicts.answers(question.id)
            for place, row in rows:
                if (label := answers[row]) is None:
                    continue
                value = _read_value(question, label)
                values[place, column] = value if probabilities is None else probabilities[row]
                if is_swapped and question.kind != "scale":
                    label = _SWAPPED.get(label, label)
                label = tuple(sorted(label)) if isinstance(label, tuple) else label
                code = self._codes.setdefault((question.id, label), len(self._codes))
                labels[place, column] = code
        return (1 - values if is_swapped else values), labels


def _read_value(question: Question, label: Any) -> float:
    """Map an answer to [0, 1], where answers have an order."""
    if question.kind == "pairwise":
        return _PAIR_VALUES[label]
    if question.kind != "scale":
        return float("nan")
    low, high = question.minimum, question.maximum
    if low is None or high is None:
        return float(label)
    return (float(label) - low) / (high - low)


# Biases ---------------------------------------------------------------------------------------


def _find_biases(
    layout: Layout, answers: _Answers, floor: Sequence[_Answered]
) -> tuple[ProbeFinding, ...]:
    """Test every trial, and control the false discovery rate over probes.

    `floor` has the answers to all items with two different neutral lines.
    """
    settings = layout.settings
    measured = []
    for stream, trial in enumerate(layout.trials):  # each draws its own swaps
        (before, first), (after, second) = (
            answers.read(request, ids, is_swapped=trial.is_swapped and not is_after)
            for is_after, (request, ids) in enumerate(zip(trial.requests, trial.ids, strict=True))
        )
        kept = [k for k, row in enumerate(answers.questions) if row.id not in trial.probe.touches]
        # pairs in one order have no noise floor, since the other answers are over both orders
        places = list(trial.places)
        noise = [codes[places][:, kept] for _, codes in floor if trial.probe.family != "position"]
        sign = -1.0 if trial.probe.aim is False else 1.0  # values in the direction of the aim
        result = measure_change(
            sign * before[:, kept],
            sign * after[:, kept],
            labels=(first[:, kept], second[:, kept]),
            noise=(noise[0], noise[1]) if noise else None,
            clusters=layout.units[places],
            confidence_level=settings.confidence_level,
            n_swaps=settings.n_swaps,
            rng=np.random.default_rng([settings.seed, stream]),
        )
        drift = np.zeros(len(kept))  # of each question between two different neutral lines
        if noise:
            [(one, _), (other, _)] = floor
            shifts = (other - one)[places][:, kept]
            is_known = ~np.isnan(shifts)
            sums = np.where(is_known, shifts, 0.0).sum(axis=0)
            drift = np.abs(sums / np.maximum(is_known.sum(axis=0), 1))
        asked = [answers.questions[k] for k in kept]
        questions = tuple(
            QuestionFinding(question=row.id, kind=row.kind, change=change)
            for row, change in zip(asked, result.questions, strict=True)
        )
        p_values = [p for p in (result.p_value, result.excess_p_value) if not np.isnan(p)]
        p_value = min(1.0, len(p_values) * min(p_values)) if p_values else float("nan")
        measured.append((trial, result, questions, drift.tolist(), p_value))
    adjusted = adjust_p_values([row[-1] for row in measured], harmonic=False).tolist()
    return tuple(_make_finding(layout, *row, p) for row, p in zip(measured, adjusted, strict=True))


def _make_finding(
    layout: Layout,
    trial: Trial,
    result: ChangeResult,
    questions: tuple[QuestionFinding, ...],
    drift: Sequence[float],
    p_value: float,
    adjusted: float,
) -> ProbeFinding:
    settings, rate = layout.settings, layout.settings.false_discovery_rate
    # one of many shifts is large by chance: only significant ones count as the effect; one that
    # another neutral line has too is none
    shifted = [
        x
        for x, least in zip(questions, drift, strict=True)
        if x.change.p_value <= rate and abs(x.change.shift.estimate) > least
    ]
    excesses = [
        x.change.flip_rate.estimate - x.change.noise_rate.estimate
        for x in questions
        if x.change.excess_p_value <= rate
    ]
    effects = (
        (result.p_value, max((abs(x.change.shift.estimate) for x in shifted), default=0.0)),
        (result.excess_p_value, float(np.fmax.reduce(excesses, initial=0.0))),
    )
    n_tests = sum(not np.isnan(p) for p, _ in effects)
    is_found = adjusted <= rate and any(
        n_tests * p <= rate and size >= settings.least_effect for p, size in effects
    )
    largest = max(
        shifted or [x for x in questions if not np.isnan(x.change.shift.estimate)],
        key=lambda x: abs(x.change.shift.estimate),
        default=None,
    )
    return ProbeFinding(
        probe=trial.probe.id,
        family=trial.probe.family,
        summary=trial.probe.summary,
        n_items=result.n_items,
        n_unfit=len(layout.items) - len(trial.places),
        shift=float("nan") if largest is None else largest.change.shift.estimate,
        question=None if largest is None else largest.question,
        p_value=p_value,
        adjusted_p_value=adjusted,
        is_found=bool(is_found),
        advice=_advise(trial.probe.family, layout.plan) if is_found else None,
        questions=questions,
    )


# Advice ---------------------------------------------------------------------------------------

_ANOTHER = "Try a jury of different models (jury.yaml), or another model."
_IN_PROCESS = (
    "Train the judge on such texts too (voirdire distill), or take a language model as judge."
)
_SINGLE = "Ask each question in a call of its own"
_GUARDED = f"Do not train on this judge without a person who reads samples. {_ANOTHER}"
_ADVICE = {
    "position": _ANOTHER,
    "order": f"{_SINGLE} (--mode single), and certify the judge with the order of options that you "
    "use.",
    "prompt": f"{_SINGLE} (--mode single), and certify the judge with the prompt that you use.",
    "verbosity": f"{_SINGLE}, with examples (--mode single). In a reward, watch the length of "
    "completions in training.",
    "style": f"{_SINGLE}, with examples (--mode single).",
    "authority": f"{_SINGLE}, with examples (--mode single). {_ANOTHER}",
    "bandwagon": f"{_SINGLE}, with examples (--mode single). {_ANOTHER}",
    "steering": f"Judge the final answer alone (--judged final_answer). {_GUARDED}",
}


def _advise(family: str, plan: JudgingPlan) -> str:
    """Advise against a bias that was found, without what is done already."""
    if not isinstance(plan.judge, EngineJudge):
        return _IN_PROCESS
    advice = _ADVICE[family]
    if advice.startswith(_SINGLE) and plan.judge.asked.get("mode") == "single":
        return _ANOTHER
    if family == "steering" and plan.judged == "final_answer":
        return _GUARDED
    return advice


# The noise floor ------------------------------------------------------------------------------


def _measure_stability(runs: Sequence[_Answered], layout: Layout) -> Stability | None:
    """Compare the answers of several runs to all questions together."""
    if len(runs) < 2:
        return None
    labels = np.stack([codes for _, codes in runs], axis=-1)
    first, second = labels[..., 0], labels[..., 1]
    both = (first >= 0) & (second >= 0)
    n_both = both.sum(axis=1)
    kept = n_both > 0
    shares = ((first != second) & both).sum(axis=1)[kept] / n_both[kept]
    flip_rate = UNDEFINED
    if kept.any():
        level = layout.settings.confidence_level
        flip_rate = estimate_share(shares, take_units(layout.units, kept), confidence_level=level)
    distances = np.abs(runs[0][0] - runs[1][0])
    alphas = []  # of the questions where it is defined
    for ratings in np.moveaxis(labels, 1, 0):
        answered = ratings[(ratings >= 0).sum(axis=1) > 1]
        if len(np.unique(answered[answered >= 0])) > 1:
            alphas.append(krippendorff_alpha(answered).alpha)
    is_known = ~np.isnan(distances)
    return Stability(
        n_runs=len(runs),
        n_items=int(kept.sum()),
        flip_rate=flip_rate,
        mean_difference=float(distances[is_known].mean()) if is_known.any() else float("nan"),
        alpha=float(np.mean(alphas)) if alphas else float("nan"),
    )


# Self-preference ------------------------------------------------------------------------------


def _read_failures(layout: Layout, humans: Labels | None) -> dict[str, set[str]]:
    """Read the items that fail each question by the annotators' majority, before anything is paid.

    Tied items are left out.
    """
    settings = layout.settings
    if settings.author is None and humans is None:
        return {}
    if settings.author is None:
        msg = "`humans` must come with `author` and `own`, got neither: they say who failed."
        raise InputError(msg)
    if settings.own not in {item.metadata.get(settings.author) for item in layout.items}:
        msg = (
            f"`own` must be a value of the column {shorten(settings.author)!r}, got "
            f"{shorten(settings.own)!r}, which no item has."
        )
        raise InputError(msg)
    if humans is None:
        msg = "`humans` must be given for self-preference, got None: they say who failed."
        raise InputError(msg)
    kinds = {row.kind for row in layout.plan.rubric.questions}
    kind: Any = kinds.pop() if len(kinds) == 1 else None
    majority = majority_labels(read_side("humans", humans, Reading(kind=kind)))
    asked = [row.id for row in layout.plan.rubric.questions if row.kind == majority.kind]
    rows = majority.frame.select("question", "item", "label").rows()
    if not any(question in asked and item in {*layout.ids} for question, item, _ in rows):
        msg = (
            "`humans` must label questions of the rubric on the items that are probed, got labels "
            f"of {list_names(sorted(majority.questions), most=5)} on other items or questions."
        )
        raise InputError(msg)
    if majority.kind != "boolean":
        return {}
    return {
        name: {item for question, item, label in rows if (question, label) == (name, "false")}
        for name in asked
    }


def _find_self_preference(
    layout: Layout, verdicts: Verdicts, failures: dict[str, set[str]]
) -> tuple[SelfPreference, ...]:
    """Compare false positives on the judge's own model with those on others."""
    from scipy.stats import fisher_exact, norm

    settings = layout.settings
    authors = [item.metadata.get(settings.author or "") for item in layout.items]
    findings = []
    for question, failing in failures.items():
        answers = verdicts.answers(question)
        passed: tuple[list[bool], list[bool]] = ([], [])  # of the own model, and of others
        for name, author in zip(layout.ids, authors, strict=True):
            label = answers[verdicts.places[name]]
            if name in failing and label is not None and author is not None:
                passed[author != settings.own].append(bool(label))
        if not all(passed):
            continue
        hits, sizes = [sum(each) for each in passed], [len(each) for each in passed]
        add = 0.5 if 0 in hits else 0.0
        (a, b), (n, m) = (x + add for x in hits), (x + 2 * add for x in sizes)
        ratio = (a / n) / (b / m)
        width = float(norm.ppf(0.5 + settings.confidence_level / 2))
        spread = width * np.sqrt(1 / a - 1 / n + 1 / b - 1 / m)
        own_rate, others_rate = (
            Estimate(estimate=hit / size, low=ends[0], high=ends[1])
            for hit, size in zip(hits, sizes, strict=True)
            for ends in [clopper_pearson(hit, size, settings.confidence_level)]
        )
        table = [hits, [size - hit for hit, size in zip(hits, sizes, strict=True)]]
        findings.append(
            SelfPreference(
                question=question,
                n_own=sizes[0],
                n_others=sizes[1],
                own_rate=own_rate,
                others_rate=others_rate,
                ratio=Estimate(
                    estimate=ratio, low=ratio * np.exp(-spread), high=ratio * np.exp(spread)
                ),
                p_value=float(fisher_exact(np.array(table)).pvalue),
            )
        )
    adjusted = adjust_p_values([row.p_value for row in findings], harmonic=False).tolist()
    rate = settings.false_discovery_rate
    return tuple(
        replace(row, adjusted_p_value=p, is_found=p <= rate and row.ratio.estimate > 1)
        for row, p in zip(findings, adjusted, strict=True)
    )
