"""Tests paired answers, and makes findings with effect sizes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from voirdire.judging.binding import EngineJudge
from voirdire.stats.agreement import krippendorff_alpha
from voirdire.stats.fdr import adjust_p_values
from voirdire.stats.intervals import UNDEFINED, estimate_share, take_units
from voirdire.stats.paired_change import measure_change
from voirdire.studies.probing.results import ProbeFinding, QuestionFinding, Stability

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire._types import RubricKind
    from voirdire.judging.binding import JudgingPlan
    from voirdire.stats.paired_change import ChangeResult, PairedChange
    from voirdire.studies.probing.answers import Answers
    from voirdire.studies.probing.settings import ProbeSettings

__all__ = ["Comparison", "advice_on", "find_biases", "measure_stability"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Comparison:
    """The answers to two versions of items, with the change between them."""

    probe: str
    family: str
    summary: str
    before: Answers
    after: Answers
    questions: tuple[str, ...]
    kinds: tuple[RubricKind, ...]
    units: NDArray[np.intp]
    noise: tuple[Answers, Answers] | None
    n_unfit: int = 0
    touches: frozenset[str] = frozenset()
    aim: bool | None = None

    @cached_property
    def kept(self) -> list[int]:
        """Places of the questions whose true answers do not change."""
        return [k for k, name in enumerate(self.questions) if name not in self.touches]

    def measured(self, settings: ProbeSettings, *, stream: int) -> ChangeResult:
        """Test the change; each probe draws its own swaps."""
        return measure_change(
            self._values(self.before),
            self._values(self.after),
            labels=(self.before.labels[:, self.kept], self.after.labels[:, self.kept]),
            noise=None
            if self.noise is None
            else (self.noise[0].labels[:, self.kept], self.noise[1].labels[:, self.kept]),
            clusters=self.units,
            confidence_level=settings.confidence_level,
            n_swaps=settings.n_swaps,
            rng=np.random.default_rng([settings.seed, stream]),
        )

    def _values(self, answers: Answers) -> NDArray[np.float64]:
        """Return values in the direction of the aim: (n_items, n_kept)."""
        kept = answers.values[:, self.kept]
        return -kept if self.aim is False else kept

    def floor_shifts(self) -> list[float]:
        """Shifts between two versions with different neutral lines."""
        if self.noise is None:
            return [0.0] * len(self.kept)
        shifts = self._values(self.noise[1]) - self._values(self.noise[0])
        is_known = ~np.isnan(shifts)
        sums = np.where(is_known, shifts, 0.0).sum(axis=0)
        return [float(x) for x in np.abs(sums / np.maximum(is_known.sum(axis=0), 1))]


def find_biases(
    comparisons: Sequence[Comparison], settings: ProbeSettings
) -> tuple[ProbeFinding, ...]:
    """Test every comparison, and control the false discovery rate over probes."""
    results = [row.measured(settings, stream=k) for k, row in enumerate(comparisons)]
    adjusted = adjust_p_values([_combine_p_values(row) for row in results], harmonic=False)
    return tuple(
        _make_finding(row, result, p, settings)
        for row, result, p in zip(comparisons, results, adjusted.tolist(), strict=True)
    )


def _combine_p_values(result: ChangeResult) -> float:
    """Return twice the smaller p-value of shift and flips; nan values are ignored."""
    p_values = [p for p in (result.p_value, result.excess_p_value) if not np.isnan(p)]
    return min(1.0, len(p_values) * min(p_values)) if p_values else float("nan")


def _make_finding(
    row: Comparison,
    result: ChangeResult,
    adjusted: float,
    settings: ProbeSettings,
) -> ProbeFinding:
    rate, floors = settings.false_discovery_rate, row.floor_shifts()
    questions = tuple(
        QuestionFinding(question=row.questions[k], kind=row.kinds[k], change=change)
        for k, change in zip(row.kept, result.questions, strict=True)
    )
    # one of many shifts is large by chance: only significant ones count as the effect
    sizes = zip(questions, floors, strict=True)
    shifts = [(_measure_size(x.change, floor), x) for x, floor in sizes if x.change.p_value <= rate]
    excesses = [_compute_excess(x.change) for x in questions if x.change.excess_p_value <= rate]
    n_tests = 2 - bool(np.isnan(result.p_value)) - bool(np.isnan(result.excess_p_value))
    shown = (
        (result.p_value, max((size for size, _ in shifts), default=0.0)),
        (result.excess_p_value, max(excesses, default=0.0)),
    )
    valued = [x for x in questions if not np.isnan(x.change.shift.estimate)]
    largest = max(
        [x for size, x in shifts if size] or valued,
        key=lambda x: abs(x.change.shift.estimate),
        default=None,
    )
    return ProbeFinding(
        probe=row.probe,
        family=row.family,
        summary=row.summary,
        n_items=result.n_items,
        n_unfit=row.n_unfit,
        shift=float("nan") if largest is None else largest.change.shift.estimate,
        question=None if largest is None else largest.question,
        p_value=_combine_p_values(result),
        adjusted_p_value=adjusted,
        is_found=bool(adjusted <= rate)
        and any(n_tests * p <= rate and size >= settings.least_effect for p, size in shown),
        questions=questions,
    )


def _measure_size(change: PairedChange, floor: float) -> float:
    """Return the size of a shift; 0 where another neutral line has an equal shift."""
    size = abs(change.shift.estimate)
    return size if size > floor else 0.0


def _compute_excess(change: PairedChange) -> float:
    excess = change.flip_rate.estimate - change.noise_rate.estimate
    return 0.0 if np.isnan(excess) else excess


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


def advice_on(finding: ProbeFinding, plan: JudgingPlan) -> str:
    """Return advice against a bias that was found, without what is done already."""
    if not isinstance(plan.judge, EngineJudge):
        return _IN_PROCESS
    advice = _ADVICE[finding.family]
    if advice.startswith(_SINGLE) and plan.judge.asked.get("mode") == "single":
        return _ANOTHER
    if finding.family == "steering" and plan.judged == "final_answer":
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
