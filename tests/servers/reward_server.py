"""A reward server of ours in a thread: the real application behind the real HTTP server."""

import contextlib
import socket
import threading

import uvicorn

from voirdire.web import create_app


@contextlib.contextmanager
def running(live_reward, *, settings=None, port=0):
    """Serve a live reward; gives its address."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    app = create_app(live_reward, settings=settings)
    config = uvicorn.Config(app, lifespan="on", log_config=None, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        thread.join(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)
        listening.close()
