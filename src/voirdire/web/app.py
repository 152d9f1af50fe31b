"""Defines the application: access, routes, and the log of every request."""

from __future__ import annotations

import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette

from voirdire.adapters.openrlhf import openrlhf_response, read_openrlhf_request
from voirdire.errors import InputError
from voirdire.web.answers import Status, rewards_answer
from voirdire.web.auth import Auth
from voirdire.web.logs import log_access, log_error
from voirdire.web.metrics import METRICS_TYPE
from voirdire.web.openapi import DOCS_HEADERS, ROUTES, docs_page, openapi_document
from voirdire.web.refusals import RefusedError, Reply
from voirdire.web.requests import (
    ClientGoneError,
    decode_openrlhf_request,
    decode_rewards_request,
    run_of,
)
from voirdire.web.service import RewardService
from voirdire.web.settings import ServerSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.types import Receive, Scope, Send

    from voirdire.rewards.live import LiveReward, Turn
    from voirdire.web.requests import RewardsRequest

__all__ = ["RewardApp", "create_app"]

_OTHER = "(other)"
"""Name of unknown paths in logs and metrics."""

_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Routes that machines call every few seconds: not logged."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})
_GONE = 499
_STRANGER_BYTES = 256 * 1024
"""Bytes of a refused client's body that are read, so that the client gets the answer."""


def create_app(live_reward: LiveReward, *, settings: ServerSettings | None = None) -> RewardApp:
    """Make an application that gives rewards over HTTP.

    Parameters
    ----------
    live_reward : LiveReward
        What gives the rewards; it is started and closed with the application.
    settings : ServerSettings, optional
        Who may ask, how much, and how long.

    Returns
    -------
    RewardApp
        For any server of ASGI applications that has a lifespan. `serve` brings its own, which
        also guards against slow clients and drains when it is to end.

    Raises
    ------
    InputError
        If the reward has no such behavior, or the record cannot be kept.

    Notes
    -----
    *Order*: rewards follow the items of their request. *Errors*: what a judge does is a missing
    reward with its reason; a request that is refused hears a status, a code and a sentence, never
    a word of its own. *Cancellation*: a client may leave; what it asked goes on, and is stored.
    *Memory*: the queue bounds the items, and four of the largest bodies all bodies together.
    *Retries and caching*: those of the live reward; a client that is told `Retry-After` asks again.
    """
    service = RewardService(live_reward, ServerSettings() if settings is None else settings)
    return RewardApp(service)


class RewardApp(Starlette):
    """An ASGI application around a live reward; made by `create_app`.

    Starlette runs its lifespan. A request goes straight to its route: the usual layers would take
    longer than a reward that is remembered.
    """

    def __init__(self, service: RewardService) -> None:
        @asynccontextmanager
        async def lifespan(app: Starlette) -> AsyncIterator[None]:
            del app
            await service.start()
            try:
                yield
            finally:
                await service.close()

        super().__init__(lifespan=lifespan)
        self.service = service
        self._auth = Auth(service.settings.token, hosts=service.settings.hosts)
        self._posted: dict[str, Callable[[Scope, Receive], Awaitable[Reply]]] = {
            "/v1/rewards": self._rewards,
            "/openrlhf": self._openrlhf,
        }
        self._shown: dict[str, Callable[[], Reply]] = {
            "/v1/reward": lambda: Reply.json(service.description),
            "/healthz": lambda: Reply.json(Status(status="alive")),
            "/readyz": self._readyz,
            "/metrics": lambda: Reply(service.metrics.text(), media_type=METRICS_TYPE),
            "/openapi.json": lambda: Reply.json(openapi_document()),
            "/docs": lambda: Reply(docs_page(), media_type="text/html", headers=DOCS_HEADERS),
        }

    def openapi(self) -> dict[str, Any]:
        """Describe the interface."""
        return openapi_document()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, also after an error."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        began = time.perf_counter()
        path, method, status = scope["path"], scope["method"], _GONE
        path = path if path in ROUTES else _OTHER
        metrics = self.service.metrics
        metrics.n_in_flight += 1
        try:
            reply = await self._reply(path, scope, receive)
            status = reply.status
            head = {"type": "http.response.start", "status": status, "headers": reply.raw_headers}
            await send(head)
            await send({"type": "http.response.body", "body": reply.body})
        except ClientGoneError:
            pass
        finally:
            metrics.n_in_flight -= 1
            seconds = time.perf_counter() - began
            metrics.count_request(path, status, seconds=seconds)
            if path not in _QUIET:
                client = scope["client"][0] if scope.get("client") else "-"
                method = method if method in _METHODS else _OTHER
                log_access(path, method=method, status=status, seconds=seconds, client=client)

    async def _reply(self, path: str, scope: Scope, receive: Receive) -> Reply:
        try:
            route, is_posted = ROUTES.get(path), scope["method"] == "POST"
            refusal = self._auth.refusal(
                scope,
                is_open=route is not None and route.is_open,
                is_posted=route is not None and is_posted,
            )
            if refusal is not None:
                discard = self.service.bodies.discard
                refusal.closes = not await discard(scope, receive, most=_STRANGER_BYTES)
                raise refusal
            if route is None:
                raise RefusedError("not_found", "There is no such path. See /docs.")
            if scope["method"] != route.method:
                msg = "This path takes another method. See /docs."
                raise RefusedError("wrong_method", msg, allow=route.method)
            if not is_posted:
                return self._shown[path]()
            if not self.service.is_started:
                raise RefusedError("not_ready", "The server is starting.", retry_after_s=1)
            return await self._posted[path](scope, receive)
        except RefusedError as error:
            return error.reply()
        except ClientGoneError:
            raise
        except Exception as error:  # noqa: BLE001  # logged without its message, and answered
            log_error(f"{path} failed", error)
            return RefusedError("internal", "The server failed; its log says where.").reply()

    # Rewards ----------------------------------------------------------------------------------

    async def _rewards(self, scope: Scope, receive: Receive) -> Reply:
        """Return the rewards of items."""
        service, began = self.service, time.monotonic()
        try:
            service.queue.check_open()
        except RefusedError as refusal:
            most = service.settings.max_body
            refusal.closes = not await service.bodies.discard(scope, receive, most=most)
            raise
        async with service.bodies.body(scope, receive) as body:

            def read() -> tuple[RewardsRequest, list[Turn]]:
                asked = decode_rewards_request(body, most_items=service.queue.most)
                return asked, [item.turn() for item in asked.items]

            asked, turns = await service.run(body, read)
            run = run_of(scope, asked.run)
            service.queue.check_open(len(turns))
            with service.queue.hold(len(turns)):
                deadline_s = service.deadline_s(asked.deadline_s)
                found = await service.reward_turns(turns, deadline_s=deadline_s)
                await service.write_record(found, turns, step=asked.step, run=run)

            def write() -> Reply:
                seconds, reward = time.monotonic() - began, service.live.reward
                return Reply.json(rewards_answer(asked, found, reward=reward, seconds=seconds))

            return await service.run(body, write)

    async def _openrlhf(self, scope: Scope, receive: Receive) -> Reply:
        """Answer OpenRLHF's request with rewards, always as numbers.

        It ends in an unrelated error where it is refused: so a request waits for its place in the
        queue, and where none is free within the deadline all its rewards are missing.
        """
        service, missing = self.service, self.service.missing
        if missing is None:
            raise RefusedError("no_number", service.why_no_missing)
        async with service.bodies.body(scope, receive) as body:
            turns = await service.run(body, lambda: self._openrlhf_turns(body))
            run = run_of(scope)
            end = time.monotonic() + service.deadline_s(None)
            if await service.queue.has_place(len(turns), seconds=end - time.monotonic()):
                with service.queue.hold(len(turns)):
                    left = end - time.monotonic()
                    found = await service.reward_turns_at_once(turns, deadline_s=left)
                    await service.write_record([found], turns, step=None, run=run)
            else:
                found = service.nothing(turns)
            return await service.run(body, lambda: Reply.json(openrlhf_response(found, missing)))

    def _openrlhf_turns(self, body: bytes) -> list[Turn]:
        document = decode_openrlhf_request(body, most_items=self.service.queue.most)
        try:
            return read_openrlhf_request(document, end_tokens=self.service.settings.end_tokens)
        except InputError:
            msg = "`query`, `prompts` and `labels` must be lists of one length. See /docs."
            raise RefusedError("wrong_form", msg) from None

    def _readyz(self) -> Reply:
        why = self.service.why_not_ready
        if why is not None:
            raise RefusedError("not_ready", f"Not ready: {why}.", retry_after_s=1)
        return Reply.json(Status(status="ready"))
