"""Computes the cost of tokens, from declared prices or from an installed list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from voirdire._validation import check_positive

if TYPE_CHECKING:
    from voirdire.records import Usage

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
    above : int
        Tokens of a prompt that these prices are for longer ones than.
    tiers : tuple of Price
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
    above: int = 0
    tiers: tuple[Price, ...] = ()
    source: str = "declared"

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("input", "output", "cached_input", "request"):
            if name != "cached_input" or self.cached_input is not None:
                check_positive(name, getattr(self, name), zero=True)

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
        rates = next((tier for tier in reversed(self.tiers) if prompt > tier.above), self)
        cheap = rates.input if rates.cached_input is None else rates.cached_input
        fresh = (prompt - cached) * rates.input
        dollars = fresh + cached * cheap + usage.completion_tokens * rates.output
        return dollars / 1_000_000 + self.request


def price_of(model_name: str, *, base_url: str | None = None) -> Price | None:
    """Look up the prices of a model.

    Parameters
    ----------
    model_name : str
        As `voirdire.models.load_model` takes it, such as ``"openai/gpt-4o-mini"``.
    base_url : str, optional
        The server, by default the provider's own. A server on this machine costs nothing; the price
        of a server that is not in the list is not known.

    Returns
    -------
    Price or None
        None where it is not known.

    Notes
    -----
    Prices are those of the installed package ``genai-prices``; nothing is fetched, so an old
    package has old prices. Servers of the user's own (vLLM, llama.cpp, Ollama, LM Studio, SGLang)
    cost 0. Where prices change over the day, those of the moment are used.

    Examples
    --------
    >>> price_of("ollama/llama3.3").source
    'runs on a machine of your own'
    >>> price_of("openai/gpt-4o-mini").source.partition(": ")[2]
    'openai/gpt-4o-mini'
    >>> price_of("openai/no-such-model") is None
    True
    """
    from voirdire.models.connection import is_loopback
    from voirdire.models.providers import PROVIDERS

    prefix, _, model = model_name.removeprefix("native/").partition("/")
    own = PROVIDERS.get(prefix)
    is_free = own is not None and not own.key_variables
    if is_free or is_loopback(urlsplit(base_url or "").hostname or ""):
        return Price(input=0.0, output=0.0, source="runs on a machine of your own")
    elsewhere = None if own is not None and own.base_url == base_url else base_url
    if not model:
        return None
    # Converted to numbers, since the list's own arithmetic takes 50 to 300 µs a call.
    import genai_prices  # 180 ms, most of it the list

    provider = _LISTED.get(prefix, prefix)
    where: Any = {"provider_id": provider} if elsewhere is None else {"provider_api_url": elsewhere}
    try:
        listed = genai_prices.calc_price(genai_prices.Usage(), model, **where)
    except LookupError:
        return None
    if elsewhere is None and listed.provider.id != provider:
        return None  # a different provider, whose name contains this one
    found: Any = listed.model_price
    source = f"genai-prices {genai_prices.__version__}: {listed.provider.id}/{listed.model.id}"
    if found.input_mtok is None or found.output_mtok is None:  # not priced by tokens
        is_free = listed.model.id.endswith(":free")
        return Price(input=0.0, output=0.0, source=source) if is_free else None
    cached = found.input_mtok if found.cache_read_mtok is None else found.cache_read_mtok
    rates = {"input": found.input_mtok, "cached_input": cached, "output": found.output_mtok}
    starts = {tier.start for rate in rates.values() for tier in getattr(rate, "tiers", ())}

    def price(start: int = 0, **more: Any) -> Price:
        at: dict[str, Any] = {}
        for name, rate in rates.items():  # of prompts with more tokens
            tiers = reversed(getattr(rate, "tiers", ()))  # the longest first
            base = getattr(rate, "base", rate)
            at[name] = float(next((tier.price for tier in tiers if start >= tier.start), base))
        return Price(**at, above=start, source=source, **more)

    per_request = float(found.requests_kcount or 0) / 1_000
    return price(request=per_request, tiers=tuple(map(price, sorted(starts))))
