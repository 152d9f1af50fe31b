"""Writes the notes for the reader of a fit: on each behavior, and on the whole fit."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import NoDataError
from voirdire.rewards.features import VETO

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
    "find_undetermined",
    "list_behavior_notes",
    "list_fit_notes",
    "list_loose_notes",
    "note_few_prompts",
    "refuse_no_comparisons",
]

FEW_PROMPTS = 20
"""Percentiles over fewer prompts are ends of an interval in name only."""
_FAR_APART = 10.0
_CERTIFIED = 1e-6
_MOST_NAMED = 6
_ZERO = 1e-7
"""Coordinates of directions below this are rounding."""
_FEW_FEATURES = 3
"""Directions of more features are counted, not named."""
_MOST_SENTENCES = 5
"""Directions of few features beyond so many are counted too."""
_NEGLIGIBLE_SHARE = 0.01
"""Weights below this share of the largest one of a behavior are not worth a note."""


# Of one behavior ----------------------------------------------------------------------------------


def list_behavior_notes(
    problem: WeightProblem,
    solution: RankingSolution,
    *,
    separable: str,
    left_open: Undetermined,
    l2: float,
    penalty: float,
) -> Iterator[str]:
    """Write notes on the fit of a behavior, the most important first."""
    if problem.choice.vetoes:
        yield _note_veto(problem, penalty)
    yield from _note_separable(separable, l2=l2, loss=problem.settings.loss)
    if left_open.features:
        yield (
            f"no comparison depends on {_list_first(left_open.features)}: "
            f"{'its weight is' if len(left_open.features) == 1 else 'their weights are'} 0"
        )
    n_prompts = problem.data.n_prompts
    if n_prompts == 1 and problem.settings.n_resamples:
        yield f"1 prompt: no interval is defined; collect comparisons of at least {FEW_PROMPTS}"
    elif n_prompts < FEW_PROMPTS and problem.settings.n_resamples:
        yield (
            f"{_count(n_prompts, 'prompt')}: intervals over so few are too narrow; collect "
            f"comparisons of at least {FEW_PROMPTS}"
        )
    yield from _note_scales(problem)
    if solution.gap > _CERTIFIED * max(1.0, solution.objective):
        yield (
            f"the solver stopped {solution.gap:.1e} above its bound: the objective is not proved "
            "to be the least"
        )


def note_few_prompts(n_prompts: int, *, n_folds: int, l2: float | None) -> str:
    """Note that λ was not chosen by cross-validation, and which λ was taken instead."""
    return (
        f"{_count(n_prompts, 'prompt')}: too few to choose λ by cross-validation in {n_folds} "
        f"folds; it is {l2:g}"
    )


def _note_separable(separable: str, *, l2: float, loss: str) -> Iterator[str]:
    if separable == "none":
        return
    start = (
        "there are weights that rank every comparison right: the size of the fitted ones"
        if separable == "complete"
        else "some weights by themselves rank comparisons right and none wrong: their size"
    )
    if l2 > 0 or loss == "hinge":
        yield f"{start} follows from margin and λ, not from the data"


def _note_veto(problem: WeightProblem, penalty: float) -> str:
    """Note the penalty of a veto, how many are vetoed, and how often the better side is."""
    data = problem.data
    limit = "no weights make up for"
    if data.base.any():
        limit = "neither weights nor the base rewards of the fit make up for"
    note = (
        f"veto of {_list_first(problem.choice.vetoes)}: it takes {penalty:.3g} off, which {limit}; "
        f"{int(data.is_vetoed.sum()):,} of {data.items.size:,} completions have it"
    )
    against = int((data.apply_vetoes(np.zeros(data.n_pairs)) < 0).sum())
    return note + (f", the better one in {_count(against, 'comparison')}" if against else "")


def _note_scales(problem: WeightProblem) -> Iterator[str]:
    """Note where the differences of base rewards and the margin have other scales."""
    base = float(np.abs(problem.data.base_gain).mean())
    margin = float(problem.data.margins.mean())
    if base > _FAR_APART * margin:
        yield (
            f"base rewards differ by {base:.3g} on average, {_format_factor(base / margin)} times "
            "the margin: give a margin in their scale, or rescale them"
        )
    elif 0 < base < margin / _FAR_APART:
        yield (
            f"base rewards differ by {base:.3g} on average, the margin is "
            f"{_format_factor(margin / base)} times as much: beside these weights they count for "
            "little"
        )


def _format_factor(factor: float) -> str:
    return f"{factor:,.0f}" if factor < 1e6 else f"{factor:.1e}"


def _list_first(names: Sequence[str], *, mark: str = ", ") -> str:
    shown = mark.join(names[:_MOST_NAMED])
    more = len(names) - _MOST_NAMED
    return f"{shown} and {more} more" if more > 0 else shown


def _count(number: int, thing: str) -> str:
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


# Of the whole fit ---------------------------------------------------------------------------------


def list_fit_notes(
    data: ComparisonData,
    rubric: Rubric,
    parts: Mapping[str, BehaviorData],
    choices: Mapping[str, FeatureChoice] = MappingProxyType({}),
) -> Iterator[str]:
    """Note which behaviors get no weights, which prompts are in no comparison, and why."""
    weighed = {name.partition("=")[0] for row in choices.values() for name in row.features.answers}
    if unused := [row.id for row in rubric.questions if row.number_names and row.id not in weighed]:
        yield (
            f"answers to {_list_first(unused)} are no features: name scale and choice questions "
            "with `features`, or --feature, to weigh them"
        )
    for row in rubric.behaviors:
        part = parts.get(row.id)
        if part is not None and part.n_pairs:
            yield from _note_idle_prompts(data, part, row.id)
            continue
        if part is not None:
            why = (
                "all of its comparisons are marked test"
                if part.test is not None and part.test.n_pairs
                else "none of its comparisons has all verdicts and base rewards"
            )
        else:
            why = _explain_no_pairs(data, row.id)
        idle = _describe_idle_rules(choices[row.id]) if row.id in choices else ""
        yield f"behavior {row.id} gets no weights: {why}{idle}"


def _describe_idle_rules(choice: FeatureChoice) -> str:
    """Name the veto and the caps of a behavior without weights."""
    rules = {"veto": choice.vetoes, "cap": tuple(choice.features.caps)}
    idle = [f"its {rule} of {_list_first(names)}" for rule, names in rules.items() if names]
    return f"; {' and '.join(idle)} {'does' if len(idle) == 1 else 'do'} nothing" if idle else ""


def list_loose_notes(fits: Iterable[tuple[BehaviorFit, Undetermined]]) -> Iterator[str]:
    """Note once for all behaviors which weights no comparison tells apart; skip tiny weights."""
    directions: list[str] = []
    counts: list[str] = []
    for record, left_open in fits:
        weights = {row.feature: abs(row.weight.value) for row in record.weights}
        largest = max(size for name, size in weights.items() if name != VETO)
        directions += [
            _join_names(names) + ("" if "." in names[-1] else f" in {record.behavior}")
            for names in left_open.few
            if min(weights[name] for name in names) > _NEGLIGIBLE_SHARE * largest
        ]
        if left_open.others:
            concerned = len({name for names in left_open.others for name in names})
            counts.append(f"{concerned} of {record.behavior}")
    if directions:
        yield f"no comparison tells these weights apart: {_list_first(directions, mark='; ')}"
    if counts:
        yield (
            "too few completions differ in their verdicts: weights can be shifted against each "
            f"other in ways that no comparison tells apart, {_list_first(counts)}"
        )


def refuse_no_comparisons(
    data: ComparisonData, *, dropped: tuple[Dropped, ...] = (), notes: tuple[str, ...] = ()
) -> NoReturn:
    """Refuse data without comparisons, and name the first row that was set aside."""
    first = (*data.dropped, *dropped)[:1]
    why = "".join(
        f" The first of {len(data.dropped) + len(dropped):,} set aside, {row.place()}"
        f"{'' if row.item is None else f', {shorten(row.item)!r}'}: {row.reason}."
        for row in first
    )
    note = f" {notes[0][0].upper()}{notes[0][1:]}." if notes and not first else ""
    msg = (
        f"{data.source}: must hold at least one comparison, got none.{why}{note} A comparison "
        "is of two completions of one prompt; labels, or a pair, say which one is better."
    )
    raise NoDataError(msg)


def _note_idle_prompts(data: ComparisonData, part: BehaviorData, behavior: str) -> Iterator[str]:
    """Count the prompts that are in no comparison, and so are no evidence."""
    own = np.array([name == behavior for name in data.behaviors], dtype=bool)
    n_all = np.unique(data.prompts[own]).size
    n_used = part.n_prompts + (0 if part.test is None else part.test.n_prompts)
    if n_used < n_all:
        yield (
            f"behavior {behavior}: {n_all - n_used:,} of {n_all:,} prompts are in no comparison: "
            "none of their completions is better than another, or verdicts or base rewards are "
            "missing"
        )


def _explain_no_pairs(data: ComparisonData, behavior: str) -> str:
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
    """Weights that comparisons do not determine.

    Attributes
    ----------
    features : tuple of str
        Features on which no comparison depends: both sides always have the same value.
    few, others : tuple of (tuple of str)
        Features whose weights can be shifted against each other without changing any difference:
        those of the shortest directions, which are named, and those of the others, which are
        counted.
    """

    features: tuple[str, ...] = ()
    few: tuple[tuple[str, ...], ...] = ()
    others: tuple[tuple[str, ...], ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Name each direction of few features, and count the others."""
        sentences = [
            f"no comparison tells the weights of {_join_names(names)} apart" for names in self.few
        ]
        if self.others:
            concerned = len({name for names in self.others for name in names})
            more = " more" if self.few else ""
            ways = _count(len(self.others), f"{more} way".strip())
            sentences.append(
                f"the weights of {concerned} features can be shifted against each other in "
                f"{ways} that no comparison tells apart: too few completions differ in their "
                "verdicts"
            )
        return tuple(sentences)


def find_undetermined(
    loose: NDArray[np.float64], *, gauge: NDArray[np.float64], names: Sequence[str]
) -> Undetermined:
    """Name the features of loose directions, the fewest that elimination finds.

    The directions are orthonormal and orthogonal to the gauge, which is always undetermined and is
    not named. A feature that never differs lies in the span of both together, not always in that
    of the loose ones: a class that never occurs is in the gauge too.
    """
    if not loose.size:
        return Undetermined()
    basis = np.linalg.qr(np.concatenate([gauge, loose]).T)[0].T
    is_constant = np.linalg.norm(basis, axis=0) > 1.0 - _ZERO
    constant = tuple(names[place] for place in np.flatnonzero(is_constant).tolist())
    if is_constant.all():
        return Undetermined(features=constant)
    varying = np.flatnonzero(~is_constant)
    gauge = gauge[:, varying]
    rest = _eliminate(np.concatenate([gauge, loose[:, varying]]), n_first=gauge.shape[0])
    columns = [np.flatnonzero(_make_sparse(row, gauge)) for row in rest]
    groups = sorted((tuple(names[place] for place in varying[row]) for row in columns), key=len)
    n_few = min(_MOST_SENTENCES, sum(len(row) <= _FEW_FEATURES for row in groups))
    return Undetermined(features=constant, few=tuple(groups[:n_few]), others=tuple(groups[n_few:]))


def _eliminate(rows: NDArray[np.float64], *, n_first: int) -> NDArray[np.float64]:
    """Reduce rows so that each has a coordinate of its own; leave the first ones out.

    The first rows take their coordinates first, so that the others name none of those.
    """
    reduced = rows.copy()
    independent: list[int] = []
    for row in range(reduced.shape[0]):
        place = int(np.argmax(np.abs(reduced[row])))
        if abs(reduced[row, place]) <= _ZERO:
            reduced[row] = 0.0
            continue
        reduced[row] /= reduced[row, place]
        others = np.arange(reduced.shape[0]) != row
        reduced[others] -= np.outer(reduced[others, place], reduced[row])
        reduced[np.abs(reduced) <= _ZERO] = 0.0
        independent.append(row)
    return reduced[[row for row in independent if row >= n_first]]


def _make_sparse(row: NDArray[np.float64], gauge: NDArray[np.float64]) -> NDArray[np.float64]:
    """Add multiples of the gauge that leave the fewest features.

    A class that equals a proposition is then named with it alone, instead of the proposition and
    all other classes.
    """
    best = row
    for known in gauge:
        for place in np.flatnonzero(known):
            other = row - row[place] / known[place] * known
            other[np.abs(other) <= _ZERO] = 0.0
            if np.count_nonzero(other) < np.count_nonzero(best):
                best = other
    return best


def _join_names(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
