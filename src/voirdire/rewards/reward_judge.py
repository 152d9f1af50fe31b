"""Describe the judge of a reward in words, and make it again from them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.documents import document_of_value
from voirdire.errors import InputError
from voirdire.judging.bound import BoundCascade
from voirdire.judging.judges.cascade import read_bounds
from voirdire.judging.plan import asks_a_model
from voirdire.records.thresholds import USUAL_THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from voirdire._types import Judged, Threshold
    from voirdire.judging import LlmJudge
    from voirdire.judging.judges.cascade import CascadeJudge
    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.judging.plan import JudgingPlan
    from voirdire.rubrics import Rubric

__all__ = [
    "OWN",
    "RewardJudge",
    "asked_judge",
    "judge_again",
    "recognise_judge",
    "reward_judge",
]

OWN = "own"
"""How a caller says that the judge which a reward names is to be asked, wherever it is."""

_BUNDLED = "local"
_NATIVE = "native/"

_CASCADE = "cascade"
"""What a description calls a judge of two, with `first`, `then` and `unsure` beside it."""

_ASKED = (
    "name",
    "mode",
    "probability",
    "language",
    "n_samples",
    "n_orders",
    "n_examples",
    "seed",
    "temperature",
    "top_logprobs",
)
"""What of an `LlmJudge` its answers depend on."""

_OF_CASCADE = ("first", "unsure", "propositions", "name")
"""What of a `CascadeJudge` its answers depend on, besides the language model."""

_MODEL = ("base_url", "temperature", "reasoning_effort", "max_tokens", "top_p", "extra")
"""What of a model's settings is written down. Names of variables that hold keys or headers are
not: a file of somebody else's could have them sent to a server of his."""


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
        again from words; see `reward_judge`.
    """

    name: str
    fingerprint: str = ""
    threshold: Threshold = USUAL_THRESHOLD
    judged: Judged = "final_answer"
    made_by: Mapping[str, Any] = field(default_factory=dict)


def reward_judge(
    plan: JudgingPlan,
    *,
    made_from: JudgeLike | None = None,
    bound: bool = True,
) -> RewardJudge:
    """Describe the judge of a plan, so that a reward can name it and make it again.

    Parameters
    ----------
    plan : JudgingPlan
        What the verdicts come from.
    made_from : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
        What the plan was made from: a name or a path is written down as it is.
    bound : bool, optional
        Whether the reward takes no other judge's verdicts.

    Returns
    -------
    RewardJudge
        Its `made_by` is empty where the judge is an object of the caller's own.
    """
    return RewardJudge(
        name=plan.judge.name,
        fingerprint=plan.fingerprint if bound else "",
        threshold=plan.threshold,
        judged=plan.judged,
        made_by=_made_by(plan, made_from),
    )


def recognise_judge(found: RewardJudge, rubric: Rubric) -> RewardJudge:
    """Say how a judge is made again, where a judge of that name has the same fingerprint."""
    from voirdire.judging import LlmJudge
    from voirdire.judging.plan import plan_judging
    from voirdire.models import is_model_name, load_model

    try:
        judge: LlmJudge | str = "local"
        if is_model_name(found.name):
            judge = LlmJudge(model=load_model(found.name, reads_keys=False))
        elif found.name != "local":
            return found
        plan = plan_judging(judge, rubric, threshold=found.threshold, judged=found.judged)
    except InputError:  # no such judge here: it can still be named when it is needed
        return found
    if plan.fingerprint != found.fingerprint:
        return found
    return replace(found, made_by=_made_by(plan, judge))


def asked_judge(own: RewardJudge, judge: JudgeLike | None) -> JudgeLike:
    """Settle who judges: the one that the caller names, else the reward's own.

    Parameters
    ----------
    own : RewardJudge
        Of the reward.
    judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str, path or None
        ``"own"`` asks the reward's own judge, whoever that is; None does where that is the judge
        that ships with voirdire.

    Returns
    -------
    Judge, LlmJudge, CascadeJudge, JuryJudge, str or path
        What `voirdire.judge` takes.

    Raises
    ------
    InputError
        As `judge_again` does.
    """
    if judge is None:
        return judge_again(own)
    return judge_again(own, is_wished=True) if judge == OWN else judge


def judge_again(judge: RewardJudge, *, is_wished: bool = False) -> JudgeLike:
    """Make a judge from its description.

    Parameters
    ----------
    judge : RewardJudge
        Of a reward.
    is_wished : bool, optional
        Whether the caller asked for just this judge. The description may be a stranger's: without
        the wish it sends no text anywhere, spends nothing and opens no file, which leaves the
        judge that ships with voirdire.

    Returns
    -------
    LlmJudge, CascadeJudge or str
        What `voirdire.judge` takes: a language model, a cascade, ``"local"``, or a path.

    Raises
    ------
    InputError
        If there is no description, it is damaged, nobody asked for this judge, or a key that the
        model needs is missing.
    """
    made_by = judge.made_by
    name = made_by.get("judge")
    if not isinstance(name, str) or not name:
        called = f" {shorten(judge.name)!r}" if judge.name else ""
        msg = (
            f"`judge` must be given, or `verdicts`: the reward's own judge{called} cannot be made "
            "again from what the reward says. Name a judge, or judge beforehand with "
            "`voirdire judge`."
        )
        raise InputError(msg)
    if name != _BUNDLED and not is_wished:
        msg = (
            f"`judge` must be named, or `verdicts` given: the reward's own judge is "
            f"{_described(name, made_by)}, and no reward may decide that by itself. Say {OWN!r} "
            "if it is the one that you want, or name another."
        )
        raise InputError(msg)
    from voirdire.models import is_model_name

    is_cascade = _is_cascade(made_by)
    if not is_cascade and not is_model_name(name):
        return name
    try:
        return _cascade(made_by) if is_cascade else _language_model(name, made_by)
    except TypeError as error:
        msg = (
            "`reward` must describe its judge with settings that a judge has, got others "
            f"({shorten(str(error))}). Name a `judge`."
        )
        raise InputError(msg) from error


def _described(name: str, made_by: Mapping[str, Any]) -> str:
    """Say what asking a judge would do."""
    from voirdire.models import is_model_name

    if _is_cascade(made_by):
        first, then = shorten(str(made_by.get("first"))), made_by["then"]
        return f"a cascade of {first!r} and {_described(str(then.get('judge')), then)}"
    if not is_model_name(name):
        return f"the file {shorten(name)!r}, which would be opened"
    settings = made_by.get("model")
    address = settings.get("base_url") if isinstance(settings, dict) else None
    where = ""
    if address is not None:
        # what stands before an @ may be a password
        where = f" at {shorten(str(address).rpartition('@')[2].partition('?')[0])!r}"
    return f"the language model {shorten(name)!r}{where}, which would be sent every text"


def _language_model(name: str, made_by: Mapping[str, Any]) -> LlmJudge:
    from voirdire.judging import LlmJudge
    from voirdire.judging.judges.calibration import read_calibration
    from voirdire.models import load_model

    settings = made_by.get("model", {})
    if not isinstance(settings, dict) or set(settings) - set(_MODEL):
        msg = f"unknown settings of the model {name!r}"
        raise TypeError(msg)
    if name.startswith(_NATIVE) and settings.get("base_url") is not None:
        msg = (
            "`judge` must be named: a provider's own library finds keys by itself, and the "
            f"reward's own judge is {_described(name, made_by)}. Name it with its address and key."
        )
        raise InputError(msg)
    if made_by.get("route"):
        msg = (
            "`judge` must be named: the reward's own judge let its model choose behaviors "
            "(`route`), which no judge does any more. Name another, and give items a `behavior`."
        )
        raise InputError(msg)
    asked = {key: made_by[key] for key in _ASKED if key in made_by}
    if "calibration" in made_by:
        what = {"source": "the judge of the reward", "what": "a calibration"}
        asked["calibration"] = read_calibration(document_of_value(made_by["calibration"], **what))
    model = load_model(name, **settings)
    return LlmJudge(model=model, **asked)


def _is_cascade(made_by: Mapping[str, Any]) -> bool:
    return made_by.get("judge") == _CASCADE and isinstance(made_by.get("then"), dict)


def _cascade(made_by: Mapping[str, Any]) -> CascadeJudge:
    from voirdire.judging.judges.cascade import CascadeJudge

    said = {key: value for key, value in made_by.items() if key not in ("judge", "then")}
    then = made_by["then"]
    name = then.get("judge")
    are_names = isinstance(name, str) and isinstance(said.get("first"), str)
    if set(said) - set(_OF_CASCADE) or not are_names:
        msg = "unknown settings of a cascade"
        raise TypeError(msg)
    return CascadeJudge(then=_language_model(name, then), **said)


def _made_by(plan: JudgingPlan, made_from: Any) -> dict[str, Any]:
    judge = plan.judge
    if isinstance(judge, BoundCascade):
        return _made_of_two(judge)
    if not asks_a_model(judge):
        is_named = isinstance(made_from, str | Path) and str(made_from)
        return {"judge": str(made_from)} if is_named else {}
    return _model_in_words(judge.judge)


def _made_of_two(judge: BoundCascade) -> dict[str, Any]:
    asked = judge.cascade
    if not isinstance(asked.first, str | Path):
        return {}
    unsure = read_bounds(asked.unsure)
    return {
        "judge": _CASCADE,
        "first": str(asked.first),
        "unsure": {name: list(pair) for name, pair in unsure.items()},
        **({} if asked.propositions is None else {"propositions": list(asked.propositions)}),
        **({"name": asked.name} if asked.name else {}),
        "then": _model_in_words(judge.judge),
    }


def _model_in_words(asked: LlmJudge) -> dict[str, Any]:
    settings = asked.chat_model.settings
    said = {key: settings[key] for key in _MODEL if settings.get(key)}
    known = asked.known_calibration
    return {
        "judge": asked.chat_model.name,
        **{key: getattr(asked, key) for key in _ASKED if getattr(asked, key) is not None},
        **({"model": said} if said else {}),
        **({} if known is None else {"calibration": known.to_dict()}),
    }
