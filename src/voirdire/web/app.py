"""Defines the application: access, routes, and the log of every request."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import ipaddress
import re
import time
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.body_limit import MAX_BODY_SIZE_SCOPE_KEY, RequestBodyLimitMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from voirdire.adapters.gym import answer_gym, read_gym_request, read_slime_request
from voirdire.adapters.openrlhf import openrlhf_response, read_openrlhf_request
from voirdire.errors import InputError
from voirdire.rewards.training.run_files import PARTS
from voirdire.web.decisions import DecisionReader, DecisionsRequest, SystemoneRequest
from voirdire.web.forms import (
    RefusedError,
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
    from collections.abc import AsyncIterator, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from voirdire.records import Item
    from voirdire.rewards.live import LiveReward, LiveScores, Turn
    from voirdire.rewards.live.missing_numbers import MissingRewards

_OTHER = "(other)"
"""Name of unknown paths and methods in logs and metrics."""

_OPEN = frozenset({"/healthz", "/readyz", "/schema.json"})
"""Routes that need no token: nothing there is of a reward or of a client."""

_LOCAL_NAMES = ("localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback")
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Routes that machines call every few seconds: not logged."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})
_REFUSAL = {"type": "refusal"}
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

    def get(path: str, make: Callable[[], Any]) -> Route:
        async def answer(request: Request) -> Response:
            del request
            made = make()
            return made if isinstance(made, Response) else answer_json(made)

        return Route(path, answer)

    forms = (RewardsRequest, RewardsAnswer, SystemoneRequest, DecisionsRequest)
    of_reward = [
        Route("/v1/rewards", routes.rewards, methods=["POST"]),
        Route("/openrlhf", routes.openrlhf, methods=["POST"]),
        Route("/seed_session", routes.seed_session, methods=["POST"]),
        Route("/verify", routes.verify, methods=["POST"]),
        Route("/slime", routes.slime, methods=["POST"]),
        get("/v1/reward", service.describe),
    ]
    listed = [
        *(of_reward if live.reward.behaviors else ()),
        Route("/v1/systemone", routes.systemone, methods=["POST"]),
        Route("/v1/decisions", routes.decisions, methods=["POST"]),
        get("/v1/models", routes.reader.describe),
        get("/healthz", lambda: {"status": "alive"}),
        get("/readyz", service.check_ready),
        get("/metrics", lambda: Response(service.metrics.text(), media_type=METRICS_TYPE)),
        get("/schema.json", lambda: msgspec.json.schema_components(forms)[1]),
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
        token = service.settings.token
        self._digest = None if token is None else hashlib.sha256(token.encode()).digest()

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
            _check_head(scope, digest=self._digest, is_open=path in _OPEN)
            told = _list_header(scope, b"content-length")
            is_number = len(told) == 1 and told[0].isdigit() and len(told[0]) <= _MOST_DIGITS
            n_bytes = None  # the head does not say how many
            if is_number or scope["method"] != "POST":
                n_bytes = int(told[0]) if scope["method"] == "POST" else 0
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


def _check_head(scope: Scope, *, digest: bytes | None, is_open: bool) -> None:
    """Refuse a request by its head, whatever its body holds.

    Without a token those are answered who ask by a name of this machine: another site can let its
    own name point to this machine (DNS rebinding), and reach local servers through the user's
    browser, but it cannot change the name that the browser sends. Of a token only the hash is
    there, and is compared in a time that tells nothing of it. Some clients can send a password
    only, in an address such as ``http://user:token@host/``.
    """
    if digest is None:
        hosts = _list_header(scope, b"host")
        if not hosts or not all(is_own_name(host.decode("latin-1")) for host in hosts):
            msg = "The server answers to names of this machine only. Start it with a token."
            raise RefusedError("wrong_host", msg)
    elif not is_open:
        sent = _list_header(scope, b"authorization")
        scheme, _, shown = (sent[0] if len(sent) == 1 else b"").strip().partition(b" ")
        if scheme.lower() == b"basic":
            try:
                shown = base64.b64decode(shown.strip(), validate=True).partition(b":")[2]
            except (binascii.Error, ValueError):
                shown = b""
        is_same = hmac.compare_digest(hashlib.sha256(shown.strip()).digest(), digest)
        if not is_same or scheme.lower() not in (b"basic", b"bearer"):
            msg = "Send the header `Authorization: Bearer TOKEN` with the server's token."
            raise RefusedError("no_token", msg, www_authenticate="Bearer")
    if scope["method"] == "POST":
        # another site's page cannot make a browser post this without a preflight request
        kinds = _list_header(scope, b"content-type")
        if len(kinds) != 1 or kinds[0].partition(b";")[0].strip().lower() != b"application/json":
            msg = "Send the header `Content-Type: application/json`."
            raise RefusedError("wrong_type", msg)


def is_own_name(host: str) -> bool:
    """Return whether a `Host` header is a name of this machine."""
    text = host.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif ":" in text:
        text = text.rpartition(":")[0]
    return is_loopback(text.lower().rstrip("."))


def _list_header(scope: Scope, name: bytes) -> list[bytes]:
    """Return the values of a header."""
    return [value for key, value in scope["headers"] if key == name]


@lru_cache(maxsize=64)
def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host."""
    if host.lower().rstrip(".") in _LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False


class _Routes:
    """Answers requests."""

    def __init__(self, service: RewardService) -> None:
        self._service = service
        self.reader = DecisionReader(service.live)

    async def rewards(self, request: Request) -> Response:
        """Return the rewards of items."""
        service, began = self._service, time.monotonic()
        asked = read_body(await self._body(request), RewardsRequest)
        turns = [item.turn() for item in asked.items]
        run = self._read_run(request, asked.run)
        service.queue.check(len(turns))
        own = service.live.settings.deadline_s
        end = began + min(asked.deadline_s or own, own)
        scores = await service.reward_turns(turns, end=end, step=asked.step, run=run)
        seconds = time.monotonic() - began
        answer = make_rewards_answer(asked, scores, reward=service.live.reward, seconds=seconds)
        return answer_json(answer)

    async def openrlhf(self, request: Request) -> Response:
        """Answer OpenRLHF's request with rewards, always as numbers."""
        missing, service = self._find_missing(), self._service
        read = partial(
            read_openrlhf_request,
            end_tokens=service.settings.end_tokens,
            base_column=service.live.base_column,
        )
        _, scores = await self._reward(request, read)
        return answer_json(openrlhf_response(scores, missing))

    async def seed_session(self, request: Request) -> Response:
        """Answer NeMo Gym, which begins every task so: nothing is kept of it."""
        await self._body(request)
        return answer_json({})

    async def verify(self, request: Request) -> Response:
        """Answer NeMo Gym: the row comes back with its reward, or with its failure."""
        document, scores = await self._reward(request, lambda row: [read_gym_request(row)])
        return answer_json(answer_gym(document, scores))

    async def slime(self, request: Request) -> Response:
        """Answer slime with a number; a missing reward is the declared one."""
        missing = self._find_missing()
        _, scores = await self._reward(request, lambda row: [read_slime_request(row)])
        return answer_json(missing.columns(scores)["score"][0])

    def _find_missing(self) -> MissingRewards:
        if self._service.missing is None:
            msg = "This reward knows no mean. Start the server with --missing-reward."
            raise RefusedError("no_number", msg)
        return self._service.missing

    async def _reward(
        self, request: Request, read: Callable[[Any], list[Turn]]
    ) -> tuple[dict[str, Any], LiveScores]:
        """Reward what a trainer posts in its own form; return that, and the rewards.

        Trainers end in an unrelated error where they are refused: so a request waits for its place
        in the queue, and where none is free within the deadline all its rewards are missing.
        """
        service = self._service
        document = read_body(await self._body(request), dict[str, Any])
        try:
            turns = read(document)
        except InputError as error:
            raise RefusedError("wrong_form", str(error)) from None
        run = self._read_run(request, None)
        end = time.monotonic() + service.live.settings.deadline_s
        if not await service.queue.wait_for_place(len(turns), end=end):
            return document, service.give_nothing(turns)
        return document, await service.reward_turns(turns, end=end, run=run)

    async def systemone(self, request: Request) -> Response:
        """Answer questions about a state."""
        asked = read_body(await self._body(request), SystemoneRequest)
        if asked.images:
            raise RefusedError("wrong_form", "The judge reads text only. Leave `images` out.")
        item, chances = await self._decide(list(asked.questions.items()), asked.state)
        told = [{"type": "noul", "noul": chance} for chance in chances]
        answers = [_REFUSAL if row["noul"] is None else row for row in told]
        answered = dict(zip(asked.questions, answers, strict=True))
        return answer_json(self.reader.answer(answered, item))

    async def decisions(self, request: Request) -> Response:
        """Answer questions about an input, as OpenAI has it."""
        asked = read_body(await self._body(request), DecisionsRequest)
        questions = [(row.name, row) for row in asked.questions]
        item, chances = await self._decide(questions, asked.input)
        answers = [
            {"name": name} | (_REFUSAL if x is None else {"type": "predicate", "probability": x})
            for (name, _), x in zip(questions, chances, strict=True)
        ]
        return answer_json(self.reader.answer(answers, item))

    async def _decide(self, asked: Any, state: Any) -> tuple[Item, list[float | None]]:
        places, item = self.reader.places(asked), self.reader.item(state)
        return item, self.reader.chances(places, await self._service.judge(item))

    async def _body(self, request: Request) -> bytes:
        seconds = self._service.settings.body_s
        try:
            async with asyncio.timeout(seconds):
                pieces, has_more = [], True
                while has_more:  # `request.body()` takes five times as long
                    message = await request.receive()
                    if message["type"] == "http.disconnect":
                        raise ClientDisconnect
                    pieces.append(message.get("body", b""))
                    has_more = message.get("more_body", False)
                return b"".join(pieces)
        except TimeoutError:
            msg = f"The body must arrive within {seconds:g} seconds."
            raise RefusedError("too_slow", msg, connection="close") from None

    def _read_run(self, request: Request, named: str | None) -> str | None:
        """Read which training run a request belongs to: by its body, or its address."""
        if named is None and request.scope.get("query_string"):
            named = request.query_params.get("run")
        if named is not None and (_RUN.fullmatch(named) is None or named.lower() == PARTS):
            msg = (
                "`run` must have 1 to 64 letters, digits, dashes or underscores of ASCII, and must "
                f"not be {PARTS!r}, which the folder of the record uses itself."
            )
            raise RefusedError("wrong_form", msg)
        self._service.record.check_stopped(named)
        return named
