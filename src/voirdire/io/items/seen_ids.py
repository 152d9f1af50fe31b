"""Whether an id came before, for any number of items, at 16 bytes each.

Ids are kept as 64-bit hashes, seeded anew in every process, beside the line they first stood on.
Two different ids share a hash with a chance of n²/2⁶⁵: one in four thousand for a hundred million
items. Nothing is checked a second time, since a stream cannot be read again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["SeenIds"]

# Runs are merged up to this size: a merge holds both at once for a moment.
_MAX_RUN = 1 << 19


@dataclass(frozen=True, kw_only=True)
class _Run:
    """Sorted hashes, and the line of each."""

    hashes: NDArray[np.int64]
    lines: NDArray[np.int64]


class SeenIds:
    """The ids of a file so far."""

    def __init__(self, *, source: str) -> None:
        self.source = source
        self._runs: list[_Run] = []

    def add(self, ids: Sequence[str], lines: Sequence[int]) -> None:
        """Take the ids of a batch.

        Raises
        ------
        InputError
            If one of them is there already.
        """
        if not ids:
            return
        hashes = np.fromiter(map(hash, ids), dtype=np.int64, count=len(ids))
        order = np.argsort(hashes, kind="stable")
        run = _Run(hashes=hashes[order], lines=np.array(lines, dtype=np.int64)[order])
        repeats = [  # (place in the batch, line of the first)
            (int(order[at + 1]), int(run.lines[at]))
            for at in np.flatnonzero(run.hashes[1:] == run.hashes[:-1])
        ]
        for earlier in self._runs:
            at = np.searchsorted(earlier.hashes, run.hashes)
            at[at == len(earlier.hashes)] = 0
            same = np.flatnonzero(earlier.hashes[at] == run.hashes)
            repeats += [(int(order[n]), int(earlier.lines[at[n]])) for n in same]
        if repeats:
            place, first = min(repeats)
            message = (
                f"{self.source}:{lines[place]}: item ids must be unique, got "
                f"{shorten(ids[place])!r} again (first at line {first}). "
                'Name another column: columns={"id": ...}.'
            )
            raise InputError(message)
        self._keep(run)

    def _keep(self, run: _Run) -> None:
        """Keep few runs: two of about a size become one, up to a limit."""
        while self._runs and len(self._runs[-1].hashes) <= 2 * len(run.hashes) <= _MAX_RUN:
            run = _merged(self._runs.pop(), run)
        self._runs.append(run)


def _merged(first: _Run, second: _Run) -> _Run:
    n_ids = len(first.hashes) + len(second.hashes)
    at = np.searchsorted(first.hashes, second.hashes) + np.arange(len(second.hashes))
    is_first = np.ones(n_ids, dtype=bool)
    is_first[at] = False
    hashes = np.empty(n_ids, dtype=np.int64)
    lines = np.empty(n_ids, dtype=np.int64)
    hashes[at], lines[at] = second.hashes, second.lines
    hashes[is_first], lines[is_first] = first.hashes, first.lines
    return _Run(hashes=hashes, lines=lines)
