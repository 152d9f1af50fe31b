import asyncio
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clocks import put_forward, run_forward
from voirdire.errors import InputError, RateLimitError
from voirdire.models import ChatModel, ChatRequest
from voirdire.records import Message, Reply
from voirdire.testing import ScriptedModel


def ask(model, **request):
    return asyncio.run(model.reply(ChatRequest(messages=(), **request)))


def schema(**properties):
    return json.dumps({"type": "object", "properties": properties}).encode()


BOOLEAN = {"type": "boolean"}
PROBABILITY = {"type": "number", "minimum": 0, "maximum": 1}


def test_it_is_a_chat_model():
    assert isinstance(ScriptedModel(lambda request: ""), ChatModel)


def test_the_answer_sees_the_request_and_its_text_is_the_reply():
    model = ScriptedModel(lambda request: request.messages[0].content.upper(), name="shouting")
    request = ChatRequest(messages=(Message(role="user", content="hello"),), form="json_object")

    reply = asyncio.run(model.reply(request))

    assert reply == Reply(text="HELLO", form="json_object", finish_reason="stop", model="shouting")


def test_a_reply_is_given_as_it_is_but_with_the_form_asked_for():
    said = Reply(text="{}", finish_reason="length", model="other")

    reply = ask(ScriptedModel(lambda request: said), form="text")

    assert reply == Reply(text="{}", finish_reason="length", model="other", form="text")


def test_an_error_is_raised():
    error = RateLimitError("slow down", retry_after_s=2)

    with pytest.raises(RateLimitError, match="slow down") as raised:
        ask(ScriptedModel(lambda request: error))

    assert raised.value is error


def test_a_bug_in_the_answer_keeps_its_traceback():
    with pytest.raises(ZeroDivisionError):
        ask(ScriptedModel(lambda request: str(1 / 0)))


def test_a_mapping_answers_what_the_schema_asks_in_its_order():
    answers = {"kind": "A", "tags": {"x"}, "level": 3.0, "ok": 0.25, "unasked": 1}
    asked = schema(
        ok=BOOLEAN,
        level={"type": "integer"},
        tags={"type": "array"},
        kind={"type": "string"},
    )

    reply = ask(ScriptedModel(lambda request: answers), schema=asked, form="json_schema")

    assert reply.text == '{"ok":false,"level":3,"tags":["x"],"kind":"A"}'
    assert reply.steps is None


@pytest.mark.parametrize(
    ("probability", "said"), [(0.0, "false"), (0.49, "false"), (0.5, "true"), (1, "true")]
)
def test_true_is_said_from_one_half_on(probability, said):
    reply = ask(ScriptedModel(lambda request: {"ok": probability}), schema=schema(ok=BOOLEAN))

    assert reply.text == f'{{"ok":{said}}}'


def test_a_stated_probability_is_the_number():
    reply = ask(ScriptedModel(lambda request: {"ok": 0.3}), schema=schema(ok=PROBABILITY))

    assert json.loads(reply.text) == {"ok": 0.3}


@given(st.dictionaries(st.text(), st.floats(0, 1), min_size=1, max_size=5))
def test_log_probabilities_spell_the_reply_and_add_up(probabilities):
    asked = schema(**dict.fromkeys(probabilities, BOOLEAN))

    reply = ask(ScriptedModel(lambda request: probabilities), schema=asked, top_logprobs=5)

    assert "".join(step.token for step in reply.steps) == reply.text
    decided = [step for step in reply.steps if step.top]
    found = [
        math.exp(next(choice.logprob for choice in step.top if choice.token == "true"))
        for step in decided
    ]
    assert found == pytest.approx(list(probabilities.values()))
    assert [step.token == "true" for step in decided] == [p >= 0.5 for p in probabilities.values()]
    assert all(
        sum(math.exp(choice.logprob) for choice in step.top) == pytest.approx(1) for step in decided
    )
    assert all(step.logprob == step.top[0].logprob for step in decided)


def test_no_more_likely_tokens_are_given_than_asked_for():
    model = ScriptedModel(lambda request: {"ok": 0.2})

    reply = ask(model, schema=schema(ok=BOOLEAN), top_logprobs=1)

    assert [[choice.token for choice in step.top] for step in reply.steps] == [[], ["false"], []]


def test_it_can_be_a_server_without_log_probabilities():
    model = ScriptedModel(lambda request: {"ok": 0.2}, log_probabilities=False)

    reply = ask(model, schema=schema(ok=BOOLEAN), top_logprobs=5)

    assert reply.steps is None
    assert model.capabilities.top_logprobs == 0


@pytest.mark.parametrize(("top_logprobs", "text"), [(None, '{"ok":0.9}'), (2, '{"ok":true}')])
def test_without_a_schema_all_questions_are_answered(top_logprobs, text):
    reply = ask(ScriptedModel(lambda request: {"ok": 0.9}), form="text", top_logprobs=top_logprobs)

    assert reply.text == text


def test_an_empty_mapping_is_an_empty_object():
    assert ask(ScriptedModel(lambda request: {})).text == "{}"


def test_a_question_without_an_answer_is_the_callers_mistake():
    with pytest.raises(InputError, match="every question asked, got none for 'ok'"):
        ask(ScriptedModel(lambda request: {"other": 1}), schema=schema(ok=BOOLEAN))


@pytest.mark.parametrize("value", [1.5, -0.1, math.nan, "yes", None])
def test_what_is_no_probability_is_the_callers_mistake(value):
    with pytest.raises(InputError, match=r"probability in \[0, 1\] for the question 'ok'"):
        ask(ScriptedModel(lambda request: {"ok": value}), schema=schema(ok=BOOLEAN))


def test_the_version_is_part_of_the_settings():
    old, new = (ScriptedModel(lambda request: "", version=version) for version in "12")

    assert old.settings != new.settings


def test_a_reply_takes_its_time_without_blocking_others():
    model = ScriptedModel(lambda request: "", delay_s=500.0)

    async def ask_many():
        replies = [asyncio.create_task(model.reply(ChatRequest(messages=()))) for _ in range(100)]
        done_before = (await asyncio.wait(replies, timeout=0.01))[0]
        put_forward(501)  # once for all of them
        await asyncio.gather(*replies)
        return len(done_before)

    assert run_forward(ask_many()) == 0


@pytest.mark.parametrize("delay_s", [-1, math.nan, math.inf])
def test_a_delay_is_a_number_of_seconds(delay_s):
    with pytest.raises(InputError, match="`delay_s` must be a number of at least 0"):
        ScriptedModel(lambda request: "", delay_s=delay_s)


def test_an_answer_must_be_callable():
    with pytest.raises(InputError, match="`answer` must be callable"):
        ScriptedModel("text")


def test_closing_it_is_fine_at_any_time():
    model = ScriptedModel(lambda request: "still there")

    asyncio.run(model.close())
    asyncio.run(model.close())

    assert ask(model).text == "still there"
