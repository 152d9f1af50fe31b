"""One server for all tests that need no more of one than its answer."""

import pytest

from models.openai_compatible.chat_server import asked_server


@pytest.fixture(scope="session")
def server():
    with asked_server() as running:
        yield running


@pytest.fixture
def proxy(server, monkeypatch):
    """Make the server the proxy of whatever is not this machine."""
    for name in ("https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.delenv("HTTP_PROXY", raising=False)
    monkeypatch.setenv("http_proxy", server.served.base_url.removesuffix("/v1"))
    return server
