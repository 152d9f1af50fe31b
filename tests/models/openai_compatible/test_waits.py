"""The wait that a server asks for."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest


def wait(server, headers, *, words=""):
    return server.error({"error": words}, status=429, headers=headers).retry_after_s


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"Retry-After": "0"}, 0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_is_read_from_headers(server, headers, seconds):
    assert wait(server, headers) == seconds


def test_a_date_counts_from_the_servers_own_clock(server):
    now = datetime(2020, 1, 1, tzinfo=UTC)
    headers = {
        "date": format_datetime(now, usegmt=True),
        "retry-after": format_datetime(now + timedelta(seconds=42), usegmt=True),
    }

    assert wait(server, headers) == 42


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Rate limit reached. Please try again in 1.242s. Visit", 1.242),
        ("Please try again in 6m30s.", 390),
        ("Please retry in 34.07s.", 34.07),
        ("Please try again in 20ms", 0.02),
        ("Try again later.", None),
    ],
)
def test_the_wait_is_read_from_words_where_headers_are_silent(server, words, seconds):
    assert wait(server, {}, words=words) == seconds
