"""Computes the cost of tokens, from declared prices or from an installed list."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from voirdire._messages import shorten
from voirdire._validation import is_number
from voirdire.errors import InputError

if TYPE_CHECKING:
    from voirdire.records import Usage

__all__ = ["Price", "PriceTier", "price_of"]

_MILLION = 1_000_000

_SELF_RUN = {"vllm", "llamacpp", "llamafile", "lmstudio", "ollama"}
"""Prefixes of models on the user's own machines, where tokens cost nothing."""

_LISTED = {
    "azureanthropic": "azure",
    "azureopenai": "azure",
    "bedrock": "aws",
    "gemini": "google",
    "moonshot": "moonshotai",
    "vertexai": "google",
    "vertexaianthropic": "google",
    "xai": "x-ai",
}
"""The price list's names of providers, where they differ from our prefixes."""


@dataclass(frozen=True, kw_only=True)
class PriceTier:
    """Prices of all tokens in a call with a long prompt.

    Attributes
    ----------
    above : int
        The prices hold for prompts with more tokens than this.
    input, cached_input, output : float
        US dollars per million tokens, at least 0.
    """

    above: int
    input: float
    cached_input: float
    output: float


@dataclass(frozen=True, kw_only=True)
class Price:
    """Prices of a model's tokens.

    Attributes
    ----------
    input : float
        US dollars per million tokens of prompts, at least 0.
    output : float
        US dollars per million tokens of replies, reasoning included, at least 0.
    cached_input : float or None
        US dollars per million cached prompt tokens; None means the same as `input`.
    request : float
        US dollars per call, at least 0.
    tiers : tuple of PriceTier
        Other prices for long prompts, the longest last.
    source : str
        Source of the prices, in words.

    Raises
    ------
    InputError
        If a price is not a finite number of at least 0.

    Examples
    --------
    >>> from voirdire.records import Usage
    >>> price = Price(input=2.0, cached_input=0.5, output=8.0)
    >>> price.cost(Usage(prompt_tokens=1_000, completion_tokens=500, cached_tokens=400))
    0.0054
    """

    input: float
    output: float
    cached_input: float | None = None
    request: float = 0.0
    tiers: tuple[PriceTier, ...] = ()
    source: str = "declared"

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("input", "output", "cached_input", "request"):
            value = getattr(self, name)
            if name == "cached_input" and value is None:
                continue
            if not is_number(value) or value < 0:
                msg = (
                    f"`{name}` must be US dollars, a finite number of at least 0, got "
                    f"{shorten(value)!r}."
                )
                raise InputError(msg)

    def cost(self, usage: Usage) -> float:
        """Compute the cost of one call in US dollars.

        Parameters
        ----------
        usage : Usage
            Tokens of the call.

        Returns
        -------
        float
            At least 0.
        """
        prompt, cached = usage.prompt_tokens, min(usage.cached_tokens, usage.prompt_tokens)
        rates: Price | PriceTier = self
        for tier in self.tiers:
            if prompt > tier.above:
                rates = tier
        cheap = rates.input if rates.cached_input is None else rates.cached_input
        dollars = (
            (prompt - cached) * rates.input
            + cached * cheap
            + usage.completion_tokens * rates.output
        )
        return dollars / _MILLION + self.request


def price_of(
    model_name: str, *, base_url: str | None = None, declared: Price | None = None
) -> Price | None:
    """Look up the prices of a model.

    Parameters
    ----------
    model_name : str
        As `voirdire.models.load_model` takes it, such as ``"openai/gpt-4o-mini"``.
    base_url : str, optional
        The server, where it is not the provider's own. A server on this machine costs nothing; the
        price of a server that is not in the list is not known.
    declared : Price, optional
        A price that the caller declares; returned as it is.

    Returns
    -------
    Price or None
        None where it is not known.

    Notes
    -----
    Prices are those of the installed package ``genai-prices``; nothing is fetched, so an old
    package has old prices. Models in process and servers of the user's own (vLLM, llama.cpp,
    Ollama, LM Studio) cost 0. Where prices change over the day, those of the moment are used.

    Examples
    --------
    >>> price_of("ollama/llama3.3").source
    'runs on a machine of your own'
    >>> price_of("openai/gpt-4o-mini").source.partition(": ")[2]
    'openai/gpt-4o-mini'
    >>> price_of("openai/no-such-model") is None
    True
    """
    if declared is not None:
        return declared
    prefix, _, model = model_name.removeprefix("native/").partition("/")
    if prefix in _SELF_RUN or (base_url is not None and _is_loopback(base_url)):
        return Price(input=0.0, output=0.0, source="runs on a machine of your own")
    return _find_listed_price(prefix, model, base_url=base_url) if model else None


def _is_loopback(url: str) -> bool:
    try:
        host = urlsplit(url).hostname or ""
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name, or no URL at all
        return False


def _find_listed_price(prefix: str, model: str, *, base_url: str | None) -> Price | None:
    import genai_prices  # 180 ms, most of it the list

    provider = _LISTED.get(prefix, prefix)
    nothing = genai_prices.Usage()
    try:
        if base_url is None:
            found = genai_prices.calc_price(nothing, model, provider_id=provider)
        else:
            found = genai_prices.calc_price(nothing, model, provider_api_url=base_url)
    except LookupError:
        return None
    if base_url is None and found.provider.id != provider:
        return None  # a different provider, whose name contains this one
    source = f"genai-prices {genai_prices.__version__}: {found.provider.id}/{found.model.id}"
    return _convert_price(found.model_price, model=found.model.id, source=source)


def _convert_price(listed: Any, *, model: str, source: str) -> Price | None:
    """Convert a listed price to numbers: the list's own arithmetic takes 50 to 300 µs a call."""
    rates = (listed.input_mtok, listed.cache_read_mtok, listed.output_mtok)
    if rates[0] is None or rates[2] is None:
        if model.endswith(":free"):
            return Price(input=0.0, output=0.0, source=source)
        return None  # not a model with prices per token
    cached = rates[0] if rates[1] is None else rates[1]
    prices = (rates[0], cached, rates[2])
    starts = sorted({tier.start for rate in prices for tier in getattr(rate, "tiers", ())})
    per_thousand = listed.requests_kcount
    return Price(
        input=_rate(prices[0], tokens=0),
        cached_input=_rate(prices[1], tokens=0),
        output=_rate(prices[2], tokens=0),
        request=0.0 if per_thousand is None else _rate(per_thousand, tokens=0) / 1_000,
        tiers=tuple(
            PriceTier(
                above=start,
                input=_rate(prices[0], tokens=start + 1),
                cached_input=_rate(prices[1], tokens=start + 1),
                output=_rate(prices[2], tokens=start + 1),
            )
            for start in starts
        ),
        source=source,
    )


def _rate(listed: Any, *, tokens: int) -> float:
    """Read the price for prompts of so many tokens."""
    if not hasattr(listed, "tiers"):
        return float(listed)
    rate = listed.base
    for tier in listed.tiers:  # the shortest first
        if tokens > tier.start:
            rate = tier.price
    return float(rate)
