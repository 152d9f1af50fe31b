"""Defines a language model as a judge: its model, prompts, and limits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._types import Language, Mode, ModelSource
from voirdire._validation import check_choice, check_count
from voirdire.errors import InputError
from voirdire.judging.limits import Limits
from voirdire.judging.pricing import Price
from voirdire.models import Capabilities, ChatModel, load_model

if TYPE_CHECKING:
    from voirdire.judging.judges.calibration import JudgeCalibration

__all__ = ["Asking", "LlmJudge", "load_llm_judge"]


MOST_LOGPROBS = 20
"""The most that common servers give."""


@dataclass(frozen=True, kw_only=True)
class LlmJudge:
    """A language model that answers the questions of a rubric.

    Attributes
    ----------
    model : ChatModel or str
        The model: a name such as ``"openai/gpt-4o-mini"``, or a model as
        `voirdire.models.load_model` gives it.
    base_url : str or None
        Another OpenAI-compatible server for a model that is named, such as
        ``"http://localhost:8000/v1"``.
    name : str
        Its name in verdicts; by default the model's. Two judges of one examination need two names.
    mode : {"joint", "single"}
        All questions in one call per item, or a call for each.
    probability : {"logprob", "stated", "vote"}
        Where the probability of a proposition comes from: the log-probabilities of ``true`` and
        ``false``, the number that the model writes, or the share of `n_samples` answers.
    language : {"en", "zh"}
        Of instructions and questions.
    n_samples : int
        Answers that vote, at least 2; only with ``"vote"``.
    both_orders : bool
        Whether a pair is shown both ways round, for pairwise questions: where the two answers
        differ the verdict is a tie. False shows the first response first, at half the price.
    n_examples : int or None
        Examples of yes and of no that a prompt shows per question, at least 0. None is all of them
        where each question has a call of its own and none in a joint call: for the safety rubric
        they would double the tokens of every call.
    seed : int
        Of samples where a server can repeat itself.
    temperature : float or None
        At least 0. None is 1 for votes and 0 else; a model that takes none is sent none.
    top_logprobs : int or None
        Likely tokens to read per token, 2 to 20; None is as many as the server gives.
    limits : Limits
        Concurrency, rates, deadlines, attempts, cost.
    price : Price or None
        Prices of tokens; None looks them up where a cost is needed.
    calibration : JudgeCalibration, str, path or None
        The calibration of its probabilities, or the file that ``voirdire examine --gold ...
        --calibration`` writes. Replies are stored as they came; labels and classes use the
        calibrated probabilities.

    Raises
    ------
    InputError
        If an argument breaks its rule, or the model is known to give no log-probabilities and
        they are asked for.
    """

    model: ChatModel | str
    name: str = ""
    base_url: str | None = None
    mode: Mode = "joint"
    probability: ModelSource = "logprob"
    language: Language = "en"
    n_samples: int = 5
    both_orders: bool = True
    n_examples: int | None = None
    seed: int = 0
    temperature: float | None = None
    top_logprobs: int | None = None
    limits: Limits = field(default_factory=Limits)
    price: Price | None = None
    calibration: JudgeCalibration | str | Path | None = None

    def __post_init__(self) -> None:
        """Check everything before anything is spent."""
        object.__setattr__(self, "model", _open_model(self.model, self.base_url))
        object.__setattr__(self, "base_url", None)
        if self.calibration is not None:
            object.__setattr__(self, "calibration", _open_calibration(self.calibration))
        for name, kind in (("limits", Limits), ("price", Price | None)):
            if not isinstance(getattr(self, name), kind):
                shown = type(getattr(self, name)).__name__
                msg = f"`{name}` must be a `voirdire.judging.{name.title()}`, got {shown}."
                raise InputError(msg)
        check_choice("mode", self.mode, Mode)
        check_choice("probability", self.probability, ModelSource)
        check_choice("language", self.language, Language)
        check_count("n_samples", self.n_samples, minimum=2 if self.probability == "vote" else 1)
        if self.n_examples is not None:
            check_count("n_examples", self.n_examples, minimum=0)
        check_count("seed", self.seed, minimum=0)
        _check_temperature(self.temperature, self.probability)
        _check_logprobs(self)
        if not self.name:
            object.__setattr__(self, "name", self.chat_model.name)

    @property
    def chat_model(self) -> ChatModel:
        """Who is asked."""
        if isinstance(self.model, str):
            msg = "a judge loads its model when it is made"
            raise TypeError(msg)
        return self.model

    @property
    def known_calibration(self) -> JudgeCalibration | None:
        """Calibration of its probabilities."""
        if isinstance(self.calibration, str | Path):
            msg = "a judge loads its calibration when it is made"
            raise TypeError(msg)
        return self.calibration

    @property
    def shown_examples(self) -> int | None:
        """Number of examples of each answer in a prompt; None means all."""
        return 0 if self.n_examples is None and self.mode == "joint" else self.n_examples

    @property
    def asked_logprobs(self) -> int | None:
        """Number of likely tokens that a call asks for; None where none are read."""
        if self.probability != "logprob":
            return None
        given = self.chat_model.capabilities.top_logprobs
        most = MOST_LOGPROBS if given is None else given
        return most if self.top_logprobs is None else min(self.top_logprobs, most)

    @property
    def asked_temperature(self) -> float | None:
        """Temperature of a call; None uses the model's own setting."""
        if self.temperature is not None:
            return self.temperature
        if self.chat_model.settings.get("temperature") is not None:
            return None
        return 1.0 if self.probability == "vote" else 0.0

    @cached_property
    def known_price(self) -> Price | None:
        """Prices of tokens, declared or looked up; None where they are not known."""
        from voirdire.judging.pricing import price_of
        from voirdire.models.known_providers import PROVIDERS

        server = self.chat_model.settings.get("base_url")
        own = PROVIDERS.get(self.chat_model.name.partition("/")[0])
        elsewhere = None if own is not None and own.base_url == server else server
        return price_of(self.chat_model.name, base_url=elsewhere, declared=self.price)

    @property
    def asking(self) -> dict[str, Any]:
        """All settings that a reply depends on, besides the questions and the item."""
        return {
            "model": dict(self.chat_model.settings),
            "mode": self.mode,
            "probability": self.probability,
            "language": self.language,
            "seed": self.seed,
            "n_examples": self.shown_examples,
            "temperature": self.asked_temperature,
            "top_logprobs": self.asked_logprobs,
        }


def _check_temperature(temperature: float | None, probability: ModelSource) -> None:
    if temperature is None:
        return
    if not 0 <= temperature <= 2:  # the range that servers accept
        msg = f"`temperature` must be in [0, 2], got {temperature!r}."
        raise InputError(msg)
    if probability == "vote" and temperature == 0:
        msg = "`temperature` must be above 0 for votes, got 0: all samples would be the same."
        raise InputError(msg)


def _check_logprobs(judge: LlmJudge) -> None:
    if judge.top_logprobs is not None:
        check_count("top_logprobs", judge.top_logprobs, minimum=2)
    if judge.probability == "logprob" and judge.chat_model.capabilities.top_logprobs == 0:
        msg = (
            f"`probability` must be 'stated' or 'vote' for {judge.name!r}, got 'logprob': "
            "its server gives no log-probabilities. Use a server that does, such as vLLM, or "
            "choose one of these."
        )
        raise InputError(msg)


@dataclass(frozen=True, kw_only=True)
class Asking:
    """Settings of a language model as judge: prompts, server, and limits.

    Attributes
    ----------
    mode : {"joint", "single"}
        One call for all questions about an item, or one per question.
    probability : {"logprob", "stated", "vote"}
        Where a probability comes from: the log-probabilities of true and false, the number that
        the model writes, or a vote of samples.
    language : {"en", "zh"}
        Of the prompt.
    base_url : str or None
        Another OpenAI-compatible server, such as http://localhost:8000/v1.
    api_key_env : str or None
        Environment variable that holds the key. By default the provider's.
    concurrency : int
        Calls at once, at most; at least 1.
    timeout_s : float
        Seconds for one call, above 0.
    price : Price or None
        US dollars per million tokens, for a model whose price is not known.
    keep_going : bool
        Go on where no reply can be used or the server keeps failing, instead of ending the run.
    max_cost : float or None
        US dollars that this run may spend, above 0; it stops there, and can go on later.
    calibration : str, path or None
        File of calibrated probabilities, which `voirdire examine --gold ... --calibration` writes
        for this judge, rubric and prompt.
    n_samples : int
        Samples that vote, at least 1.
    n_examples : int or None
        Examples of yes and of no to show per question. By default none in one call for all
        questions, all of them in single calls.
    seed : int
        Of samples, at least 0; another seed repeats all calls.
    temperature : float or None
        In [0, 2]. By default 1 for votes, else 0, where the model takes one.
    reasoning_effort : str or None
        How long a reasoning model may think: low, medium, high.
    max_tokens : int or None
        Tokens of a reply at most, at least 1. By default as many as the answer needs.
    top_logprobs : int or None
        Most likely tokens that are asked for at each place of a reply, at least 2.
    requests_per_minute : int or None
        At least 1. By default only the server's own limits hold.
    tokens_per_minute : int or None
        At least 1. By default only the server's own limits hold.
    capabilities : Capabilities or None
        Abilities of the server, where they are known beforehand.
    extra : mapping of str to object
        Further fields of every request, as JSON values.
    """

    mode: Mode = "joint"
    probability: ModelSource = "logprob"
    language: Language = "en"
    base_url: str | None = None
    api_key_env: str | None = None
    concurrency: int = 32
    timeout_s: float = 120.0
    price: Price | None = None
    keep_going: bool = False
    max_cost: float | None = None
    calibration: str | Path | None = None
    n_samples: int = 5
    n_examples: int | None = None
    seed: int = 0
    temperature: float | None = None
    reasoning_effort: str | None = None
    max_tokens: int | None = None
    top_logprobs: int | None = None
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    capabilities: Capabilities | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


def load_llm_judge(
    model: str,
    asking: Asking | None = None,
    *,
    name: str = "",
    reads_keys: bool = True,
    is_from_file: bool = False,
) -> LlmJudge:
    """Make a judge from a language model's name.

    Parameters
    ----------
    model : str
        As `voirdire.models.load_model` takes it, such as ``"openai/gpt-4o-mini"``.
    asking : Asking, optional
        Its settings.
    name : str, optional
        Its name in verdicts; by default after the model.
    reads_keys : bool, optional
        As for `voirdire.models.load_model`.
    is_from_file : bool, optional
        Whether a file names the key: one that is not the provider's own must then be allowed by
        the environment variable ``VOIRDIRE_KEY_VARIABLES``.

    Returns
    -------
    LlmJudge

    Raises
    ------
    InputError
        If a setting is out of its range, the model is not known, or its key is missing.

    Examples
    --------
    >>> judge = load_llm_judge("openai/gpt-4o-mini", Asking(mode="single"), reads_keys=False)
    >>> judge.name, judge.mode
    ('openai/gpt-4o-mini', 'single')
    """
    from voirdire.models.known_providers import check_key_of_file

    asking = Asking() if asking is None else asking
    if reads_keys and is_from_file:
        check_key_of_file(asking.api_key_env, model=model, base_url=asking.base_url)
    limits = Limits(**_shared_fields(asking, Limits))
    if asking.keep_going:
        limits = replace(limits, max_failures_in_a_row=None)
    asked = load_model(
        model,
        base_url=asking.base_url,
        api_key_env=asking.api_key_env,
        reasoning_effort=asking.reasoning_effort,
        max_tokens=asking.max_tokens,
        extra=dict(asking.extra) or None,
        capabilities=asking.capabilities,
        reads_keys=reads_keys,
    )
    settings = _shared_fields(asking, LlmJudge) | {"base_url": None}  # the model has it
    return LlmJudge(model=asked, name=name, limits=limits, **settings)


def _shared_fields(asking: Asking, record: type) -> dict[str, Any]:
    shared = {row.name for row in fields(Asking)} & {row.name for row in fields(record)}
    return {name: getattr(asking, name) for name in shared}


def _open_calibration(given: object) -> JudgeCalibration:
    """Load a calibration that is named; refuse other values."""
    from voirdire.judging.judges.calibration import JudgeCalibration, load_calibration

    if isinstance(given, str | Path):
        return load_calibration(given)
    if not isinstance(given, JudgeCalibration):
        msg = (
            "`calibration` must be a `voirdire.judging.JudgeCalibration` or the path of its file, "
            f"got {type(given).__name__}. Write one with `voirdire examine --gold ... "
            "--calibration`."
        )
        raise InputError(msg)
    return given


def _open_model(model: object, base_url: str | None) -> ChatModel:
    """Load a model that is named; refuse other values."""
    if isinstance(model, str):
        return load_model(model, base_url=base_url)
    if not isinstance(model, ChatModel):
        msg = (
            "`model` must have a name, settings, capabilities and methods `reply` and `close`, "
            f"got {type(model).__name__}. Give a name, such as 'openai/gpt-4o-mini', or make a "
            "model with "
            "`voirdire.models.load_model`."
        )
        raise InputError(msg)
    if base_url is not None:
        msg = (
            f"`base_url` must come with the name of a model, got {base_url!r} beside a "
            f"{type(model).__name__}, which has an address of its own. Leave it out."
        )
        raise InputError(msg)
    return model
