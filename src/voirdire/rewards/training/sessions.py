"""Who wrote what of a training run: processes that ran together, or one after another.

Each process that writes has a session of its own, and each session a file of its own. What two
sessions say of one step adds up where they ran together, as the ranks of a training do. Where one
came after the other, the training was begun again from a checkpoint: from its first step on, the
later session counts alone.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Session", "counting", "new_session"]


_LONG_S = 600.0
"""Seconds without a line after which a process on another machine is taken for ended."""


@dataclass(slots=True)
class Session:
    """One process that wrote.

    Attributes
    ----------
    id : str
        Unique in the run.
    rank : int or None
        Of the process in the training, where it has one.
    world : int
        How many ranks there were.
    host, pid : str, int
        Where it ran.
    began, ended : float
        Seconds since 1970: when it began, and when it last wrote.
    first : int or None
        Its first step.
    """

    id: str
    rank: int | None
    world: int
    host: str
    pid: int
    began: float
    ended: float = 0.0
    first: int | None = field(default=None)

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> Session:
        """Take what `told` gave."""
        rank = found["rank"]
        return cls(
            id=str(found["session"]),
            rank=None if rank is None else int(rank),
            world=int(found["world"]),
            host=str(found["host"]),
            pid=int(found["pid"]),
            began=float(found["time"]),
            ended=float(found["time"]),
        )

    def told(self) -> dict[str, Any]:
        """Give plain values: the first line of the session's file."""
        return {
            "session": self.id,
            "rank": self.rank,
            "world": self.world,
            "host": self.host,
            "pid": self.pid,
            "time": self.began,
        }

    @property
    def may_run(self) -> bool:
        """Whether its process may still be there, as far as can be told from here."""
        if self.host != socket.gethostname():
            return self.ended > time.time() - _LONG_S
        if self.pid == os.getpid():
            return False
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, OverflowError):  # no process has so large a number
            return False
        except OSError:
            return True
        return True


def new_session() -> Session:
    """Begin a session of this process."""
    rank = _number("RANK")
    token = secrets.token_hex(3)
    writer = f"p{os.getpid()}" if rank is None else f"r{rank}"
    return Session(
        id=f"{writer}-{token}",
        rank=rank,
        world=_number("WORLD_SIZE") or 1,
        host=socket.gethostname(),
        pid=os.getpid(),
        began=time.time(),
    )


def counting(sessions: Sequence[Session]) -> dict[str, int | None]:
    """Say from which step on each session no longer counts; None where all of it does."""
    return {one.id: _superseded_from(one, sessions) for one in sessions}


def _superseded_from(one: Session, sessions: Sequence[Session]) -> int | None:
    firsts = [
        other.first
        for other in sessions
        if other is not one and other.first is not None and _is_later(other, one)
    ]
    return min(firsts, default=None)


def _is_later(other: Session, one: Session) -> bool:
    """Tell whether one session took the place of another, instead of running beside it."""
    if other.began <= one.began:
        return False
    if other.rank is None or one.rank is None:
        return other.began >= one.ended
    # ranks begin at different times, and may be fewer than before
    return other.rank == one.rank or (other.rank == 0 and one.rank >= other.world)


def _number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdigit() else None
