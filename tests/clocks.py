"""A clock that tests put forward: nobody waits for an hour, and a slow machine is not too late."""

import asyncio
import sys
import time
from types import SimpleNamespace


class ForwardLoop(asyncio.SelectorEventLoop):
    """An event loop over real connections whose clock may be put forward."""

    ahead_s = 0.0

    def time(self):
        return super().time() + self.ahead_s


def put_forward(seconds):
    """Let so many seconds have passed in the event loop that runs, which is a `ForwardLoop`."""
    asyncio.get_running_loop().ahead_s += seconds


def run_forward(coroutine):
    """Run a coroutine in such a loop."""
    with asyncio.Runner(loop_factory=ForwardLoop) as runner:
        return runner.run(coroutine)


class PassingClock:
    """A clock that only waiting puts forward, and that by as much as was wanted.

    Attributes
    ----------
    now : float
        The time in seconds.
    pauses : list of float
        How long was waited, each time.
    """

    def __init__(self):
        self.now, self.pauses = 1_000.0, []

    def monotonic(self):
        return self.now

    async def sleep(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds

    def rule(self, module, monkeypatch):
        """Let one module, and nobody else, live by this clock."""
        monkeypatch.setattr(module, "time", self)
        monkeypatch.setattr(
            module, "asyncio", SimpleNamespace(**vars(asyncio) | {"sleep": self.sleep})
        )


def stand_still(monkeypatch):
    """Stop `time.monotonic` for our own modules, not for event loops; give what puts it forward."""
    real = time.monotonic
    now_s = real()

    def monotonic():
        caller = sys._getframe(1).f_globals["__name__"]
        return now_s if caller.startswith("voirdire.") else real()

    def put_forward(seconds):
        nonlocal now_s
        now_s += seconds

    monkeypatch.setattr("time.monotonic", monotonic)
    return put_forward
