"""Every exception of the HTTP client has a place among ours."""

import aiohttp
import pytest
from aiohttp import client_exceptions
from aiohttp.http import HttpProcessingError

from voirdire.errors import AccessError, ModelCallError, ModelTimeoutError, ServerError
from voirdire.models.openai_compatible.broken_connections import PLACES, place


def family(kind):
    return {kind}.union(*(family(child) for child in kind.__subclasses__()))


CLIENT_ERRORS = sorted(
    {kind for kind in family(aiohttp.ClientError) if kind.__module__.startswith("aiohttp")},
    key=lambda kind: kind.__name__,
)


def test_the_client_has_the_exceptions_that_its_module_lists():
    listed = {
        getattr(client_exceptions, name)
        for name in client_exceptions.__all__
        if issubclass(getattr(client_exceptions, name), aiohttp.ClientError)
    }

    assert listed <= set(CLIENT_ERRORS)


@pytest.mark.parametrize("kind", CLIENT_ERRORS, ids=lambda kind: kind.__name__)
def test_every_exception_of_the_client_has_a_place_of_its_own(kind):
    # It fails when the client grows a new one: decide what it means, and write it down.
    assert kind.__name__ in PLACES


def test_every_place_is_one_of_our_errors_with_words():
    for kind, words in PLACES.values():
        assert issubclass(kind, ModelCallError)
        assert words


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TimeoutError(), ModelTimeoutError),
        (aiohttp.ServerTimeoutError(), ModelTimeoutError),
        (aiohttp.ServerDisconnectedError(), ServerError),
        (aiohttp.ClientPayloadError(), ServerError),
        (aiohttp.InvalidURL("http://"), AccessError),
        (HttpProcessingError(), ServerError),
        (ConnectionResetError(104, "Connection reset by peer"), ServerError),
    ],
)
def test_exceptions_are_placed(error, expected):
    assert place(error)[0] is expected


def test_the_systems_own_reason_is_told():
    assert place(ConnectionResetError(104, "Connection reset by peer"))[1] == (
        "the connection broke (Connection reset by peer)"
    )


@pytest.mark.parametrize(("status", "expected"), [(407, AccessError), (502, ServerError)])
def test_a_proxy_that_wants_a_password_is_no_passing_fault(status, expected):
    error = aiohttp.ClientHttpProxyError(None, (), status=status)

    assert place(error)[0] is expected


def test_the_clients_own_words_are_not_repeated():
    error = aiohttp.ClientHttpProxyError(None, (), status=502, message="http://user:pw@proxy")

    assert "pw" not in place(error)[1]
