"""What a client is told whose request is not answered: never a word of what it sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec
from starlette.responses import Response

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "STATUS",
    "Refusal",
    "RefusalBody",
    "RefusalCode",
    "RefusedError",
    "json_response",
    "refusal_response",
]

RefusalCode: TypeAlias = Literal[
    "malformed",
    "no_token",
    "not_found",
    "wrong_method",
    "too_slow",
    "too_large",
    "wrong_host",
    "wrong_type",
    "wrong_form",
    "internal",
    "no_number",
    "queue_full",
    "ending",
    "not_ready",
]

STATUS: Mapping[RefusalCode, int] = {
    "malformed": 400,
    "no_token": 401,
    "not_found": 404,
    "wrong_method": 405,
    "too_slow": 408,
    "no_number": 409,
    "too_large": 413,
    "wrong_type": 415,
    "wrong_host": 421,
    "wrong_form": 422,
    "internal": 500,
    "queue_full": 503,
    "ending": 503,
    "not_ready": 503,
}


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request is refused: a word that stays the same, and a sentence for people."""

    code: RefusalCode
    message: str


class RefusalBody(msgspec.Struct, frozen=True, kw_only=True):
    """What a refused request is answered."""

    error: Refusal


class RefusedError(Exception):
    """A request that is refused; the message is ours alone and holds nothing of the request."""

    def __init__(
        self,
        code: RefusalCode,
        message: str,
        *,
        retry_after_s: int | None = None,
        closes: bool = False,
    ) -> None:
        super().__init__(message)
        self.code: RefusalCode = code
        self.message = message
        self.retry_after_s = retry_after_s
        self.closes = closes


def json_response(
    content: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Answer with JSON, in which what is no number is null."""
    body = content if isinstance(content, bytes) else msgspec.json.encode(content)
    return Response(body, status_code=status, media_type="application/json", headers=headers)


def refusal_response(error: RefusedError) -> Response:
    """Put a refusal into words and headers."""
    headers: dict[str, str] = {}
    if error.retry_after_s is not None:
        headers["Retry-After"] = str(error.retry_after_s)
    if error.code == "no_token":
        headers["WWW-Authenticate"] = "Bearer"
    if error.closes:
        headers["Connection"] = "close"
    refusal = Refusal(code=error.code, message=error.message)
    return json_response(RefusalBody(error=refusal), status=STATUS[error.code], headers=headers)
