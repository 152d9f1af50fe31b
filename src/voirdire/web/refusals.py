"""Defines the replies of the server; a refusal never repeats what the client sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from voirdire.models.reward_server import RefusalCode  # noqa: TC001  # a form needs it

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["REFUSALS", "Refusal", "RefusalBody", "RefusedError", "Reply"]

REFUSALS: Mapping[RefusalCode, tuple[int, str]] = {
    "malformed": (400, "The body is no JSON, or has the same key twice"),
    "no_token": (401, "The token is missing, or is another one"),
    "not_found": (404, "There is no such path"),
    "wrong_method": (405, "The path takes another method"),
    "too_slow": (408, "The body did not arrive in time"),
    "no_number": (409, "No number stands for a missing reward, and the reward knows no mean"),
    "too_large": (413, "The body, or the number of items, is larger than the server takes"),
    "wrong_type": (415, "The body is not said to be JSON"),
    "wrong_host": (421, "Without a token the server answers to names of its own machine only"),
    "wrong_form": (422, "The JSON is of another form"),
    "internal": (500, "The server failed"),
    "queue_full": (503, "The server holds as much as it may: wait for `Retry-After` seconds"),
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
        """Return the headers as ASGI takes them."""
        usual = (("content-length", str(len(self.body))), ("content-type", self.media_type))
        return [(name.encode(), value.encode()) for name, value in (*usual, *self.headers)]


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
        self.closes = closes
        self._body = RefusalBody(error=Refusal(code=code, message=message))
        self._headers = {
            "retry-after": None if retry_after_s is None else str(retry_after_s),
            "www-authenticate": "Bearer" if code == "no_token" else None,
            "allow": allow,
        }

    def reply(self) -> Reply:
        """Put it into words and headers."""
        headers = self._headers | {"connection": "close" if self.closes else None}
        return Reply(
            msgspec.json.encode(self._body),
            status=REFUSALS[self._body.error.code][0],
            headers=tuple((name, value) for name, value in headers.items() if value is not None),
        )
