"""Base URLs: one form, and no secrets in them."""

import pytest

from models.openai_compatible.chat_server import asked, completion
from voirdire.errors import InputError, ServerError
from voirdire.models import OpenAICompatibleModel


def model_at(base_url):
    return OpenAICompatibleModel(model="m", base_url=base_url)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        (" https://API.Example.com/v1/ ", "https://api.example.com/v1"),
        ("https://a.example/v1/chat/completions", "https://a.example/v1"),
        ("http://[::1]:80", "http://[::1]:80"),
        (
            "https://a.example/x?api-version=2024-10-21",
            "https://a.example/x?api-version=2024-10-21",
        ),
    ],
)
def test_addresses_come_in_one_form(given, expected):
    assert model_at(given).settings["base_url"] == expected


@pytest.mark.parametrize(
    "given",
    [
        "",
        "localhost:8000",
        "ftp://a.example",
        "http://",
        "http://a b",
        "http://[::1",
        "http://a:x",
        "http://a.example/\nv1",
        "file:///etc/passwd",
        "http://a..example",
        f"http://{'a' * 64}.example",
        "http://xn--/v1",
        "http://bücher.example",
        "https://stranger.example\\.a.example/v1",
        "https://stranger.example%2f.a.example/v1",
        "https://stranger.example;.a.example/v1",
        None,
    ],
)
def test_what_is_no_http_address_is_refused(given):
    with pytest.raises(InputError, match="`base_url` must be an address"):
        model_at(given)


@pytest.mark.parametrize(
    "given",
    [
        "https://user:swordfish@a.example/v1",
        "https://swordfish@a.example/v1",
        "https://a.example/v1?key=swordfish",
        "https://a.example/v1?access_token=swordfish",
    ],
)
def test_secrets_are_refused_and_not_shown(given):
    with pytest.raises(InputError, match="no password and no key") as caught:
        model_at(given)

    assert "swordfish" not in str(caught.value)


def test_secrets_in_what_is_no_address_are_not_shown():
    with pytest.raises(InputError) as caught:
        model_at("htp://user:swordfish@a.example/v1?key=swordfish")

    assert "swordfish" not in str(caught.value)


def test_the_query_stays_behind_the_path(server):
    server.reply(completion("{}"), base_url=f"{server.served.base_url}/?v=1")

    assert server.served.places[-1] == "/v1/chat/completions?v=1"


@pytest.mark.parametrize("host", ["10.0.0.1", "localhost.example", "example.com"])
def test_another_machine_is_asked_through_the_proxy_and_takes_no_schema(proxy, host):
    request = asked(form="json_object", schema=b"{}")

    proxy.reply(completion("{}"), request, base_url=f"http://{host}/v1")

    assert proxy.served.places[-1] == f"http://{host}/v1/chat/completions"
    assert proxy.body["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize("host", ["localhost", "127.0.0.5", "[::1]"])
def test_this_machine_is_never_asked_through_the_proxy(proxy, host):
    # The proxy would have answered; on this port nobody does.
    with pytest.raises(ServerError, match="no connection"):
        proxy.reply(completion("{}"), base_url=f"http://{host}:9/v1")
