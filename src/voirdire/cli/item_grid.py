"""`--items`, as numbers between commas or as START:STOP:STEP."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from voirdire.cli.shell import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["as_sizes"]

_MOST = 1_000


def as_sizes(words: Sequence[str]) -> list[int]:
    """Read sizes of study: `50`, `30,50,100`, or `30:200:10` with both ends."""
    parts = (_read(part, words) for word in words for part in word.split(","))
    # a grid can be longer than memory: it is not read beyond what is allowed
    sizes = list(islice(chain.from_iterable(parts), _MOST + 1))
    if len(sizes) > _MOST:
        msg = f"`--items` must be at most {_MOST:,} sizes, got more."
        raise UsageError(msg)
    return sizes


def _read(part: str, words: Sequence[str]) -> Sequence[int]:
    try:
        numbers = [int(number) for number in part.split(":")]
        if len(numbers) == 1:
            return numbers
        start, stop, step = numbers
        if step > 0 and start <= stop:
            return range(start, stop + 1, step)
    except ValueError:
        pass
    msg = f"`--items` must be numbers, as 30,50,100 or START:STOP:STEP, got {' '.join(words)!r}."
    raise UsageError(msg)
