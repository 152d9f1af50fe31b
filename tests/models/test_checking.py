"""What a server can do, found out from servers that can do different things."""

import asyncio
import json

import pytest
from aiohttp import web

from models.openai_compatible.chat_server import completion, serving, token
from voirdire.errors import AccessError, ServerError
from voirdire.models import OpenAICompatibleModel, check_model
from voirdire.testing import ScriptedModel

OBJECT = json.dumps({"leaves_are_green": True}, separators=(",", ":"))


def serve(*, forms=("json_schema", "json_object"), logprobs="given"):
    """Make a server of which each ability can be taken away."""

    def handler(request, body):
        form = body.get("response_format", {}).get("type")
        if form and form not in forms:
            return refusal(f"response_format type `{form}` is unavailable", "response_format")
        if not body.get("logprobs") or logprobs == "left out":
            return web.json_response(completion(OBJECT))
        if logprobs == "refused":
            return refusal("logprobs are not supported", "logprobs")
        content = {"content": [token(OBJECT, other=-3.0)]}
        return web.json_response(completion(OBJECT, logprobs=content))

    return handler


def refusal(message, param):
    return web.json_response({"error": {"message": message, "param": param}}, status=400)


def check(handler):
    async def run():
        async with serving(handler) as served:
            model = OpenAICompatibleModel(model="m", base_url=served.base_url)
            try:
                return await check_model(model)
            finally:
                await model.close()

    return asyncio.run(run())


def test_a_server_that_can_do_everything():
    assert check(serve()) == dict.fromkeys(("json_schema", "json_object", "text", "logprobs"))


def test_a_form_that_a_server_lacks_is_told_with_its_words():
    errors = check(serve(forms=("json_object",)))

    assert "`json_schema` is unavailable" in errors.pop("json_schema")
    assert errors == dict.fromkeys(("json_object", "text", "logprobs"))


@pytest.mark.parametrize(
    ("logprobs", "said"),
    [("refused", "logprobs are not supported"), ("left out", "the reply came without them")],
)
def test_log_probabilities_that_are_not_given_are_told(logprobs, said):
    assert said in check(serve(logprobs=logprobs))["logprobs"]


def test_a_key_that_is_refused_is_the_error():
    with pytest.raises(AccessError):
        check(lambda request, body: web.json_response({"error": {"message": "no"}}, status=401))


def test_a_server_that_never_replies_is_the_error():
    with pytest.raises(ServerError):
        check(lambda request, body: web.json_response({}, status=500))


def test_a_model_of_ones_own_is_checked_like_any_other():
    errors = asyncio.run(check_model(ScriptedModel(lambda request: OBJECT)))

    assert errors["json_schema"] is None
