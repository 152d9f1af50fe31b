"""Defines the application: access, routes, and the log of every request."""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.body_limit import MAX_BODY_SIZE_SCOPE_KEY, RequestBodyLimitMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from voirdire.adapters.openrlhf import openrlhf_response, read_openrlhf_request
from voirdire.errors import InputError
from voirdire.rewards.model import make_reward_document
from voirdire.rewards.training.run_files import PARTS
from voirdire.web.auth import Auth, list_header
from voirdire.web.decisions import DecisionReader, DecisionsRequest, SystemoneRequest
from voirdire.web.forms import (
    RefusedError,
    RewardDescription,
    RewardsAnswer,
    RewardsRequest,
    answer_json,
    make_rewards_answer,
    read_body,
)
from voirdire.web.logs import log_access, log_error
from voirdire.web.metrics import METRICS_TYPE
from voirdire.web.service import RewardService
from voirdire.web.settings import ServerSettings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from voirdire.records import Item
    from voirdire.rewards.live import LiveReward

__all__ = ["create_app"]

_OTHER = "(other)"
"""Name of unknown paths and methods in logs and metrics."""

_OPEN = frozenset({"/healthz", "/readyz", "/schema.json"})
"""Routes that need no token: nothing there is of a reward or of a client."""

_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Routes that machines call every few seconds: not logged."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})
_GONE = 499
_MOST_DIGITS = 19
_RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def create_app(live: LiveReward, *, settings: ServerSettings | None = None) -> Starlette:
    """Make an application that gives rewards, and the verdicts behind them, over HTTP.

    Parameters
    ----------
    live : LiveReward
        What gives the rewards; it is started and closed with the application.
    settings : ServerSettings, optional
        Who may ask, how much, and how long.

    Returns
    -------
    starlette.applications.Starlette
        For any server of ASGI applications that has a lifespan; `serve` runs it under uvicorn.

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
    service = RewardService(live, ServerSettings() if settings is None else settings)
    routes = _Routes(service)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        del app
        await service.start()
        try:
            yield
        finally:
            await service.close()

    def post(path: str, endpoint: Any) -> Route:
        return Route(path, endpoint, methods=["POST"])

    listed = [post("/v1/rewards", routes.rewards)] if live.reward.behaviors else []
    listed += [post("/v1/systemone", routes.systemone), post("/v1/decisions", routes.decisions)]
    if live.reward.behaviors:
        listed += [post("/openrlhf", routes.openrlhf), Route("/v1/reward", routes.reward)]
    listed += [
        Route("/v1/models", routes.models),
        Route("/healthz", routes.healthz),
        Route("/readyz", routes.readyz),
        Route("/metrics", routes.metrics),
        Route("/schema.json", routes.schema),
    ]
    app = Starlette(
        routes=listed,
        middleware=[Middleware(_Access, service=service, paths={row.path for row in listed})],
        exception_handlers={RefusedError: _refuse, HTTPException: _refuse},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # it would repeat the path
    app.state.service = service
    return app


async def _refuse(request: Request, error: Any) -> Response:
    """Answer what a route or Starlette itself refuses."""
    if isinstance(error, RefusedError):
        return error.response()
    if error.status_code == 405:
        allowed = {"allow": error.headers["Allow"]}
        return RefusedError("wrong_method", "This path takes another method.", **allowed).response()
    if error.status_code == 413:
        msg = f"The body must have at most {request.scope[MAX_BODY_SIZE_SCOPE_KEY]} bytes."
        return RefusedError("too_large", msg).response()
    return RefusedError("not_found", "There is no such path.").response()


class _Access:
    """Checks who asks, bounds the bytes of all bodies, and counts and logs each request."""

    def __init__(self, app: ASGIApp, *, service: RewardService, paths: set[str]) -> None:
        self._app, self._service, self._paths = app, service, paths
        most = service.settings.max_body
        self._bounded_app = RequestBodyLimitMiddleware(app, max_body_size=most)
        self._auth = Auth(service.settings.token, hosts=service.settings.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        path = scope["path"] if scope["path"] in self._paths else _OTHER
        status = _GONE
        metrics = self._service.metrics
        metrics.in_flight.inc()

        async def note_and_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            self._auth.check(scope, is_open=path in _OPEN)
            n_bytes = self._count_bytes(scope)
            app = self._bounded_app if n_bytes is None else self._app
            with self._service.hold_bytes(n_bytes):
                await app(scope, receive, note_and_send)
        except RefusedError as error:
            await error.response()(scope, receive, note_and_send)
        except ClientDisconnect:
            pass
        except Exception as error:  # noqa: BLE001  # logged without its message, and answered
            log_error(f"{path} failed", error)
            if status == _GONE:
                refused = RefusedError("internal", "The server failed; its log says where.")
                await refused.response()(scope, receive, note_and_send)
        finally:
            metrics.in_flight.dec()
            seconds = time.perf_counter() - began
            metrics.count_request(path, status, seconds=seconds)
            if path not in _QUIET:
                client = scope["client"][0] if scope.get("client") else "-"
                method = scope["method"] if scope["method"] in _METHODS else _OTHER
                log_access(path, method=method, status=status, seconds=seconds, client=client)

    def _count_bytes(self, scope: Scope) -> int | None:
        """Return how many bytes a body has by its head; None where this does not say."""
        if scope["method"] != "POST":
            return 0
        told = list_header(scope, b"content-length")
        is_number = len(told) == 1 and told[0].isdigit() and len(told[0]) <= _MOST_DIGITS
        return int(told[0]) if is_number else None


class _Routes:
    """Answers requests."""

    def __init__(self, service: RewardService) -> None:
        self._service = service
        self._decisions = DecisionReader(service.live)

    async def rewards(self, request: Request) -> Response:
        """Return the rewards of items."""
        service, began = self._service, time.monotonic()
        asked = read_body(await self._body(request), RewardsRequest)
        turns = [item.turn() for item in asked.items]
        run = _read_run(request, asked.run)
        service.queue.check(len(turns))
        with service.queue.hold(len(turns)):
            own = service.live.settings.deadline_s
            end = began + min(asked.deadline_s or own, own)
            parts = await service.reward_turns(turns, end=end)
            await service.write_record(parts, turns, step=asked.step, run=run)
        seconds = time.monotonic() - began
        answer = make_rewards_answer(asked, parts, reward=service.live.reward, seconds=seconds)
        return answer_json(answer)

    async def openrlhf(self, request: Request) -> Response:
        """Answer OpenRLHF's request with rewards, always as numbers.

        It ends in an unrelated error where it is refused: so a request waits for its place in the
        queue, and where none is free within the deadline all its rewards are missing.
        """
        service, missing = self._service, self._service.missing
        if missing is None:
            msg = "This reward knows no mean. Start the server with --missing-reward."
            raise RefusedError("no_number", msg)
        document = read_body(await self._body(request), dict[str, Any])
        try:
            turns = read_openrlhf_request(document, end_tokens=service.settings.end_tokens)
        except InputError:
            msg = "`query`, `prompts` and `labels` must be lists of one length."
            raise RefusedError("wrong_form", msg) from None
        run = _read_run(request, None)
        end = time.monotonic() + service.live.settings.deadline_s
        scores = None
        if await service.queue.wait_for_place(len(turns), seconds=end - time.monotonic()):
            with service.queue.hold(len(turns)):
                scores = (await service.reward_turns(turns, end=end, whole=True))[0]
                await service.write_record([scores], turns, step=None, run=run)
        return answer_json(openrlhf_response(scores or service.give_nothing(turns), missing))

    async def systemone(self, request: Request) -> Response:
        """Answer questions about a state."""
        asked = read_body(await self._body(request), SystemoneRequest)
        if asked.images:
            raise RefusedError("wrong_form", "The judge reads text only. Leave `images` out.")
        item, chances = await self._decide(list(asked.questions.items()), asked.state)
        answers = {
            name: {"type": "refusal"} if chance is None else {"type": "noul", "noul": chance}
            for name, chance in zip(asked.questions, chances, strict=True)
        }
        return answer_json(self._decisions.answer(answers, item))

    async def decisions(self, request: Request) -> Response:
        """Answer questions about an input, as OpenAI has it."""
        asked = read_body(await self._body(request), DecisionsRequest)
        item, chances = await self._decide(
            [(row.name, row) for row in asked.questions], asked.input
        )
        answers = [
            {"type": "refusal", "name": row.name}
            if chance is None
            else {"type": "predicate", "name": row.name, "probability": chance}
            for row, chance in zip(asked.questions, chances, strict=True)
        ]
        return answer_json(self._decisions.answer(answers, item))

    async def _decide(self, asked: Any, state: Any) -> tuple[Item, list[float | None]]:
        places, item = self._decisions.places(asked), self._decisions.item(state)
        return item, self._decisions.chances(places, await self._service.judge(item))

    async def models(self, request: Request) -> Response:
        """List the judge as the one model."""
        del request
        return answer_json(self._decisions.describe())

    async def reward(self, request: Request) -> Response:
        """Describe the reward."""
        del request
        reward, plan = self._service.live.reward, self._service.live.judge.plan
        described = RewardDescription(
            name=reward.name,
            content_hash=reward.content_hash,
            fingerprint=plan.fingerprint,
            judge=plan.judge.name,
            rubric=reward.rubric.name,
            rubric_version=reward.rubric.version,
            behaviors=list(reward.behaviors),
            propositions=list(reward.columns),
            uses_base=reward.uses_base,
            document=make_reward_document(reward),
        )
        return answer_json(described)

    async def healthz(self, request: Request) -> Response:
        """Tell that the server is alive."""
        del request
        return answer_json({"status": "alive"})

    async def readyz(self, request: Request) -> Response:
        """Tell whether requests are taken, and judged."""
        del request
        if self._service.live.state.is_broken:
            msg = "Not ready: the judge is out of order."
            raise RefusedError("not_ready", msg, retry_after="1")
        return answer_json({"status": "ready"})

    async def metrics(self, request: Request) -> Response:
        """Give figures as Prometheus reads them."""
        del request
        return Response(self._service.metrics.text(), media_type=METRICS_TYPE)

    async def schema(self, request: Request) -> Response:
        """Describe the forms of bodies and answers."""
        del request
        forms = (RewardsRequest, RewardsAnswer, SystemoneRequest, DecisionsRequest)
        return answer_json(msgspec.json.schema_components(forms, ref_template="#/$defs/{name}")[1])

    async def _body(self, request: Request) -> bytes:
        seconds = self._service.settings.body_s
        try:
            async with asyncio.timeout(seconds):
                return await request.body()
        except TimeoutError:
            msg = f"The body must arrive within {seconds:g} seconds."
            raise RefusedError("too_slow", msg, connection="close") from None


def _read_run(request: Request, named: str | None) -> str | None:
    """Read which training run a request belongs to: from its body, a header, or its address."""
    if named is None and (told := list_header(request.scope, b"voirdire-run")):
        named = told[0].decode("latin-1")
    if named is None and request.scope.get("query_string"):
        named = request.query_params.get("run")
    if named is not None and (_RUN.fullmatch(named) is None or named.lower() == PARTS):
        msg = (
            "`run` must have 1 to 64 letters, digits, dashes or underscores of ASCII, and must not "
            f"be {PARTS!r}, which the folder of the record uses itself."
        )
        raise RefusedError("wrong_form", msg)
    return named
