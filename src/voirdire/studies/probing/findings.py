"""Reads answers as numbers and codes, tests paired ones, and makes findings with effect sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.judging.binding import EngineJudge
from voirdire.records.thresholds import get_thresholds
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
    from voirdire.studies.probing.asking import Layout, Trial
    from voirdire.studies.probing.settings import ProbeSettings

__all__ = ["Answers", "Codes", "find_biases", "measure_stability"]

_PAIR_VALUES = {"A": 1.0, "tie": 0.5, "B": 0.0}


@dataclass(frozen=True, kw_only=True, eq=False)
class Answers:
    """Answers to questions about items; missing ones are nan and -1.

    Attributes
    ----------
    values : ndarray of float, shape (n_items, n_questions)
        Probabilities; numbers on a scale as shares of its range, where it has ends; 1 for A, 1/2
        for a tie and 0 for B; nan where answers have no order.
    labels : ndarray of int, shape (n_items, n_questions)
        Codes of labels, as in the shared `Codes`.
    """

    values: NDArray[np.float64]
    labels: NDArray[np.int64]

    def rows(self, places: Sequence[int]) -> Answers:
        """Return the answers about some of the items."""
        kept = list(places)
        return Answers(values=self.values[kept], labels=self.labels[kept])

    def expand_to(self, places: Sequence[int], n_items: int) -> Answers:
        """Return answers for all items, missing for items without one."""
        values = np.full((n_items, self.values.shape[1]), np.nan)
        labels = np.full(values.shape, -1, dtype=np.int64)
        values[list(places)], labels[list(places)] = self.values, self.labels
        return Answers(values=values, labels=labels)


class Codes:
    """Codes of labels, shared by all versions of all items."""

    def __init__(self, questions: Sequence[Question]) -> None:
        self.questions = questions
        self._known: dict[str, dict[Any, int]] = {row.id: {} for row in questions}

    def of(self, question: str, label: Any) -> int:
        """Return the code of a label; -1 for none."""
        codes = self._known[question]
        label = (
            tuple(sorted(label)) if isinstance(label, tuple) else label
        )  # in any order of labels
        return -1 if label is None else codes.setdefault(label, len(codes))

    def answers(self, verdicts: Verdicts, items: Sequence[str]) -> Answers:
        """Return the answers about these items, in their order."""
        places = [verdicts.places[name] for name in items]
        columns = [self._encode_answers(row, verdicts, places) for row in self.questions]
        shape = (len(items), len(columns))
        return Answers(
            values=np.array([values for values, _ in columns], dtype=np.float64).T.reshape(shape),
            labels=np.array([labels for _, labels in columns], dtype=np.int64).T.reshape(shape),
        )

    def unswap(self, answers: Answers) -> Answers:
        """Return answers about swapped pairs with A and B swapped back."""
        sides = [[self.of(row.id, side) for side in ("A", "B")] for row in self.questions]
        labels = answers.labels.copy()
        for column, (a, b) in zip(labels.T, sides, strict=True):
            is_a, is_b = column == a, column == b
            column[is_a], column[is_b] = b, a
        return Answers(values=1 - answers.values, labels=labels)

    def _encode_answers(
        self, question: Question, verdicts: Verdicts, places: list[int]
    ) -> tuple[list[float], list[int]]:
        if question.kind == "boolean":
            probabilities = verdicts.probability(question.id)[places]
            [threshold] = get_thresholds(verdicts.threshold, [question.id])
            codes = np.where(np.isnan(probabilities), -1, probabilities >= threshold).astype(
                np.int64
            )
            return probabilities.tolist(), codes.tolist()
        answers = verdicts.answers(question.id)
        labels = [answers[place] for place in places]
        values = [_read_value(question, label) for label in labels]
        return values, [self.of(question.id, label) for label in labels]


def _read_value(question: Question, label: Any) -> float:
    """Map an answer to [0, 1], where answers have an order."""
    if label is None:
        return float("nan")
    if question.kind == "pairwise":
        return _PAIR_VALUES[label]
    if question.kind == "scale":
        low, high = question.minimum, question.maximum
        if low is None or high is None:
            return float(label)
        return (float(label) - low) / (high - low)
    return float("nan")


# Biases ---------------------------------------------------------------------------------------


def find_biases(
    layout: Layout, verdicts: Mapping[str, Verdicts], codes: Codes, floor: tuple[Answers, Answers]
) -> tuple[ProbeFinding, ...]:
    """Test every trial, and control the false discovery rate over probes.

    `floor` has the answers to all items with two different neutral lines.
    """
    settings, names = layout.settings, [row.id for row in layout.plan.rubric.questions]
    trials, results, shifts = [], [], []
    for stream, trial in enumerate(layout.trials):  # each draws its own swaps
        before, after = (
            codes.answers(verdicts[request], ids)
            for request, ids in zip(trial.requests, trial.ids, strict=True)
        )
        before = codes.unswap(before) if trial.is_swapped else before
        kept = [k for k, name in enumerate(names) if name not in trial.touches]
        # pairs in one order have no noise floor, since the other answers are over both orders
        noise = () if trial.family == "position" else [row.rows(trial.places) for row in floor]
        sides = [before, after, *noise]
        sign = -1.0 if trial.aim is False else 1.0  # values in the direction of the aim
        values = [sign * side.values[:, kept] for side in sides]
        labels = [side.labels[:, kept] for side in sides]
        result = measure_change(
            values[0],
            values[1],
            labels=(labels[0], labels[1]),
            noise=(labels[2], labels[3]) if noise else None,
            clusters=layout.units[list(trial.places)],
            confidence_level=settings.confidence_level,
            n_swaps=settings.n_swaps,
            rng=np.random.default_rng([settings.seed, stream]),
        )
        trials.append((trial, kept))
        results.append(result)
        shifts.append(_measure_shifts(*values[2:]) if noise else [0.0] * len(kept))
    p_values = [_combine_p_values(result) for result in results]
    adjusted = adjust_p_values(p_values, harmonic=False).tolist()
    return tuple(
        _make_finding(layout, *trial, result, floors, p)
        for trial, result, floors, p in zip(trials, results, shifts, adjusted, strict=True)
    )


def _measure_shifts(before: NDArray[np.float64], after: NDArray[np.float64]) -> list[float]:
    """Measure the shift of each question between two versions with different neutral lines."""
    shifts = after - before
    is_known = ~np.isnan(shifts)
    sums = np.where(is_known, shifts, 0.0).sum(axis=0)
    return [float(x) for x in np.abs(sums / np.maximum(is_known.sum(axis=0), 1))]


def _combine_p_values(result: ChangeResult) -> float:
    """Return twice the smaller p-value of shift and flips; nan values are ignored."""
    p_values = [p for p in (result.p_value, result.excess_p_value) if not np.isnan(p)]
    return min(1.0, len(p_values) * min(p_values)) if p_values else float("nan")


def _make_finding(
    layout: Layout,
    trial: Trial,
    kept: Sequence[int],
    result: ChangeResult,
    floors: Sequence[float],
    adjusted: float,
) -> ProbeFinding:
    settings, asked = layout.settings, layout.plan.rubric.questions
    rate = settings.false_discovery_rate
    questions = tuple(
        QuestionFinding(question=asked[k].id, kind=asked[k].kind, change=change)
        for k, change in zip(kept, result.questions, strict=True)
    )
    # one of many shifts is large by chance: only significant ones count as the effect; one that
    # another neutral line has too is none
    shifts = [
        (size, x)
        for x, floor in zip(questions, floors, strict=True)
        if x.change.p_value <= rate and (size := abs(x.change.shift.estimate)) > floor
    ]
    excesses = [
        x.change.flip_rate.estimate - x.change.noise_rate.estimate
        for x in questions
        if x.change.excess_p_value <= rate
    ]
    effects = (
        (result.p_value, max((size for size, _ in shifts), default=0.0)),
        (result.excess_p_value, float(np.fmax.reduce(excesses, initial=0.0))),
    )
    n_tests = sum(not np.isnan(p) for p, _ in effects)
    is_found = adjusted <= rate and any(
        n_tests * p <= rate and size >= settings.least_effect for p, size in effects
    )
    valued = [x for x in questions if not np.isnan(x.change.shift.estimate)]
    largest = max(
        [x for _, x in shifts] or valued,
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
        p_value=_combine_p_values(result),
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


def measure_stability(
    runs: Sequence[Answers], *, units: NDArray[np.intp], settings: ProbeSettings
) -> Stability | None:
    """Compare the answers of several runs to all questions together."""
    if len(runs) < 2:
        return None
    labels = np.stack([run.labels for run in runs], axis=-1)
    values = np.stack([run.values for run in runs], axis=-1)
    first, second = labels[..., 0], labels[..., 1]
    both = (first >= 0) & (second >= 0)
    n_both = both.sum(axis=1)
    kept = n_both > 0
    shares = ((first != second) & both).sum(axis=1)[kept] / n_both[kept]
    rate = UNDEFINED
    if kept.any():
        level = settings.confidence_level
        rate = estimate_share(shares, take_units(units, kept), confidence_level=level)
    distances = np.abs(values[..., 0] - values[..., 1])
    defined = distances[~np.isnan(distances)]
    return Stability(
        n_runs=labels.shape[-1],
        n_items=int(kept.sum()),
        flip_rate=rate,
        mean_difference=float(defined.mean()) if defined.size else float("nan"),
        alpha=_average_alpha(labels),
    )


def _average_alpha(labels: NDArray[np.int64]) -> float:
    """Return the mean α over the questions where it is defined."""
    alphas = []
    for runs in np.moveaxis(labels, 1, 0):
        answered = runs[(runs >= 0).sum(axis=1) > 1]
        if len(np.unique(answered[answered >= 0])) > 1:
            alphas.append(krippendorff_alpha(answered).alpha)
    return float(np.mean(alphas)) if alphas else float("nan")
