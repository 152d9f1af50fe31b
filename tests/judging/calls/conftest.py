"""Time that passes when nothing else is to be done."""

import asyncio
import random
import selectors
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from servers.faulty import faulty_server  # noqa: F401  # a fixture


class _NoWaiting(selectors.SelectSelector):
    """Instead of waiting for a timer, puts the clock forward to it, once no thread is at work."""

    passed_s = 0.0

    def select(self, timeout=None):
        ready = super().select(0 if timeout is not None else 60)  # for another thread
        while not ready:
            # looked up before: what a thread has handed over by then is ready in what follows
            was_working = is_working()
            ready = super().select(0.002 if was_working else 0)
            if not was_working:
                break
        if not ready and timeout is None:
            raise AssertionError("everybody waits, and nobody will ever wake them")
        if not ready:
            self.passed_s += timeout
        return ready


_submit = ThreadPoolExecutor.submit
_at_work = set()


def _noted(pool, function, /, *args, **kwargs):
    """Submit a task that is at work until everybody who waits for its result has been told."""
    result = Future()

    def work():
        try:
            if not result.set_running_or_notify_cancel():
                return
            try:
                value = function(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001  # it is raised where it is awaited
                result.set_exception(error)
            else:
                result.set_result(value)
        finally:
            _at_work.discard(result)

    _at_work.add(result)
    try:
        _submit(pool, work)
    except BaseException:  # the pool is closed
        _at_work.discard(result)
        raise
    return result


def is_working():
    """Whether a thread does something that an event loop waits for."""
    items = any(thread.name == "voirdire _next" for thread in threading.enumerate())
    return bool(_at_work) or items


@pytest.fixture
def noted_threads(monkeypatch):
    """Have the clocks of virtual loops stand still while a thread of a pool is at work."""
    monkeypatch.setattr(ThreadPoolExecutor, "submit", _noted)


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop in which an hour of waiting takes no time."""

    def __init__(self):
        self._clock = _NoWaiting()
        super().__init__(self._clock)

    def time(self):
        return self._clock.passed_s


@pytest.fixture
def run(noted_threads):
    """Run a coroutine in time that passes by itself."""

    def run(coroutine):
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            return runner.run(asyncio.wait_for(coroutine, timeout=1e7))

    return run


def _every_new_loop(monkeypatch, loop_factory):
    monkeypatch.setattr(asyncio, "new_event_loop", loop_factory)
    monkeypatch.setattr(asyncio.events, "new_event_loop", loop_factory)


@pytest.fixture
def virtual_time(monkeypatch, noted_threads):
    """Let time pass by itself in every event loop that is made, whoever makes it."""
    _every_new_loop(monkeypatch, VirtualLoop)


@pytest.fixture
def at_once(monkeypatch):
    """Have calls made again at once, where a server does not say when."""
    monkeypatch.setattr(random, "random", lambda: 0.0)
