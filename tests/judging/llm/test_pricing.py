"""What tokens cost: declared, listed by an installed package, nothing, or nobody knows."""

import socket

import genai_prices
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError
from voirdire.judging import Price, price_of
from voirdire.records import Usage

COUNTS = st.integers(0, 400_000)

# name here, provider and model in the list
LISTED = {
    "openai/gpt-4o-mini": ("openai", "gpt-4o-mini"),
    "openai/o3-mini": ("openai", "o3-mini"),
    "gemini/gemini-2.0-flash": ("google", "gemini-2.0-flash"),
    "gemini/gemini-2.5-pro": ("google", "gemini-2.5-pro"),  # dearer above 200,000 tokens
    "anthropic/claude-sonnet-4-5": ("anthropic", "claude-sonnet-4-5"),
    "native/anthropic/claude-3-7-sonnet-latest": ("anthropic", "claude-3-7-sonnet-latest"),
    "native/bedrock/amazon.nova-pro-v1:0": ("aws", "amazon.nova-pro-v1:0"),
    "mistral/mistral-small-latest": ("mistral", "mistral-small-latest"),
    "groq/llama-3.3-70b-versatile": ("groq", "llama-3.3-70b-versatile"),
    "xai/grok-3": ("x-ai", "grok-3"),
    "openrouter/amazon/nova-pro-v1": ("openrouter", "amazon/nova-pro-v1"),
    "perplexity/sonar": ("perplexity", "sonar"),  # charges for each request too
}


def by_the_list(provider, model, usage):
    """Let the list itself say what a call costs."""
    theirs = genai_prices.Usage(
        input_tokens=usage.prompt_tokens,
        cache_read_tokens=usage.cached_tokens,
        output_tokens=usage.completion_tokens,
    )
    return float(genai_prices.calc_price(theirs, model, provider_id=provider).total_price)


@pytest.mark.edges
@pytest.mark.parametrize("name", LISTED)
@given(fresh=COUNTS, cached=COUNTS, out=COUNTS)
def test_a_listed_price_is_what_the_list_itself_computes(name, fresh, cached, out):
    usage = Usage(prompt_tokens=fresh + cached, completion_tokens=out, cached_tokens=cached)

    price = price_of(name)

    assert price.cost(usage) == pytest.approx(by_the_list(*LISTED[name], usage), rel=1e-12)
    assert price.source.startswith(f"genai-prices {genai_prices.__version__}: {LISTED[name][0]}/")


@pytest.mark.parametrize(
    ("price", "counts", "dollars"),
    [
        # cached tokens cost as much as others where no price says so
        (Price(input=3.0, output=1.0), (1_000_000, 0, 400_000, 0), 3.0),
        (Price(input=3.0, cached_input=0.0, output=1.0), (1_000_000, 0, 400_000, 0), 1.8),
        # reasoning is a part of the reply, and no more is cached than there is
        (Price(input=1.0, output=4.0), (0, 1_000_000, 0, 900_000), 4.0),
        (Price(input=3.0, cached_input=1.0, output=1.0), (10, 0, 1_000_000, 0), 1e-5),
    ],
)
def test_a_price_counts_every_token_once(price, counts, dollars):
    prompt, completion, cached, reasoning = counts
    usage = Usage(prompt, completion, cached, reasoning)

    assert price.cost(usage) == pytest.approx(dollars)


def test_the_last_tier_that_a_prompt_exceeds_holds_for_all_of_its_tokens():
    tiers = (
        Price(above=100, input=2.0, output=20.0),
        Price(above=200, input=3.0, cached_input=0.0, output=30.0),
    )
    price = Price(input=1.0, output=10.0, tiers=tiers)

    def cost(prompt, cached=0):
        usage = Usage(prompt_tokens=prompt, completion_tokens=1, cached_tokens=cached)
        return round(price.cost(usage) * 1e6, 6)

    assert [cost(100), cost(101), cost(200)] == [100 * 1 + 10, 101 * 2 + 20, 200 * 2 + 20]
    assert cost(201, cached=1) == 200 * 3 + 30


@pytest.mark.parametrize(
    ("name", "base_url"),
    [
        *((f"{server}/m", None) for server in ("vllm", "ollama", "llamacpp", "lmstudio")),
        ("native/ollama/llama3.3", None),
        ("vllm/m", "http://gpu-box:8000/v1"),
        ("openai/gpt-4o-mini", "http://localhost:8000/v1"),
        ("openai/gpt-4o-mini", "http://127.0.0.1:8000/v1"),
        ("openai/m", "http://[::1]:8000/v1"),
    ],
)
def test_what_runs_on_ones_own_machine_costs_nothing(name, base_url):
    price = price_of(name, base_url=base_url)

    assert price.cost(Usage(prompt_tokens=10**9, completion_tokens=10**9)) == 0.0


@pytest.mark.parametrize(
    ("name", "base_url"),
    [
        ("openai/no-such-model", None),
        ("nobody/gpt-4o-mini", None),
        ("my-openai/gpt-4o-mini", None),  # a name that holds the name of another provider
        ("native/openai", None),
        ("scripted", None),
        ("openai/gpt-4o-mini", "https://judges.example.com/v1"),  # whoever that is
        ("openai/gpt-4o-mini", "http://10.0.0.7:8000/v1"),
        ("openai/gpt-4o-mini", "http://localhost.example.com/v1"),
        ("openai/text-embedding-3-small", None),  # has no price for what it says
    ],
)
def test_nobody_knows_what_others_cost(name, base_url):
    assert price_of(name, base_url=base_url) is None


def test_nothing_is_fetched(monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError(args)

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)

    assert price_of("openai/gpt-4.1-mini") is not None
    assert price_of("openai/no-such-model-at-all") is None


@pytest.mark.parametrize("value", [-1.0, float("nan"), "1", True])
def test_a_price_is_a_number_of_dollars(value):
    for name in ("input", "output", "cached_input", "request"):
        with pytest.raises(InputError, match=rf"`{name}` must be a finite number of at least 0"):
            Price(**{"input": 1.0, "output": 1.0, name: value})
