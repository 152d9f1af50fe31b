"""Which models think first, and which parameters they refuse, as the server sees it."""

import pytest

from models.openai_compatible.chat_server import SCHEMA, asked, completion
from voirdire.models import ChatRequest, Dialect
from voirdire.records import Message

# A bound on the reply alone and a temperature, which not every model takes.
BOUNDED = asked(max_tokens=7, temperature=0.0, form="json_object", schema=SCHEMA)


@pytest.fixture
def sent(server):
    def seen(model, **settings):
        server.reply(completion("{}"), BOUNDED, model=model, **settings)
        return server.body

    return seen


@pytest.mark.parametrize(
    "model",
    [
        "o1",
        "o3-mini",
        "o4-mini-2025-04-16",
        "gpt-5",
        "gpt-5-mini",
        "openai/o3",
        "gpt-oss-120b",
        "deepseek-reasoner",
        "deepseek-ai/DeepSeek-R1",
        "gemini-2.5-flash",
        "grok-4",
        "qwen3-32b",
    ],
)
def test_models_that_think_first_are_sent_no_bound_on_the_reply_alone(sent, model):
    assert not {"max_tokens", "max_completion_tokens"} & set(sent(model))


@pytest.mark.parametrize(
    "model",
    [
        "gpt-4o",
        "gpt-4.1-mini",
        "gpt-5-chat-latest",
        "o",
        "olmo-7b",
        "deepseek-chat",
        "llama-3.3-70b",
        "gemini-2.0-flash",
        "grok-3",
        "grok-4-fast-non-reasoning",
        "Qwen3-30B-A3B-Instruct-2507",
    ],
)
def test_other_models_are_not_taken_for_them(sent, model):
    assert sent(model)["max_tokens"] == 7


@pytest.mark.parametrize(
    ("model", "name"), [("o3-mini", "max_completion_tokens"), ("x", "max_tokens")]
)
def test_the_limit_is_named_as_the_model_wants_it(sent, model, name):
    assert sent(model, max_tokens=900)[name] == 900


def test_a_server_of_this_machine_takes_a_schema_beside_the_object(sent):
    assert set(sent("m")["response_format"]) == {"type", "schema"}


def test_an_effort_makes_a_model_think_and_none_stops_it(sent):
    assert "max_tokens" not in sent("m", reasoning_effort="low")
    assert sent("gpt-5.1", reasoning_effort="none")["max_completion_tokens"] == 7
    assert sent("gpt-5.1", reasoning_effort="none")["temperature"] == 0
    assert "temperature" not in sent("gpt-5.1", reasoning_effort="high")
    assert "temperature" not in sent("gpt-5.1")


MARKED = [
    {
        "role": "system",
        "content": [
            {"type": "text", "text": "You are a judge.", "cache_control": {"type": "ephemeral"}}
        ],
    },
    {"role": "user", "content": "Judge this."},
]
PLAIN = [
    {"role": "system", "content": "You are a judge."},
    {"role": "user", "content": "Judge this."},
]


@pytest.mark.parametrize(
    ("host", "model", "expected"),
    [
        ("api.anthropic.com", "claude-sonnet-4-5", MARKED),
        ("openrouter.ai", "anthropic/claude-3.5-haiku", MARKED),
        ("openrouter.ai", "openai/gpt-4o-mini", PLAIN),
        ("api.openai.com", "anthropic/claude-3.5-haiku", PLAIN),
        ("notopenrouter.ai", "anthropic/claude-3.5-haiku", PLAIN),
    ],
)
def test_a_rubric_is_marked_for_anthropics_cache_and_for_no_other(proxy, host, model, expected):
    proxy.reply(completion("{}"), model=model, base_url=f"http://{host}/v1")

    assert proxy.body["messages"] == expected


def test_a_dialect_that_is_given_says_whether_the_cache_is_marked(server):
    server.reply(completion("{}"), dialect=Dialect(marks_cache=True))

    assert server.body["messages"] == MARKED


def test_half_a_surrogate_pair_is_marked_too(server):
    system = Message(role="system", content="half \ud83d")
    request = ChatRequest(messages=(system, Message(role="user", content="x")))

    server.reply(completion("{}"), request, dialect=Dialect(marks_cache=True))

    assert server.body["messages"][0]["content"][0]["text"] == "half \ud83d"
