"""Make a reward from weights that a user chose, without comparisons and without a fit."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire._types import Orientation
from voirdire._validation import check_choice
from voirdire.documents import did_you_mean, read_document
from voirdire.errors import InputError
from voirdire.records.thresholds import USUAL_THRESHOLD
from voirdire.rewards.features import (
    VETO,
    compute_veto_penalty,
    group_vetoes,
    list_weighed_features,
)
from voirdire.rewards.model import BehaviorReward, RewardModel
from voirdire.rewards.reward_judge import RewardJudge, describe_judge
from voirdire.rubrics import load_rubric

if TYPE_CHECKING:
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Certificate
    from voirdire.rewards.features import FeatureSet
    from voirdire.rubrics import Rubric

_LIBRARIES = ("voirdire", "numpy", "scipy", "polars")


def reward_of_weights(
    weights: Mapping[str, Mapping[str, float]] | str | Path,
    *,
    rubric: Rubric | str | Path,
    orientation: Orientation = "plain",
    name: str = "reward",
    judge: JudgeLike | None = "local",
    bound: bool = False,
    use_base: bool = False,
) -> RewardModel:
    """Make a reward of weights that are given by hand.

    Parameters
    ----------
    weights : mapping of str to mapping, or path
        By behavior the weights by feature: a proposition, or a class as ``ideal`` or
        ``hard_refuse.ideal``. Features that are not named weigh nothing. A path is a JSON or YAML
        file of the same form. ``veto`` beside the behaviors names what puts a response below all
        others, whatever the weights: a proposition or a list of them, in one behavior only as
        ``behavior:proposition``. Scale and choice questions are features where a weight names
        them: ``quality``, ``tone=warm``.
    rubric : Rubric, str or path
        With the behaviors.
    orientation : {"plain", "demanded"}, optional
        Of the features: the probabilities that propositions are true, or that demanded states
        hold; see `feature_set`.
    name : str, optional
        What scores call it.
    judge : Judge, LlmJudge, str, path or None, optional
        Who judges where no verdicts are given; None leaves it open.
    bound : bool, optional
        Whether only verdicts of this judge may be used. Certificates count for such a reward only.
    use_base : bool, optional
        Whether items need the reward of another model, which is added.

    Returns
    -------
    RewardModel
        Ready to score; mean and standard deviation are unknown.

    Raises
    ------
    InputError
        If a behavior or feature is unknown, a weight is no finite number, or nothing is weighed.

    Examples
    --------
    >>> reward = reward_of_weights(
    ...     {"hard_refuse": {"apology": 1, "judgement": -2, "ideal": 3}}, rubric="safety"
    ... )
    >>> reward.behaviors["hard_refuse"].weights["hard_refuse.ideal"]
    3.0
    >>> reward.behaviors["hard_refuse"].weights["threatening_language"]
    0.0
    """
    check_choice("orientation", orientation, Orientation)
    loaded = load_behavior_rubric(rubric)
    given: Any = weights
    if isinstance(weights, str | Path):  # a small file of YAML, which JSON is too
        given = read_document(weights, what="a file of weights").value
    if not isinstance(given, Mapping) or not given:
        msg = (
            "`weights` must hold weights for at least one behavior, got "
            f'{shorten(given)}. Write {{"hard_refuse": {{"apology": 1.0}}}}.'
        )
        raise InputError(msg)
    by_behavior = {str(name): named for name, named in given.items()}
    veto: Any = ()
    if "veto" not in {row.id for row in loaded.behaviors}:
        veto = by_behavior.pop("veto", ())
    vetoes_given = [veto] if isinstance(veto, str) else veto
    is_list = isinstance(vetoes_given, Sequence)
    if not is_list or not all(isinstance(one, str) for one in vetoes_given):
        msg = f"`veto` must be a proposition or a list of them, got {shorten(veto)}."
        raise InputError(msg)
    vetoes = group_vetoes(vetoes_given, loaded, by_behavior)
    sets = {}
    for behavior, named in by_behavior.items():
        words = map(str, named) if isinstance(named, Mapping) else ()
        sets[behavior] = list_weighed_features(loaded, behavior, words, orientation=orientation)
    behaviors = {
        name: _make_behavior(replace(features, vetoes=vetoes[name]), by_behavior[name])
        for name, features in sets.items()
    }
    return RewardModel(
        name=name,
        rubric=loaded,
        orientation=orientation,
        judge=_make_judge(judge, loaded, bound=bound),
        behaviors={row.id: behaviors[row.id] for row in loaded.behaviors if row.id in behaviors},
        settings={"given_weights": True, "use_base": use_base},
        created=write_time(),
        versions=list_versions(),
    )


def reward_without_weights(
    judge: JudgeLike,
    *,
    rubric: Rubric | str | Path,
    certificates: Sequence[Certificate] = (),
) -> RewardModel:
    """Make a reward that pays for nothing, to serve a judge with its certificates alone."""
    from voirdire.judging.binding import plan_judging

    plan = plan_judging(judge, rubric)
    return RewardModel(
        name=plan.judge.name,
        rubric=plan.rubric,
        judge=describe_judge(plan, made_from=judge),
        behaviors={},
        certificates=tuple(certificates),
        created=write_time(),
        versions=list_versions(),
    )


def load_behavior_rubric(rubric: Rubric | str | Path) -> Rubric:
    """Load a rubric; refuse one without behaviors."""
    loaded = load_rubric(rubric)
    if not loaded.behaviors:
        msg = f"`rubric` must have behaviors, got {shorten(loaded.name)!r} without any. Add some."
        raise InputError(msg)
    return loaded


def write_time() -> str:
    """Write the UTC time in ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def list_versions() -> dict[str, str]:
    """List the versions of Python, voirdire and the numerical libraries."""
    versions = {name: version(name) for name in _LIBRARIES}
    return {"python": platform.python_version()} | versions


def _make_judge(judge: JudgeLike | None, rubric: Rubric, *, bound: bool) -> RewardJudge:
    if judge is None and bound:
        msg = "`judge` must be named where the reward is bound to it, got None. Name one."
        raise InputError(msg)
    if judge is None or (judge == "local" and not bound):
        # the built-in judge is not loaded here: it may lack a proposition that has verdicts
        threshold = rubric.threshold or USUAL_THRESHOLD
        name = "local" if judge else ""
        return RewardJudge(name=name, threshold=threshold, made_by={"judge": name} if name else {})
    from voirdire.judging.binding import plan_judging

    return describe_judge(plan_judging(judge, rubric), made_from=judge, bound=bound)


def _make_behavior(features: FeatureSet, given: Any) -> BehaviorReward:
    where = f"`weights` of {features.behavior!r}"
    if not isinstance(given, Mapping):
        msg = f"{where} must be a mapping of features to numbers, got {shorten(given)}."
        raise InputError(msg)
    weights: dict[str, float] = {}
    for word, value in given.items():
        # a class may be named without its behavior
        whole = f"{features.behavior}.{word}"
        name = whole if whole in features.classes else str(word)
        if name not in features.names:
            near = did_you_mean(str(word), features.names)
            hint = near or f" The features are {', '.join(features.names)}."
            msg = f"`weights` must name features of {features.behavior!r}, got "
            raise InputError(f"{msg}{shorten(str(word))!r}.{hint}")
        if name in weights:
            raise InputError(f"{where} must name {name!r} once, got it twice.")
        try:
            weights[name] = math.nan if isinstance(value, bool | str) else float(value)
        except (TypeError, ValueError, OverflowError):
            weights[name] = math.nan
        if not math.isfinite(weights[name]):
            msg = f"{where} must be finite numbers, got {shorten(repr(value))} for {name!r}."
            raise InputError(msg)
    weights = dict.fromkeys(features.names, 0.0) | weights
    if features.vetoes:
        weights[VETO] = -compute_veto_penalty(features, weights)
    return BehaviorReward(behavior=features.behavior, weights=weights, vetoes=features.vetoes)
