"""What is sent: fields, messages, and that what is kept between requests is never mixed up."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.chat_server import SCHEMA, ask, asked, completion, reply_to
from voirdire.errors import InputError
from voirdire.models import Capabilities, ChatModel, ChatRequest, OpenAICompatibleModel
from voirdire.records import Message

FINE = completion("{}")
USER = {"role": "user", "content": "Judge this."}
NAMED = {"json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}


def body(request, **settings):
    (sent,) = ask(FINE, request, **settings).bodies
    return sent


SENT = [
    (asked(), {}, {}),
    (asked(form="json_schema"), {}, {"response_format": {"type": "json_schema", **NAMED}}),
    (asked(form="json_object"), {}, {"response_format": {"type": "json_object"}}),
    (asked(top_logprobs=5), {}, {"logprobs": True, "top_logprobs": 5}),
    (asked(max_tokens=7, seed=0), {}, {"max_tokens": 7, "seed": 0}),
    (asked(max_tokens=7), {"max_tokens": 900}, {"max_tokens": 900}),
    (asked(temperature=0.0), {"temperature": 0.7}, {"temperature": 0.0}),
    (asked(), {"temperature": 0.7}, {"temperature": 0.7}),
    (asked(max_tokens=7), {"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
    (asked(seed=1), {"reasoning_effort": "none"}, {"reasoning_effort": "none", "seed": 1}),
    (asked(), {"extra": {"provider": {"order": ["a"]}}}, {"provider": {"order": ["a"]}}),
    (asked(), {"n": 3}, {"n": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("request_", "settings", "expected"), SENT)
def test_a_request_holds_what_was_asked_for_and_no_more(request_, settings, expected):
    plain = {"model": "m", "messages": [{"role": "system", "content": "You are a judge."}, USER]}

    assert body(request_, **settings) == plain | expected


THINKING = """o1 o3-mini o4-mini-2025-04-16 gpt-5 gpt-5-mini openai/o3 gpt-oss-120b
    deepseek-reasoner deepseek-ai/DeepSeek-R1 gemini-2.5-flash grok-4 qwen3-32b"""
OTHERS = """gpt-4o gpt-4.1-mini gpt-5-chat-latest o olmo-7b deepseek-chat llama-3.3-70b
    gemini-2.0-flash grok-3 grok-4-fast-non-reasoning Qwen3-30B-A3B-Instruct-2507"""


@pytest.mark.parametrize(("names", "limit"), [(THINKING, None), (OTHERS, 7)])
def test_models_that_think_first_are_sent_no_bound_on_the_reply_alone(names, limit):
    for name in names.split():
        assert body(asked(max_tokens=7), model=name).get("max_tokens") == limit, name


@pytest.mark.usefixtures("proxied")
def test_some_hosts_are_asked_in_their_own_way():
    text = {"type": "text", "text": "You are a judge.", "cache_control": {"type": "ephemeral"}}
    for host, model, is_marked in [
        ("api.anthropic.com", "claude-sonnet-4-5", True),
        ("openrouter.ai", "anthropic/claude-3.5-haiku", True),
        ("openrouter.ai", "openai/gpt-4o-mini", False),
        ("notopenrouter.ai", "anthropic/claude-3.5-haiku", False),
    ]:
        system, user = body(asked(), model=model, base_url=f"http://{host}/v1")["messages"]
        assert system["content"] == ([text] if is_marked else "You are a judge.")
        assert user == USER

    sent = body(asked(top_logprobs=5), base_url="http://api.together.xyz/v1")
    assert (sent["logprobs"], "top_logprobs" in sent) == (5, False)


@given(
    conversation=st.lists(
        st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text()), max_size=4
    )
)
def test_any_text_arrives_as_it_was(conversation):
    messages = tuple(Message(role=role, content=text) for role, text in conversation)

    sent = body(ChatRequest(messages=messages))

    assert [(one["role"], one["content"]) for one in sent["messages"]] == conversation


@pytest.mark.parametrize("images", [(), ("data:image/png;base64,eA==",)])
def test_half_a_surrogate_pair_is_replaced_as_strict_servers_want(images):
    message = Message(role="user", content="before \ud83d after", images=images)

    (sent,) = body(ChatRequest(messages=(message,)))["messages"]

    text = sent["content"][0]["text"] if images else sent["content"]
    assert text == "before � after"


@pytest.mark.ci
def test_one_model_sends_requests_that_differ():
    requests = [
        asked(
            messages=(Message(role="system", content=f"{n}"),), form=form, top_logprobs=top, seed=n
        )
        for n in range(70)
        for form in ("json_schema", "json_object")
        for top in (None, 5)
    ]

    sent = ask(FINE, *requests * 2).bodies

    for request, got in zip(requests * 2, sent, strict=True):
        assert got["messages"][0]["content"] == request.messages[0].content
        assert got["response_format"]["type"] == request.form
        assert got.get("top_logprobs") == request.top_logprobs
        assert got["seed"] == request.seed


def test_a_model_has_its_name_its_settings_and_its_capabilities(some_key):
    known = Capabilities(forms=("text",), top_logprobs=0)
    given = {"temperature": 0.0, "reasoning_effort": "low", "max_tokens": 10, "extra": {"k": 1}}
    here = {"model": 'a"b', "name": "mine", "base_url": "https://A.example/v1/"}
    model = OpenAICompatibleModel(**here, **given, **some_key, capabilities=known)

    assert isinstance(model, ChatModel)
    assert (model.name, model.capabilities, list(model.adaptations)) == ("mine", known, [])
    here = {"api": "chat/completions", "base_url": "https://a.example/v1", "model": 'a"b'}
    assert model.settings == here | given


def test_a_name_of_the_deployment_stands_for_its_address():
    settings = {"model": "m", "base_url": "http://localhost:8000/v1"}

    plain = OpenAICompatibleModel(**settings).settings
    served = OpenAICompatibleModel(**settings, served_as="our judge").settings

    assert served == plain | {"base_url": "our judge"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"temperature": -1}, "`temperature` must be a finite number"),
        ({"temperature": math.nan}, "`temperature` must be a finite number"),
        ({"temperature": "hot"}, "`temperature` must be a finite number"),
        ({"max_tokens": 0}, "`max_tokens` must be a whole number"),
        ({"extra": {"messages": []}}, "`extra` must not hold 'messages', which has its own place"),
        ({"extra": {"stream": True}}, "`extra` must not hold 'stream'"),
        ({"extra": {"x": object()}}, "`extra` must hold JSON values"),
        ({"extra": {"provider": {"api_key": "x"}}}, "`extra` must hold no key"),
        ({"extra": {"x": "sk-0123456789abcdef"}}, "`extra` must hold no key"),
    ],
)
def test_a_setting_that_breaks_its_rule_is_refused(settings, words):
    with pytest.raises(InputError, match=words):
        reply_to(FINE, **settings)
