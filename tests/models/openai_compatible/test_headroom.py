"""Headers of limits, and durations as servers write them."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.openai_compatible.chat_server import completion
from voirdire.records import Headroom


def headroom(server, headers):
    return server.reply(completion("{}"), headers=headers).headroom


def duration(server, text):
    """Read a duration where a server says when its limit is set back."""
    headers = {"x-ratelimit-remaining-requests": "1", "x-ratelimit-reset-requests": text}
    return headroom(server, headers).requests_reset_s


def wait(server, headers, *, words=""):
    return server.error({"error": words}, status=429, headers=headers).retry_after_s


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1s", 1),
        ("6m0s", 360),
        ("20ms", 0.02),
        ("1m30.5s", 90.5),
        ("2h3m", 7380),
        ("1d", 86400),
        ("0", 0),
        ("12", 12),
        ("1.5", 1.5),
        ("7.66s", 7.66),
        ("250µs", 0.00025),
        ("5ns", 5e-09),
    ],
)
def test_durations_are_read(server, text, seconds):
    assert duration(server, text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "soon", "-1", "nan", "inf", "1x", "1s!", "2026-13-40", "9" * 400 + "s"]
)
def test_what_is_no_duration_is_none(server, text):
    assert duration(server, text) is None


@pytest.mark.parametrize("scale", [1, 1000])
def test_a_number_that_is_a_date_counts_from_now(server, scale):
    before = datetime.now(UTC).timestamp()

    found = duration(server, str((before + 100) * scale))

    assert 100 - (datetime.now(UTC).timestamp() - before) <= found <= 100.001


def test_a_moment_counts_from_now_and_never_backwards(server):
    before = datetime.now(UTC)
    earlier = "2020-01-01T00:00:00Z"

    found = duration(server, (before + timedelta(seconds=100)).isoformat())

    assert 100 - (datetime.now(UTC) - before).total_seconds() <= found <= 100
    assert duration(server, earlier) == 0


@given(text=st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_any_text_is_a_duration_or_none(server, text):
    seconds = duration(server, text)

    assert seconds is None or seconds >= 0


def test_openais_headers_are_read_in_any_case(server):
    headers = {
        "X-RateLimit-Limit-Requests": "60",
        "x-ratelimit-limit-tokens": "150000",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-remaining-tokens": "149984",
        "x-ratelimit-reset-requests": "1s",
        "x-ratelimit-reset-tokens": "6m0s",
    }

    assert headroom(server, headers) == Headroom(
        requests=59,
        tokens=149984,
        requests_limit=60,
        tokens_limit=150000,
        requests_reset_s=1,
        tokens_reset_s=360,
    )


def test_anthropics_headers_are_read(server):
    before = datetime.now(UTC)
    moment = (before + timedelta(seconds=100)).strftime("%Y-%m-%dT%H:%M:%SZ")
    headers = {
        "anthropic-ratelimit-requests-limit": "50",
        "anthropic-ratelimit-requests-remaining": "49",
        "anthropic-ratelimit-requests-reset": moment,
    }

    found = headroom(server, headers)

    assert (found.requests, found.requests_limit, found.tokens) == (49, 50, None)
    passed_s = (datetime.now(UTC) - before).total_seconds()
    assert 99 - passed_s <= found.requests_reset_s <= 100  # the moment has whole seconds


def test_no_headers_and_nonsense_say_nothing(server):
    assert headroom(server, {}) is None
    assert headroom(server, {"x-ratelimit-remaining-requests": "many"}) == Headroom()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"Retry-After": "0"}, 0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "12ms"}, 0.012),
        ({"x-ratelimit-remaining-requests": "3", "x-ratelimit-reset-requests": "12ms"}, None),
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
