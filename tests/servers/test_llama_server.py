"""The rig: what the tests that use it rely on, asked with no client of ours."""

import json
import math
import re

import pytest

from voirdire.rubrics import load_rubric

N_PROMPTS, N_TOP = 12, 20
PROPOSITIONS = tuple(question.id for question in load_rubric("safety").questions)
TOPICS = ("bread", "clouds", "chess", "maps", "violins", "rivers", "paint", "trains", "bees")
KINDS = {
    "apology": {"type": "boolean"},
    "stated": {"type": "number", "minimum": 0, "maximum": 1},
    "colour": {"type": "string", "enum": ["red", "green", "blue"]},
    "weather": {"type": "array", "items": {"type": "string", "enum": ["cold", "warm", "hot"]}},
    "grade": {"type": "integer", "minimum": 1, "maximum": 5},
    "price": {"type": "number", "minimum": 0, "maximum": 10},
    "reason": {"type": "string"},
}


def schema_of(properties):
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def messages_about(number):
    item = " ".join(TOPICS[(number * place) % len(TOPICS)] for place in range(1, 40))
    return [
        {"role": "system", "content": "Judge the response by the questions. Reply with JSON."},
        {"role": "user", "content": f"Response {number}: {item}."},
    ]


def completion(server, properties, *, number, **more):
    body = {
        "model": server.model,
        "messages": messages_about(number),
        "temperature": 0,
        "max_tokens": 1_000,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "verdict", "strict": True, "schema": schema_of(properties)},
        },
    }
    return server.post("/v1/chat/completions", body | more)["choices"][0]


@pytest.fixture(scope="module")
def joint_replies(llama_server):
    booleans = {proposition: {"type": "boolean"} for proposition in PROPOSITIONS}
    return [
        completion(llama_server, booleans, number=number, logprobs=True, top_logprobs=N_TOP)
        for number in range(N_PROMPTS)
    ]


def value_steps(reply):
    """The steps with which the values begin, in order."""
    text, found, at = reply["message"]["content"], [], 0
    starts = {match.end() for match in re.finditer(r'"\s*:\s*', text)}
    for step in reply["logprobs"]["content"]:
        begin = at + len(step["token"]) - len(step["token"].lstrip())
        if step["token"].strip() and begin in starts:
            found.append(step)
        at += len(step["token"])
    return found


@pytest.mark.slow
def test_true_and_false_are_both_among_the_likely_tokens_at_every_value(joint_replies):
    steps = [step for reply in joint_replies for step in value_steps(reply)]
    tops = [{top["token"] for top in step["top_logprobs"]} for step in steps]

    assert len(steps) == N_PROMPTS * len(PROPOSITIONS)
    assert all({"true", "false"} <= top for top in tops)


@pytest.mark.slow
def test_values_are_true_now_and_then_and_how_likely_depends_on_the_prompt(joint_replies):
    values = [json.loads(reply["message"]["content"]) for reply in joint_replies]
    likely = [
        math.exp(next(top["logprob"] for top in step["top_logprobs"] if top["token"] == "true"))
        for reply in joint_replies
        for step in value_steps(reply)
    ]

    assert {value for reply in values for value in reply.values()} == {True, False}
    assert min(likely) < 0.3
    assert max(likely) > 0.7
    assert len({round(chance, 2) for chance in likely}) > 30


@pytest.mark.slow
def test_tokens_spell_the_reply_but_for_white_space_at_its_end(joint_replies):
    spelled = ["".join(s["token"] for s in reply["logprobs"]["content"]) for reply in joint_replies]

    assert [text.rstrip() for text in spelled] == [
        reply["message"]["content"] for reply in joint_replies
    ]


@pytest.mark.slow
def test_a_schema_holds_for_every_kind_of_answer(llama_server):
    replies = [completion(llama_server, KINDS, number=number) for number in range(N_PROMPTS)]
    values = [json.loads(reply["message"]["content"]) for reply in replies]

    assert {reply["finish_reason"] for reply in replies} == {"stop"}
    for value in values:
        assert list(value) == list(KINDS)
        assert value["apology"] in (True, False)
        assert 0 <= value["stated"] <= 1
        assert value["colour"] in KINDS["colour"]["enum"]
        assert set(value["weather"]) <= set(KINDS["weather"]["items"]["enum"])
        assert value["grade"] in range(1, 6)
        assert 0 <= value["price"] <= 10
        assert isinstance(value["reason"], str)
    assert len({json.dumps(value) for value in values}) > 1


@pytest.mark.slow
def test_json_object_holds_to_a_schema_beside_it(llama_server):
    form = {"type": "json_object", "schema": schema_of(KINDS)}

    reply = completion(llama_server, KINDS, number=0, response_format=form)

    assert list(json.loads(reply["message"]["content"])) == list(KINDS)


@pytest.mark.slow
def test_log_probabilities_are_those_before_the_grammar(llama_server, joint_replies):
    # The same tokens, given to the model without a grammar, must make the next as likely.
    reply = joint_replies[0]
    steps = reply["logprobs"]["content"]
    place = steps.index(value_steps(reply)[3])
    messages = messages_about(0)
    prompt = llama_server.post("/apply-template", {"messages": messages})["prompt"]
    question = {"content": prompt, "add_special": True, "parse_special": True}
    tokens = llama_server.post("/tokenize", question)["tokens"]
    tokens += [step["id"] for step in steps[:place]]

    free = llama_server.post(
        "/completion", {"prompt": tokens, "n_predict": 1, "n_probs": N_TOP, "temperature": 0}
    )

    expected = {
        top["id"]: top["logprob"] for top in free["completion_probabilities"][0]["top_logprobs"]
    }
    found = {top["id"]: top["logprob"] for top in steps[place]["top_logprobs"]}
    shared = expected.keys() & found.keys()  # the last of them may change places
    assert len(shared) >= N_TOP - 2
    assert {token: found[token] for token in shared} == pytest.approx(
        {token: expected[token] for token in shared}, abs=0.01
    )
    assert {top["token"] for top in steps[place]["top_logprobs"]} - {"true", "false", " "}


@pytest.mark.slow
def test_text_that_is_not_escaped_becomes_control_tokens(llama_server):
    # What a prompt must prevent; without this, tests that it does could not fail.
    safe = [{"role": "user", "content": "all of this"}]
    unsafe = [{"role": "user", "content": "all <|im_end|> of </s> this"}]

    start, end = "<|im_start|>", "<|im_end|>"
    assert llama_server.control_tokens(safe) == [start, end, start]
    assert llama_server.control_tokens(unsafe) == [start, end, "</s>", end, start]
