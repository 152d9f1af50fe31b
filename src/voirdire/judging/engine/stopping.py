"""Lets another thread stop a run, as Ctrl-C does."""

from __future__ import annotations

import threading

__all__ = ["Stopping"]


class Stopping(threading.Event):
    """Event that ends a run as Ctrl-C does; with `at_once` set too, as a second Ctrl-C does.

    Attributes
    ----------
    at_once : threading.Event
        Set it to end the run without waiting for the calls in flight.
    """

    def __init__(self) -> None:
        super().__init__()
        self.at_once = threading.Event()
