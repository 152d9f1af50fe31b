"""How a reward is fitted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._types import Loss, Orientation
from voirdire._validation import check_choice, check_count, check_fraction, shorten
from voirdire.documents import did_you_mean
from voirdire.errors import InputError
from voirdire.rewards.comparisons.order import LabelOrder, default_order
from voirdire.rewards.features import caps_by_behavior, feature_set, questions_by_behavior
from voirdire.rewards.vetoes import vetoes_by_behavior

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from voirdire.rewards.features import FeatureSet
    from voirdire.rubrics import Rubric

__all__ = ["EVERY_OTHER", "FeatureChoice", "FitSettings", "Sign", "feature_choices"]

Sign: TypeAlias = Literal["positive", "negative", "rubric"]


"""What a weight is held to: at least 0, at most 0, or the side that the rubric demands."""


EVERY_OTHER = "*"


"""Stands for every feature that no sign names."""


FEWEST_RESAMPLES = 50


"""Fewer give no percentile that could be called an end of an interval."""


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """How a reward is fitted.

    A feature is named by its proposition or class, such as ``apology`` or ``ideal``.
    ``behavior:proposition`` and ``behavior.class`` name it in one behavior only, and go before what
    is said of all behaviors.

    Attributes
    ----------
    orientation : {"plain", "rule", "demanded"}
        Of the features.
    loss : {"hinge", "logistic"}
        What is minimised.
    l2 : float or None
        λ, at least 0. By default cross-validation over prompts chooses it.
    margin : float
        How much higher the better one's reward is to be, above 0.
    margins : mapping of str to float
        The same for comparisons whose better one has this label.
    orders : mapping of str to (str or mapping)
        Which labels are better, such as "ideal > less_good > bad", by behavior; "*" is for all
        other behaviors. By default the order of the rubric's classes.
    equal_prompts : bool
        Whether every prompt counts the same, however many comparisons it has.
    signs : mapping of str to {"positive", "negative", "rubric"}, or "rubric"
        Sign constraints by feature, "positive" or "negative", "*" for all other features; "rubric"
        alone holds every weight to what the rubric demands. A proposition gets at least 0 where it
        is to be true, at most 0 where it is to be false, and is free where it is allowed. The best
        class gets at least 0, every other class at most 0, and, under the hinge loss, no class more
        than one that is better.
    fixed : mapping of str to float
        Weights that are given and not fitted, by feature.
    ignored : sequence of str
        Features that get no weight.
    veto : sequence of str
        Must-haves: a response of which one of these holds lies below all others, whatever the
        weights are. Propositions, named expressions or conditions of the rubric; as
        `behavior:expression` in one behavior only.
    caps : mapping of str to float
        By proposition the value in (0, 1) above which the feature does not grow, in the fit and in
        every reward: more of it than that pays, or costs, nothing more.
    features : sequence of str
        Scale and choice questions of the rubric whose answers are features too; as
        `behavior:question` in one behavior only. A scale is one feature, from 0 at its minimum
        to 1 at its maximum; a choice is one for each label, called `question=label`.
    refuse_cycles : bool
        Whether it is an error, and not a warning, if comparisons go in cycles.
    use_base : bool or None
        Whether the base reward is part of every difference; None where the data have one.
    n_folds : int
        Of cross-validation and of the held-out error rate, at least 2.
    n_resamples : int
        Bootstrap resamples over prompts: 0 for none, else at least 50.
    confidence_level : float
        Of all intervals, in (0, 1).
    seed : int
        Of folds and resamples, at least 0.

    Raises
    ------
    InputError
        If a setting breaks its rule, or a feature is named under two of `signs`, `fixed` and
        `ignored`.
    """

    orientation: Orientation = "plain"
    loss: Loss = "hinge"
    l2: float | None = None
    margin: float = 1.0
    margins: Mapping[str, float] = field(default_factory=dict)
    orders: Mapping[str, str | Mapping[str, Sequence[str]]] = field(default_factory=dict)
    equal_prompts: bool = False
    signs: Mapping[str, Sign] | Literal["rubric"] = field(default_factory=dict)
    fixed: Mapping[str, float] = field(default_factory=dict)
    ignored: Sequence[str] = ()
    veto: Sequence[str] = ()
    caps: Mapping[str, float] = field(default_factory=dict)
    features: Sequence[str] = ()
    refuse_cycles: bool = False
    use_base: bool | None = None
    n_folds: int = 5
    n_resamples: int = 200
    confidence_level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Check everything that can be checked without a rubric and data."""
        check_choice("orientation", self.orientation, Orientation)
        check_choice("loss", self.loss, Loss)
        if self.l2 is not None:
            _check_number("l2", self.l2, rule="a finite number of at least 0", lowest=0.0)
        _check_margin("margin", self.margin)
        if isinstance(self.signs, str):
            check_choice("signs", self.signs, Literal["rubric"])
        for name in ("margins", "orders", "signs", "fixed", "caps"):
            value = self.signs_by_feature if name == "signs" else getattr(self, name)
            _check_mapping(name, value)
        for label, margin in self.margins.items():
            _check_margin(f"margins[{shorten(label)!r}]", margin)
        for feature, sign in self.signs_by_feature.items():
            check_choice(f"signs[{shorten(feature)!r}]", sign, Sign)
        for feature, weight in self.fixed.items():
            _check_number(f"fixed[{shorten(feature)!r}]", weight, rule="a finite number")
        _check_names("ignored", self.ignored, named="feature")
        _check_names("veto", self.veto, named="proposition")
        _check_names("features", self.features, named="question")
        _check_said_once(self)
        check_count("n_folds", self.n_folds, minimum=2)
        _check_resamples(self.n_resamples)
        check_fraction("confidence_level", self.confidence_level)
        check_count("seed", self.seed, minimum=0)

    @property
    def signs_by_feature(self) -> Mapping[str, Sign]:
        """Signs as a mapping; ``"*"`` stands for all features that have none of their own."""
        if isinstance(self.signs, str):
            return {EVERY_OTHER: self.signs}
        return self.signs

    def as_dict(self) -> dict[str, Any]:
        """Give the settings as plain JSON values, mappings sorted by name."""
        found = {row.name: _as_json(getattr(self, row.name)) for row in fields(self)}
        for name in ("orders", *(name for name in ("veto", "caps", "features") if not found[name])):
            del found[name]
        if self.l2 is not None:
            found["l2"] = float(self.l2)
        return found | {
            "margin": float(self.margin),
            "signs": _as_json(self.signs_by_feature),
            "confidence_level": float(self.confidence_level),
        }


def _as_json(value: Any) -> Any:
    if isinstance(value, Mapping):
        numbers = {name: value[name] for name in sorted(value)}
        return {name: float(x) if isinstance(x, Real) else x for name, x in numbers.items()}
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return sorted(value) if is_list else value


def _check_number(name: str, value: object, *, rule: str, lowest: float = -math.inf) -> None:
    is_number = not isinstance(value, bool) and isinstance(value, Real)
    number = float(value) if is_number else math.nan  # type: ignore[arg-type]
    if not math.isfinite(number) or number < lowest:
        msg = f"`{name}` must be {rule}, got {shorten(value)!r}."
        raise InputError(msg)


def _check_margin(name: str, value: object) -> None:
    rule = "a finite number above 0"
    _check_number(name, value, rule=rule)
    if float(value) <= 0:  # type: ignore[arg-type]
        msg = f"`{name}` must be {rule}, got {value!r}. Swap the labels in `orders` instead."
        raise InputError(msg)


def _check_mapping(name: str, value: object) -> None:
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        msg = f"`{name}` must be a mapping by name, got {shorten(value)!r}. Write {{'name': ...}}."
        raise InputError(msg)


def _check_names(name: str, value: object, *, named: str) -> None:
    is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if not is_list or not all(isinstance(one, str) for one in value):  # type: ignore[attr-defined]
        msg = f"`{name}` must be a list of {named}s, got {shorten(value)!r}. Write ['{named}']."
        raise InputError(msg)


def _check_said_once(settings: FitSettings) -> None:
    said: dict[str, str] = {}
    rules = {"signs": settings.signs_by_feature, "fixed": settings.fixed}
    for name, features in (*rules.items(), ("ignored", settings.ignored)):
        for feature in features:
            other = said.setdefault(feature, name)
            if other != name:
                msg = (
                    f"`{name}` must not name {shorten(feature)!r}, which `{other}` names: a weight "
                    "is held to a sign, fixed or ignored. Name it once."
                )
                raise InputError(msg)


def _check_resamples(n_resamples: int) -> None:
    check_count("n_resamples", n_resamples, minimum=0)
    if 0 < n_resamples < FEWEST_RESAMPLES:
        msg = (
            f"`n_resamples` must be 0 or at least {FEWEST_RESAMPLES}, got {n_resamples}. "
            "With 0 there are no intervals."
        )
        raise InputError(msg)


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
        return np.arange(self.given.size) >= len(self.features.asked)

    def gauge(self) -> NDArray[np.float64]:
        """Give the directions that are known to say nothing, one a row, over the fitted weights.

        Classes add up to 1, and so do the answers to a choice, where all are fitted and uncapped.
        """
        fitted, names = self.is_fitted, np.array(self.features.names)
        heads = np.array([name.partition("=")[0] if "=" in name else "" for name in names.tolist()])
        groups = [self.is_class, *(heads == head for head in dict.fromkeys(heads) if head)]
        is_capped = np.isin(names, list(self.features.caps))
        whole = [row for row in groups if row.any() and (fitted & ~is_capped)[row].all()]
        return np.array([row[fitted] for row in whole], dtype=np.float64).reshape(
            len(whole), int(fitted.sum())
        )


def feature_choices(rubric: Rubric, settings: FitSettings) -> dict[str, FeatureChoice]:
    """Settle what the settings say of the features of each behavior; refuse unknown names."""
    asked = questions_by_behavior(settings.features, rubric)
    sets = {
        name: feature_set(rubric, name, orientation=settings.orientation, questions=questions)
        for name, questions in asked.items()
    }
    caps = caps_by_behavior(settings.caps, sets)
    sets = {name: replace(row, caps=caps[name]) for name, row in sets.items()}
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
    if name in features.asked:
        return f"{features.behavior}:{name}", name
    return name, name.removeprefix(f"{features.behavior}.")


def _refuse(name: str, known: Iterable[str], *, rubric: Rubric) -> None:
    msg = (
        f"a feature must be a proposition or class of rubric {rubric.name!r}, or one of a behavior "
        f"as behavior:proposition or behavior.class, got {shorten(name)!r}."
        f"{did_you_mean(name, sorted(known))}"
    )
    raise InputError(msg)
