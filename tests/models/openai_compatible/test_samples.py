"""Several replies to one request: what is asked for, what comes, and what each of them costs."""

import asyncio

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from models.openai_compatible.chat_server import asked, completion, serving, token
from voirdire.errors import BadRequestError, ContentFilterError, InputError, UnsupportedError
from voirdire.models import OpenAICompatibleModel, SamplingChatModel
from voirdire.records import Usage
from voirdire.testing import ScriptedModel

USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 31,
    "total_tokens": 131,
    "prompt_tokens_details": {"cached_tokens": 64},
    "completion_tokens_details": {"reasoning_tokens": 10},
}


def answer(*choices, usage=USAGE):
    several = [completion(**choice)["choices"][0] for choice in choices]
    return completion("") | {"choices": several, "usage": usage}


def samples(said, n, request=None, *, status=200):
    """Ask a server for n replies; give them, and what the server saw."""

    async def run():
        async with serving(lambda request, body: web.json_response(said, status=status)) as served:
            model = OpenAICompatibleModel(model="m", base_url=served.base_url)
            try:
                return await model.samples(request or asked(), n), served.bodies
            finally:
                await model.close()

    return asyncio.run(run())


def test_it_samples_and_not_every_model_does():
    model = OpenAICompatibleModel(model="m", base_url="http://127.0.0.1:9/v1")

    assert isinstance(model, SamplingChatModel)
    assert not isinstance(ScriptedModel(lambda request: "{}"), SamplingChatModel)


def test_one_request_gives_several_replies_in_their_order():
    texts = ["yes", "no", "yes"]

    replies, bodies = samples(answer(*({"text": text} for text in texts)), 3)

    assert [reply.text for reply in replies] == texts
    assert [body["n"] for body in bodies] == [3]


def test_one_reply_is_asked_for_as_ever():
    replies, (body,) = samples(answer({"text": "yes"}), 1)

    assert len(replies) == 1
    assert "n" not in body
    assert replies[0].usage == Usage(100, 31, 64, 10)


def test_a_server_that_gives_fewer_is_taken_at_what_it_gives():
    replies, _ = samples(answer({"text": "yes"}), 3)

    assert [reply.text for reply in replies] == ["yes"]
    assert replies[0].usage == Usage(100, 31, 64, 10)


def test_a_server_that_gives_more_is_cut_to_what_was_asked():
    replies, _ = samples(answer(*({"text": text} for text in "abc")), 2)

    assert [reply.text for reply in replies] == ["a", "b"]


def total(usages):
    return tuple(
        map(
            sum,
            zip(
                *[
                    (u.prompt_tokens, u.completion_tokens, u.cached_tokens, u.reasoning_tokens)
                    for u in usages
                ],
                strict=True,
            ),
        )
    )


def test_tokens_are_divided_by_log_probabilities_where_they_came():
    lengths = (2, 4)
    choices = [{"text": "a" * n, "logprobs": {"content": [token("a")] * n}} for n in lengths]
    usage = {"prompt_tokens": 9, "completion_tokens": 8, "total_tokens": 17}

    replies, _ = samples(answer(*choices, usage=usage), 2, asked(top_logprobs=2))

    # A token more for the end of each: 8 tokens are 3 and 5.
    assert [reply.usage for reply in replies] == [Usage(9, 3), Usage(0, 5)]


@given(
    texts=st.lists(st.text(max_size=30), min_size=1, max_size=6),
    completion_tokens=st.integers(0, 10**6),
    reasoning=st.integers(0, 10**6),
)
def test_usages_add_up_to_what_was_charged(server_loop, texts, completion_tokens, reasoning):
    usage = USAGE | {
        "completion_tokens": completion_tokens,
        "total_tokens": 100 + completion_tokens,
        "completion_tokens_details": {"reasoning_tokens": min(reasoning, completion_tokens)},
    }

    replies = server_loop(answer(*({"text": text} for text in texts), usage=usage), len(texts))

    usages = [reply.usage for reply in replies]
    assert total(usages) == (100, completion_tokens, 64, min(reasoning, completion_tokens))
    assert usages[0].prompt_tokens == 100
    assert all(0 <= u.reasoning_tokens <= u.completion_tokens for u in usages)
    # Nobody gets a token more or less than a share by length, in bytes and one for the end.
    sizes = [len(text.encode()) + 1 for text in texts]
    for each, size in zip(usages, sizes, strict=True):
        assert abs(each.completion_tokens - completion_tokens * size / sum(sizes)) < 1 + 1e-6


@pytest.fixture(scope="module")
def server_loop():
    """Ask one server, on one event loop, for replies to one request after the other."""
    said = {}
    with asyncio.Runner() as runner:
        serving_now = serving(lambda request, body: web.json_response(said["answer"]))
        served = runner.run(serving_now.__aenter__())
        model = OpenAICompatibleModel(model="m", base_url=served.base_url)

        def ask(answer, n):
            said["answer"] = answer
            return runner.run(model.samples(asked(), n))

        yield ask
        runner.run(model.close())
        runner.run(serving_now.__aexit__(None, None, None))


def test_a_server_that_does_not_say_what_it_charged_charges_nothing_known():
    replies, _ = samples(answer({"text": "a"}, {"text": "b"}, usage=None), 2)

    assert [reply.usage for reply in replies] == [None, None]


def test_choices_that_are_no_replies_are_left_out():
    filtered = {"text": None, "finish_reason": "content_filter"}

    replies, _ = samples(answer(filtered, {"text": "yes"}), 2)

    assert [reply.text for reply in replies] == ["yes"]
    assert replies[0].usage == Usage(100, 31, 64, 10)


def test_where_no_choice_is_a_reply_the_first_says_why():
    filtered = {"text": None, "finish_reason": "content_filter"}

    with pytest.raises(ContentFilterError):
        samples(answer(filtered, filtered), 2)


# As llama.cpp, vLLM, Groq, Anthropic and OpenAI say it.
REFUSALS = [
    {"message": "Only one completion choice is allowed"},
    {"message": "n must be 1 when using greedy sampling, got 3."},
    {"message": "'n' : number must be at most 1"},
    {"message": "n: must be exactly 1"},
    {
        "message": "Unsupported value: 'n' does not support 3 with this model.",
        "param": "n",
        "code": "unsupported_value",
    },
]


@pytest.mark.parametrize("error", REFUSALS)
def test_a_server_that_gives_one_reply_a_call_is_known(error):
    with pytest.raises(UnsupportedError) as raised:
        samples({"error": error}, 3, status=400)

    assert raised.value.feature == "n"


@pytest.mark.parametrize("error", REFUSALS)
def test_what_was_not_asked_for_was_not_refused(error):
    with pytest.raises(BadRequestError) as raised:
        samples({"error": error}, 1, status=400)

    assert type(raised.value) is BadRequestError


def test_another_refusal_is_no_matter_of_the_number():
    with pytest.raises(BadRequestError) as raised:
        samples({"error": {"message": "A message is invalid."}}, 3, status=400)

    assert type(raised.value) is BadRequestError


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_the_number_is_a_count(n):
    model = OpenAICompatibleModel(model="m", base_url="http://127.0.0.1:9/v1")

    with pytest.raises(InputError, match="`n` must be a whole number of at least 1"):
        asyncio.run(model.samples(asked(), n))
