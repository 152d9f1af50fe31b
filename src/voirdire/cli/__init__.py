"""The command line: read, call one public function, print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.cli.entry import run
    from voirdire.cli.main import app

__all__ = ["app", "run"]

_HOMES = {"app": "main", "run": "entry"}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
