"""Translates a server's error answers into our errors."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._messages import shorten
from voirdire.errors import (
    AccessError,
    BadRequestError,
    ContentFilterError,
    ModelCallError,
    ModelTimeoutError,
    RateLimitError,
    ServerError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voirdire.models.endpoints import Keys
    from voirdire.models.port import ChatRequest

__all__ = ["CallErrors"]

# Codes of errors, by what they mean. Not RESOURCE_EXHAUSTED, which one provider says of every
# limit per minute.
_NO_CREDIT = {
    *("insufficient_quota", "insufficient_balance", "billing_hard_limit_reached"),
    *("billing_not_active", "exceeded_current_quota_error", "arrearage"),
}
_NO_ACCESS = _NO_CREDIT | {
    *("model_not_found", "model_decommissioned", "invalid_model", "invalid_api_key"),
    *("access_denied", "authentication_error"),
}
_FILTER = {
    *("content_filter", "content_policy_violation", "responsibleaipolicyviolation"),
    *("data_inspection_failed", "datainspectionfailed", "invalid_prompt", "moderation_blocked"),
}
# The reply did not follow the required form: another call may help.
_BROKEN_REPLY = {"json_validate_failed", "output_parse_failed"}
_NO_SUCH_PLACE = {404, 405, 410}

# The names of features in a message, the likeliest first; each counts where it was sent.
_FEATURES = {
    "response_format": re.compile(
        r"(?:response|output)_?(?:format|config)|json[ _]?(?:schema|object)"
        r"|structured[ _-]?output|grammar",
        re.I,
    ),
    "logprobs": re.compile(r"log_?probs?\b", re.I),
    "temperature": re.compile(r"\btemperature\b", re.I),
    "seed": re.compile(r"\b(?:random_)?seed\b", re.I),
    "reasoning_effort": re.compile(r"reasoning[_.]effort", re.I),
    "max_tokens": re.compile(r"\bmax_(?:completion_)?tokens\b", re.I),
    "n": re.compile(r"(?:^|[\s'\"`(.])n(?:$|['\"`)]|\s*[:=>]|\s)|completion choice", re.I),
}
_OTHER_NAMES = {"seed": "random_seed", "max_tokens": "max_completion_tokens"}
_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size)|maximum context|too (?:long|large|many tokens)"
    r"|reduce the length|exceeds? the (?:available|maximum|model)",
    re.IGNORECASE,
)

_NO_ROUTE = re.compile(r"no endpoints found", re.IGNORECASE)
_PARAMETERS = re.compile(r"requested parameters|support (?:the )?(?:provided|requested)", re.I)

_UNITS = {"h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 1e-3}
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)", re.IGNORECASE)
_WAIT = re.compile(r"(?:try again|retry) (?:in|after) ((?:\d{1,9}(?:\.\d+)?[hms]{1,2})+)", re.I)

_TAGS = re.compile(r"<(script|style)\b.*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_SPACE = re.compile(r"\s+")
_MOST_READ = 20_000  # characters of a body; a proxy's page may be any length
_DEEPEST = 4  # errors of a provider, quoted by a router, quoted by a gateway
_ECHO = 24  # characters in a row that are no coincidence


@dataclass(kw_only=True, slots=True)
class CallErrors:
    """Makes errors from a server's answers to one request, without keys or text of the request.

    `sent` are the fields of the request's body, since only these can have been refused.
    """

    name: str
    keys: Keys
    key_variable: str | None
    request: ChatRequest
    sent: Callable[[], Mapping[str, Any]]

    def sentence(self, what: str, *, quoted: bytes | str = "") -> str:
        """Write a sentence of the server's action and its message."""
        text = quoted[:2_000].decode("utf-8", "replace") if isinstance(quoted, bytes) else quoted
        shown = shorten(self.keys.hide(text), width=200)
        return f"{self.name} {what}: {shown!r}." if shown else f"{self.name} {what}."

    def translate_answer(
        self, body: bytes, *, status: int, headers: Mapping[str, str]
    ) -> ModelCallError:
        """Make the error of an answer with an error status."""
        if status < 400:
            what = f"answered HTTP {status} and points elsewhere; check the base URL"
            return AccessError(self.sentence(what), status=status)
        return self._place(_words_of(body), status=status, headers=headers)

    def translate_error(self, error: object, *, headers: Mapping[str, str]) -> ModelCallError:
        """Make the error of an error object in place of a reply."""
        words = _read({"error": error}, depth=0)
        status = words.status if words.status and 400 <= words.status < 600 else 500
        return self._place(words, status=status, headers=headers)

    def _place(self, words: _Words, *, status: int, headers: Mapping[str, str]) -> ModelCallError:
        text = _cut_echo(words.text, contents=[m.content for m in self.request.messages])
        words = _Words(text=text, codes=words.codes, param=words.param)
        message = self._message(words, status=status)
        feature = _find_refused_feature(words, status=status, sent=self.sent())
        if feature is not None:
            return UnsupportedError(message, feature=feature, status=status)
        kind = _kind(words, status=status)
        if kind is AccessError:
            message = f"{message} {self._way_out(status)}"
        waits = issubclass(kind, RateLimitError | ServerError | ModelTimeoutError)
        waiting = _retry_after(headers, words=words.text) if waits else None
        return kind(message, status=status, retry_after_s=waiting)

    def _message(self, words: _Words, *, status: int) -> str:
        shown = shorten(self.keys.hide(words.text), width=300).rstrip(".")
        if not shown:
            shown = HTTPStatus(status).phrase if status in list(HTTPStatus) else "no explanation"
        return f"{self.name} answered HTTP {status}: {shown}."

    def _way_out(self, status: int) -> str:
        if status in _NO_SUCH_PLACE:
            return "Check the name of the model and the base URL."
        if status in (402, 429):
            return "Check the account."
        if self.key_variable is None:
            return "Name the environment variable that holds its key with `api_key_env`."
        return f"Check the key in the environment variable {self.key_variable}."


@dataclass(frozen=True, kw_only=True)
class _Words:
    """A server's error: its message on one line, codes in lower case, and field at fault."""

    text: str
    codes: frozenset[str] = frozenset()
    param: str = ""
    status: int | None = None  # a status in the body, which may differ from the HTTP status


def _kind(words: _Words, *, status: int) -> type[ModelCallError]:
    if status >= 500 or words.codes & _BROKEN_REPLY:
        return ServerError
    if status == 429:
        return AccessError if words.codes & _NO_CREDIT else RateLimitError
    if status == 408:
        return ModelTimeoutError
    if status != 401 and words.codes & _FILTER:
        return ContentFilterError
    has_no_access = status in _NO_SUCH_PLACE or status in (401, 402, 403, 407)
    return AccessError if has_no_access or words.codes & _NO_ACCESS else BadRequestError


def _find_refused_feature(words: _Words, *, status: int, sent: Mapping[str, Any]) -> str | None:
    """Return the feature that a server lacks: the one that its message names."""
    form = sent.get("response_format", {}).get("type")
    if status == 404 and _NO_ROUTE.search(words.text) and _PARAMETERS.search(words.text):
        # A router does not say which feature it found no provider for, so try without the form
        # first.
        return form or ("logprobs" if "logprobs" in sent else "parameters")
    if status not in (400, 403, 422) or _TOO_LONG.search(words.text):
        return None
    for said in (words.param, words.text):
        for feature, pattern in _FEATURES.items():
            was_sent = feature in sent or _OTHER_NAMES.get(feature) in sent
            if was_sent and pattern.search(said):
                return form if feature == "response_format" else feature
    return None


def _words_of(body: bytes) -> _Words:
    """Read the body of an error, of any known shape."""
    try:
        return _read(msgspec.json.decode(body), depth=0)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        text = body[:_MOST_READ].decode("utf-8", "replace")
        return _Words(text=_squeeze_spaces(_TAGS.sub(" ", text) if "<" in text else text))


def _read(value: Any, *, depth: int) -> _Words:
    if isinstance(value, str):
        return _read_text(value, depth=depth)
    if depth > _DEEPEST or not value:
        return _Words(text="")
    if isinstance(value, list):
        if isinstance(value[0], dict) and "msg" in value[0]:
            return _read_validation(value)
        return _read(value[0], depth=depth + 1)
    if not isinstance(value, dict):
        return _Words(text="")
    inner = value.get("error") or value.get("message") or value.get("detail")
    quoted = value.get("metadata")
    said = [_read(inner, depth=depth + 1)]
    if isinstance(quoted, dict) and quoted.get("raw"):  # a router quotes its provider
        said.append(_read(quoted["raw"], depth=depth + 1))
    return _join_words(said, value)


def _read_text(text: str, *, depth: int) -> _Words:
    if depth <= _DEEPEST and text.lstrip()[:1] in ("{", "["):
        try:
            return _read(msgspec.json.decode(text.encode()), depth=depth + 1)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            pass
    return _Words(text=_squeeze_spaces(text[:_MOST_READ]))


def _read_validation(problems: Sequence[Any]) -> _Words:
    """Read a list of refused fields, without their values."""
    texts, codes, params = [], set(), []
    for problem in problems[:5]:
        if not isinstance(problem, dict):
            continue
        where = problem.get("loc")
        names = where if isinstance(where, list) else [where]
        param = ".".join(str(name) for name in names if name not in (None, "body"))
        texts.append(f"{param}: {problem.get('msg')}" if param else str(problem.get("msg")))
        params.append(param)
        codes.add(str(problem.get("type", "")).lower())
    param = params[0].lower() if params else ""
    return _Words(text=_squeeze_spaces("; ".join(texts)), codes=frozenset(codes), param=param)


def _join_words(said: Sequence[_Words], value: Mapping[str, Any]) -> _Words:
    names = [value.get(name) for name in ("code", "type", "status")]
    codes = {name.lower() for name in names if isinstance(name, str)}
    own = value.get("code")
    status = own if isinstance(own, int) and not isinstance(own, bool) else None
    param = value.get("param")
    return _Words(
        text=": ".join(dict.fromkeys(words.text for words in said if words.text)),
        codes=frozenset(codes).union(*(words.codes for words in said)),
        param=param.lower() if isinstance(param, str) else said[0].param,
        status=next((w.status for w in said if w.status), status),
    )


def _squeeze_spaces(text: str) -> str:
    return _SPACE.sub(" ", text).strip()


def _cut_echo(text: str, *, contents: Sequence[str]) -> str:
    """Cut a server's message where it begins to repeat the request."""
    text = text[:2_000]
    sent = [_squeeze_spaces(content) for content in contents]
    # Every window contains a half window at one of few places. Where none of these is in the
    # request, which may have a megabyte, the windows need no search.
    half = _ECHO // 2
    near = [
        at
        for at in range(0, len(text) - half + 1, half)
        if any(text[at : at + half] in content for content in sent)
    ]
    places = {at - back for at in near for back in range(half + 1)}
    for at in sorted(places.intersection(range(len(text) - _ECHO + 1))):
        window = text[at : at + _ECHO]
        if any(window in content for content in sent):
            return f"{text[:at].rstrip()} …"
    return text


def _retry_after(headers: Mapping[str, str], *, words: str = "") -> float | None:
    """Read how many seconds a server asks to wait: from its headers, else from its message."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    said = headers.get("retry-after")
    if said is not None:
        seconds, moment = _number(said), _moment(said)
        if seconds is None and moment is not None:  # counted from the server's own clock
            seconds = max(0.0, moment - (_moment(headers.get("date")) or time.time()))
        return seconds
    found = _WAIT.search(words)
    if found is None:
        return None
    parts = _PART.findall(found[1])
    return math.fsum(float(value) * _UNITS[unit.lower()] for value, unit in parts) or None


def _moment(text: str | None) -> float | None:
    try:
        return parsedate_to_datetime(text or "").timestamp()
    except (ValueError, OverflowError):
        return None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None
