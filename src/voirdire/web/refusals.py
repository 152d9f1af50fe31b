"""Replies of the server; where it refuses, never a word of what the client sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["REFUSALS", "Refusal", "RefusalBody", "RefusalCode", "RefusedError", "Reply"]

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

REFUSALS: Mapping[RefusalCode, tuple[int, str]] = {
    "malformed": (400, "The body is no JSON, or has the same key twice"),
    "no_token": (401, "The token is missing, or is another one"),
    "not_found": (404, "There is no such path"),
    "wrong_method": (405, "The path takes another method"),
    "too_slow": (408, "The body did not arrive in time"),
    "no_number": (
        409,
        "Nobody declared what stands for a missing reward, and the reward knows no mean",
    ),
    "too_large": (413, "The body, or the number of items, is larger than the server takes"),
    "wrong_type": (415, "The body is not said to be JSON"),
    "wrong_host": (421, "Without a token the server answers to names of its own machine only"),
    "wrong_form": (422, "The JSON is of another form"),
    "internal": (500, "The server failed"),
    "queue_full": (
        503,
        "The server has as many items as it may hold: wait for `Retry-After` seconds",
    ),
    "ending": (503, "The server is about to end"),
    "not_ready": (503, "The server is starting or ending, or its judge is out of order"),
}
"""The status of each code, and what it means."""


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request is refused: a word that stays the same, and a sentence for people."""

    code: RefusalCode
    message: str


class RefusalBody(msgspec.Struct, frozen=True, kw_only=True):
    """What a refused request is answered."""

    error: Refusal


@dataclass(frozen=True, slots=True)
class Reply:
    """What a request is answered; by default JSON, in which what is no number is null."""

    body: bytes
    status: int = 200
    media_type: str = "application/json"
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def json(cls, content: object) -> Reply:
        """Write a value as JSON."""
        return cls(msgspec.json.encode(content))

    @property
    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        """Give the headers as ASGI takes them."""
        usual = [
            (b"content-length", str(len(self.body)).encode()),
            (b"content-type", self.media_type.encode()),
        ]
        return usual + [(name.lower().encode(), value.encode()) for name, value in self.headers]


class RefusedError(Exception):
    """A request that is refused; the message is ours alone and holds nothing of the request."""

    def __init__(
        self,
        code: RefusalCode,
        message: str,
        *,
        retry_after_s: int | None = None,
        closes: bool = False,
        allow: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code: RefusalCode = code
        self.message = message
        self.closes = closes
        self._headers = {
            "Retry-After": None if retry_after_s is None else str(retry_after_s),
            "WWW-Authenticate": "Bearer" if code == "no_token" else None,
            "Allow": allow,
        }

    def reply(self) -> Reply:
        """Put it into words and headers."""
        headers = self._headers | {"Connection": "close" if self.closes else None}
        return Reply(
            msgspec.json.encode(RefusalBody(error=Refusal(code=self.code, message=self.message))),
            status=REFUSALS[self.code][0],
            headers=tuple((name, value) for name, value in headers.items() if value is not None),
        )
