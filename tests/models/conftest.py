"""One server for all tests that need no more of one than its answers."""

import pytest

from models.chat_server import KEY, shared_server


@pytest.fixture(scope="session", autouse=True)
def _server():
    with shared_server():
        yield


@pytest.fixture
def some_key(monkeypatch):
    monkeypatch.setenv("SOME_KEY", KEY)
    return {"api_key_env": "SOME_KEY"}


@pytest.fixture
def proxied(monkeypatch):
    """Make the server the proxy of whatever is not this machine."""
    from models.chat_server import Shared

    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    monkeypatch.setenv("http_proxy", Shared.base_url.removesuffix("/v1"))
