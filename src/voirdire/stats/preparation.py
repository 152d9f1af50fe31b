"""From the arguments of the test to checked labels, a comparison and settings."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._types import AlignmentName, EpsilonMode, Family, Method, WeightScheme
from voirdire._validation import check_choice, check_count, check_epsilons, check_fraction
from voirdire.errors import InputError
from voirdire.stats.alignment import make_scorer
from voirdire.stats.comparison import Comparison, Raters
from voirdire.stats.figures import TestSettings
from voirdire.stats.label_arrays import gather_raters
from voirdire.stats.label_sets import LabelSets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire._types import Normalization
    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.figures import Design

__all__ = ["Prepared", "Universe", "prepare"]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """What a run needs.

    Attributes
    ----------
    raters : Raters
        Everyone's labels.
    comparison : Comparison
        How they are compared.
    settings : TestSettings
        What determines the test.
    universe : Universe
        The labels that there are.
    """

    raters: Raters
    comparison: Comparison
    settings: TestSettings
    universe: Universe


def prepare(
    judges: ArrayLike,
    humans: ArrayLike,
    *,
    alignment: AlignmentName | VectorizedScore = "accuracy",
    epsilon: float | Sequence[float] = 0.2,
    epsilon_mode: EpsilonMode = "additive",
    method: Method = "t",
    label_sets: ArrayLike | LabelSets | None = None,
    values: Sequence[Any] | None = None,
    similarity: VectorizedScore | None = None,
    n_codes: int | None = None,
    failed: ArrayLike | None = None,
    weights: WeightScheme | None = None,
    quality: ArrayLike | None = None,
    expert: int | None = None,
    gold: ArrayLike | None = None,
    normalize: Normalization | None = None,
    clusters: ArrayLike | None = None,
    min_items: int = 30,
    min_annotators: int = 2,
    false_discovery_rate: float = 0.05,
    family: Family = "annotators",
) -> Prepared:
    """Check the arguments of `voirdire.stats.alt_test`, and gather what it computes on."""
    if not callable(alignment):
        check_choice("alignment", alignment, AlignmentName)
    if weights is not None and normalize is not None:
        msg = f"`weights` must be None with `normalize`, got {weights!r} and {normalize!r}."
        raise InputError(msg)
    settings = _make_settings(
        epsilon=epsilon,
        epsilon_mode=epsilon_mode,
        method=method,
        design=_choose_design(method, weights=weights, clusters=clusters),
        false_discovery_rate=false_discovery_rate,
        min_items=min_items,
        family=family,
        expert=expert,
    )
    raters = gather_raters(
        judges,
        humans,
        numeric=alignment == "neg_rmse",
        failed=failed,
        expert=expert,
        gold=gold,
        normalize=normalize,
        clusters=clusters,
        weighted=weights is not None,
    )
    universe = Universe.of(raters, n_codes=n_codes, label_sets=label_sets, values=values)
    settings = replace(settings, quality=_check_quality(quality, raters.humans.shape[1]))
    comparison = Comparison(
        scorer=make_scorer(
            alignment,
            humans=raters.humans,
            n_codes=universe.n_codes,
            label_sets=universe.label_sets,
            values=values,
            similarity=similarity,
        ),
        quality=settings.quality,
        min_annotators=check_count("min_annotators", min_annotators, minimum=2),
        n_codes=raters.n_weight_codes(),
    )
    return Prepared(raters=raters, comparison=comparison, settings=settings, universe=universe)


@dataclass(frozen=True)
class Universe:
    """The labels that there are.

    Attributes
    ----------
    n_codes : int
        How many codes.
    label_sets : LabelSets or None
        The sets behind the codes.
    declared : bool
        Whether their number was declared.
    """

    n_codes: int
    label_sets: LabelSets | None
    declared: bool

    @staticmethod
    def of(
        raters: Raters,
        *,
        n_codes: int | None,
        label_sets: ArrayLike | LabelSets | None,
        values: Sequence[Any] | None,
    ) -> Universe:
        """Take the universe from what was declared and what occurs."""
        sets = label_sets
        if sets is not None and not isinstance(sets, LabelSets):
            sets = LabelSets.from_membership(sets)
        seen = raters.n_codes_seen()
        sizes = {
            "n_codes": n_codes,
            "label_sets": None if sets is None else len(sets),
            "values": None if values is None else len(values),
        }
        for name, size in sizes.items():
            if size is not None and size < seen:
                msg = f"`{name}` must cover every code, got {size} for codes up to {seen - 1}."
                raise InputError(msg)
        declared = n_codes is not None
        return Universe(n_codes=max(seen, n_codes or 0), label_sets=sets, declared=declared)


def _choose_design(method: Method, *, weights: WeightScheme | None, clusters: object) -> Design:
    check_choice("method", method, Method)
    if weights is not None:
        check_choice("weights", weights, WeightScheme)
    if method == "exact" and (weights is not None or clusters is not None):
        reason = "clusters" if weights is None else "weights"
        msg = (
            f"`method` must be 't' with {reason}, got 'exact'. "
            "The exact test needs independent, equally weighted items."
        )
        raise InputError(msg)
    if clusters is not None:
        return "clustered"
    return "items" if weights is None else "weighted"


def _make_settings(
    *,
    epsilon: float | Sequence[float],
    epsilon_mode: EpsilonMode,
    method: Method,
    design: Design,
    false_discovery_rate: float,
    min_items: int,
    family: Family,
    expert: int | None,
) -> TestSettings:
    return TestSettings(
        epsilons=np.asarray(check_epsilons(epsilon)),
        mode=check_choice("epsilon_mode", epsilon_mode, EpsilonMode),
        method=method,
        design=design,
        false_discovery_rate=check_fraction("false_discovery_rate", false_discovery_rate),
        min_items=check_count("min_items", min_items, minimum=2),
        family=check_choice("family", family, Family),
        excluded=expert,
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
