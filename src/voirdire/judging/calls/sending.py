"""One request, or several together, to a model: a reply or an error, within a deadline."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from voirdire.errors import ModelCallError, ModelTimeoutError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.models import BatchChatModel, ChatModel, ChatRequest
    from voirdire.records import Reply

__all__ = ["send_one", "send_together"]


async def send_one(
    model: ChatModel, request: ChatRequest, *, timeout_s: float
) -> Sequence[Reply | ModelCallError]:
    """Send a request, and give its result as the only one of a sequence."""
    try:
        async with asyncio.timeout(timeout_s) as deadline:
            return (await model.reply(request),)
    except TimeoutError:
        if not deadline.expired():
            raise
        return (_too_late(timeout_s),)
    except ModelCallError as error:
        return (error,)


async def send_together(
    model: BatchChatModel, requests: Sequence[ChatRequest], *, timeout_s: float
) -> Sequence[Reply | ModelCallError]:
    """Send requests together; they have the time that all of them would have one by one."""
    in_all_s = timeout_s * len(requests)
    try:
        async with asyncio.timeout(in_all_s) as deadline:
            return await model.replies(requests)
    except TimeoutError:
        if not deadline.expired():
            raise
        return [_too_late(in_all_s) for _ in requests]
    except ModelCallError as error:
        return [error for _ in requests]


def _too_late(timeout_s: float) -> ModelTimeoutError:
    return ModelTimeoutError(f"no reply within {timeout_s:g} s")
