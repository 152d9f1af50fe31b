"""What a server can do, found out from servers that can do different things."""

import asyncio
import json

import pytest
from aiohttp import web

from models.openai_compatible.chat_server import completion, serving, token
from voirdire.errors import AccessError, InputError, RateLimitError
from voirdire.models import Capabilities, OpenAICompatibleModel, check_model
from voirdire.testing import ScriptedModel

KEY = "leaves_are_green"
OBJECT = json.dumps({KEY: True}, separators=(",", ":"))


class Server:
    """A server of which each ability can be taken away."""

    def __init__(self, *, forms=("json_schema", "json_object"), ignores=(), most=20, seed=True):
        self.forms, self.ignores, self.most, self.seed = forms, ignores, most, seed

    def __call__(self, request, body):
        form = body.get("response_format", {}).get("type")
        if form and form not in (*self.forms, *self.ignores):
            return refusal(f"response_format type `{form}` is unavailable", "response_format")
        if "seed" in body and not self.seed:
            return refusal("Extra inputs are not permitted", "seed")
        number = body.get("top_logprobs")
        if number is not None and self.most is not None and number > self.most:
            return refusal(f"logprobs of {number} is greater than max allowed", "logprobs")
        text = "Yes, they are." if form is None or form in self.ignores else OBJECT
        logprobs = None
        if number and self.most is not None:
            others = {f"t{n}": -3.0 for n in range(number - 1)}
            logprobs = {"content": [token(text, **others)]}
        return web.json_response(completion(text, logprobs=logprobs))


def refusal(message, param):
    return web.json_response({"error": {"message": message, "param": param}}, status=400)


def report_of(handler, **settings):
    async def run():
        async with serving(handler) as served:
            model = OpenAICompatibleModel(model="m", base_url=served.base_url, **settings)
            try:
                return await check_model(model), served.bodies
            finally:
                await model.close()

    return asyncio.run(run())


def test_a_server_that_can_do_everything():
    report, bodies = report_of(Server())

    assert report.model == "m"
    assert report.capabilities == Capabilities(
        forms=("json_schema", "json_object", "text"), top_logprobs=20
    )
    assert report.takes_seed is True
    assert [step.feature for step in report.steps] == [
        *("json_schema", "json_object", "text", "logprobs 20", "seed"),
    ]
    assert all(step.works and step.error is None for step in report.steps)
    assert len(bodies) == len(report.steps)


def test_a_server_that_knows_only_objects():
    report, _ = report_of(Server(forms=("json_object",)))

    assert report.capabilities.forms == ("json_object", "text")
    assert report.steps[0].works is False
    assert "unavailable" in report.steps[0].error


def test_a_server_that_passes_over_the_form_is_found_out():
    report, _ = report_of(Server(forms=(), ignores=("json_schema", "json_object")))

    assert report.capabilities.forms == ("text",)
    assert [step.error for step in report.steps[:2]] == ["the reply is no JSON"] * 2


def test_a_server_that_passes_over_the_schema_is_found_out():
    def handler(request, body):
        return web.json_response(completion('{"answer": true}'))

    report, bodies = report_of(handler)

    assert report.capabilities.forms == ("json_object", "text")
    assert report.steps[0].error == "the reply does not follow the schema"
    assert KEY not in json.dumps(bodies[0]["messages"])


@pytest.mark.parametrize("most", [20, 10, 5, 1, 0])
def test_the_number_of_likely_tokens_is_found(most):
    report, _ = report_of(Server(most=most))

    assert report.capabilities.top_logprobs == most


def test_a_server_that_gives_fewer_than_it_takes_is_known_by_what_it_gives():
    def handler(request, body):
        logprobs = {"content": [token(OBJECT, a=-1.0, b=-2.0)]}
        return web.json_response(completion(OBJECT, logprobs=logprobs))

    report, _ = report_of(handler)

    assert report.capabilities.top_logprobs == 3


def test_a_server_that_passes_over_log_probabilities_has_none():
    report, _ = report_of(Server(most=None))

    assert report.capabilities.top_logprobs == 0
    assert report.steps[3].error == "the reply came without them"


def test_a_server_without_seeds():
    report, _ = report_of(Server(seed=False))

    assert report.takes_seed is False


def test_what_a_passing_fault_hides_stays_open():
    def handler(request, body):
        if "top_logprobs" in body or "seed" in body:
            return web.json_response({"error": {"message": "slow down"}}, status=429)
        return Server()(request, body)

    report, _ = report_of(handler)

    assert report.capabilities.top_logprobs is None
    assert report.takes_seed is None
    assert [step.works for step in report.steps[3:]] == [None, None]


def test_a_wrong_key_ends_the_check_at_once():
    calls = []

    def handler(request, body):
        calls.append(body)
        return web.json_response({"error": {"message": "who are you"}}, status=401)

    with pytest.raises(AccessError, match="who are you"):
        report_of(handler)

    assert len(calls) == 1


def test_a_server_that_gives_no_reply_at_all_is_its_last_error():
    def handler(request, body):
        return web.json_response({"error": {"message": "slow down"}}, status=429)

    with pytest.raises(RateLimitError, match="slow down"):
        report_of(handler)


def test_a_model_that_says_nothing_is_no_judge():
    with pytest.raises(InputError, match="the reply is empty"):
        report_of(lambda request, body: web.json_response(completion("")))


def test_any_chat_model_can_be_checked():
    report = asyncio.run(check_model(ScriptedModel(lambda request: OBJECT)))

    assert report.capabilities.forms == ("json_schema", "json_object", "text")


@pytest.mark.ci
def test_a_real_server_is_found_out(llama_server):
    async def run():
        model = OpenAICompatibleModel(model=llama_server.model, base_url=llama_server.base_url)
        try:
            return await check_model(model)
        finally:
            await model.close()

    report = asyncio.run(run())

    assert report.capabilities.forms[0] == "json_schema"
    assert report.capabilities.top_logprobs == 20
    assert report.takes_seed is True
