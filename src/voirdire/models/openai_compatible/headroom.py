"""What headers say of a server's limits, and how long they ask to wait."""

from __future__ import annotations

import math
import re
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from voirdire.records import Headroom

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["headroom_of", "read_duration", "retry_after"]

_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|us|µs|ns|d|h|m|s)", re.IGNORECASE)
_WORDS = re.compile(r"(?:try again|retry) (?:in|after) (\d[\d.]*[a-zµ]*(?:\d[\d.]*[a-zµ]+)*)", re.I)
_EPOCH = 1e9  # a number of seconds so large is a date (2001 or later)
_EPOCH_MS = 1e12
_WHAT = [(kind, of) for kind in ("remaining", "limit", "reset") for of in ("requests", "tokens")]
_OPENAI = tuple(f"x-ratelimit-{kind}-{of}" for kind, of in _WHAT)
_ANTHROPIC = tuple(f"anthropic-ratelimit-{of}-{kind}" for kind, of in _WHAT)
_LONGEST = 80  # characters; a date takes half of it, and digits without end would take long


def headroom_of(headers: Mapping[str, str]) -> Headroom | None:
    """Read what is left of a server's limits.

    Parameters
    ----------
    headers : mapping of str to str
        Of an answer, their names in any case.

    Returns
    -------
    Headroom or None
        None where the headers do not say.
    """
    if "x-ratelimit-remaining-requests" in headers or "x-ratelimit-remaining-tokens" in headers:
        names = _OPENAI
    elif "anthropic-ratelimit-requests-remaining" in headers:
        names = _ANTHROPIC
    else:
        return None
    requests, tokens, requests_limit, tokens_limit, requests_reset, tokens_reset = map(
        headers.get, names
    )
    return Headroom(
        requests=_count(requests),
        tokens=_count(tokens),
        requests_limit=_count(requests_limit),
        tokens_limit=_count(tokens_limit),
        requests_reset_s=read_duration(requests_reset),
        tokens_reset_s=read_duration(tokens_reset),
    )


def retry_after(headers: Mapping[str, str], *, words: str = "") -> float | None:
    """Read how long the server asks to wait.

    Parameters
    ----------
    headers : mapping of str to str
        Of an answer, their names in any case.
    words : str
        What its body says, read where the headers say nothing.

    Returns
    -------
    float or None
        Seconds, at least 0; None where nothing says so.
    """
    said = headers.get("retry-after-ms")
    milliseconds = None if said is None else _number(said)
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    if said is not None:
        waiting = _number(said)
        return read_duration(said, now=headers.get("date")) if waiting is None else waiting
    for kind in ("requests", "tokens"):
        if headers.get(f"x-ratelimit-remaining-{kind}") == "0":
            return read_duration(headers.get(f"x-ratelimit-reset-{kind}"))
    found = _WORDS.search(words)
    return read_duration(found[1]) if found else None


def read_duration(text: str | None, *, now: str | None = None) -> float | None:
    """Read a duration as servers write it.

    Parameters
    ----------
    text : str or None
        ``"12ms"``, ``"1m30.5s"``, a number of seconds, or a moment: an HTTP date, RFC 3339, or
        seconds or milliseconds since 1970.
    now : str or None
        The server's own HTTP date, from which moments are counted; else this machine's clock.

    Returns
    -------
    float or None
        Seconds, at least 0; None where the text is nothing of this.
    """
    if not text or len(text) > _LONGEST:
        return None
    number = _number(text)
    if number is not None:
        if number < _EPOCH:
            return number
        return max(0.0, (number / 1000 if number >= _EPOCH_MS else number) - time.time())
    duration = _duration(text)
    if duration is not None:
        return duration
    moment = _moment(text)
    if moment is None:
        return None
    start = _moment(now) if now else None
    return max(0.0, moment - (time.time() if start is None else start))


@lru_cache(maxsize=1_024)  # the same few come with every reply
def _duration(text: str) -> float | None:
    parts = _PART.findall(text)
    if parts and "".join(value + unit for value, unit in parts) == text.strip():
        return math.fsum(float(value) * _UNITS.get(unit.lower(), 1e-9) for value, unit in parts)
    return None


def _moment(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text) if text[:1].isdigit() else parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def _count(text: str | None) -> int | None:
    number = None if text is None else _number(text)
    return None if number is None else int(number)
