"""Reads answers as numbers and codes, tests paired ones, and makes findings with effect sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.judging.binding import EngineJudge
from voirdire.stats.agreement import krippendorff_alpha
from voirdire.stats.fdr import adjust_p_values
from voirdire.stats.intervals import UNDEFINED, estimate_share, take_units
from voirdire.stats.paired_change import measure_change
from voirdire.studies.probing.results import ProbeFinding, QuestionFinding, Stability

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.judging.binding import JudgingPlan
    from voirdire.records import Verdicts
    from voirdire.rubrics import Question
    from voirdire.stats.paired_change import ChangeResult
    from voirdire.studies.probing.variants import Layout, Trial

__all__ = ["Answers", "find_biases", "measure_stability"]

_PAIR_VALUES = {"A": 1.0, "tie": 0.5, "B": 0.0}
_SWAPPED = {"A": "B", "B": "A", True: False, False: True}


@dataclass(frozen=True, kw_only=True, eq=False)
class Answered:
    """Answers to questions about items, of shape (n_items, n_questions); missing are nan and -1.

    Values are probabilities; numbers on a scale as shares of its range, where it has ends; 1 for A,
    1/2 for a tie and 0 for B; nan where answers have no order.
    """

    values: NDArray[np.float64]
    labels: NDArray[np.int64]


class Answers:
    """Answers of all requests, in codes of labels that they share."""

    def __init__(self, questions: Sequence[Question], verdicts: Mapping[str, Verdicts]) -> None:
        self.questions = questions
        self._verdicts = verdicts
        self._codes: dict[Any, int] = {}

    def read(
        self, request: str, ids: Sequence[str | None], *, is_swapped: bool = False
    ) -> Answered:
        """Return the answers about these items, in their order, with A and B swapped back."""
        verdicts = self._verdicts[request]
        rows = [(place, verdicts.places[name]) for place, name in enumerate(ids) if name]
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
        return Answered(values=1 - values if is_swapped else values, labels=labels)


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


def find_biases(
    layout: Layout, answers: Answers, floor: Sequence[Answered]
) -> tuple[ProbeFinding, ...]:
    """Test every trial, and control the false discovery rate over probes.

    `floor` has the answers to all items with two different neutral lines.
    """
    settings = layout.settings
    measured = []
    for stream, trial in enumerate(layout.trials):  # each draws its own swaps
        before, after = (
            answers.read(request, ids, is_swapped=trial.is_swapped and not is_after)
            for is_after, (request, ids) in enumerate(zip(trial.requests, trial.ids, strict=True))
        )
        kept = [k for k, row in enumerate(answers.questions) if row.id not in trial.touches]
        # pairs in one order have no noise floor, since the other answers are over both orders
        places = list(trial.places)
        noise = [] if trial.family == "position" else [row.labels[places][:, kept] for row in floor]
        sign = -1.0 if trial.aim is False else 1.0  # values in the direction of the aim
        result = measure_change(
            sign * before.values[:, kept],
            sign * after.values[:, kept],
            labels=(before.labels[:, kept], after.labels[:, kept]),
            noise=(noise[0], noise[1]) if noise else None,
            clusters=layout.units[places],
            confidence_level=settings.confidence_level,
            n_swaps=settings.n_swaps,
            rng=np.random.default_rng([settings.seed, stream]),
        )
        drift = np.zeros(len(kept))  # of each question between two different neutral lines
        if noise:
            shifts = (floor[1].values - floor[0].values)[places][:, kept]
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
        probe=trial.probe,
        family=trial.family,
        summary=trial.summary,
        n_items=result.n_items,
        n_unfit=len(layout.items) - len(trial.places),
        shift=float("nan") if largest is None else largest.change.shift.estimate,
        question=None if largest is None else largest.question,
        p_value=p_value,
        adjusted_p_value=adjusted,
        is_found=bool(is_found),
        advice=_advise(trial.family, layout.plan) if is_found else None,
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


def measure_stability(runs: Sequence[Answered], layout: Layout) -> Stability | None:
    """Compare the answers of several runs to all questions together."""
    if len(runs) < 2:
        return None
    labels = np.stack([run.labels for run in runs], axis=-1)
    first, second = labels[..., 0], labels[..., 1]
    both = (first >= 0) & (second >= 0)
    n_both = both.sum(axis=1)
    kept = n_both > 0
    shares = ((first != second) & both).sum(axis=1)[kept] / n_both[kept]
    flip_rate = UNDEFINED
    if kept.any():
        level = layout.settings.confidence_level
        flip_rate = estimate_share(shares, take_units(layout.units, kept), confidence_level=level)
    distances = np.abs(runs[0].values - runs[1].values)
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
