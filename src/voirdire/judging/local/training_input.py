"""Check what a judge is to be made from, and turn it into arrays."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.judging.local.card import TrainingData
from voirdire.judging.local.domains import Domains
from voirdire.judging.local.features import describe_many
from voirdire.judging.local.grouping import group_items
from voirdire.judging.local.training_set import TrainingSet, is_chinese

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.records import Item

__all__ = ["UNNAMED", "describe_data", "make_training_set"]

UNNAMED = "the labelled items"


def make_training_set(
    items: Sequence[Item],
    labels: ArrayLike,
    *,
    questions: Sequence[str],
    groups: Sequence[object] | None,
    weights: ArrayLike | None,
    sources: Sequence[str] | None,
    about: Sequence[TrainingData],
) -> TrainingSet:
    """Check items, labels and weights, and describe the items; see `distill_judge`."""
    n_items = len(items)
    targets = _targets(labels, (n_items, len(questions)))
    _check_questions(questions, targets)
    named = [UNNAMED] * n_items if sources is None else [str(name) for name in sources]
    for name, given in (("sources", named), ("groups", groups)):
        if given is not None and len(given) != n_items:
            msg = f"`{name}` must have one entry per item, got {len(given)} for {n_items}."
            raise InputError(f"{msg} Align them by item.")
    features = describe_many(items)
    informing = {row.name for row in about if row.informs_only}
    silent = {row.name for row in about if not row.calibrates}
    return TrainingSet(
        features=features,
        targets=targets,
        weights=_weights(weights, n_items),
        groups=group_items(items, groups),
        domains=Domains(
            chinese=is_chinese(features),
            home=np.array([name not in informing for name in named], dtype=np.bool_),
        ),
        sets=np.array(named),
        calibrates=np.array([name not in silent for name in named], dtype=np.bool_),
    )


def describe_data(
    items: Sequence[Item], training: TrainingSet, about: Sequence[TrainingData]
) -> tuple[TrainingData, ...]:
    """Count and hash the items and labels of every source, in order of appearance.

    Parameters
    ----------
    items : sequence of Item
        The items.
    training : TrainingSet
        The same with labels.
    about : sequence of TrainingData
        What is known of some sources.

    Returns
    -------
    tuple of TrainingData
        One per source.
    """
    known = {row.name: row for row in about}
    result = []
    for name in dict.fromkeys(training.sets.tolist()):
        rows = np.flatnonzero(training.sets == name)
        digest = hashlib.sha256()
        for row in rows.tolist():
            digest.update(items[row].content_hash())
            digest.update(np.round(training.targets[row], 6).astype("<f8").tobytes())
        told = known.get(name, TrainingData(name=name, n_items=0))
        told = replace(told, n_items=len(rows), content_hash=f"sha256:{digest.hexdigest()}")
        result.append(told)
    return tuple(result)


def _targets(labels: ArrayLike, shape: tuple[int, int]) -> NDArray[np.float64]:
    try:
        targets = np.asarray(labels, dtype=np.float64)
    except (TypeError, ValueError) as error:
        msg = "`labels` must be truth values or probabilities, with nan for missing ones."
        raise InputError(f"{msg} Pass an array of floats.") from error
    if targets.shape != shape or 0 in shape:
        msg = f"`labels` must have one row per item and one column per question, {shape}"
        raise InputError(f"{msg}, got {targets.shape}. Neither may be 0.")
    wrong = ~(np.isnan(targets) | ((targets >= 0) & (targets <= 1)))
    if wrong.any():
        msg = f"`labels` must be in [0, 1] or nan, got {float(targets[wrong][0])!r}."
        raise InputError(f"{msg} Write true as 1 and false as 0.")
    return targets


def _check_questions(questions: Sequence[str], targets: NDArray[np.float64]) -> None:
    if len(set(questions)) < len(questions):
        msg = "`questions` must be different from each other, got one twice. Name each column once."
        raise InputError(msg)
    empty = np.flatnonzero(np.isnan(targets).all(axis=0))
    if len(empty):
        lacking = shorten(questions[int(empty[0])])
        msg = f"`labels` must have a label of every question, got none of {lacking!r}."
        raise InputError(f"{msg} Leave the question out.")


def _weights(weights: ArrayLike | None, n_items: int) -> NDArray[np.float64]:
    if weights is None:
        return np.ones(n_items)
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (n_items,) or not (np.isfinite(found) & (found > 0)).all():
        msg = f"`weights` must be {n_items} finite numbers above 0, one per item."
        raise InputError(f"{msg} Leave items out that do not count.")
    return found
