"""Every exception of the HTTP client has a place among ours."""

import aiohttp
import pytest
from aiohttp import client_exceptions
from aiohttp.http import HttpProcessingError

from models.openai_compatible.chat_server import completion
from voirdire.errors import AccessError, ModelTimeoutError, ServerError


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


@pytest.fixture
def placed(server, monkeypatch):
    """Give the error that one of the client becomes."""

    def place(error):
        def request(*_, **__):
            raise error

        monkeypatch.setattr(aiohttp.ClientSession, "request", request)
        return server.error(completion("{}"), status=200)

    return place


# What each means: to try again helps with servers and deadlines, not with access. It fails when the
# client grows a new one: decide what that means, and write it down.
MEANINGS = {
    AccessError: """ClientConnectorCertificateError InvalidURL InvalidUrlClientError
        InvalidUrlRedirectClientError NonHttpUrlClientError NonHttpUrlRedirectClientError
        RedirectClientError ServerFingerprintMismatch""",
    ModelTimeoutError: "ConnectionTimeoutError ServerTimeoutError SocketTimeoutError",
    ServerError: """ClientConnectionError ClientConnectionResetError ClientConnectorDNSError
        ClientConnectorError ClientConnectorSSLError ClientError ClientHttpProxyError ClientOSError
        ClientPayloadError ClientProxyConnectionError ClientResponseError ClientSSLError
        ContentTypeError ServerConnectionError ServerDisconnectedError TooManyRedirects
        UnixClientConnectorError UploadAbortedError WSServerHandshakeError""",
}
EXPECTED = {name: kind for kind, names in MEANINGS.items() for name in names.split()}


@pytest.mark.edges
@pytest.mark.parametrize("kind", CLIENT_ERRORS, ids=lambda kind: kind.__name__)
def test_every_exception_of_the_client_has_its_place(placed, kind):
    found = placed(kind.__new__(kind))

    assert type(found) is EXPECTED[kind.__name__]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (TimeoutError(), ModelTimeoutError),
        (HttpProcessingError(), ServerError),
        (ConnectionResetError(104, "Connection reset by peer"), ServerError),
    ],
)
def test_other_exceptions_are_placed(placed, error, expected):
    assert type(placed(error)) is expected


def test_the_systems_own_reason_is_told(placed):
    found = placed(ConnectionResetError(104, "Connection reset by peer"))

    assert "m: the connection broke (Connection reset by peer), 127.0.0.1:" in str(found)


@pytest.mark.parametrize(("status", "expected"), [(407, AccessError), (502, ServerError)])
def test_a_proxy_that_wants_a_password_is_no_passing_fault(placed, status, expected):
    assert type(placed(aiohttp.ClientHttpProxyError(None, (), status=status))) is expected


def test_the_clients_own_words_are_not_repeated(placed):
    error = aiohttp.ClientHttpProxyError(None, (), status=502, message="http://user:pw@proxy")

    assert "pw" not in str(placed(error))
