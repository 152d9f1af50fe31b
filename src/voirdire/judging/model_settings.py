"""Defines a language model as a judge: one record for a file, a command and Python."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003  # the command line reads the types
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

from voirdire._messages import shorten
from voirdire._types import Api, Language, Mode, ModelSource
from voirdire._validation import (
    check_choice,
    check_count,
    check_names,
    check_positive,
    is_number,
)
from voirdire.errors import InputError
from voirdire.judging.pricing import Price, price_of

if TYPE_CHECKING:
    from voirdire.judging.calibration import JudgeCalibration
    from voirdire.models import Capabilities, ChatModel
else:  # the command line reads the types, and loads no numbers and no client for its help
    JudgeCalibration = Capabilities = ChatModel = Any

_MOST_LOGPROBS = 20  # that common servers give
_MOST_IN_A_ROW = 100

_OF_MODEL = (
    *("base_url", "api", "api_key_env", "key_header", "served_as"),
    *("reasoning_effort", "max_tokens", "capabilities", "extra"),
)
"""What `voirdire.models.load_model` takes and checks."""

_LEAST = {"n_samples": 1, "n_examples": 0, "seed": 0, "top_logprobs": 2, "concurrency": 1} | {
    "requests_per_minute": 1,
    "tokens_per_minute": 1,
    "max_attempts": 1,
    "max_retries": 0,
}
"""The least of each whole number."""


class _Named:
    """Refuses a name that no field has, with the nearest one."""

    def __new__(cls, **given: Any) -> Self:
        names = [row.name for row in fields(cls)]  # type: ignore[arg-type]  # a dataclass
        check_names(given, names, of=cls.__name__)
        return super().__new__(cls)


@dataclass(frozen=True, kw_only=True)
class ModelSettings(_Named):
    """Settings of a language model as judge: its model, prompts, server and limits.

    Attributes
    ----------
    model : str or ChatModel
        A name such as ``"openai/gpt-4o-mini"``, with `base_url` whatever the server calls it; or
        a model as `voirdire.models.load_model` gives it.
    name : str
        Its name in verdicts; by default the model's. Two judges of one examination need two names.
    mode : {"joint", "single"}
        One call for all questions about an item, or one per question.
    probability : {"logprob", "stated", "vote", "decision"}
        Where a probability comes from: the log-probabilities of true and false, the number that
        the model writes, or a vote of samples. A decision model always gives its own.
    language : {"en", "zh"}
        Of the prompt.
    base_url : str or None
        Another OpenAI-compatible server, such as http://localhost:8000/v1.
    api : {"chat", "systemone", "decisions"} or None
        What the server speaks: chat completions, or an interface of decision models.
    api_key_env : str or None
        Environment variable that holds the key. By default the provider's.
    key_header : str or None
        Header that carries the key, such as api-key for Azure. By default Authorization.
    served_as : str or None
        Name of the deployment, which stands for its address: replies are found again, and rewards
        and certificates hold, where it moves.
    concurrency : int
        Calls at once, at most; at least 1. Fewer while the server asks for fewer.
    timeout_s : float
        Seconds for one call, above 0.
    price : Price or None
        US dollars per million tokens, for a model whose price is not known.
    keep_going : bool
        Go on where no reply can be used or the server keeps failing, instead of ending the run.
    max_cost : float or None
        US dollars that this run may spend, above 0; it stops there, and can go on later.
    calibration : JudgeCalibration, str, path or None
        File of calibrated probabilities, which `voirdire examine --gold ... --calibration` writes
        for this judge, rubric and prompt.
    n_samples : int
        Samples that vote, at least 2; only with vote.
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
        Most likely tokens that are asked for at each place of a reply, at least 2. By default as
        many as the server gives.
    both_orders : bool
        Whether a pair is shown both ways round, for pairwise questions: where the two answers
        differ the verdict is a tie. False shows the first response first, at half the price.
    requests_per_minute : int or None
        At least 1. By default only the server's own limits hold.
    tokens_per_minute : int or None
        At least 1. By default only the server's own limits hold.
    max_attempts : int
        How often a call is made whose replies cannot be read, at least 1.
    max_retries : int
        How often a call is made again after a rate limit, a timeout or an error of the server, at
        least 0.
    capabilities : Capabilities or None
        Abilities of the server, where they are known beforehand.
    extra : mapping of str to object, or None
        Further fields of every request, as JSON values.

    Raises
    ------
    InputError
        If a field breaks its rule, or has no such name.
    """

    model: ChatModel | str = ""
    name: str = ""
    mode: Mode = "joint"
    probability: ModelSource = "logprob"
    language: Language = "en"
    base_url: str | None = None
    api: Api | None = None
    api_key_env: str | None = None
    key_header: str | None = None
    served_as: str | None = None
    concurrency: int = 32
    timeout_s: float = 120.0
    price: Price | None = None
    keep_going: bool = False
    max_cost: float | None = None
    calibration: JudgeCalibration | str | Path | None = None
    n_samples: int = 5
    n_examples: int | None = None
    seed: int = 0
    temperature: float | None = None
    reasoning_effort: str | None = None
    max_tokens: int | None = None
    top_logprobs: int | None = None
    both_orders: bool = True
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    max_attempts: int = 3
    max_retries: int = 6
    capabilities: Capabilities | None = None
    extra: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Check the fields; those of the model are checked when it is opened."""
        for name, words in (("mode", Mode), ("probability", ModelSource), ("language", Language)):
            check_choice(name, getattr(self, name), words)
        if self.api is not None:
            check_choice("api", self.api, Api)
        is_vote, heat = self.probability == "vote", self.temperature
        is_heat = heat is None or (is_number(heat) and 0 <= heat <= 2)  # as servers accept it
        is_heat = is_heat and not (is_vote and heat == 0)  # all samples would be the same
        least = _LEAST | {"n_samples": 2 if is_vote else 1}
        for name in (*least, "timeout_s", "max_cost"):
            value = getattr(self, name)
            if value is None and getattr(ModelSettings, name) is None:
                continue
            if name in least:
                object.__setattr__(self, name, check_count(name, value, minimum=least[name]))
            else:
                check_positive(name, value)
        rules: dict[str, tuple[bool, str]] = {
            "keep_going": (isinstance(self.keep_going, bool), "true or false"),
            "both_orders": (isinstance(self.both_orders, bool), "true or false"),
            "price": (isinstance(self.price, Price | None), "a `voirdire.judging.Price`"),
            "temperature": (is_heat, "in (0, 2] for votes" if is_vote else "in [0, 2]"),
        }
        for name, (holds, rule) in rules.items():
            if not holds:
                msg = f"`{name}` must be {rule}, got {shorten(repr(getattr(self, name)))}."
                raise InputError(msg)


@dataclass(frozen=True, kw_only=True)
class LlmJudge(ModelSettings):
    """A language model that answers the questions of a rubric.

    Its fields are those of `ModelSettings`. A model that is named is opened, and then has its
    address, its key and all else that concerns it alone: these fields are None. A calibration that
    is named is loaded.

    Raises
    ------
    InputError
        If a field breaks its rule, the model is not known, its key is missing, or it is known to
        give no log-probabilities and they are asked for.

    Examples
    --------
    >>> from voirdire.judging import LlmJudge
    >>> judge = LlmJudge(model="llama-3", base_url="http://localhost:8080/v1", mode="single")
    >>> judge.name, judge.mode
    ('llama-3', 'single')
    """

    def __post_init__(self) -> None:
        """Check everything before anything is spent."""
        from voirdire.judging.calibration import JudgeCalibration, load_calibration
        from voirdire.models import ChatModel
        from voirdire.models.decisions import DIALECTS

        super().__post_init__()
        model: Any = self.model
        calibration: Any = self.calibration
        own = next((name for name in _OF_MODEL if getattr(self, name) is not None), None)
        if isinstance(model, str):
            model = _load_model(self)
        elif not isinstance(model, ChatModel):
            msg = f"`model` must be a name or a `voirdire.models.ChatModel`, got {shorten(model)}."
            raise InputError(f"{msg} Give a name, such as 'openai/gpt-4o-mini'.")
        elif own is not None:
            msg = f"`{own}` must come with the name of a model, got it beside a model that has its"
            raise InputError(f"{msg} own. Leave it out.")
        if isinstance(calibration, str | Path):
            calibration = load_calibration(calibration)
        elif not isinstance(calibration, JudgeCalibration | None):
            msg = "`calibration` must be a `voirdire.judging.JudgeCalibration` or its file's path"
            raise InputError(f"{msg}, got {type(calibration).__name__}.")
        opened = {"model": model, "name": self.name or model.name, "calibration": calibration}
        for name, value in (dict.fromkeys(_OF_MODEL) | opened).items():
            object.__setattr__(self, name, value)
        if (decides := model.settings.get("api") in DIALECTS) and self.probability == "logprob":
            object.__setattr__(self, "probability", "decision")
        if decides != (self.probability == "decision"):
            kind = "a decision model gives" if decides else "a language model does not give"
            msg = f"`probability` must fit {self.name!r}, got {self.probability!r}: {kind} its own"
            raise InputError(f"{msg} probabilities. Leave it out.")
        if self.probability == "logprob" and model.capabilities.top_logprobs == 0:
            msg = (
                f"`probability` must be 'stated' or 'vote' for {self.name!r}, got 'logprob': "
                "its server gives no log-probabilities. Use a server that does, such as vLLM, or "
                "choose one of these."
            )
            raise InputError(msg)

    @property
    def chat_model(self) -> ChatModel:
        """Who is asked."""
        return cast("ChatModel", self.model)

    @property
    def known_calibration(self) -> JudgeCalibration | None:
        """Calibration of its probabilities."""
        return cast("JudgeCalibration | None", self.calibration)

    @property
    def shown_examples(self) -> int | None:
        """Number of examples of each answer in a prompt; None means all."""
        is_prompt = self.mode == "joint" and self.probability != "decision"
        return 0 if self.n_examples is None and is_prompt else self.n_examples

    @property
    def asked_logprobs(self) -> int | None:
        """Number of likely tokens that a call asks for; None where none are read."""
        if self.probability != "logprob":
            return None
        known = self.chat_model.capabilities.top_logprobs
        most = _MOST_LOGPROBS if known is None else known
        return most if self.top_logprobs is None else min(self.top_logprobs, most)

    @property
    def asked_temperature(self) -> float | None:
        """Temperature of a call; None uses the model's own setting."""
        if self.probability == "decision":
            return None
        if self.temperature is not None:
            return self.temperature
        if self.chat_model.settings.get("temperature") is not None:
            return None
        return 1.0 if self.probability == "vote" else 0.0

    @cached_property
    def known_price(self) -> Price | None:
        """Prices of tokens, declared or looked up; None where they are not known."""
        model = self.chat_model
        return self.price or price_of(model.name, base_url=model.settings.get("base_url"))

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


def open_judge(settings: ModelSettings, *, reads_keys: bool = True) -> LlmJudge:
    """Open the model of these settings; without keys it can only be counted and described."""
    model = _load_model(settings, reads_keys=reads_keys)
    return LlmJudge(**(vars(settings) | dict.fromkeys(_OF_MODEL) | {"model": model}))


def _load_model(settings: ModelSettings, *, reads_keys: bool = True) -> ChatModel:
    from voirdire.models import load_model

    values = {name: getattr(settings, name) for name in _OF_MODEL}
    given = {name: value for name, value in values.items() if value is not None}
    return load_model(str(settings.model), **given, reads_keys=reads_keys)
