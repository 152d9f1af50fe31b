"""Settings of a server: what is refused, and what is never shown."""

import pytest

from voirdire.errors import InputError
from voirdire.web import ServerSettings


@pytest.mark.parametrize("name", ["max_body", "queue", "limit_concurrency", "workers"])
def test_counts_start_at_one(name):
    with pytest.raises(InputError, match=f"`{name}` must be a whole number of at least 1, got 0"):
        ServerSettings(**{name: 0})


@pytest.mark.parametrize("name", ["drain_s", "body_s"])
@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), True])
def test_times_are_seconds(name, value):
    with pytest.raises(InputError, match=f"`{name}` must be a finite number of seconds above 0"):
        ServerSettings(**{name: value})


@pytest.mark.parametrize(
    "token", ["", "short", "x" * 15, "with a space in it", "é" * 20, "a\nb" * 9]
)
def test_a_token_that_is_none_is_refused_and_not_quoted(token):
    with pytest.raises(InputError, match="`token` must hold at least 16 visible ASCII") as caught:
        ServerSettings(token=token)

    assert not token or token not in str(caught.value)


def test_a_token_is_never_shown():
    settings = ServerSettings(token="0123456789abcdef-secret")

    assert "secret" not in repr(settings)
    assert "secret" not in str(settings)
