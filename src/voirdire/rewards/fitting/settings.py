"""How a reward is fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from voirdire._messages import shorten
from voirdire._types import Orientation
from voirdire._validation import (
    check_choice,
    check_count,
    check_fraction,
    check_positive,
    is_number,
)
from voirdire.documents import did_you_mean
from voirdire.errors import InputError
from voirdire.rewards.comparisons.order import LabelOrder, default_order
from voirdire.rewards.features import feature_set, group_questions, group_vetoes

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from voirdire.rewards.features import FeatureSet
    from voirdire.rubrics import Rubric

Sign: TypeAlias = Literal["positive", "negative", "rubric"]
"""The constraint of a weight: at least 0, at most 0, or the side that the rubric demands."""


EVERY_OTHER = "*"
"""Stands for every feature that no sign names."""


FEWEST_RESAMPLES = 50
"""Fewer give no percentile that could be called an end of an interval."""


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """How a reward is fitted.

    A feature is named by its proposition or class, such as ``apology`` or ``ideal``.
    ``behavior:proposition`` and ``behavior.class`` name it in one behavior only, and replace what
    is set for all behaviors.

    Attributes
    ----------
    orientation : {"plain", "demanded"}
        Of the features: a proposition counts by the probability that it is true, or that its
        demanded state holds.
    l2 : float or None
        λ, at least 0. By default cross-validation over prompts chooses it.
    margin : float
        How much higher the better one's reward is to be, above 0.
    margins : mapping of str to float
        The same for comparisons whose better one has this label.
    orders : mapping of str to str
        Which labels are better, such as "ideal > less_good > bad", by behavior; "*" is for all
        other behaviors. By default the order of the rubric's classes.
    equal_prompts : bool
        Whether every prompt counts the same, however many comparisons it has.
    signs : mapping of str to {"positive", "negative", "rubric"}, or "rubric"
        Sign constraints by feature, "positive" or "negative", "*" for all other features; "rubric"
        alone holds every weight to what the rubric demands. A proposition gets at least 0 where it
        is to be true, at most 0 where it is to be false, and is free where it is allowed. The best
        class gets at least 0, every other class at most 0, and no class more than one that is
        better.
    fixed : mapping of str to float
        Weights that are given and not fitted, by feature.
    ignored : sequence of str
        Features that get no weight.
    veto : sequence of str
        Must-haves: a response of which one of these holds lies below all others, whatever the
        weights are; as `behavior:proposition` in one behavior only.
    features : sequence of str
        Scale and choice questions of the rubric whose answers are features too; as
        `behavior:question` in one behavior only. A scale is one feature, from 0 at its minimum
        to 1 at its maximum; a choice is one for each label, called `question=label`.
    use_base : bool or None
        Whether the base reward is part of every difference; None where the data have one.
    gate : bool
        Whether what is no language, and what is no answer where one is wanted, gets a floor; left
        out where it would stop more than 1.2% of the better responses.
    cap : bool
        Whether no response is paid more than the best real one to five prompts in six.
    behind_refusals : bool
        Whether what a response says beside its refusal is judged too, which a language model is
        called once more for; left out where verdicts are stored, but for those of the local judge.
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
    l2: float | None = None
    margin: float = 1.0
    margins: Mapping[str, float] = field(default_factory=dict)
    orders: Mapping[str, str] = field(default_factory=dict)
    equal_prompts: bool = False
    signs: Mapping[str, Sign] | Literal["rubric"] = field(default_factory=dict)
    fixed: Mapping[str, float] = field(default_factory=dict)
    ignored: Sequence[str] = ()
    veto: Sequence[str] = ()
    features: Sequence[str] = ()
    use_base: bool | None = None
    gate: bool = True
    cap: bool = True
    behind_refusals: bool = True
    n_folds: int = 5
    n_resamples: int = 200
    confidence_level: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Check what needs neither a rubric nor data."""
        check_choice("orientation", self.orientation, Orientation)
        if self.l2 is not None:
            check_positive("l2", self.l2, zero=True)
        check_positive("margin", self.margin)
        if isinstance(self.signs, str):
            check_choice("signs", self.signs, Literal["rubric"])
        _check_named(self)
        _read_constraints(self)
        check_count("n_folds", self.n_folds, minimum=2)
        check_count("n_resamples", self.n_resamples, minimum=0)
        if 0 < self.n_resamples < FEWEST_RESAMPLES:
            rule = f"0 or at least {FEWEST_RESAMPLES}"
            msg = f"`n_resamples` must be {rule}, got {self.n_resamples}."
            raise InputError(f"{msg} With 0 there are no intervals.")
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
        plain = {row.name: _to_plain(getattr(self, row.name)) for row in fields(self)}
        for name in ("orders", *(x for x in ("veto", "features") if not plain[x])):
            del plain[name]
        if self.l2 is not None:
            plain["l2"] = float(self.l2)
        return (
            {"orientation": self.orientation, "loss": "hinge"}
            | plain
            | {
                "refuse_cycles": False,
                "margin": float(self.margin),
                "signs": _to_plain(self.signs_by_feature),
                "confidence_level": float(self.confidence_level),
            }
        )


def _to_plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        numbers = {name: value[name] for name in sorted(value)}
        return {name: float(x) if isinstance(x, Real) else x for name, x in numbers.items()}
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return sorted(value) if is_list else value


def _check_named(settings: FitSettings) -> None:
    """Check the settings by name, and the lists of names."""
    named: dict[str, tuple[Any, Callable[[str, Any], Any]]] = {
        "margins": (settings.margins, check_positive),
        "orders": (settings.orders, lambda _name, _value: None),
        "signs": (settings.signs_by_feature, lambda name, value: check_choice(name, value, Sign)),
        "fixed": (settings.fixed, _check_number),
    }
    for name, (given, check) in named.items():
        if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
            msg = f"`{name}` must be a mapping by name, got {shorten(given)!r}."
            raise InputError(f"{msg} Write {{'name': ...}}.")
        for key, value in given.items():
            try:
                check(name, value)
            except InputError as error:
                msg = f"{str(error).removesuffix('.')} for {shorten(key)!r}."
                raise InputError(msg) from error
    for name in ("ignored", "veto", "features"):
        names: Any = getattr(settings, name)
        is_list = isinstance(names, Sequence) and not isinstance(names, str | bytes)
        if not is_list or not all(isinstance(one, str) for one in names):
            msg = f"`{name}` must be a list of names, got {shorten(names)!r}. Write ['name']."
            raise InputError(msg)


def _check_number(name: str, value: Any) -> None:
    if not is_number(value):
        msg = f"`{name}` must be a finite number, got {value!r}."
        raise InputError(msg)


def _read_constraints(settings: FitSettings) -> dict[str, tuple[str, Any]]:
    """List the setting of each feature with its value; refuse a feature that two settings name."""
    constraints: dict[str, tuple[str, Any]] = {}
    for name, by_feature in (
        ("signs", settings.signs_by_feature),
        ("fixed", settings.fixed),
        ("ignored", dict.fromkeys(settings.ignored, 0.0)),
    ):
        for feature, value in by_feature.items():
            if feature in constraints:
                other = constraints[feature][0]
                msg = (
                    f"`{name}` must not name {shorten(feature)!r}, which `{other}` names: a weight "
                    "is held to a sign, fixed or ignored. Name it once."
                )
                raise InputError(msg)
            constraints[feature] = name, value
    return constraints


@dataclass(frozen=True, kw_only=True, eq=False)
class FeatureChoice:
    """The features of one behavior, and which of their weights are fitted.

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

    def list_gauge(self) -> NDArray[np.float64]:
        """List the directions of fitted weights that change no reward difference, one a row.

        Classes add up to 1, and so do the answers to a choice, where all are fitted.
        """
        fitted, names = self.is_fitted, np.array(self.features.names)
        heads = np.array([name.partition("=")[0] if "=" in name else "" for name in names.tolist()])
        groups = [self.is_class, *(heads == head for head in dict.fromkeys(heads) if head)]
        whole = [row for row in groups if row.any() and fitted[row].all()]
        return np.array([row[fitted] for row in whole], dtype=np.float64).reshape(
            len(whole), int(fitted.sum())
        )


def choose_features(rubric: Rubric, settings: FitSettings) -> dict[str, FeatureChoice]:
    """Choose the features of each behavior, and which weights are fitted; refuse unknown names."""
    asked = group_questions(settings.features, rubric)
    sets = {
        name: feature_set(rubric, name, orientation=settings.orientation, questions=questions)
        for name, questions in asked.items()
    }
    names = {key for row in sets.values() for name in row.names for key in _list_keys(row, name)}
    constraints = _read_constraints(settings)
    for name, (setting, _) in constraints.items():
        if name not in names and (name != EVERY_OTHER or setting != "signs"):
            msg = (
                f"`{setting}` must name propositions or classes of rubric {rubric.name!r}, or those"
                f" of a behavior as behavior:proposition or behavior.class, got {shorten(name)!r}."
                f"{did_you_mean(name, sorted(names))}"
            )
            raise InputError(msg)
    vetoes = group_vetoes(settings.veto, rubric, sets)
    return {
        behavior: replace(
            _choose_for_behavior(row, constraints, rubric=rubric), vetoes=vetoes[behavior]
        )
        for behavior, row in sets.items()
    }


def _choose_for_behavior(
    features: FeatureSet, constraints: Mapping[str, tuple[str, Any]], *, rubric: Rubric
) -> FeatureChoice:
    names, ranked, ignored = features.names, [], []
    order = _find_class_order(rubric, features.behavior)
    demanded = _list_demanded_signs(rubric, features, order)
    given = np.full(len(names), np.nan)
    lower, upper = np.full(len(names), -np.inf), np.full(len(names), np.inf)
    for place, name in enumerate(names):
        keys = (*_list_keys(features, name), EVERY_OTHER)
        setting, value = next(
            (constraints[key] for key in keys if key in constraints), ("signs", None)
        )
        if setting != "signs":
            given[place] = value
        elif value == "rubric":
            ranked.append(name)
            value = demanded.get(name)
        if setting == "ignored":
            ignored.append(name)
        lower[place] = 0.0 if value == "positive" else -np.inf
        upper[place] = 0.0 if value == "negative" else np.inf
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


def _find_class_order(rubric: Rubric, behavior: str) -> LabelOrder | None:
    """Find the order of the classes; None where the rubric declares none."""
    try:
        return default_order(rubric, behavior)
    except InputError:
        return None


def _list_demanded_signs(
    rubric: Rubric, features: FeatureSet, order: LabelOrder | None
) -> dict[str, str]:
    """List the signs under which no weight pays against a demand.

    Class probabilities add up to 1, so comparisons determine the differences of class weights and
    not their origin. With the best class at 0 or above and all others at 0 or below, no class is
    paid more than the best, and no class pays for what a demand forbids.
    """
    demands = rubric.behavior(features.behavior).demands
    signs = {}
    for name, is_flipped in zip(features.propositions, features.flipped, strict=True):
        if (demanded := demands[name].demanded) is not None:
            signs[name] = "positive" if demanded is not is_flipped else "negative"
    if order is None:
        return signs
    top = {f"{features.behavior}.{name}" for name in order.best}
    return signs | {name: "positive" if name in top else "negative" for name in features.classes}


def _list_keys(features: FeatureSet, name: str) -> tuple[str, str]:
    """List the names of a feature in settings: for this behavior only, and for all of them."""
    if name in features.asked:
        return f"{features.behavior}:{name}", name
    return name, name.removeprefix(f"{features.behavior}.")
