"""The routes that give rewards."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from starlette.requests import Request  # noqa: TC002  # FastAPI reads the annotations
from starlette.responses import Response  # noqa: TC002

from voirdire.adapters.openrlhf import openrlhf_response, read_openrlhf_request
from voirdire.errors import InputError
from voirdire.web.answers import RewardName, rewards_answer
from voirdire.web.bodies import discard_body, read_body
from voirdire.web.large_bodies import LARGE, read_large_request
from voirdire.web.reading import check_count, check_depth, check_json, decoded, read_rewards_request
from voirdire.web.refusals import RefusedError, json_response

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.rewards.live import Turn
    from voirdire.web.reading import AskedItem, RewardsRequest
    from voirdire.web.service import RewardService

__all__ = ["RewardRoutes"]

_AT_ONCE = 1_000
"""Items that are made turns at once: about 1 ms."""


class RewardRoutes:
    """Answers requests for rewards."""

    def __init__(self, service: RewardService) -> None:
        self._service = service

    async def rewards(self, request: Request) -> Response:
        """Give items their rewards."""
        service = self._service
        began = time.monotonic()
        body = await self._body(request)
        try:
            asked = await self._read(body)
            turns = await _turns(asked.items)
            service.queue.take(len(turns))
            try:
                deadline_s = service.deadline_s(asked.deadline_s)
                found = await service.rewarded(turns, deadline_s=deadline_s)
                await service.record(found, turns, step=asked.step)
            finally:
                service.queue.give_back(len(turns))
        finally:
            service.budget.release(len(body))
        answer = await rewards_answer(
            asked,
            found,
            reward=service.live.reward,
            name=self._name(),
            seconds=time.monotonic() - began,
        )
        return json_response(answer)

    async def openrlhf(self, request: Request) -> Response:
        """Give what OpenRLHF posts its rewards, always as numbers.

        It ends in an unrelated error where it is refused: so a request waits for its place in the
        queue, and where none is free within the deadline all its rewards are missing.
        """
        service = self._service
        if service.missing is None:
            raise RefusedError("no_number", service.why_no_missing or "")
        body = await self._body(request, waits=True)
        try:
            turns = _turns_of(decoded(body), body, end_tokens=service.settings.end_tokens)
            check_count(len(turns), most=service.queue.most)
            deadline_s = service.deadline_s(None)
            end = time.monotonic() + deadline_s
            if not await service.queue.take_in_time(len(turns), seconds=deadline_s):
                return json_response(openrlhf_response(service.nothing(turns), service.missing))
            try:
                found = [await service.rewarded_at_once(turns, seconds=end - time.monotonic())]
                await service.record(found, turns, step=None)
            finally:
                service.queue.give_back(len(turns))
        finally:
            service.budget.release(len(body))
        return json_response(openrlhf_response(found[0], service.missing))

    async def _body(self, request: Request, *, waits: bool = False) -> bytes:
        service, settings = self._service, self._service.settings
        if not service.is_started:
            raise RefusedError("not_ready", "The server is starting.", retry_after_s=1)
        if not waits:
            try:
                service.queue.check_open()
            except RefusedError as refusal:
                is_read = await discard_body(
                    request.receive, most=settings.max_body, seconds=settings.body_s
                )
                refusal.closes = not is_read
                raise
        return await read_body(
            request.scope,
            request.receive,
            most=settings.max_body,
            seconds=settings.body_s,
            budget=service.budget,
        )

    async def _read(self, body: bytes) -> RewardsRequest:
        most_items = self._service.queue.most
        if len(body) < LARGE:
            return read_rewards_request(body, most_items=most_items)
        async with self._service.reading:  # several at once would take several times the memory
            return await read_large_request(body, most_items=most_items)

    def _name(self) -> RewardName:
        reward = self._service.live.reward
        return RewardName(
            name=reward.name,
            content_hash=reward.content_hash,
            fingerprint=self._service.fingerprint,
        )


async def _turns(items: Sequence[AskedItem]) -> list[Turn]:
    """Give items as the rewards take them; with many, others get their turn in between."""
    turns = [item.turn() for item in items[:_AT_ONCE]]
    for first in range(_AT_ONCE, len(items), _AT_ONCE):
        await asyncio.sleep(0)
        turns += [item.turn() for item in items[first : first + _AT_ONCE]]
    return turns


def _turns_of(document: Any, body: bytes, *, end_tokens: tuple[str, ...]) -> list[Turn]:
    check_json(body)
    check_depth([document])
    try:
        return read_openrlhf_request(document, end_tokens=end_tokens)
    except InputError:
        msg = "The body must have lists `query`, `prompts` and `labels` of one length. See /docs."
        raise RefusedError("wrong_form", msg) from None
