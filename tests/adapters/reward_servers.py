"""Servers on this machine: our application, and one that fails as it is told."""

import asyncio
import threading
import time
from contextlib import contextmanager
from types import SimpleNamespace

import uvicorn
from aiohttp import web

from voirdire.web import ServerSettings, create_app


@contextmanager
def reward_server(live_reward, *, port=0, **settings):
    """Run our application on this machine, in a thread; gives its address."""
    app = create_app(live_reward, settings=ServerSettings(**settings))
    running = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, timeout_keep_alive=1))
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    end = time.monotonic() + 60
    while not running.started:
        assert thread.is_alive()
        assert time.monotonic() < end
        time.sleep(0.01)
    host, port = running.servers[0].sockets[0].getsockname()
    try:
        yield f"http://{host}:{port}"
    finally:
        running.should_exit = True
        thread.join(60)


@contextmanager
def server(answer):
    """Serve any path: `answer` takes a document and its number."""
    asked = []

    async def handle(request):
        asked.append(await request.json())
        return await answer(asked[-1], len(asked))

    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def begin():
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/{path:.*}", handle)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        return runner, site._server.sockets[0].getsockname()[1]

    runner, port = asyncio.run_coroutine_threadsafe(begin(), loop).result(60)
    try:
        yield SimpleNamespace(url=f"http://127.0.0.1:{port}", asked=asked)
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result(60)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
