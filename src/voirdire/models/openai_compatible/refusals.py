"""Answers that are no replies: which of our errors they are, and what the message says."""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
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
from voirdire.models.openai_compatible.error_words import ErrorWords, read_error, without_echo
from voirdire.models.openai_compatible.features import refused_feature
from voirdire.models.openai_compatible.headroom import retry_after

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from voirdire.models.openai_compatible.keys import Keys
    from voirdire.models.port import ChatRequest

__all__ = ["Refusals"]

_NO_CREDIT_CODES = {
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "exceeded_current_quota_error",
    "insufficient_balance",
    "arrearage",
}
_NO_ACCESS_CODES = _NO_CREDIT_CODES | {
    "model_not_found",
    "model_decommissioned",
    "invalid_model",
    "invalid_api_key",
    "access_denied",
    "authentication_error",
}
# Not "exceeded your current quota": one provider says so of every limit per minute.
_NO_CREDIT = re.compile(
    r"insufficient (?:balance|credit|fund)|credit balance|billing hard limit|余额不足|欠费", re.I
)
_NO_ACCESS = re.compile(
    rf"{_NO_CREDIT.pattern}|(?:incorrect|invalid|missing) api[ _-]?key|api[ _-]?key not valid"
    r"|not a valid model|model not exist|unknown model|no such model"
    r"|\bmodel\b.{0,120}\b(?:does not exist|not found|decommissioned|deprecated)",
    re.IGNORECASE,
)
_FILTER_CODES = {
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "data_inspection_failed",
    "datainspectionfailed",
    "invalid_prompt",
    "moderation_blocked",
}
_FILTER = re.compile(
    r"content management policy|content polic|usage (?:policy|policies|guidelines)"
    r"|\bflagged\b|content exists risk|safety (?:system|filter|polic)|inappropriate content",
    re.IGNORECASE,
)
_LOCKED = r"(?:disabled|deactivated|suspended|banned|terminated|revoked)"
_OWNER = r"(?:account|organi[sz]ation|project|workspace|subscription|api key|access)"
_ACCOUNT = re.compile(
    rf"\b{_OWNER}\b(?:[ ,]+\S+){{0,10}}?[ ,]+{_LOCKED}\b|\b{_LOCKED}\b(?: \S+){{0,3}}? {_OWNER}\b",
    re.IGNORECASE,
)
# The reply broke the form that it was to have: asking again may help.
_BROKEN_REPLY_CODES = {"json_validate_failed", "output_parse_failed"}
_OVERLOADED = {498}  # no room in a provider's flexible tier
_NO_SUCH_PLACE = {404, 405, 410}


class Refusals:
    """Makes errors of what a server of one model answers.

    Parameters
    ----------
    name : str
        What messages call the model.
    keys : Keys
        What must not be shown.
    sent : callable
        Gives the fields of a request's body.
    key_variable : str or None
        Environment variable that holds the key; None where none is sent.
    """

    def __init__(
        self,
        *,
        name: str,
        keys: Keys,
        sent: Callable[[ChatRequest], Mapping[str, Any]],
        key_variable: str | None,
    ) -> None:
        self._name = name
        self._keys = keys
        self._sent = sent
        self._key_hint = (
            f"Check the key in the environment variable {key_variable}."
            if key_variable
            else "Name the environment variable that holds its key with `api_key_env`."
        )

    def sentence(self, what: str, *, quoted: bytes | str = "") -> str:
        """Say what the model's server did, with what it said."""
        text = quoted[:2_000].decode("utf-8", "replace") if isinstance(quoted, bytes) else quoted
        shown = shorten(self._keys.hide(text), width=200)
        return f"{self._name} {what}: {shown!r}." if shown else f"{self._name} {what}."

    def of_answer(
        self, body: bytes, *, status: int, headers: Mapping[str, str], request: ChatRequest
    ) -> ModelCallError:
        """Place an answer whose status says that it is no reply."""
        if status < 400:
            what = f"answered HTTP {status} and points elsewhere; check the base URL"
            return AccessError(self.sentence(what), status=status)
        words = read_error(body)
        return self._place(words, status=status, headers=headers, request=request)

    def of_error(
        self, error: object, *, headers: Mapping[str, str], request: ChatRequest
    ) -> ModelCallError:
        """Place an error that came where a reply belongs."""
        words = read_error({"error": error})
        status = words.status if words.status and 400 <= words.status < 600 else 500
        return self._place(words, status=status, headers=headers, request=request)

    def _place(
        self,
        words: ErrorWords,
        *,
        status: int,
        headers: Mapping[str, str],
        request: ChatRequest,
    ) -> ModelCallError:
        text = without_echo(words.text, contents=[m.content for m in request.messages])
        words = ErrorWords(text=text, codes=words.codes, param=words.param)
        message = self._message(words, status=status)
        feature = refused_feature(words, status=status, sent=self._sent(request))
        if feature is not None:
            return UnsupportedError(message, feature=feature, status=status)
        kind = _kind(words, status=status)
        if kind is AccessError:
            message = f"{message} {self._way_out(words, status=status)}"
        waits = issubclass(kind, RateLimitError | ServerError | ModelTimeoutError)
        waiting = retry_after(headers, words=words.text) if waits else None
        return kind(message, status=status, retry_after_s=waiting)

    def _message(self, words: ErrorWords, *, status: int) -> str:
        shown = shorten(self._keys.hide(words.text), width=300).rstrip(".")
        if not shown:
            shown = HTTPStatus(status).phrase if status in list(HTTPStatus) else "no explanation"
        return f"{self._name} answered HTTP {status}: {shown}."

    def _way_out(self, words: ErrorWords, *, status: int) -> str:
        if status in _NO_SUCH_PLACE:
            return "Check the name of the model and the base URL."
        is_of_account = status in (402, 429) or _ACCOUNT.search(words.text)
        return "Check the account." if is_of_account else self._key_hint


def _kind(words: ErrorWords, *, status: int) -> type[ModelCallError]:
    if words.codes & _BROKEN_REPLY_CODES or status >= 500:
        return ServerError
    if status == 429 or status in _OVERLOADED:
        is_broke = words.codes & _NO_CREDIT_CODES or _NO_CREDIT.search(words.text)
        return AccessError if is_broke else RateLimitError
    if status == 408:
        return ModelTimeoutError
    if _ACCOUNT.search(words.text):
        return AccessError
    if words.codes & _FILTER_CODES or (status != 401 and _FILTER.search(words.text)):
        return ContentFilterError
    if status in _NO_SUCH_PLACE or status in (401, 402, 403, 407):
        return AccessError
    if words.codes & _NO_ACCESS_CODES or _NO_ACCESS.search(words.text):
        return AccessError
    return BadRequestError
