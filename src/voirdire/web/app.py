"""The application: routes around a live reward."""

from __future__ import annotations

from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.requests import Request  # noqa: TC002  # FastAPI reads the annotations
from starlette.responses import HTMLResponse, Response

import voirdire
from voirdire.web.api import COMPONENTS, DESCRIBED
from voirdire.web.docs_page import HEADERS, docs_page
from voirdire.web.doorkeeper import Doorkeeper
from voirdire.web.refusals import STATUS, RefusedError, json_response, refusal_response
from voirdire.web.routes import RewardRoutes
from voirdire.web.service import RewardService
from voirdire.web.settings import ServerSettings
from voirdire.web.state_routes import StateRoutes

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from voirdire.rewards.live import LiveReward
    from voirdire.web.paths import Path

__all__ = ["create_app", "service_of"]

_TITLE = "voirdire rewards"
_ABOUT = "Gives responses of a model in training their rewards."


def create_app(live_reward: LiveReward, *, settings: ServerSettings | None = None) -> FastAPI:
    """Make an application that gives rewards over HTTP.

    Parameters
    ----------
    live_reward : LiveReward
        What gives the rewards; it is started and closed with the application.
    settings : ServerSettings, optional
        Who may ask, how much, and how long.

    Returns
    -------
    FastAPI
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

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        del app
        await service.start()
        try:
            yield
        finally:
            await service.close()

    app = FastAPI(
        title=_TITLE,
        description=_ABOUT,
        version=voirdire.__version__,
        docs_url=None,  # FastAPI's own pages load scripts from other hosts
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.service = service
    app.add_middleware(Doorkeeper, service=service)
    app.add_exception_handler(RefusedError, _refused)
    app.add_exception_handler(HTTPException, _not_found)
    _add_routes(app, service)
    app.openapi = partial(_openapi, app)  # type: ignore[method-assign]  # FastAPI's documented way
    return app


def service_of(app: FastAPI) -> RewardService:
    """Give what the routes of an application share."""
    service = app.state.service
    if not isinstance(service, RewardService):
        msg = "this is no application of `create_app`"
        raise TypeError(msg)
    return service


def _add_routes(app: FastAPI, service: RewardService) -> None:
    rewards, state = RewardRoutes(service), StateRoutes(service)
    endpoints: dict[Path, Callable[[Request], Awaitable[Response]]] = {
        "/v1/rewards": rewards.rewards,
        "/v1/reward": state.reward,
        "/openrlhf": rewards.openrlhf,
        "/healthz": state.healthz,
        "/readyz": state.readyz,
        "/metrics": state.metrics,
        "/openapi.json": _openapi_json,
        "/docs": _docs,
    }
    for path, endpoint in endpoints.items():
        route = DESCRIBED[path]
        app.add_api_route(
            path,
            endpoint,
            methods=[route.method],
            summary=route.summary,
            name=path,
            operation_id=route.operation_id,
            openapi_extra=route.openapi(),
            response_class=Response,
            response_model=None,
        )


def _openapi(app: FastAPI) -> dict[str, Any]:
    """Describe the interface, once."""
    if app.openapi_schema is None:
        found = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes
        )
        app.openapi_schema = found | {"components": COMPONENTS}
    return app.openapi_schema


async def _openapi_json(request: Request) -> Response:
    return json_response(request.app.openapi())


async def _docs(request: Request) -> Response:
    return HTMLResponse(docs_page(request.app.openapi()), headers=HEADERS)


async def _refused(request: Request, error: Exception) -> Response:
    del request
    if not isinstance(error, RefusedError):
        raise error
    return refusal_response(error)


async def _not_found(request: Request, error: Exception) -> Response:
    """Say in our form what the router says of a path or a method."""
    del request
    if isinstance(error, HTTPException) and error.status_code == STATUS["wrong_method"]:
        refusal = RefusedError("wrong_method", "This path takes another method. See /docs.")
        found = refusal_response(refusal)
        found.headers.update(error.headers or {})
        return found
    return refusal_response(RefusedError("not_found", "There is no such path. See /docs."))
