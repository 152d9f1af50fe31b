"""The features of a reward: propositions, answers of other kinds and classes, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire._messages import shorten
from voirdire._types import Orientation
from voirdire._validation import check_choice
from voirdire.documents import did_you_mean
from voirdire.errors import InputError
from voirdire.records.thresholds import get_thresholds
from voirdire.rubrics import class_probabilities

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire._types import Threshold
    from voirdire.rubrics import Rubric

VETO = "(veto)"
"""Name of the feature that is 1 where a response is vetoed, else 0."""


def split_behavior(name: str, behaviors: Iterable[str]) -> tuple[tuple[str, ...], str]:
    """Split a name such as ``behavior:feature``; without a behavior it belongs to all of them.

    A behavior before a colon without text after it is part of the name.
    """
    ids = tuple(behaviors)
    head, _, rest = name.partition(":")
    is_one = bool(rest) and head.strip() in ids
    return ((head.strip(),), rest.strip()) if is_one else (ids, name.strip())


@dataclass(frozen=True, kw_only=True)
class FeatureSet:
    """The features of one behavior, in their order.

    Attributes
    ----------
    behavior : str
        Id of the behavior.
    propositions : tuple of str
        Propositions for which it has a demand, or which it allows, in the rubric's order.
    flipped : tuple of bool
        For each proposition whether the feature is the probability that it is false.
    answers : tuple of str
        Answers to scale and choice questions as numbers: ``quality``, ``tone=warm``.
    classes : tuple of str
        Its completion classes as ``behavior.class``, in order of precedence.
    orientation : {"plain", "demanded"}
        By which rule propositions are flipped.
    vetoes : tuple of str
        What a reward vetoes in it; ``"(veto)"`` is then a feature too.
    """

    behavior: str
    propositions: tuple[str, ...]
    flipped: tuple[bool, ...]
    answers: tuple[str, ...] = ()
    classes: tuple[str, ...]
    orientation: Orientation
    vetoes: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[str, ...]:
        """Propositions, then answers of other kinds: the features that verdicts hold."""
        return (*self.propositions, *self.answers)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, as weights use them: `asked`, the veto if any, then classes."""
        return (*self.asked, *([VETO] if self.vetoes else ()), *self.classes)


def feature_set(
    rubric: Rubric,
    behavior: str,
    *,
    orientation: Orientation = "plain",
    questions: Sequence[str] = (),
) -> FeatureSet:
    """List the features of a behavior.

    Parameters
    ----------
    rubric : Rubric
        With the behavior.
    behavior : str
        Such as ``"hard_refuse"``.
    orientation : {"plain", "demanded"}, optional
        Plain: every feature is the probability that the proposition is true. Demanded: those
        whose demanded state is false are flipped.
    questions : sequence of str, optional
        Scale and choice questions whose answers are features too.

    Returns
    -------
    FeatureSet
        Names and which of them are flipped.

    Raises
    ------
    InputError
        If the rubric lacks the behavior or a question, a question is of another kind, or the
        orientation is neither of the two.

    Examples
    --------
    >>> from voirdire import load_rubric
    >>> features = feature_set(load_rubric("safety"), "hard_refuse")
    >>> len(features.propositions), len(features.names)
    (15, 20)
    >>> any(features.flipped)
    False
    """
    check_choice("orientation", orientation, Orientation)
    row = rubric.behavior(behavior)
    return FeatureSet(
        behavior=behavior,
        propositions=row.propositions,
        flipped=tuple(
            orientation == "demanded" and demand.demanded is False
            for demand in row.demands.values()
        ),
        answers=tuple(name for one in questions for name in _list_number_names(rubric, one)),
        classes=row.features[len(row.propositions) :],
        orientation=orientation,
    )


def feature_values(
    rubric: Rubric,
    behavior: str,
    *,
    probabilities: ArrayLike,
    propositions: Sequence[str] | None = None,
    orientation: Orientation = "plain",
) -> NDArray[np.float64]:
    """Compute the features of items under one behavior.

    Parameters
    ----------
    rubric : Rubric
        With the behavior; its `class_rule` says how classes get their probabilities.
    behavior : str
        Such as ``"hard_refuse"``.
    probabilities : array_like of float, shape (n_items, n_propositions)
        How probable it is that each proposition is true, in [0, 1]; nan where there is no verdict.
    propositions : sequence of str, optional
        What the columns are; by default the propositions of the rubric in its order.
    orientation : {"plain", "demanded"}, optional
        As for `feature_set`.

    Returns
    -------
    ndarray of float, shape (n_items, n_features)
        In the order of `FeatureSet.names`; nan where a verdict that it needs is missing: a
        proposition where its own is, the classes where one is that they depend on.

    Raises
    ------
    InputError
        If a probability is outside [0, 1], the shape does not fit `propositions`, or a
        proposition of the behavior has no column.

    Warns
    -----
    DegenerateDataWarning
        If the product rule gives every class of an item 0: its classes are nan.

    Examples
    --------
    >>> from voirdire import load_rubric
    >>> rubric = load_rubric("hard-refusal-example")
    >>> values = feature_values(
    ...     rubric, rubric.behaviors[0].id, probabilities=[[0.98, 0.99, 0.03, 0.01, 0.0, 0.0]],
    ...     orientation="demanded",
    ... )
    >>> values.round(3).tolist()
    [[0.98, 0.99, 0.97, 0.99, 1.0, 1.0, 0.98, 0.02, 0.0]]
    """
    columns = tuple(rubric.propositions if propositions is None else propositions)
    features = feature_set(rubric, behavior, orientation=orientation)
    return compute_features(features, rubric, probabilities=probabilities, columns=columns)


def compute_features(
    features: FeatureSet, rubric: Rubric, *, probabilities: ArrayLike, columns: Sequence[str]
) -> NDArray[np.float64]:
    """Compute features without the veto; see `feature_values`."""
    places = _find_columns(features, columns)
    values_given = np.asarray(probabilities, dtype=np.float64)
    classes = class_probabilities(
        rubric, features.behavior, probabilities=values_given, propositions=columns
    )
    # Column by column into one array, so that a million items need no other memory.
    values = np.empty((len(values_given), len(places) + len(features.classes)))
    for column, place in enumerate(places):
        if column < len(features.flipped) and features.flipped[column]:
            np.subtract(1.0, values_given[:, place], out=values[:, column])
        else:
            values[:, column] = values_given[:, place]
    values[:, len(places) :] = classes.values
    return values


def find_number_questions(rubric: Rubric, names: Iterable[str]) -> tuple[str, ...]:
    """Find the scale and choice questions that have an answer with one of these names."""
    wanted = frozenset(names)
    return tuple(
        row.id
        for row in rubric.questions
        if row.kind != "boolean" and not wanted.isdisjoint(row.number_names)
    )


def list_weighed_features(
    rubric: Rubric, behavior: str, weighed: Iterable[str], *, orientation: Orientation
) -> FeatureSet:
    """List the features of a behavior; answers to questions are features where they are weighed."""
    questions = find_number_questions(rubric, weighed)
    return feature_set(rubric, behavior, orientation=orientation, questions=questions)


def group_questions(
    names_of_questions: Iterable[str], rubric: Rubric
) -> dict[str, tuple[str, ...]]:
    """Group scale and choice questions by the behaviors that have them as features."""
    grouped: dict[str, dict[str, None]] = {row.id: {} for row in rubric.behaviors}
    for name in names_of_questions:
        behaviors, question = split_behavior(name, grouped)
        _list_number_names(rubric, question)
        for behavior in behaviors:
            grouped[behavior][question] = None
    return {behavior: tuple(names) for behavior, names in grouped.items()}


def _list_number_names(rubric: Rubric, question: str) -> tuple[str, ...]:
    """List the numbers of a question; refuse a question whose answers are not numbers."""
    rows = {row.id: row for row in rubric.questions}
    if question not in rows or not rows[question].number_names:
        possible = [row.id for row in rubric.questions if row.number_names]
        msg = (
            f"`features` must name scale or choice questions of rubric "
            f"{shorten(rubric.name)!r}, got {shorten(question)!r}."
            f"{did_you_mean(question, possible)}"
        )
        raise InputError(msg)
    return rows[question].number_names


def _find_columns(features: FeatureSet, columns: Sequence[str]) -> list[int]:
    """Find the column of each proposition and answer."""
    places = {name: place for place, name in enumerate(columns)}
    missing = [name for name in features.asked if name not in places]
    if missing:
        msg = (
            f"`propositions` must hold every proposition of behavior {features.behavior!r}, got "
            f"none called {missing[0]!r}.{did_you_mean(missing[0], columns)} A judge that was not "
            "asked about it gives nan."
        )
        raise InputError(msg)
    return [places[name] for name in features.asked]


# Vetoes: propositions that put a response below all others --------------------------------------

_BEYOND = 1.1
"""A veto costs this many times the range of rewards, so that the response is clearly lowest."""

_ROUNDING = 1e-9
"""An upper limit for the rounding error of a sum, as a share of the sum of absolute weights."""


def group_vetoes(
    vetoes: Sequence[str], rubric: Rubric, behaviors: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Group vetoes by behavior; refuse what is no proposition of the rubric."""
    ids = [row.id for row in rubric.behaviors]
    grouped: dict[str, list[str]] = {behavior: [] for behavior in behaviors}
    for veto in vetoes:
        behaviors_named, name = split_behavior(veto, ids)
        if name not in rubric.propositions:
            msg = (
                f"`veto` must be a proposition of rubric {shorten(rubric.name)!r}, got "
                f"{shorten(veto)!r}.{did_you_mean(name, rubric.propositions)}"
            )
            raise InputError(msg)
        for behavior in behaviors_named:
            grouped.get(behavior, []).append(name)
    return {behavior: tuple(dict.fromkeys(names)) for behavior, names in grouped.items()}


def compute_vetoes(
    vetoes: Sequence[str],
    *,
    probabilities: ArrayLike,
    propositions: Sequence[str],
    threshold: Threshold,
) -> NDArray[np.float64]:
    """Compute 1 for each item that is vetoed, 0 for others, and nan where a verdict is missing.

    A veto holds from the judge's threshold on.
    """
    values = np.asarray(probabilities, dtype=np.float64)
    values = values[:, [propositions.index(name) for name in vetoes]]
    is_vetoed = (values >= get_thresholds(threshold, vetoes)).any(axis=1)
    return np.where(np.isnan(values).any(axis=1), np.nan, is_vetoed.astype(np.float64))


def compute_veto_penalty(
    features: FeatureSet, weights: Mapping[str, float], *, base_range: float = 0.0
) -> float:
    """Compute the penalty of a veto, which no weights and base rewards can make up for.

    It is a tenth more than the most by which features can put a vetoed response above another one.
    A proposition or scale answer changes the reward by at most its weight. Classes add up to 1,
    and so do the answers to a choice: at most, the best takes the place of the worst.
    Where the veto is a single proposition, the vetoed response has it and the other one has not, so
    that it counts only if it is paid.
    """
    reach = base_range + _measure_spread([weights.get(name, 0.0) for name in features.classes])
    choices: dict[str, list[float]] = {}
    for place, name in enumerate(features.asked):
        weight = weights.get(name, 0.0)
        head, is_of_choice, _ = name.partition("=")
        if is_of_choice:
            choices.setdefault(head, []).append(weight)
        elif features.vetoes == (name,):
            is_flipped = features.flipped[place]
            reach += max(0.0, -weight if is_flipped else weight)
        else:
            reach += abs(weight)
    reach += sum(map(_measure_spread, choices.values()))
    size = sum(map(abs, weights.values()))
    return max(_BEYOND * reach, reach + _ROUNDING * size) or 1.0


def _measure_spread(weights: Sequence[float]) -> float:
    return max(weights) - min(weights) if weights else 0.0
