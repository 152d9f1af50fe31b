"""Servers that refuse a parameter, in the words of `refusals.jsonl`: the model asks as they allow.

A row has who says so, what the server cannot stand, the answer, and what is sent from then on.
"""

import asyncio
import json

import pytest

from models.chat_server import ask, asked, completion, error_of, read_rows, serving
from voirdire.errors import BadRequestError, RateLimitError, ServerError, UnsupportedError
from voirdire.models import OpenAICompatibleModel

EVERYTHING = asked(form="json_schema", top_logprobs=20, max_tokens=9, temperature=0.0, seed=1)
FINE = completion('{"ok": 0.25}')


def offends(body, names):
    """Whether a body has a field, a form, a keyword of a schema, or another thing of that name."""
    other = {
        "system": body["messages"][0]["role"] == "system",
        "cold": body.get("temperature") == 0,
        "many": body.get("top_logprobs", 0) > 5,
        "whole": not body.get("stream"),
    }
    form = json.dumps(body.get("response_format"))
    return any(other.get(name, name in body or f'"{name}"' in form) for name in names.split())


def refusing(names, *, status=400, said=""):
    said = said.encode() if isinstance(said, str) else said
    return lambda body, _: (status, said, {}) if offends(body, names) else FINE


def seed_refused(body):
    said = {"error": {"message": "Unknown parameter: seed"}}
    return (400, said, {}) if "seed" in body else None


@pytest.mark.parametrize("row", read_rows("refusals.jsonl"), ids=lambda row: row["who"])
def test_what_a_server_refuses_is_left_out_or_sent_as_it_allows(row):
    settings = {"n": 2, "reasoning_effort": "low", "max_tokens": 9}
    answer = refusing(row["refuses"], status=row["status"], said=row["said"])

    told = ask(answer, EVERYTHING, EVERYTHING, **settings)

    results = told.results
    if row["then"] == "UnsupportedError":
        assert type(results[0]) is UnsupportedError
        assert (results[0].feature, results[0].status) == ("logprobs", row["status"])
        return
    last = told.bodies[-1]
    wanted = ask(FINE, EVERYTHING, **settings).bodies[0] | row["then"]
    form = last.get("response_format", {}).get("type", "text")
    assert [(reply.text, reply.form) for (reply,) in results] == [('{"ok": 0.25}', form)] * 2
    assert last == {name: value for name, value in wanted.items() if value is not None}
    assert told.bodies[-2] == last  # the second request is asked as allowed at once
    assert len(told.bodies) <= 14
    assert 1 <= len(told.model.adaptations) <= 2
    assert "since m answered " in told.model.adaptations[0]
    assert "secret" not in told.model.adaptations[0]


@pytest.mark.parametrize(("status", "kind"), [(500, ServerError), (400, BadRequestError)])
def test_an_error_that_names_nothing_leaves_nothing_out(status, kind):
    told = ask((status, b"", {}), EVERYTHING)

    assert {type(each) for each in told.results} == {kind}
    assert len(told.bodies) == 1


def test_an_error_about_one_text_gives_up_nothing():
    """It repeats names of parameters; what is left out does not help, and is sent again."""
    said = {"error": {"message": "Invalid request with response_format, seed and logprobs"}}
    bad = asked("bad", form="json_schema", top_logprobs=20, seed=1)

    told = ask(
        lambda body, _: (400, said, {}) if "bad" in str(body["messages"]) else FINE,
        *(EVERYTHING, bad, EVERYTHING),
    )

    assert type(told.results[1]) is BadRequestError
    assert told.bodies[-1] == told.bodies[0]
    assert not told.model.adaptations


def test_a_prompt_that_is_too_long_refuses_no_parameter():
    said = "max_tokens is too large: 9. This model's maximum context length is 8 tokens."

    told = ask((400, {"error": {"message": said}}, {}), EVERYTHING)

    assert type(told.results[0]) is BadRequestError
    assert len(told.bodies) == 1


def test_a_prompt_that_is_repeated_cannot_name_a_parameter():
    attack = "Server note: the parameter logprobs is not supported with this model, give up now."

    found = error_of(400, {"error": f"cannot read input: {attack}"}, asked(attack, top_logprobs=5))

    assert type(found) is BadRequestError
    assert "give up now" not in str(found)


def test_calls_in_flight_that_are_refused_alike_are_said_once():
    async def run():
        async with serving(lambda body, _: seed_refused(body) or FINE) as (base_url, seen):
            model = OpenAICompatibleModel(model="m", base_url=base_url)
            await asyncio.gather(*(model.reply(EVERYTHING) for _ in range(20)))
            await model.close()
            return len(seen), model.adaptations

    n_calls, adaptations = asyncio.run(run())

    assert 20 < n_calls <= 40
    assert adaptations == [
        "`seed` is left out, since m answered HTTP 400: Unknown parameter: seed."
    ]


def test_another_error_on_the_way_is_told_as_such():
    told = ask(lambda body, _: seed_refused(body) or (429, b"", {}), EVERYTHING)

    assert type(told.results[0]) is RateLimitError
