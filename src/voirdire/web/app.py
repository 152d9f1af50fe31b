"""The application: who may ask, the routes, and what is written down of every request."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.applications import Starlette

from voirdire.adapters.openrlhf import openrlhf_response, read_openrlhf_request
from voirdire.errors import InputError
from voirdire.rewards.reward_document import reward_document
from voirdire.web.answers import RewardDescription, RewardName, Status, rewards_answer
from voirdire.web.auth import Auth
from voirdire.web.logs import log_access, log_error
from voirdire.web.openapi import DESCRIBED, DOCS_HEADERS, docs_page, openapi_document
from voirdire.web.refusals import RefusedError, Reply
from voirdire.web.requests import (
    ClientGoneError,
    check_count,
    check_run,
    decode_document,
    decode_rewards_request,
    header_values,
)
from voirdire.web.service import RewardService
from voirdire.web.settings import ServerSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.types import Receive, Scope, Send

    from voirdire.rewards.live import LiveReward, Turn

__all__ = ["RewardApp", "create_app"]

_OTHER = "(other)"
"""What every path that is no route is called in logs and metrics."""

_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds by machines: not written into the log."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})
_GONE = 499
_STRANGER_BYTES = 256 * 1024
"""What is read of the body of somebody who may not ask, so that they hear so."""


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
        self._read: dict[str, Callable[[], Awaitable[Reply]]] = {
            "/v1/reward": self._reward,
            "/healthz": self._healthz,
            "/readyz": self._readyz,
            "/metrics": self._metrics,
            "/openapi.json": self._openapi_json,
            "/docs": self._docs,
        }
        self._description: Reply | None = None

    def openapi(self) -> dict[str, Any]:
        """Describe the interface."""
        return openapi_document()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whatever happens."""
        if scope["type"] != "http":
            await super().__call__(scope, receive, send)
            return
        began = time.perf_counter()
        route = scope["path"] if scope["path"] in DESCRIBED else _OTHER
        metrics, status = self.service.metrics, _GONE
        metrics.in_flight.inc()
        try:
            reply = await self._reply(scope, receive, route)
            status = reply.status
            head = {"type": "http.response.start", "status": status, "headers": reply.raw_headers}
            await send(head)
            await send({"type": "http.response.body", "body": reply.body})
        except ClientGoneError:
            pass
        finally:
            metrics.in_flight.dec()
            seconds = time.perf_counter() - began
            metrics.count_request(route, status, seconds=seconds)
            if route not in _QUIET:
                client, method = scope.get("client"), scope["method"]
                log_access(
                    route,
                    method=method if method in _METHODS else _OTHER,
                    status=status,
                    seconds=seconds,
                    client="-" if client is None else client[0],
                )

    async def _reply(self, scope: Scope, receive: Receive, route: str) -> Reply:
        try:
            described = DESCRIBED.get(route)
            refusal = self._auth.refusal(
                scope,
                is_open=described is not None and described.is_open,
                is_posted=described is not None and scope["method"] == "POST",
            )
            if refusal is not None:
                discard = self.service.bodies.discard
                refusal.closes = not await discard(scope, receive, most=_STRANGER_BYTES)
                raise refusal
            if described is None:
                raise RefusedError("not_found", "There is no such path. See /docs.")
            if scope["method"] != described.method:
                msg = "This path takes another method. See /docs."
                raise RefusedError("wrong_method", msg, allow=described.method)
            if described.method == "GET":
                return await self._read[route]()
            return await self._posted[route](scope, receive)
        except RefusedError as error:
            return error.reply()
        except ClientGoneError:
            raise
        except Exception as error:  # noqa: BLE001  # logged without its message, and answered
            log_error(f"{route} failed", error)
            return RefusedError("internal", "The server failed; its log says where.").reply()

    # Rewards ----------------------------------------------------------------------------------

    async def _rewards(self, scope: Scope, receive: Receive) -> Reply:
        """Give items their rewards."""
        service = self.service
        began = time.monotonic()
        self._check_started()
        try:
            service.queue.check_open()
        except RefusedError as refusal:
            most = service.settings.max_body
            refusal.closes = not await service.bodies.discard(scope, receive, most=most)
            raise
        body = await service.bodies.read(scope, receive)
        try:
            asked = decode_rewards_request(body, most_items=service.queue.most)
            run = _run_of(scope, asked.run)
            turns = [item.turn() for item in asked.items]
            service.queue.take(len(turns))
            try:
                deadline_s = service.deadline_s(asked.deadline_s)
                found = await service.rewarded(turns, deadline_s=deadline_s)
                await service.write_record(found, turns, step=asked.step, run=run)
            finally:
                service.queue.give_back(len(turns))
        finally:
            service.bodies.release(len(body))
        reward = service.live.reward
        name = RewardName(
            name=reward.name, content_hash=reward.content_hash, fingerprint=service.fingerprint
        )
        seconds = time.monotonic() - began
        return Reply.json(rewards_answer(asked, found, reward=reward, name=name, seconds=seconds))

    async def _openrlhf(self, scope: Scope, receive: Receive) -> Reply:
        """Give what OpenRLHF posts its rewards, always as numbers.

        It ends in an unrelated error where it is refused: so a request waits for its place in the
        queue, and where none is free within the deadline all its rewards are missing.
        """
        service = self.service
        if service.missing is None:
            raise RefusedError("no_number", service.why_no_missing)
        self._check_started()
        body = await service.bodies.read(scope, receive)
        try:
            run = _run_of(scope, None)
            turns = _turns_of(body, end_tokens=service.settings.end_tokens)
            check_count(len(turns), most=service.queue.most)
            end = time.monotonic() + service.deadline_s(None)
            if await service.queue.take_in_time(len(turns), seconds=end - time.monotonic()):
                try:
                    left = end - time.monotonic()
                    found = await service.rewarded_at_once(turns, deadline_s=left)
                    await service.write_record([found], turns, step=None, run=run)
                finally:
                    service.queue.give_back(len(turns))
            else:
                found = service.nothing(turns)
        finally:
            service.bodies.release(len(body))
        return Reply.json(openrlhf_response(found, service.missing))

    def _check_started(self) -> None:
        if not self.service.is_started:
            raise RefusedError("not_ready", "The server is starting.", retry_after_s=1)

    # What the server is, and how it stands ----------------------------------------------------

    async def _healthz(self) -> Reply:
        return Reply.json(Status(status="alive"))

    async def _readyz(self) -> Reply:
        why = self.service.why_not_ready
        if why is not None:
            raise RefusedError("not_ready", f"Not ready: {why}.", retry_after_s=1)
        return Reply.json(Status(status="ready"))

    async def _metrics(self) -> Reply:
        return Reply(self.service.metrics.text(), media_type=CONTENT_TYPE_LATEST)

    async def _reward(self) -> Reply:
        if self._description is None:
            self._description = await asyncio.to_thread(self._describe)  # a rubric is long
        return self._description

    def _describe(self) -> Reply:
        reward = self.service.live.reward
        described = RewardDescription(
            name=reward.name,
            content_hash=reward.content_hash,
            fingerprint=self.service.fingerprint,
            judge=self.service.judge,
            rubric=reward.rubric.name,
            rubric_version=reward.rubric.version,
            behaviors=list(reward.behaviors),
            propositions=list(reward.rubric.propositions),
            uses_base=reward.uses_base,
            document=reward_document(reward),
        )
        return Reply.json(described)

    async def _openapi_json(self) -> Reply:
        return Reply.json(openapi_document())

    async def _docs(self) -> Reply:
        page = docs_page(openapi_document()).encode()
        return Reply(page, media_type="text/html; charset=utf-8", headers=DOCS_HEADERS)


def _run_of(scope: Scope, named: str | None) -> str | None:
    """Read which training run a request belongs to: from its body, a header, or its address."""
    if named is None and (values := header_values(scope, b"voirdire-run")):
        named = values[0].decode("ascii", "replace")
    if named is None and scope.get("query_string"):
        named = parse_qs(scope["query_string"].decode("ascii", "replace")).get("run", [None])[0]
    return None if named is None else check_run(named)


def _turns_of(body: bytes, *, end_tokens: tuple[str, ...]) -> list[Turn]:
    document = decode_document(body)
    try:
        return read_openrlhf_request(document, end_tokens=end_tokens)
    except InputError:
        msg = "The body must have lists `query`, `prompts` and `labels` of one length. See /docs."
        raise RefusedError("wrong_form", msg) from None
