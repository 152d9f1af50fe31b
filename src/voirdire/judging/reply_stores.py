"""Where a run keeps a language model's replies."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.store import ReplyStore

__all__ = ["STORE_NAME", "opened_store", "store_of"]

STORE_NAME = "voirdire-replies.sqlite"
"""The store of a run that names none, in the folder of its output."""


@contextmanager
def opened_store(
    store: str | Path | None, *, beside: Path, written: Sequence[Path] = ()
) -> Iterator[ReplyStore]:
    """Open the store that is named, or the one in the folder of an output.

    It may be none of the files that are `written`: they would take its place, replies and all.
    """
    from voirdire.store import open_store
    from voirdire.store.opening import read_address

    place = beside.parent / STORE_NAME if store is None else store
    if read_address(place).path in [path.resolve() for path in written]:
        msg = f"`store` must be a file of its own, got {str(place)!r}, which the run writes."
        raise InputError(f"{msg} Name another.")
    with open_store(place) as opened:
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
