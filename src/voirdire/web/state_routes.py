"""The routes that tell how the server stands, and what it is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request  # noqa: TC002  # FastAPI reads the annotations
from starlette.responses import Response

from voirdire.rewards.model_file import reward_document
from voirdire.web.refusals import RefusedError, json_response

if TYPE_CHECKING:
    from voirdire.web.service import RewardService

__all__ = ["Alive", "RewardDescription", "StateRoutes"]


class Alive(msgspec.Struct, frozen=True, kw_only=True):
    """That the server answers, or takes requests."""

    status: str


class RewardDescription(msgspec.Struct, frozen=True, kw_only=True):
    """What pays: the reward, its judge, and the whole document that it was loaded from.

    `fingerprint` is that of the verdicts which are paid for, `judge` the name of who gives them.
    """

    name: str
    content_hash: str
    fingerprint: str
    judge: str
    rubric: str
    rubric_version: str
    behaviors: list[str]
    propositions: list[str]
    uses_base: bool
    document: dict[str, Any]


class StateRoutes:
    """Tells how the server stands."""

    def __init__(self, service: RewardService) -> None:
        self._service = service
        self._description: bytes | None = None

    async def healthz(self, request: Request) -> Response:
        """Tell that the server is alive."""
        del request
        return json_response(Alive(status="alive"))

    async def readyz(self, request: Request) -> Response:
        """Tell whether requests are taken, and judged."""
        del request
        why = self._service.why_not_ready
        if why is not None:
            raise RefusedError("not_ready", f"Not ready: {why}.", retry_after_s=1)
        return json_response(Alive(status="ready"))

    async def metrics(self, request: Request) -> Response:
        """Give the figures as Prometheus reads them."""
        del request
        text = self._service.figures.text()
        return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})

    async def reward(self, request: Request) -> Response:
        """Describe the reward."""
        del request
        if self._description is None:
            self._description = await asyncio.to_thread(self._described)  # a rubric is long
        return json_response(self._description)

    def _described(self) -> bytes:
        reward = self._service.live.reward
        described = RewardDescription(
            name=reward.name,
            content_hash=reward.content_hash,
            fingerprint=self._service.fingerprint,
            judge=self._service.judge,
            rubric=reward.rubric.name,
            rubric_version=reward.rubric.version,
            behaviors=list(reward.behaviors),
            propositions=list(reward.rubric.propositions),
            uses_base=reward.uses_base,
            document=reward_document(reward),
        )
        return msgspec.json.encode(described)
