"""Reads what a server says in place of a reply, and makes our errors of it.

Servers word the same error in a hundred ways. So its kind is known by the status, by a code, or by
the names of things in the message (a parameter that was sent, a key, a balance), never by a whole
sentence.
"""

from __future__ import annotations

import json
import re
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import msgspec

from voirdire import errors
from voirdire._messages import shorten

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from voirdire.models.connection import Keys
    from voirdire.models.port import ChatRequest

K = TypeVar("K", bound=errors.ModelCallError)


_CLOSED = (*range(300, 400), 403, 404, 405, 410)
_OF_CLIENT = (0, *range(400, 500))  # 0 where no status is known
_ANY = (*range(300, 600), *_OF_CLIENT)
_MAY_REFUSE = (0, 400, 403, 404, 405, 406, 415, 422, 500, 501, 502)  # a parameter
# Kinds of errors by status and words. The first row that fits counts: of these, then of those
# after which no parameter was refused. Without a kind no other row counts.
_Rows: TypeAlias = "Sequence[tuple[Collection[int], str, type[errors.ModelCallError] | None]]"
_KINDS: _Rows = (
    ((413,), "", errors.BadRequestError),
    ((408,), "", errors.ModelTimeoutError),
    (_ANY, "too large", errors.BadRequestError),
    ((401, 402, 407, *range(300, 400)), "", errors.AccessError),
    ((403, 429), "no access", errors.AccessError),
    ((429,), "", errors.RateLimitError),
    (_OF_CLIENT, "limit", errors.RateLimitError),
    (_ANY, "broken reply", errors.ServerError),  # another call may help
    (_OF_CLIENT, "passing", errors.ServerError),
    (_ANY, "a parameter's size", None),
    (_ANY, "too long", errors.BadRequestError),
    (_OF_CLIENT, "filter", errors.ContentFilterError),
)
_OTHER_KINDS: _Rows = (
    (_OF_CLIENT, "no access", errors.AccessError),
    ((0, 409, 424, 425, *range(500, 600)), "", errors.ServerError),
    (_CLOSED, "", errors.AccessError),
)

_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_MOST_READ = 1_000  # characters of a message
_DEEPEST = 8  # errors of a provider, quoted by a router, quoted by a gateway
_ECHO = 24  # characters in a row that are no coincidence
_WAYS_OUT = {
    **dict.fromkeys(range(300, 400), "It points elsewhere: check the base URL."),
    **dict.fromkeys((404, 405, 410), "Check the name of the model and the base URL."),
    **dict.fromkeys((402, 429), "Check the account."),
}
_UNITS_S = {"ms": 1e-3, "mil": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_PARTS = (
    r"(\d+(?:\.\d+)?)\s*(ms|mil|s|m|h|d)"
    r"(?:liseconds?|ecs?|econds?|ins?|inutes?|rs?|ours?|ays?)?(?![a-z])[\s,]*"
)
_PART, _DURATION = re.compile(_PARTS, re.I), re.compile(f"(?:{_PARTS})+", re.I)
_WAIT = re.compile(rf"(?:again|retry|wait|resets?)\D{{0,24}}?((?:{_PARTS})+)", re.I)
_LEAST_OF_A_DAY_S = 3_600.0  # where a limit per day does not say when it ends
_FIRST_MOMENT = 1e9  # a larger number of seconds is a moment


@cache
def _words() -> dict[str, re.Pattern[str]]:
    data = json.loads(files("voirdire").joinpath("data", "server_words.json").read_bytes())
    data |= {f"parameter {name}": words for name, words in data.pop("parameters").items()}
    return {name: re.compile("|".join(words), re.IGNORECASE) for name, words in data.items()}


def says(what: str, text: str) -> bool:
    """Return whether a text has words of a kind; `server_words.json` lists them."""
    return _words()[what].search(text) is not None


@dataclass(slots=True)
class Server:
    """A server as its answers have shown it; makes errors without keys or text of the request.

    Attributes
    ----------
    name : str
        The model's name in messages.
    keys : Keys
        What messages must not show.
    key_variable : str or None
        Environment variable of the key.
    has_replied : bool
        Whether a request has had a reply: then access and parameters are right in general, and an
        error is about the text of its own request.
    adaptations : list of str
        What the server refused, and what is done instead.
    """

    name: str
    keys: Keys
    key_variable: str | None = None
    has_replied: bool = False
    adaptations: list[str] = field(default_factory=list)

    def note(self, adaptation: str) -> None:
        """Keep a sentence of what is done instead of what was refused, once."""
        if adaptation not in self.adaptations:
            self.adaptations.append(adaptation)

    def fail(self, kind: type[K], what: str, *, quoted: bytes | str = "") -> K:
        """Make an error of the server's action and its message."""
        text = quoted[:2_000].decode("utf-8", "replace") if isinstance(quoted, bytes) else quoted
        shown = shorten(self.keys.hide(text), width=200)
        said = f"{self.name} {what}: {shown!r}." if shown else f"{self.name} {what}."
        return kind(said)

    def error(
        self,
        answer: object,
        *,
        status: int = 0,
        headers: Mapping[str, str],
        request: ChatRequest,
        list_sent: Callable[[], Collection[str]],
    ) -> errors.ModelCallError:
        """Make the error of an answer's body, or of an object in place of a reply (status 0).

        An `UnsupportedError` names the parameter that may have been refused, of those that were
        sent.
        """
        texts: list[str] = []
        codes: list[str] = []
        _collect(_decode(answer) if isinstance(answer, bytes) else answer, texts, codes)
        numbers = [int(code) for code in codes if code.isdigit() and 400 <= int(code) < 600]
        status = status or next(iter(numbers), 0)
        text = _cut_echo(": ".join(dict.fromkeys(texts)), request)
        whole = f"{text} {' '.join(codes)}"
        shown = shorten(self.keys.hide(text), width=300).rstrip(".") or "no explanation"
        message = f"{self.name} answered {f'HTTP {status}' if status else 'an error'}: {shown}."
        kind = _find_kind(_KINDS, whole, status=status)
        feature = None
        if not kind and status in _MAY_REFUSE and (status in (400, 422) or says("refuses", whole)):
            feature = _find_named(whole, list_sent())
        if feature is not None:
            return errors.UnsupportedError(message, feature=feature, status=status or None)
        kind = kind or _find_kind(_OTHER_KINDS, whole, status=status) or errors.BadRequestError
        wait_s = None
        is_closed = status in _CLOSED and not says("no access", whole)
        if is_closed and kind is errors.AccessError and self.has_replied:
            kind = errors.BadRequestError  # others were answered: it is about this text
        if kind is errors.AccessError:
            variable = self.key_variable
            way_out = "Name the environment variable that holds its key with `api_key_env`."
            if variable is not None:
                way_out = f"Check the key in the environment variable {variable}."
            message = f"{message} {_WAYS_OUT.get(status, way_out)}"
        elif kind in (errors.RateLimitError, errors.ServerError, errors.ModelTimeoutError):
            in_words = _WAIT.search(text)
            told = (headers.get("retry-after"), in_words and in_words[1])
            waits = (_seconds(each, date=headers.get("date")) for each in told)
            wait_s = next((each for each in waits if each is not None), None)
            if kind is errors.RateLimitError and wait_s is None:
                least_s = _LEAST_OF_A_DAY_S if says("limit of a day", whole) else None
                wait_s = _reset_s(headers) or least_s
        return kind(message, status=status or None, retry_after_s=wait_s)


def _find_kind(rows: _Rows, text: str, *, status: int) -> type[errors.ModelCallError] | None:
    """Return the kind of the first row that fits."""
    kinds = (row[2] for row in rows if status in row[0] and (not row[1] or says(row[1], text)))
    return next(kinds, None)


def _find_named(text: str, sent: Collection[str]) -> str | None:
    """Return the parameter that a message names first, or the keyword of a schema."""
    places: dict[str, int] = {}
    keywords = []
    for name in sent:
        pattern = _words().get(f"parameter {name}")
        if pattern and (found := pattern.search(text)):
            places[name] = found.start()
        elif not pattern and re.search(rf"\b{name}\b", text):
            keywords.append(name)
    if keywords and not places.keys() - {"form"}:
        return keywords[0]
    if "form" in places:  # log-probabilities may be refused beside a form
        places.pop("top_logprobs", None)
    return min(places, key=places.__getitem__, default=None)


def _decode(body: bytes) -> Any:
    """Decode JSON; a page becomes its text."""
    try:
        return msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _TAGS.sub(" ", body[:20_000].decode("utf-8", "replace"))


def _collect(value: object, texts: list[str], codes: list[str], depth: int = 0) -> None:
    """Collect texts and codes of an error of any shape; other fields may repeat the request."""
    if isinstance(value, str):
        inner = _decode(value.encode("utf-8", "replace")) if value.lstrip()[:1] in "{[" else value
        if not isinstance(inner, str):
            _collect(inner, texts, codes, depth + 1)
        elif inner.strip():
            texts.append(" ".join(inner[: 2 * _MOST_READ].split()))
    elif isinstance(value, list) and depth < _DEEPEST:
        for part in value[:5]:
            _collect(part, texts, codes, depth + 1)
    elif isinstance(value, dict) and depth < _DEEPEST:
        for name, part in value.items():
            if says("code field", name) and isinstance(part, str | int):
                codes.append(str(part))
            elif says("text field", name):
                _collect(part, texts, codes, depth + 1)


def _cut_echo(text: str, request: ChatRequest) -> str:
    """Cut a server's message where it begins to repeat the request."""
    text = text[:_MOST_READ]
    sent = [" ".join(message.content.split()) for message in request.messages]
    for at in range(len(text) - _ECHO + 1):
        if any(text[at : at + _ECHO] in content for content in sent):
            return f"{text[:at].rstrip()} …"
    return text


def _reset_s(headers: Mapping[str, str]) -> float | None:
    """Read in how many seconds a limit begins anew: one that is used up, or else any."""
    used: list[float] = []
    others: list[float] = []
    for name, value in headers.items():
        low = name.lower()
        if "ratelimit" in low and "reset" in low:
            left = headers.get(low.replace("reset", "remaining"), "")
            seconds = _seconds(value, date=headers.get("date")) or 0.0
            if not left.strip("0"):  # else some are left
                (used if left else others).append(seconds)
    return max(used, default=min(others, default=None))


def _seconds(text: str | None, *, date: str | None = None) -> float | None:
    """Read seconds, a duration such as 6m0s, or a moment, which counts from the server's clock."""
    text = (text or "").strip()
    if _DURATION.fullmatch(text):
        return sum(float(value) * _UNITS_S[unit.lower()] for value, unit in _PART.findall(text))
    try:
        number = float(text)
    except ValueError:
        moment = _moment(text)
    else:
        if not number >= _FIRST_MOMENT:
            return number if number >= 0 else None
        moment = number / 1000 if number > 100 * _FIRST_MOMENT else number
    return None if moment is None else max(0.0, moment - (_moment(date) or time.time()))


def _moment(text: str | None) -> float | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        with suppress(ValueError, OverflowError):
            return read(text or "").timestamp()
    return None
