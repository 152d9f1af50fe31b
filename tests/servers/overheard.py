"""What passes between a client and a server, kept as it is: a forwarder on loopback."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from io import BytesIO

import msgspec
from aiohttp import ClientSession, web

__all__ = ["Overheard", "overhear"]


@dataclass(kw_only=True)
class Overheard:
    """A place to send requests to instead, and what was sent and answered there, in order."""

    base_url: str = ""
    requests: list = field(default_factory=list)
    answers: list = field(default_factory=list)


@asynccontextmanager
async def overhear(base_url):
    """Forward what is posted to `base_url`, and keep both sides of it as plain JSON values."""
    kept = Overheard()

    async def forward(request):
        sent = await request.read()
        async with session.post(
            base_url + request.path,
            data=BytesIO(sent),
            headers={"Content-Type": "application/json"},
        ) as answer:
            body = await answer.read()
            kept.requests.append(msgspec.json.decode(sent))
            kept.answers.append(msgspec.json.decode(body))
            return web.Response(body=body, status=answer.status, content_type="application/json")

    app = web.Application(client_max_size=1 << 26)
    app.router.add_post("/{path:.*}", forward)
    runner = web.AppRunner(app)
    async with ClientSession(headers={"Content-Type": "application/json"}) as session:
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        kept.base_url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield kept
        finally:
            await runner.cleanup()
