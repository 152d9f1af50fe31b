"""What a reward weighs: probabilities of propositions and of completion classes, per behavior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire._types import Orientation
from voirdire._validation import check_choice
from voirdire.documents import did_you_mean
from voirdire.errors import InputError
from voirdire.rewards.vetoes import VETO
from voirdire.rubrics import class_probabilities

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.rubrics import Demand, Rubric

__all__ = ["FeatureSet", "feature_set", "feature_values"]


@dataclass(frozen=True, kw_only=True)
class FeatureSet:
    """The features of one behavior, in their order.

    Attributes
    ----------
    behavior : str
        Id of the behavior.
    propositions : tuple of str
        Propositions that it says something of, in the rubric's order.
    flipped : tuple of bool
        For each proposition whether the feature is the probability that it is false.
    classes : tuple of str
        Its completion classes as ``behavior.class``, in order of precedence.
    orientation : {"plain", "rule", "demanded"}
        By which rule propositions are flipped.
    vetoes : tuple of str
        What a reward vetoes in it; ``"(veto)"`` is then a feature too.
    """

    behavior: str
    propositions: tuple[str, ...]
    flipped: tuple[bool, ...]
    classes: tuple[str, ...]
    orientation: Orientation
    vetoes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Propositions, the veto where there is one, then classes: what weights are named by."""
        return (*self.propositions, *([VETO] if self.vetoes else ()), *self.classes)


def feature_set(rubric: Rubric, behavior: str, *, orientation: Orientation = "plain") -> FeatureSet:
    """List the features of a behavior.

    Parameters
    ----------
    rubric : Rubric
        With the behavior.
    behavior : str
        Such as ``"hard_refuse"``.
    orientation : {"plain", "rule", "demanded"}, optional
        Plain: every feature is the probability that the proposition is true. Rule: those that are
        required or desired to be false are flipped. Demanded: all whose demanded state is false.

    Returns
    -------
    FeatureSet
        Names and which of them are flipped.

    Raises
    ------
    InputError
        If the rubric lacks the behavior, or the orientation is none of the three.

    Examples
    --------
    >>> from voirdire import load_rubric
    >>> found = feature_set(load_rubric("safety"), "hard_refuse", orientation="rule")
    >>> len(found.propositions), len(found.names)
    (15, 20)
    >>> [name for name, is_flipped in zip(found.propositions, found.flipped) if is_flipped]
    ['additional_content']
    """
    check_choice("orientation", orientation, Orientation)
    row = rubric.behavior(behavior)
    return FeatureSet(
        behavior=behavior,
        propositions=row.propositions,
        flipped=tuple(_is_flipped(demand, orientation) for demand in row.demands.values()),
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
    orientation : {"plain", "rule", "demanded"}, optional
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
    found = feature_set(rubric, behavior, orientation=orientation)
    columns = tuple(rubric.propositions if propositions is None else propositions)
    places = _places(found, columns)
    given = np.asarray(probabilities, dtype=np.float64)
    classes = class_probabilities(rubric, behavior, probabilities=given, propositions=columns)
    # Column by column into one array: a million items need nothing beside it.
    values = np.empty((len(given), len(found.names)))
    for column, place in enumerate(places):
        if found.flipped[column]:
            np.subtract(1.0, given[:, place], out=values[:, column])
        else:
            values[:, column] = given[:, place]
    values[:, len(places) :] = classes.values
    return values


def _places(found: FeatureSet, columns: Sequence[str]) -> list[int]:
    """Find the column of each proposition."""
    known = {name: place for place, name in enumerate(columns)}
    missing = [name for name in found.propositions if name not in known]
    if missing:
        msg = (
            f"`propositions` must hold every proposition of behavior {found.behavior!r}, got none "
            f"called {missing[0]!r}.{did_you_mean(missing[0], columns)} A judge that was not "
            "asked about it gives nan."
        )
        raise InputError(msg)
    return [known[name] for name in found.propositions]


def _is_flipped(demand: Demand, orientation: Orientation) -> bool:
    if orientation == "plain" or demand.demanded is not False:
        return False
    return orientation == "demanded" or demand.word in ("required", "desired")
