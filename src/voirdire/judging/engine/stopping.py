"""Lets another thread stop a run of a language model, as Ctrl-C does."""

from __future__ import annotations

import threading

__all__ = ["Stopping"]


class Stopping(threading.Event):
    """Set, a run ends as by Ctrl-C; with `at_once` set too, as by a second one.

    Attributes
    ----------
    at_once : threading.Event
        Whether calls in flight are not waited for either.
    """

    def __init__(self) -> None:
        super().__init__()
        self.at_once = threading.Event()
