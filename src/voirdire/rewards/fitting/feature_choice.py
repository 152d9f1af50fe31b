"""Which weights of a behavior are fitted, within which bounds, and which are given."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.documents import did_you_mean
from voirdire.errors import InputError
from voirdire.rewards.comparisons.order import default_order
from voirdire.rewards.features import feature_set
from voirdire.rewards.fitting.settings import EVERY_OTHER
from voirdire.rewards.vetoes import vetoes_by_behavior

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from voirdire.rewards.comparisons.order import LabelOrder
    from voirdire.rewards.features import FeatureSet
    from voirdire.rewards.fitting.settings import FitSettings
    from voirdire.rubrics import Rubric

__all__ = ["FeatureChoice", "feature_choices"]

_FREE = ("", 0.0)

Said = tuple[str, float]
"""``positive``, ``negative``, ``rubric``, ``fixed`` with its weight, or ``ignored``."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FeatureChoice:
    """The features of one behavior, and what is to become of their weights.

    Attributes
    ----------
    features : FeatureSet
        All of them.
    given : ndarray of float, shape (n_features,)
        The weights that are not fitted, 0 for ignored ones; nan for those that are fitted.
    lower, upper : ndarray of float, shape (n_features,)
        Bounds of the weights that are fitted.
    ignored : frozenset of str
        Features that get no weight.
    vetoes : tuple of str
        What puts a response below all others.
    order : tuple of (int, int)
        Fitted features of which the first is to have at least the weight of the second.
    """

    features: FeatureSet
    given: NDArray[np.float64] = field(repr=False)
    lower: NDArray[np.float64] = field(repr=False)
    upper: NDArray[np.float64] = field(repr=False)
    ignored: frozenset[str] = frozenset()
    vetoes: tuple[str, ...] = ()
    order: tuple[tuple[int, int], ...] = ()

    @property
    def is_fitted(self) -> NDArray[np.bool_]:
        """Which weights are fitted."""
        return np.isnan(self.given)

    @property
    def is_class(self) -> NDArray[np.bool_]:
        """Which features are classes."""
        return np.arange(self.given.size) >= len(self.features.propositions)

    def gauge(self) -> NDArray[np.float64]:
        """Directions that are known to say nothing: classes add up to 1 where all are fitted.

        Returns
        -------
        ndarray of float, shape (n_gauge, n_fitted)
            One row, or none.
        """
        fitted = self.is_fitted
        if not self.features.classes or not fitted[self.is_class].all():
            return np.zeros((0, int(fitted.sum())))
        return self.is_class[fitted][np.newaxis].astype(np.float64)


def feature_choices(rubric: Rubric, settings: FitSettings) -> dict[str, FeatureChoice]:
    """Settle what the settings say of the features of each behavior; refuse unknown names."""
    sets = {
        row.id: feature_set(rubric, row.id, orientation=settings.orientation)
        for row in rubric.behaviors
    }
    known = {key for row in sets.values() for name in row.names for key in _called(row, name)}
    said = _said(settings)
    for name in said:
        if name not in known and (name != EVERY_OTHER or name not in settings.signs_by_feature):
            _refuse(name, known, rubric=rubric)
    vetoes = vetoes_by_behavior(settings.veto, rubric, sets)
    return {
        behavior: replace(_choice(row, said, rubric=rubric), vetoes=vetoes[behavior])
        for behavior, row in sets.items()
    }


def _said(settings: FitSettings) -> dict[str, Said]:
    said: dict[str, Said] = {name: (sign, 0.0) for name, sign in settings.signs_by_feature.items()}
    said |= {name: ("fixed", float(weight)) for name, weight in settings.fixed.items()}
    return said | dict.fromkeys(settings.ignored, ("ignored", 0.0))


def _choice(features: FeatureSet, said: Mapping[str, Said], *, rubric: Rubric) -> FeatureChoice:
    names, ranked = features.names, []
    order = _class_order(rubric, features.behavior)
    demanded = _demanded_signs(rubric, features, order)
    given = np.full(len(names), np.nan)
    lower, upper = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    ignored = set()
    for place, name in enumerate(names):
        keys = (*_called(features, name), EVERY_OTHER)
        word, weight = next((said[key] for key in keys if key in said), _FREE)
        if word in ("fixed", "ignored"):
            given[place] = weight
        if word == "ignored":
            ignored.add(name)
        if word == "rubric":
            ranked.append(name)
            word = demanded.get(name, "")
        lower[place] = 0.0 if word == "positive" else -np.inf
        upper[place] = 0.0 if word == "negative" else np.inf
    fitted = [name for name, weight in zip(names, given, strict=True) if np.isnan(weight)]
    places = {name.removeprefix(f"{features.behavior}."): fitted.index(name) for name in ranked}
    return FeatureChoice(
        features=features,
        given=given,
        lower=lower,
        upper=upper,
        ignored=frozenset(ignored),
        order=tuple(
            (places[high], places[low])
            for high, low in ([] if order is None else order.steps)
            if high in places and low in places
        ),
    )


def _class_order(rubric: Rubric, behavior: str) -> LabelOrder | None:
    """Give the order of the classes; None where nobody has said which of them are better."""
    try:
        return default_order(rubric, behavior)
    except InputError:
        return None


def _demanded_signs(
    rubric: Rubric, features: FeatureSet, order: LabelOrder | None
) -> dict[str, str]:
    """Give the signs under which no weight pays against a demand.

    Class probabilities add up to 1, so that comparisons see how far class weights are apart and not
    where 0 lies among them. The best class at 0 or above and all others at 0 or below say that none
    is paid more than the best: what a demand forbids is not paid by way of a class either.
    """
    demands = rubric.behavior(features.behavior).demands
    found = {}
    for name, is_flipped in zip(features.propositions, features.flipped, strict=True):
        if (demanded := demands[name].demanded) is not None:
            found[name] = "positive" if demanded is not is_flipped else "negative"
    if order is None:
        return found
    top = {f"{features.behavior}.{name}" for name in order.best}
    return found | {name: "positive" if name in top else "negative" for name in features.classes}


def _called(features: FeatureSet, name: str) -> tuple[str, str]:
    """Give the names that a feature goes by: in this behavior only, and in all of them."""
    if name in features.propositions:
        return f"{features.behavior}:{name}", name
    return name, name.removeprefix(f"{features.behavior}.")


def _refuse(name: str, known: Iterable[str], *, rubric: Rubric) -> None:
    msg = (
        f"a feature must be a proposition or class of rubric {rubric.name!r}, or one of a behavior "
        f"as behavior:proposition or behavior.class, got {shorten(name)!r}."
        f"{did_you_mean(name, sorted(known))}"
    )
    raise InputError(msg)
