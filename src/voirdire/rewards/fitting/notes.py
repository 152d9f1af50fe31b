"""What the reader of a fit should know: of each behavior, and of the whole."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import NoDataError
from voirdire.rewards.vetoes import VETO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.records import Dropped
    from voirdire.rewards.comparisons.data import ComparisonData
    from voirdire.rewards.fitting.behavior_fitting import BehaviorFit
    from voirdire.rewards.fitting.judged_comparisons import BehaviorData
    from voirdire.rewards.fitting.settings import FeatureChoice
    from voirdire.rewards.fitting.weight_problem import WeightProblem
    from voirdire.rewards.solving.problem import RankingSolution
    from voirdire.rubrics import Rubric

__all__ = [
    "Undetermined",
    "behavior_notes",
    "few_for_folds",
    "fit_notes",
    "loose_notes",
    "refuse_nothing",
    "undetermined",
]

FEW_PROMPTS = 20
"""Percentiles over fewer prompts are ends of an interval in name only."""


_FAR_APART = 10.0


_CERTIFIED = 1e-6


_MOST_NAMED = 6


_ZERO = 1e-7
"""Coordinates of directions below this are rounding."""


_FEW_FEATURES = 3
"""Directions of more features are counted, not spelt out."""


_MOST_SAID = 5
"""So many sentences about a few features; others are counted too."""


_AS_GOOD_AS_NOTHING = 0.01
"""Of the largest weight of a behavior: nobody asks how smaller ones are shared."""


# Of one behavior ----------------------------------------------------------------------------------


def behavior_notes(
    problem: WeightProblem,
    solution: RankingSolution,
    *,
    separable: str,
    left_open: Undetermined,
    l2: float,
    penalty: float,
) -> Iterator[str]:
    """Give notes on the fit of a behavior, the weightiest first."""
    if problem.choice.vetoes:
        yield _veto(problem, penalty)
    yield from _separable(separable, l2=l2, loss=problem.settings.loss)
    if left_open.features:
        yield (
            f"no comparison tells anything of {_named(left_open.features)}: "
            f"{'its weight is' if len(left_open.features) == 1 else 'their weights are'} 0"
        )
    n_prompts = problem.data.n_prompts
    if n_prompts == 1 and problem.settings.n_resamples:
        yield f"1 prompt: no interval is defined; collect comparisons of at least {FEW_PROMPTS}"
    elif n_prompts < FEW_PROMPTS and problem.settings.n_resamples:
        yield (
            f"{_counted(n_prompts, 'prompt')}: intervals over so few are too narrow; collect "
            f"comparisons of at least {FEW_PROMPTS}"
        )
    yield from _scales(problem)
    if solution.gap > _CERTIFIED * max(1.0, solution.objective):
        yield (
            f"the solver stopped {solution.gap:.1e} above its bound: the objective is not proved "
            "to be the least"
        )


def few_for_folds(n_prompts: int, *, n_folds: int, l2: float | None) -> str:
    """Say that λ was not chosen by cross-validation, and the one that was taken instead."""
    return (
        f"{_counted(n_prompts, 'prompt')}: too few to choose λ by cross-validation in {n_folds} "
        f"folds; it is {l2:g}"
    )


def _separable(separable: str, *, l2: float, loss: str) -> Iterator[str]:
    if separable == "none":
        return
    said = (
        "some weights rank every comparison right: their size"
        if separable == "complete"
        else "some weights by themselves rank comparisons right and none wrong: their size"
    )
    if l2 > 0 or loss == "hinge":
        yield f"{said} follows from margin and λ, not from the data"


def _veto(problem: WeightProblem, penalty: float) -> str:
    """Say what a veto takes off, how many have it, and how often labels say otherwise."""
    data = problem.data
    beyond = "no weights make up for"
    if data.base.any():
        beyond = "neither weights nor the base rewards of the fit make up for"
    said = (
        f"veto of {_named(problem.choice.vetoes)}: it takes {penalty:.3g} off, which {beyond}; "
        f"{int(data.is_vetoed.sum()):,} of {data.items.size:,} completions have it"
    )
    against = int((data.ranked(np.zeros(data.n_pairs)) < 0).sum())
    return said + (f", the better one in {_counted(against, 'comparison')}" if against else "")


def _scales(problem: WeightProblem) -> Iterator[str]:
    """Compare what base reward and features put between the sides of a comparison."""
    base = float(np.abs(problem.data.base_gain).mean())
    margin = float(problem.data.margins.mean())
    if base > _FAR_APART * margin:
        yield (
            f"base rewards differ by {base:.3g} on average, {_times(base / margin)} times the "
            "margin: give a margin in their scale, or rescale them"
        )
    elif 0 < base < margin / _FAR_APART:
        yield (
            f"base rewards differ by {base:.3g} on average, the margin is {_times(margin / base)} "
            "times as much: beside these weights they count for little"
        )


def _times(factor: float) -> str:
    return f"{factor:,.0f}" if factor < 1e6 else f"{factor:.1e}"


def _named(names: Sequence[str], *, mark: str = ", ") -> str:
    shown = mark.join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


# Of the whole fit ---------------------------------------------------------------------------------


def fit_notes(
    data: ComparisonData,
    rubric: Rubric,
    parts: Mapping[str, BehaviorData],
    choices: Mapping[str, FeatureChoice] = MappingProxyType({}),
) -> Iterator[str]:
    """Say which behaviors get no weights, which prompts do nothing for them, and why."""
    weighed = {name.partition("=")[0] for row in choices.values() for name in row.features.answers}
    if unused := [row.id for row in rubric.questions if row.number_names and row.id not in weighed]:
        yield (
            f"answers to {_named(unused)} are no features: name scale and choice questions with "
            "`features`, or --feature, to weigh them"
        )
    for row in rubric.behaviors:
        part = parts.get(row.id)
        if part is not None and part.n_pairs:
            yield from _idle_prompts(data, part, row.id)
            continue
        if part is not None:
            why = (
                "all of its comparisons are marked test"
                if part.test is not None and part.test.n_pairs
                else "none of its comparisons has all verdicts and base rewards"
            )
        else:
            why = _why_no_pairs(data, row.id)
        idle = _idle_rules(choices[row.id]) if row.id in choices else ""
        yield f"behavior {row.id} gets no weights: {why}{idle}"


def _idle_rules(choice: FeatureChoice) -> str:
    """Name the veto and the caps of a behavior without weights."""
    rules = {"veto": choice.vetoes, "cap": tuple(choice.features.caps)}
    idle = [f"its {rule} of {_named(names)}" for rule, names in rules.items() if names]
    return f"; {' and '.join(idle)} {'does' if len(idle) == 1 else 'do'} nothing" if idle else ""


def loose_notes(fits: Iterable[tuple[BehaviorFit, Undetermined]]) -> Iterator[str]:
    """Say once for all behaviors which weights are not told apart, where they weigh something."""
    named: list[str] = []
    counted: list[str] = []
    for record, left_open in fits:
        weights = {row.feature: abs(row.weight.value) for row in record.weights}
        largest = max(size for name, size in weights.items() if name != VETO)
        named += [
            _listed(names) + ("" if "." in names[-1] else f" in {record.behavior}")
            for names in left_open.few
            if min(weights[name] for name in names) > _AS_GOOD_AS_NOTHING * largest
        ]
        if left_open.others:
            concerned = len({name for names in left_open.others for name in names})
            counted.append(f"{concerned} of {record.behavior}")
    if named:
        yield f"no comparison tells these weights apart: {_named(named, mark='; ')}"
    if counted:
        yield (
            "too few completions differ in their verdicts: weights can be shifted against each "
            f"other in ways that no comparison tells apart, {_named(counted)}"
        )


def refuse_nothing(
    data: ComparisonData, *, dropped: tuple[Dropped, ...] = (), notes: tuple[str, ...] = ()
) -> NoReturn:
    """Say that nothing can be compared, and what stood in the way first."""
    first = (*data.dropped, *dropped)[:1]
    why = "".join(
        f" The first of {len(data.dropped) + len(dropped):,} set aside, {row.place()}"
        f"{'' if row.item is None else f', {shorten(row.item)!r}'}: {row.reason}."
        for row in first
    )
    said = f" {notes[0][0].upper()}{notes[0][1:]}." if notes and not first else ""
    msg = (
        f"{data.source}: must hold at least one comparison, got none.{why}{said} A comparison "
        "is of two completions of one prompt; labels, or a pair, say which one is better."
    )
    raise NoDataError(msg)


def _idle_prompts(data: ComparisonData, part: BehaviorData, behavior: str) -> Iterator[str]:
    """Count the prompts that are in no comparison, so that nobody takes them for evidence."""
    own = np.array([name == behavior for name in data.behaviors], dtype=bool)
    n_all = np.unique(data.prompts[own]).size
    n_used = part.n_prompts + (0 if part.test is None else part.test.n_prompts)
    if n_used < n_all:
        yield (
            f"behavior {behavior}: {n_all - n_used:,} of {n_all:,} prompts are in no comparison: "
            "none of their completions is better than another, or verdicts or base rewards are "
            "missing"
        )


def _why_no_pairs(data: ComparisonData, behavior: str) -> str:
    places = [place for place, own in enumerate(data.behaviors) if own == behavior]
    if not places:
        return "no completion is of it"
    labels = {data.labels[place] for place in places} - {None}
    if not labels:
        return "none of its completions has a label or is in a pair"
    if len(labels) == 1:
        return f"all of its completions have the label {shorten(next(iter(labels)))!r}"
    return "no prompt has two completions of which one is better"


# What comparisons leave open ----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Undetermined:
    """What comparisons leave open.

    Attributes
    ----------
    features : tuple of str
        Features of which no comparison tells anything: both sides always have the same value.
    few, others : tuple of (tuple of str)
        Features whose weights can be shifted against each other at will: those of the shortest
        directions, which are spelt out, and those of the others, which are counted.
    """

    features: tuple[str, ...] = ()
    few: tuple[tuple[str, ...], ...] = ()
    others: tuple[tuple[str, ...], ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Say each direction of few features, and count the others."""
        said = [f"no comparison tells the weights of {_listed(names)} apart" for names in self.few]
        if self.others:
            concerned = len({name for names in self.others for name in names})
            more = " more" if self.few else ""
            ways = _counted(len(self.others), f"{more} way".strip())
            said.append(
                f"the weights of {concerned} features can be shifted against each other in "
                f"{ways} that no comparison tells apart: too few completions differ in their "
                "verdicts"
            )
        return tuple(said)


def undetermined(
    loose: NDArray[np.float64], *, gauge: NDArray[np.float64], names: Sequence[str]
) -> Undetermined:
    """Name the features of loose directions, the fewest that elimination finds.

    The directions are orthonormal and orthogonal to the gauge, which is known to be open and not
    worth a word. A feature that never differs lies in the span of both together, not always in that
    of the loose ones: a class that never occurs is in the gauge too.
    """
    if not loose.size:
        return Undetermined()
    basis = np.linalg.qr(np.concatenate([gauge, loose]).T)[0].T
    is_dead = np.linalg.norm(basis, axis=0) > 1.0 - _ZERO
    dead = tuple(names[place] for place in np.flatnonzero(is_dead).tolist())
    if is_dead.all():
        return Undetermined(features=dead)
    alive = np.flatnonzero(~is_dead)
    known = gauge[:, alive]
    rest = _eliminated(np.concatenate([known, loose[:, alive]]), n_first=gauge.shape[0])
    found = [np.flatnonzero(_sparsest(row, known)) for row in rest]
    named = sorted((tuple(names[place] for place in alive[row]) for row in found), key=len)
    n_few = min(_MOST_SAID, sum(len(row) <= _FEW_FEATURES for row in named))
    return Undetermined(features=dead, few=tuple(named[:n_few]), others=tuple(named[n_few:]))


def _eliminated(rows: NDArray[np.float64], *, n_first: int) -> NDArray[np.float64]:
    """Reduce rows so that each has a coordinate of its own; leave the first ones out.

    The first rows take their coordinates first, so that the others name none of those.
    """
    left = rows.copy()
    taken: list[int] = []
    for row in range(left.shape[0]):
        place = int(np.argmax(np.abs(left[row])))
        if abs(left[row, place]) <= _ZERO:
            left[row] = 0.0
            continue
        left[row] /= left[row, place]
        others = np.arange(left.shape[0]) != row
        left[others] -= np.outer(left[others, place], left[row])
        left[np.abs(left) <= _ZERO] = 0.0
        taken.append(row)
    return left[[row for row in taken if row >= n_first]]


def _sparsest(row: NDArray[np.float64], gauge: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add of the gauge what leaves the fewest features.

    That a class is the same as a proposition is then said of these two, and not of the proposition
    and all other classes.
    """
    best = row
    for known in gauge:
        for place in np.flatnonzero(known):
            other = row - row[place] / known[place] * known
            other[np.abs(other) <= _ZERO] = 0.0
            if np.count_nonzero(other) < np.count_nonzero(best):
                best = other
    return best


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
