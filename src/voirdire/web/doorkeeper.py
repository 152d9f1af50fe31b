"""What happens to every request before and after its route: who may ask, figures, the log."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from voirdire.web.addresses import is_asked_by_own_name
from voirdire.web.bodies import ClientGoneError, announced_bytes, discard_body
from voirdire.web.logs import log_access, log_error
from voirdire.web.paths import OPEN, OTHER, PATHS, QUIET
from voirdire.web.refusals import RefusedError, refusal_response
from voirdire.web.tokens import TokenCheck

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from voirdire.web.service import RewardService

__all__ = ["Doorkeeper"]

_GONE = 499
_STRANGER_BYTES = 256 * 1024
"""What is read of the body of somebody who may not ask, so that they hear so."""


class Doorkeeper:
    """An ASGI layer around all routes."""

    def __init__(self, app: ASGIApp, *, service: RewardService) -> None:
        self._app = app
        self._service = service
        token = service.settings.token
        self._token = None if token is None else TokenCheck(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        path = scope["path"]
        route = path if path in PATHS else OTHER
        status = _Status(send)
        self._service.figures.in_flight.inc()
        try:
            await self._answered(scope, receive, status, route=route)
        finally:
            self._service.figures.in_flight.dec()
            self._told(scope, route, status.code, seconds=time.perf_counter() - began)

    async def _answered(self, scope: Scope, receive: Receive, send: _Status, *, route: str) -> None:
        try:
            refusal = self._refusal(scope, route)
            if refusal is None:
                await self._app(scope, receive, send)
            else:
                await self._refuse(refusal, scope, receive, send)
        except ClientGoneError:
            send.code = _GONE
        except Exception as error:  # noqa: BLE001  # logged without its message, and answered
            log_error(f"{route} failed", error)
            if not send.is_started:
                failed = RefusedError("internal", "The server failed; its log says where.")
                await refusal_response(failed)(scope, receive, send)

    def _refusal(self, scope: Scope, route: str) -> RefusedError | None:
        headers = scope["headers"]
        if self._token is None:
            hosts = [value for name, value in headers if name == b"host"]
            allowed = self._service.settings.hosts
            if not hosts or not all(is_asked_by_own_name(host, hosts=allowed) for host in hosts):
                msg = "The server answers to names of this machine only. Start it with a token."
                return RefusedError("wrong_host", msg)
        elif route not in OPEN:
            shown = [value for name, value in headers if name == b"authorization"]
            if not (len(shown) == 1 and self._token.is_right(shown[0])):
                msg = "Send the header `Authorization: Bearer TOKEN` with the server's token."
                return RefusedError("no_token", msg)
        if scope["method"] == "POST" and route in PATHS and not _is_json(headers):
            # a page of a stranger can make a browser post anything but this without asking first
            msg = "Send the header `Content-Type: application/json`."
            return RefusedError("wrong_type", msg)
        return None

    async def _refuse(
        self, refusal: RefusedError, scope: Scope, receive: Receive, send: Send
    ) -> None:
        is_read = True
        if scope["method"] not in ("GET", "HEAD"):
            announced = announced_bytes(scope)
            is_read = announced is None or announced <= _STRANGER_BYTES
            seconds = self._service.settings.body_s
            is_read = is_read and await discard_body(receive, most=_STRANGER_BYTES, seconds=seconds)
        refusal.closes = not is_read
        await refusal_response(refusal)(scope, receive, send)

    def _told(self, scope: Scope, route: str, status: int, *, seconds: float) -> None:
        self._service.figures.answered(route, status, seconds=seconds)
        if route not in QUIET:
            client = scope.get("client")
            log_access(
                route,
                method=_known_method(scope["method"]),
                status=status,
                seconds=seconds,
                client="-" if client is None else client[0],
            )


class _Status:
    """Passes on what is sent, and remembers the status."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.code = _GONE
        self.is_started = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.is_started = True
            self.code = message["status"]
        await self._send(message)


def _is_json(headers: list[tuple[bytes, bytes]]) -> bool:
    kinds = [value for name, value in headers if name == b"content-type"]
    return len(kinds) == 1 and kinds[0].partition(b";")[0].strip().lower() == b"application/json"


def _known_method(method: str) -> str:
    return method if method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS") else OTHER
