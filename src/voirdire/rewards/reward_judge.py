"""Describes the judge of a reward, so that it can be made again from the description."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError
from voirdire.judging.binding import BoundCascade, BoundJudge
from voirdire.judging.cascade import read_bounds
from voirdire.models.port import RULES
from voirdire.records.thresholds import USUAL_THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire._types import Judged, Threshold
    from voirdire.judging import LlmJudge
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.cascade import CascadeJudge
    from voirdire.judging.jury import JudgeLike
    from voirdire.rubrics import Rubric

OWN = "own"
"""The name by which a caller allows asking the judge that a reward names, wherever it is."""

_BUNDLED = "local"
_NATIVE = "native/"

_CASCADE = "cascade"
"""The name of a cascade in a description; `first`, `then` and `unsure` stand beside it."""

_LLM_FIELDS = (
    "name",
    "mode",
    "probability",
    "language",
    "n_samples",
    "n_examples",
    "seed",
    "temperature",
    "top_logprobs",
)
"""Fields of an `LlmJudge` that its answers depend on."""

_CASCADE_FIELDS = ("first", "unsure", "propositions", "name")
"""Fields of a `CascadeJudge` that its answers depend on, besides the language model."""

_MODEL_FIELDS = ("base_url", "served_as", "temperature", "reasoning_effort", "max_tokens", "extra")
"""Settings of a model that are written down. Names of variables that hold keys or headers are not:
a stranger's file could send these to the stranger's server."""


@dataclass(frozen=True, kw_only=True)
class RewardJudge:
    """Whose verdicts the weights were fitted on, and may be used with.

    Attributes
    ----------
    name : str
        What verdicts call it.
    fingerprint : str
        Of its verdicts; empty where the weights were given by hand.
    threshold : float, or mapping of str to float
        In (0, 1): a proposition is true from this probability on; one for all, or one for each.
    judged : {"final_answer", "with_reasoning", "whole_turn"}
        What of a response is judged.
    made_by : mapping of str to object
        How to make the judge again: ``judge`` as the command line takes it, and for a language
        model mode, probability, language and so on. Never a key. Empty where it cannot be made
        again from words; see `describe_judge`.
    """

    name: str
    fingerprint: str = ""
    threshold: Threshold = USUAL_THRESHOLD
    judged: Judged = "final_answer"
    made_by: Mapping[str, Any] = field(default_factory=dict)


def describe_judge(
    plan: JudgingPlan,
    *,
    made_from: JudgeLike | None = None,
    bound: bool = True,
) -> RewardJudge:
    """Describe the judge of a plan, so that a reward can name it and make it again.

    `made_from` is what the plan was made from; a name or a path is kept as it is. Without `bound`
    the reward takes verdicts of any judge. `made_by` is empty for an object of the caller's own.
    """
    return RewardJudge(
        name=plan.judge.name,
        fingerprint=plan.fingerprint if bound else "",
        threshold=plan.threshold,
        judged=plan.judged,
        made_by=_describe_making(plan, made_from),
    )


def recognise_judge(described: RewardJudge, rubric: Rubric) -> RewardJudge:
    """Add how to make a judge again, where a judge of that name has the same fingerprint."""
    from voirdire.judging import LlmJudge
    from voirdire.judging.binding import plan_judging
    from voirdire.models import is_model_name, load_model

    try:
        judge: LlmJudge | str = "local"
        if is_model_name(described.name):
            judge = LlmJudge(model=load_model(described.name, reads_keys=False))
        elif described.name != "local":
            return described
        plan = plan_judging(judge, rubric, threshold=described.threshold, judged=described.judged)
    except InputError:  # no such judge here: it can still be named when it is needed
        return described
    if plan.fingerprint != described.fingerprint:
        return described
    return replace(described, made_by=_describe_making(plan, judge))


def choose_judge(own: RewardJudge, judge: JudgeLike | None) -> JudgeLike:
    """Choose who judges: the judge that the caller names, else the reward's own.

    ``"own"`` is the reward's own judge, whichever that is; None is the reward's own only where that
    is the judge that ships with voirdire.
    """
    if judge is None:
        return remake_judge(own)
    return remake_judge(own, is_requested=True) if judge == OWN else judge


def describe_differences(own: RewardJudge, plan: JudgingPlan) -> str:
    """Name the settings in which the judge of a plan differs from that of a reward."""
    here, there = (
        {name: _hide_password(value) for name, value in {**row, **row.get("model", {})}.items()}
        for row in (_describe_making(plan, None), own.made_by)
    )
    return ", ".join(
        f"`{name}` {here.get(name)} instead of {there.get(name)}"
        for name in {**here, **there}
        if name not in ("model", "then", "calibration") and here.get(name) != there.get(name)
    )


def _hide_password(value: Any) -> str:
    """Show a setting; what stands before an @ in an address may be a password."""
    if not isinstance(value, str):
        return shorten(repr(value))
    return repr(shorten(value.rpartition("@")[2].partition("?")[0] if "://" in value else value))


def remake_judge(judge: RewardJudge, *, is_requested: bool = False) -> JudgeLike:
    """Make a judge from its description.

    A stranger may have written the description: only a judge that the caller requested
    (`is_requested`) sends texts, costs money or opens a file. Without a request, only the judge
    that ships with voirdire is made.
    """
    made_by = judge.made_by
    name = made_by.get("judge")
    if not isinstance(name, str) or not name:
        name_of_judge = f" {shorten(judge.name)!r}" if judge.name else ""
        msg = (
            f"`judge` must be given, or `verdicts`: the reward's own judge{name_of_judge} cannot "
            "be made again from what the reward says. Name a judge, or judge beforehand with "
            "`voirdire judge`."
        )
        raise InputError(msg)
    if name not in (_BUNDLED, RULES) and not is_requested:
        msg = (
            f"`judge` must be named, or `verdicts` given: the reward's own judge is "
            f"{_describe_request(name, made_by)}, and no reward may decide that by itself. "
            f"Say {OWN!r} to use it, or name another."
        )
        raise InputError(msg)
    is_cascade = _is_cascade(made_by)
    if not is_cascade and not _is_model(name, made_by):
        return name
    try:
        return _make_cascade(made_by) if is_cascade else _make_language_model(name, made_by)
    except TypeError as error:
        msg = (
            "`reward` must describe its judge with settings that a judge has, got others "
            f"({shorten(str(error))}). Name a `judge`."
        )
        raise InputError(msg) from error


def _describe_request(name: str, made_by: Mapping[str, Any]) -> str:
    """Describe what asking a judge would do."""
    if _is_cascade(made_by):
        first, then = shorten(str(made_by.get("first"))), made_by["then"]
        return f"a cascade of {first!r} and {_describe_request(str(then.get('judge')), then)}"
    if not _is_model(name, made_by):
        return f"the file {shorten(name)!r}, which would be opened"
    settings = made_by.get("model")
    place = isinstance(settings, dict) and (settings.get("base_url") or settings.get("served_as"))
    where = f" at {_hide_password(place)}" if place else ""
    return f"the language model {shorten(name)!r}{where}, which would be sent every text"


def _make_language_model(name: str, made_by: Mapping[str, Any]) -> LlmJudge:
    from voirdire.judging import LlmJudge
    from voirdire.judging.calibration import read_calibration
    from voirdire.models import load_model

    settings = made_by.get("model", {})
    if not isinstance(settings, dict) or set(settings) - set(_MODEL_FIELDS):
        msg = f"unknown settings of the model {name!r}"
        raise TypeError(msg)
    is_native = name.startswith(_NATIVE) and settings.get("base_url") is not None
    if is_native or "served_as" in settings:
        why = "a provider's own library finds keys by itself" if is_native else "it has no address"
        msg = (
            f"`judge` must be named: {why}, and the reward's own judge is "
            f"{_describe_request(name, made_by)}. Name it with its address and key."
        )
        raise InputError(msg)
    fields = {key: made_by[key] for key in _LLM_FIELDS if key in made_by}
    if "calibration" in made_by:
        fields["calibration"] = read_calibration(
            made_by["calibration"], source="the judge of the reward"
        )
    model = load_model(name, **settings)
    return LlmJudge(model=model, **fields)


def _is_model(name: str, made_by: Mapping[str, Any]) -> bool:
    """Return whether a language model is described, whose name alone may not say so."""
    from voirdire.models import is_model_name

    return is_model_name(name) or "probability" in made_by


def _is_cascade(made_by: Mapping[str, Any]) -> bool:
    return made_by.get("judge") == _CASCADE and isinstance(made_by.get("then"), dict)


def _make_cascade(made_by: Mapping[str, Any]) -> CascadeJudge:
    from voirdire.judging.cascade import CascadeJudge

    fields = {key: value for key, value in made_by.items() if key not in ("judge", "then")}
    then = made_by["then"]
    name = then.get("judge")
    are_names = isinstance(name, str) and isinstance(fields.get("first"), str)
    if set(fields) - set(_CASCADE_FIELDS) or not are_names:
        msg = "unknown settings of a cascade"
        raise TypeError(msg)
    return CascadeJudge(then=_make_language_model(name, then), **fields)


def _describe_making(plan: JudgingPlan, made_from: Any) -> dict[str, Any]:
    judge = plan.judge
    if isinstance(judge, BoundCascade):
        cascade = judge.cascade
        if not isinstance(cascade.first, str | Path):
            return {}
        unsure = read_bounds(cascade.unsure)
        return {
            "judge": _CASCADE,
            "first": str(cascade.first),
            "unsure": {name: list(pair) for name, pair in unsure.items()},
            **(
                {} if cascade.propositions is None else {"propositions": list(cascade.propositions)}
            ),
            **({"name": cascade.name} if cascade.name else {}),
            "then": _describe_language_model(judge.judge),
        }
    if not isinstance(judge, BoundJudge):
        is_named = isinstance(made_from, str | Path) and str(made_from)
        return {"judge": str(made_from)} if is_named else {}
    return _describe_language_model(judge.judge)


def _describe_language_model(judge: LlmJudge) -> dict[str, Any]:
    settings = judge.chat_model.settings
    model_fields = {key: settings[key] for key in _MODEL_FIELDS if settings.get(key)}
    if "://" not in model_fields.get("base_url", "://"):  # the name of a deployment
        model_fields["served_as"] = model_fields.pop("base_url")
    calibration = judge.known_calibration
    return {
        "judge": judge.chat_model.name,
        **{key: getattr(judge, key) for key in _LLM_FIELDS if getattr(judge, key) is not None},
        "n_orders": 1,  # of a removed setting, so that hashes of rewards do not change
        **({"model": model_fields} if model_fields else {}),
        **({} if calibration is None else {"calibration": calibration.to_dict()}),
    }
