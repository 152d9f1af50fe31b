"""Checks the arguments of the test, and prepares labels, comparison and settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._types import AlignmentName, EpsilonMode, Family, WeightScheme
from voirdire._validation import check_choice, check_count, check_epsilons, check_fraction
from voirdire.errors import InputError
from voirdire.stats.alignment import make_scorer
from voirdire.stats.comparison import Comparison, Raters
from voirdire.stats.figures import TestSettings
from voirdire.stats.intervals import check_units
from voirdire.stats.label_arrays import (
    LabelSets,
    check_humans,
    check_judges,
    check_reference,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.alignment import VectorizedScore

__all__ = ["Prepared", "prepare"]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What a run needs: everyone's labels, how they are compared, and what determines the test.

    Of the labels that there are: how many codes, whether that number was declared, and the sets
    behind the codes.
    """

    raters: Raters
    comparison: Comparison
    settings: TestSettings
    n_codes: int
    is_declared: bool
    label_sets: LabelSets | None


def prepare(
    judges: ArrayLike,
    humans: ArrayLike,
    *,
    alignment: AlignmentName | VectorizedScore = "accuracy",
    epsilon: float | Sequence[float] = 0.2,
    epsilon_mode: EpsilonMode = "additive",
    label_sets: ArrayLike | LabelSets | None = None,
    values: Sequence[Any] | None = None,
    similarity: VectorizedScore | None = None,
    n_codes: int | None = None,
    failed: ArrayLike | None = None,
    weights: WeightScheme | None = None,
    quality: ArrayLike | None = None,
    expert: int | None = None,
    gold: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    min_items: int = 30,
    min_annotators: int = 2,
    false_discovery_rate: float = 0.05,
    family: Family = "annotators",
) -> Prepared:
    """Check the arguments of `voirdire.stats.alt_test`, and gather what it computes on."""
    if not callable(alignment):
        check_choice("alignment", alignment, AlignmentName)
    if weights is not None:
        check_choice("weights", weights, WeightScheme)
    people = check_humans(humans, numeric=alignment == "neg_rmse")
    machines, failures = check_judges(judges, failed, people)
    reference = check_reference(people, expert=expert, gold=gold)
    raters = Raters(
        humans=people,
        judges=machines,
        failed=failures,
        reference=reference,
        clusters=check_units(clusters, len(people)),
    )
    if label_sets is not None and not isinstance(label_sets, LabelSets):
        label_sets = LabelSets.from_membership(label_sets)
    n_seen = raters.n_codes_seen()
    sizes = {
        name: None if known is None else len(known)
        for name, known in (("label_sets", label_sets), ("values", values))
    }
    sizes["n_codes"] = n_codes
    for name, size in sizes.items():
        if size is not None and size < n_seen:
            msg = f"`{name}` must cover every code, got {size} for codes up to {n_seen - 1}."
            raise InputError(msg)
    settings = TestSettings(
        epsilons=np.asarray(check_epsilons(epsilon)),
        mode=check_choice("epsilon_mode", epsilon_mode, EpsilonMode),
        design="clustered" if clusters is not None else "weighted" if weights else "items",
        false_discovery_rate=check_fraction("false_discovery_rate", false_discovery_rate),
        min_items=check_count("min_items", min_items, minimum=2),
        family=check_choice("family", family, Family),
        quality=_check_quality(quality, people.shape[1]),
        excluded=expert,
    )
    if weights is not None:
        raters = raters.with_weight_codes()
    n_codes, is_declared = max(n_seen, n_codes or 0), n_codes is not None
    comparison = Comparison(
        scorer=make_scorer(
            alignment,
            humans=people,
            n_codes=n_codes,
            label_sets=label_sets,
            values=values,
            similarity=similarity,
        ),
        quality=settings.quality,
        min_annotators=check_count("min_annotators", min_annotators, minimum=2),
        n_codes=raters.n_weight_codes(),
    )
    return Prepared(
        raters=raters,
        comparison=comparison,
        settings=settings,
        n_codes=n_codes,
        is_declared=is_declared,
        label_sets=label_sets,
    )


def _check_quality(quality: ArrayLike | None, n_annotators: int) -> NDArray[np.float64] | None:
    if quality is None:
        return None
    weights = np.asarray(quality, dtype=np.float64)
    if weights.shape != (n_annotators,) or not (np.isfinite(weights) & (weights > 0)).all():
        msg = (
            f"`quality` must hold one positive number for each of {n_annotators} annotators, "
            f"got {weights.tolist()!r}."
        )
        raise InputError(msg)
    return weights
