"""Where a run keeps a language model's replies."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.store import ReplyStore

__all__ = ["STORE_NAME", "opened_store", "store_of"]

STORE_NAME = "voirdire-replies.sqlite"
"""The store of a run that names none, in the folder of its output."""


@contextmanager
def opened_store(store: str | Path | None, *, beside: Path) -> Iterator[ReplyStore]:
    """Open the store that is named, or the one in the folder of an output."""
    from voirdire.store import open_store

    with open_store(beside.parent / STORE_NAME if store is None else store) as opened:
        yield opened


@contextmanager
def store_of(store: str | Path | None, *, output: str | Path | None) -> Iterator[ReplyStore | None]:
    """Open the store that a run would use, but make none."""
    from voirdire.store import open_store

    if store is None:
        store = (Path.cwd() if output is None else Path(output).resolve().parent) / STORE_NAME
    if "://" not in str(store) and not Path(store).exists():
        yield None
        return
    with open_store(store) as opened:
        yield opened
