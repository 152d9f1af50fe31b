"""Base URLs: one form, and no secrets in them."""

import pytest

from voirdire.errors import InputError
from voirdire.models.openai_compatible.addresses import (
    check_base_url,
    completions_url,
    is_loopback,
)


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
    assert check_base_url(given) == expected


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
        check_base_url(given)


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
        check_base_url(given)

    assert "swordfish" not in str(caught.value)


def test_secrets_in_what_is_no_address_are_not_shown():
    with pytest.raises(InputError) as caught:
        check_base_url("htp://user:swordfish@a.example/v1?key=swordfish")

    assert "swordfish" not in str(caught.value)


def test_the_query_stays_behind_the_path():
    assert completions_url("https://a.example/x?v=1") == "https://a.example/x/chat/completions?v=1"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost", True),
        ("a.localhost", True),
        ("127.0.0.5", True),
        ("::1", True),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("example.com", False),
    ],
)
def test_this_machine_is_known(host, expected):
    assert is_loopback(host) is expected
