"""What any-llm raises, in our words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

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
from voirdire.models.openai_compatible.refusals import Refusals

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from voirdire.models.openai_compatible.keys import Keys
    from voirdire.models.port import ChatRequest

__all__ = ["KINDS", "ProviderErrors"]

KINDS: dict[str, type[ModelCallError]] = {
    "AnyLLMError": ServerError,
    "AuthenticationError": AccessError,
    "BatchNotCompleteError": BadRequestError,
    "ContentFilterError": ContentFilterError,
    "ContentFilterFinishReasonError": ContentFilterError,
    "ContextLengthExceededError": BadRequestError,
    "GatewayTimeoutError": ModelTimeoutError,
    "InsufficientFundsError": AccessError,
    "InvalidRequestError": BadRequestError,
    "LengthFinishReasonError": ServerError,
    "MissingApiKeyError": AccessError,
    "ModelNotFoundError": AccessError,
    "ProviderError": ServerError,
    "ProviderFileNotFoundError": BadRequestError,
    "RateLimitError": RateLimitError,
    "UnsupportedParameterError": UnsupportedError,
    "UnsupportedProviderError": AccessError,
    "UpstreamProviderError": ServerError,
}
"""What each of its exceptions is to us, by name; a test sees that none is missing."""

_UNKNOWN_ARGUMENT = re.compile(r"unexpected keyword argument '(\w+)'")
_ANTHROPIC_FORM = re.compile(r"output_(?:format|config)|structured output", re.IGNORECASE)


class ProviderErrors:
    """Makes errors of what a provider's library raises.

    Parameters
    ----------
    name : str
        What messages call the model.
    keys : Keys
        What must not be shown.
    sent : callable
        Gives what a request is sent as.
    key_variable : str or None
        Environment variable that holds the key; None where there is none.
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
        self._refusals = Refusals(name=name, keys=keys, sent=sent, key_variable=key_variable)

    def of(self, error: Exception, *, request: ChatRequest) -> ModelCallError:
        """Say in our words why there is no reply.

        Parameters
        ----------
        error : Exception
            An exception of any-llm, or one that it lets through.
        request : ChatRequest
            What was asked.

        Returns
        -------
        ModelCallError
            To be raised outside of the handler: the original may hold keys.
        """
        status = getattr(error, "status_code", None)
        if isinstance(status, int) and status >= 400:
            return self._answered(error, status=status, request=request)
        feature = _unknown_parameter(error, request=request)
        if feature is not None:
            return UnsupportedError(self.sentence(str(error)), feature=feature)
        return _kind(error)(self.sentence(str(error)))

    def sentence(self, text: str) -> str:
        """Say of which model it is that something was said, without keys."""
        return f"{self._name}: {shorten(self._keys.hide(text), width=300)}"

    def _answered(self, error: Exception, *, status: int, request: ChatRequest) -> ModelCallError:
        """Place an answer of the server by the same rules as any other server's."""
        original = getattr(error, "original_exception", None)
        body = getattr(original, "body", None)
        headers = getattr(getattr(original, "response", None), "headers", None)
        found = self._refusals.of_answer(
            str(error).encode("utf-8", "replace") if body is None else msgspec.json.encode(body),
            status=status,
            headers={name.lower(): value for name, value in (headers or {}).items()},
            request=request,
        )
        if type(found) is not BadRequestError:
            return found
        if request.form != "text" and _ANTHROPIC_FORM.search(str(found)):
            return UnsupportedError(str(found), feature=request.form, status=status)
        return ContentFilterError(str(found), status=status) if _is_filter(error) else found


def _is_filter(error: Exception) -> bool:
    return KINDS.get(type(error).__name__) is ContentFilterError


def _kind(error: Exception) -> type[ModelCallError]:
    """Place an error without a status: the connection, the library, or a request not sent."""
    original = getattr(error, "original_exception", None)
    if "JSON" in type(original).__name__:
        return ServerError
    if any("timeout" in kind.__name__.lower() for kind in type(original).__mro__):
        return ModelTimeoutError
    if isinstance(error, NotImplementedError):
        return AccessError
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((KINDS[name] for name in names if name in KINDS), ServerError)


def _unknown_parameter(error: Exception, *, request: ChatRequest) -> str | None:
    """Name the part of the request that a provider's library does not know."""
    found = _UNKNOWN_ARGUMENT.search(str(error))
    named = found[1] if found else getattr(error, "parameter_name", None)
    if not isinstance(named, str):
        return None
    if "response_format" in named:
        return request.form
    return "logprobs" if "logprobs" in named else named
