"""What a forked process must forget: locks and threads that only its parent has."""

from __future__ import annotations

import os
import weakref
from functools import cache
from typing import Protocol

__all__ = ["Forgetting", "forget_when_forked"]


class Forgetting(Protocol):
    """Something with threads or locks."""

    def forget(self) -> None:
        """Begin anew, in a process that has neither."""


_known: weakref.WeakSet[Forgetting] = weakref.WeakSet()


def forget_when_forked(thing: Forgetting) -> None:
    """Have something forget its threads and locks in every process that is forked off.

    Parameters
    ----------
    thing : object with a method `forget`
        Held weakly.
    """
    _watch_forks()
    _known.add(thing)


@cache
def _watch_forks() -> None:
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_forget_all)


def _forget_all() -> None:
    for thing in list(_known):
        thing.forget()
