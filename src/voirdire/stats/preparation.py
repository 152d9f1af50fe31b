"""Checks the labels of the test, and prepares labels, comparison and settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._messages import list_names, shorten
from voirdire._types import AlignmentName
from voirdire._validation import check_choice, check_epsilons
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
    name_columns,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from voirdire.stats.alignment import VectorizedScore
    from voirdire.stats.plan import TestPlan

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


@dataclass(frozen=True, kw_only=True)
class LabelArrays:
    """The labels under examination, as `voirdire.stats.alt_test` takes them.

    `annotators` are the names by which a plan calls them; column numbers where there are none.
    """

    judges: ArrayLike
    humans: ArrayLike
    alignment: AlignmentName | VectorizedScore = "accuracy"
    label_sets: ArrayLike | LabelSets | None = None
    values: Sequence[Any] | None = None
    n_codes: int | None = None
    failed: ArrayLike | None = None
    gold: ArrayLike | None = None
    clusters: ArrayLike | None = None
    annotators: Sequence[str] = ()

    @property
    def alignment_name(self) -> str:
        """What results call the alignment."""
        if isinstance(self.alignment, str):
            return self.alignment
        return str(getattr(self.alignment, "__name__", "custom"))


def prepare(labels: LabelArrays, plan: TestPlan) -> Prepared:
    """Check the labels, and gather what the test computes on."""
    if not callable(labels.alignment):
        check_choice("alignment", labels.alignment, AlignmentName)
    people = check_humans(labels.humans, numeric=labels.alignment == "neg_rmse")
    machines, failures = check_judges(labels.judges, labels.failed, people)
    names = name_columns("annotators", labels.annotators or None, people.shape[1])
    if plan.expert is not None and str(plan.expert) not in names:
        listing = list_names([repr(shorten(name)) for name in names])
        msg = f"`expert` must be one of the annotators {listing}, got {shorten(plan.expert)!r}."
        raise InputError(msg)
    expert = None if plan.expert is None else names.index(str(plan.expert))
    raters = Raters(
        humans=people,
        judges=machines,
        failed=failures,
        reference=check_reference(people, expert=expert, gold=labels.gold),
        clusters=check_units(labels.clusters, len(people)),
    )
    label_sets, values, n_codes = labels.label_sets, labels.values, labels.n_codes
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
        epsilons=np.asarray(check_epsilons(plan.epsilon)),
        mode=plan.epsilon_mode,
        design="clustered"
        if labels.clusters is not None
        else "weighted"
        if plan.weights
        else "items",
        false_discovery_rate=plan.false_discovery_rate,
        min_items=plan.min_items,
        family=plan.family,
        quality=None if plan.quality is None else _check_quality(plan.quality, names),
        excluded=expert,
    )
    if plan.weights is not None:
        raters = raters.with_weight_codes()
    n_known = max(n_seen, n_codes or 0)
    comparison = Comparison(
        scorer=make_scorer(
            labels.alignment,
            humans=people,
            n_codes=n_known,
            label_sets=label_sets,
            values=values,
            similarity=plan.similarity,
        ),
        quality=settings.quality,
        min_annotators=plan.min_annotators,
        n_codes=raters.n_weight_codes(),
    )
    return Prepared(
        raters=raters,
        comparison=comparison,
        settings=settings,
        n_codes=n_known,
        is_declared=n_codes is not None,
        label_sets=label_sets,
    )


def _check_quality(
    quality: Mapping[str, float] | ArrayLike, names: Sequence[str]
) -> NDArray[np.float64]:
    """Return the annotators' weights, which are by name or by column."""
    listed: Any = quality
    try:
        if isinstance(quality, Mapping):
            by_name = {str(name): weight for name, weight in quality.items()}
            listed = [by_name[name] for name in names]
        weights = np.asarray(listed, dtype=np.float64)
    except KeyError as error:
        msg = f"`quality` must name every annotator, got no weight for {shorten(error.args[0])!r}."
        raise InputError(msg) from None
    except (TypeError, ValueError) as error:
        msg = f"`quality` must map annotators to numbers, got {shorten(quality)}."
        raise InputError(msg) from error
    if weights.shape != (len(names),) or not (np.isfinite(weights) & (weights > 0)).all():
        msg = (
            f"`quality` must hold one positive number for each of {len(names)} annotators, "
            f"got {shorten(weights.tolist())}."
        )
        raise InputError(msg)
    return weights
