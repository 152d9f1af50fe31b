"""The key is in the header that is sent, and nowhere else."""

import asyncio
import json
import logging
import traceback

import msgspec
import pytest
from aiohttp import web

from models.openai_compatible.chat_server import asked, completion, serving
from voirdire.errors import ModelCallError
from voirdire.models import OpenAICompatibleModel

KEY = "sw-ordfish-0123456789"
PROMPT = "A prompt that holds somebody's private words, at some length."
ECHO = f"{KEY} {PROMPT}"


def error(status):
    def handler(request, body):
        said = {"message": f"Bad header: {request.headers['Authorization']}, {ECHO}", "code": ECHO}
        return web.json_response({"error": said}, status=status)

    return handler


def page(request, body):
    return web.Response(text=f"<html>{ECHO}</html>", status=502, content_type="text/html")


def in_place_of_a_reply(request, body):
    return web.json_response({"error": {"message": ECHO, "code": 401}})


def without_a_reply(request, body):
    return web.json_response({"choices": [], "seen": ECHO})


def not_json(request, body):
    return web.Response(text=f"{KEY} is {KEY}")


def refusing(request, body):
    message = {"role": "assistant", "content": None, "refusal": f"no, {KEY}"}
    return web.json_response(completion("", message=message))


async def cut_off(request, body):
    response = web.StreamResponse(headers={"Content-Length": "1000", "X-Seen": KEY})
    await response.prepare(request)
    request.transport.abort()
    return response


async def hanging(request, body):
    await asyncio.sleep(30)
    return web.Response()


STATUSES = (400, 401, 402, 403, 404, 408, 422, 429, 500, 503, 307)


def in_a_reply(request, body):
    return web.json_response(completion(f'{{"apology": "{KEY}"}}'))


def in_the_name_of_the_model(request, body):
    return web.json_response(completion("{}") | {"model": KEY})


HANDLERS = [
    *(pytest.param(error(status), id=f"HTTP {status}") for status in STATUSES),
    *(page, in_place_of_a_reply, without_a_reply, not_json, refusing, cut_off, hanging),
    *(in_a_reply, in_the_name_of_the_model),
]


@pytest.fixture
def model_settings(monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)
    return {"api_key_env": "SOME_KEY"}


def call(handler, settings):
    """Call a server; give the model, the error and what the server got."""

    timeout_s = 0.1 if handler is hanging else 30.0

    async def run():
        async with serving(handler) as served:
            model = OpenAICompatibleModel(
                model="m", base_url=served.base_url, timeout_s=timeout_s, **settings
            )
            try:
                await model.reply(asked(PROMPT))
            except ModelCallError as failure:
                return model, failure, served
            finally:
                await model.close()
            return model, None, served

    return asyncio.run(run())


@pytest.mark.edges
@pytest.mark.parametrize("handler", HANDLERS)
def test_an_error_shows_no_key_and_no_prompt(handler, model_settings, caplog, capsys):
    caplog.set_level(logging.DEBUG)

    _, failure, served = call(handler, model_settings)

    assert served.headers[0]["authorization"] == f"Bearer {KEY}"
    printed = capsys.readouterr()
    shown = [
        str(failure),
        repr(failure),
        repr(vars(failure)),
        "".join(traceback.format_exception(failure)),
        caplog.text,
        printed.out,
        printed.err,
    ]
    for text in shown:
        assert KEY not in text
        assert PROMPT not in text


@pytest.mark.edges
@pytest.mark.parametrize("handler", HANDLERS)
def test_an_error_carries_no_exception_of_the_client(handler, model_settings):
    """Those hold the request's headers, where a debugger or a crash report would show them."""
    _, failure, _ = call(handler, model_settings)

    assert failure.__cause__ is None
    assert failure.__context__ is None


def quiet_error(request, body):
    return web.json_response({"error": "no"}, status=401)


@pytest.mark.parametrize("handler", [quiet_error, hanging])
def test_no_local_of_any_frame_shows_what_was_sent(handler, model_settings):
    """Crash reports show the locals of every frame that an exception went through."""
    _, failure, _ = call(handler, model_settings)

    shown = traceback.TracebackException.from_exception(failure, capture_locals=True)

    frames = [frame for frame in shown.stack if "test_secrecy" not in frame.filename]
    texts = [text for frame in frames for text in (frame.locals or {}).values()]
    assert any("OpenAICompatibleModel" in text for text in texts)
    assert not [text for text in texts if KEY in text]


def test_nothing_that_describes_a_model_shows_the_key(model_settings):
    model, _, _ = call(lambda request, body: web.json_response(completion("{}")), model_settings)

    shown = [
        repr(model),
        str(model),
        json.dumps(model.settings),
        repr(model.capabilities),
        repr(vars(model)),
        repr([vars(part) for part in vars(model).values() if hasattr(part, "__dict__")]),
        str(msgspec.to_builtins(model.capabilities)),
    ]

    assert all(KEY not in text for text in shown)
