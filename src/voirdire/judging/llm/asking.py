"""How a language model is asked as a judge, and what its calls may use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from voirdire._types import Language, Mode, ModelSource
from voirdire.judging.llm.pricing import Price
from voirdire.models import Capabilities

if TYPE_CHECKING:
    from voirdire.judging.llm.judge import LlmJudge

__all__ = ["Asking", "load_llm_judge"]


@dataclass(frozen=True, kw_only=True)
class Asking:
    """How a language model is asked, where its server is, and what its calls may use.

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
        Pay on where no reply can be used and where the server fails again and again, instead of
        ending the run.
    max_cost : float or None
        US dollars that this run may spend, above 0; it stops there, and can go on later.
    n_samples : int
        Samples that vote, at least 1.
    n_orders : int
        Orders in which the questions are asked, at least 1; probabilities are means over them.
    order_check : int
        Items that are asked in a second order too, to see whether the order matters; 0 for none.
    n_examples : int or None
        Examples of yes and of no to show per question. By default none in one call for all
        questions, all of them in single calls.
    seed : int
        Of the orders, and of samples, at least 0; another one asks everything anew.
    temperature : float or None
        In [0, 2]. By default 1 for votes, else 0, where the model takes one.
    reasoning_effort : str or None
        How long a reasoning model may think: low, medium, high.
    max_tokens : int or None
        Tokens of a reply at most, at least 1. By default what the answer needs.
    top_logprobs : int or None
        Most likely tokens that are asked for at each place of a reply, at least 2.
    requests_per_minute : int or None
        At least 1. By default what the server says.
    tokens_per_minute : int or None
        At least 1. By default what the server says.
    capabilities : Capabilities or None
        What the server can do, where that is known beforehand.
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
    n_samples: int = 5
    n_orders: int = 1
    order_check: int = 20
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
    """Make a judge of a language model's name.

    Parameters
    ----------
    model : str
        As `voirdire.models.load_model` takes it, such as ``"openai/gpt-4o-mini"``.
    asking : Asking, optional
        How it is asked, and what its calls may use.
    name : str, optional
        What verdicts call it; by default after the model.
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
    from voirdire.judging.calls.limits import Limits
    from voirdire.judging.llm.judge import LlmJudge
    from voirdire.models import load_model
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
    return LlmJudge(model=asked, name=name, limits=limits, **_shared_fields(asking, LlmJudge))


def _shared_fields(asking: Asking, record: type) -> dict[str, Any]:
    shared = {row.name for row in fields(Asking)} & {row.name for row in fields(record)}
    return {name: getattr(asking, name) for name in shared}
