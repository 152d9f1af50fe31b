"""A language model as a judge: which model, how it is asked, and how its calls are bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from voirdire._types import Language, Mode, ModelSource
from voirdire._validation import check_choice, check_count
from voirdire.errors import InputError
from voirdire.judging.client.limits import Limits
from voirdire.models import ChatModel

if TYPE_CHECKING:
    from voirdire.judging.llm.pricing import Price

__all__ = ["LlmJudge"]

MOST_LOGPROBS = 20
"""What servers commonly give at most."""


@dataclass(frozen=True, kw_only=True)
class LlmJudge:
    """A language model that answers the questions of a rubric.

    Attributes
    ----------
    model : ChatModel
        Who is asked, as `voirdire.models.load_model` gives it.
    name : str
        What verdicts call it; the model's name by default. Two judges of one examination need two
        names.
    mode : {"joint", "single"}
        All questions in one call per item, or a call for each.
    probability : {"logprob", "stated", "vote"}
        Where the probability of a proposition comes from: the log-probabilities of ``true`` and
        ``false``, the number that the model writes, or the share of `n_samples` answers.
    language : {"en", "zh"}
        Of instructions and questions.
    n_samples : int
        Answers that vote, at least 2; only with ``"vote"``.
    n_orders : int
        Orders in which the questions of a joint call are asked, at least 1. Probabilities are
        means over them, and their range is the verdict's `shift`.
    order_check : int
        So many items of a run are asked in a second order, for the record and not for the
        verdict, where ``"joint"`` and ``"logprob"`` meet and `n_orders` is 1: an answer's
        log-probability depends on the answers before it. 0 asks none.
    n_examples : int or None
        Examples of yes and of no that a prompt shows per question, at least 0. None is all of them
        where each question has a call of its own and none in a joint call: for the safety rubric
        they would double the tokens of every call.
    seed : int
        Of the orders, and of samples where a server can repeat itself.
    temperature : float or None
        At least 0. None is 1 for votes and 0 else; a model that takes none is sent none.
    top_logprobs : int or None
        Likely tokens to read per token, 2 to 20; None is as many as the server gives.
    limits : Limits
        Concurrency, rates, deadlines, attempts, cost.
    price : Price or None
        What tokens cost; None looks the model up where costs are wanted.

    Raises
    ------
    InputError
        If an argument breaks its rule, or the model is known to give no log-probabilities and
        they are asked for.
    """

    model: ChatModel
    name: str = ""
    mode: Mode = "joint"
    probability: ModelSource = "logprob"
    language: Language = "en"
    n_samples: int = 5
    n_orders: int = 1
    order_check: int = 20
    n_examples: int | None = None
    seed: int = 0
    temperature: float | None = None
    top_logprobs: int | None = None
    limits: Limits = field(default_factory=Limits)
    price: Price | None = None

    def __post_init__(self) -> None:
        """Check everything before anything is spent."""
        given: object = self.model
        if not isinstance(given, ChatModel):
            msg = (
                "`model` must have a name, settings, capabilities and methods `reply` and `close`, "
                f"got {type(given).__name__}. Make one with `voirdire.models.load_model`."
            )
            raise InputError(msg)
        check_choice("mode", self.mode, Mode)
        check_choice("probability", self.probability, ModelSource)
        check_choice("language", self.language, Language)
        check_count("n_samples", self.n_samples, minimum=2 if self.probability == "vote" else 1)
        check_count("n_orders", self.n_orders, minimum=1)
        check_count("order_check", self.order_check, minimum=0)
        if self.n_examples is not None:
            check_count("n_examples", self.n_examples, minimum=0)
        check_count("seed", self.seed, minimum=0)
        _check_temperature(self.temperature, self.probability)
        _check_logprobs(self)
        if not self.name:
            object.__setattr__(self, "name", self.model.name)

    @property
    def shown_examples(self) -> int | None:
        """How many examples of each answer a prompt shows; None is all there are."""
        return 0 if self.n_examples is None and self.mode == "joint" else self.n_examples

    @property
    def asked_logprobs(self) -> int | None:
        """How many likely tokens a call asks for; None where none are read."""
        if self.probability != "logprob":
            return None
        given = self.model.capabilities.top_logprobs
        most = MOST_LOGPROBS if given is None else given
        return most if self.top_logprobs is None else min(self.top_logprobs, most)

    @property
    def asked_temperature(self) -> float | None:
        """What a call asks for; None leaves it to the model's own settings."""
        if self.temperature is not None:
            return self.temperature
        if self.model.settings.get("temperature") is not None:
            return None
        return 1.0 if self.probability == "vote" else 0.0

    @cached_property
    def known_price(self) -> Price | None:
        """What tokens cost, declared or looked up; None where nobody knows."""
        from voirdire.judging.llm.pricing import price_of
        from voirdire.models.known_providers import PROVIDERS

        server = self.model.settings.get("base_url")
        own = PROVIDERS.get(self.model.name.partition("/")[0])
        elsewhere = None if own is not None and own.base_url == server else server
        return price_of(self.model.name, base_url=elsewhere, declared=self.price)

    @property
    def asking(self) -> dict[str, Any]:
        """Everything that a reply depends on besides the questions and the item."""
        return {
            "model": dict(self.model.settings),
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
    if not 0 <= temperature <= 2:  # what servers take
        msg = f"`temperature` must be in [0, 2], got {temperature!r}."
        raise InputError(msg)
    if probability == "vote" and temperature == 0:
        msg = "`temperature` must be above 0 for votes, got 0: all samples would be the same."
        raise InputError(msg)


def _check_logprobs(judge: LlmJudge) -> None:
    if judge.top_logprobs is not None:
        check_count("top_logprobs", judge.top_logprobs, minimum=2)
    if judge.probability == "logprob" and judge.model.capabilities.top_logprobs == 0:
        msg = (
            f"`probability` must be 'stated' or 'vote' for {judge.model.name!r}, got 'logprob': "
            "its server gives no log-probabilities. Name a server that does, such as vLLM, or "
            "choose one of these."
        )
        raise InputError(msg)
