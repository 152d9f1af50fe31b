"""Read a large request for rewards in pieces, so that other requests get their turn in between.

A thread would not do: a decoder in C holds the interpreter from the first byte to the last.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import re
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.web.reading import (
    RewardsRequest,
    check_brackets,
    check_count,
    once,
    read_checked_items,
    read_rewards_request,
)
from voirdire.web.refusals import RefusedError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from voirdire.web.reading import AskedItem

__all__ = ["LARGE", "CutBody", "UncutError", "read_large_request"]

LARGE = 256 * 1024
"""Bytes from which on a body is read in pieces, and characters of a piece: 1 to 2 ms of work."""

_STEP = 1024 * 1024
"""Bytes that are counted, or made text, at once."""

_SPACE = re.compile(r"[ \t\n\r]*")
_decoder = json.JSONDecoder(object_pairs_hook=once)


async def read_large_request(body: bytes, *, most_items: int) -> RewardsRequest:
    """Read a request for rewards as `read_rewards_request` does, and give way in between.

    Parameters
    ----------
    body : bytes
        JSON.
    most_items : int
        Items that a request may have.

    Returns
    -------
    RewardsRequest
        The same as of the whole.

    Raises
    ------
    RefusedError
        The same as of the whole, which is read at once where a piece is not as it should be: what
        is wrong is said of the whole.

    Notes
    -----
    *Order*: that of the body. *Errors*: as above. *Cancellation*: it ends between two pieces.
    *Memory*: the text of the body beside the body, and its items. *Retries and caching*: none.

    An item is never cut: one of 16 MiB holds up everybody as long as it takes.
    """
    try:
        return await _in_pieces(body, most_items=most_items)
    except (UncutError, RefusedError, ValueError, RecursionError):
        return read_rewards_request(body, most_items=most_items)


async def _in_pieces(body: bytes, *, most_items: int) -> RewardsRequest:
    await _check_brackets(body)
    cut = CutBody(await _text(body))
    items: list[AskedItem] = []
    for piece in cut.pieces():
        items += read_checked_items(f'{{"items":[{piece}]}}'.encode())
        check_count(len(items), most=most_items)
        await asyncio.sleep(0)
    asked = read_rewards_request(cut.frame.encode(), most_items=most_items)
    return msgspec.structs.replace(asked, items=items)


async def _check_brackets(body: bytes) -> None:
    n_brackets = 0
    for first in range(0, len(body), _STEP):
        last = first + _STEP
        n_brackets += body.count(b"{", first, last) + body.count(b"[", first, last)
        await asyncio.sleep(0)
    check_brackets(n_brackets)


async def _text(body: bytes) -> str:
    decoder = codecs.getincrementaldecoder("utf-8")()
    found = []
    for first in range(0, len(body), _STEP):
        last = first + _STEP
        found.append(decoder.decode(body[first:last], last >= len(body)))
        await asyncio.sleep(0)
    return "".join(found)


class UncutError(Exception):
    """Nobody can tell from the outside where the items of a body are."""


class CutBody:
    """A body that is cut into its items and what stands around them.

    Parameters
    ----------
    text : str
        JSON, as it is hoped.

    Attributes
    ----------
    frame : str
        The body with no items; there after the last piece.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self.frame = ""

    def pieces(self) -> Iterator[str]:
        """Give some items at a time, with commas in between; no object has a key twice.

        Raises
        ------
        UncutError, ValueError, RefusedError
            If the body is no object with a list of items.
        """
        place = self._after("{", 0)
        items: tuple[int, int] | None = None
        left = list(RewardsRequest.__struct_fields__)
        while True:
            key, place = self._value(place)
            place = self._after(":", place)
            if key not in left:  # the whole is refused for it at once, and here millions could come
                raise UncutError
            left.remove(key)
            if key == "items":
                first = self._after("[", place)
                place = yield from self._items(first)
                items = (first, place)
                place += 1
            else:
                _, place = self._scalar(place)
            if self._at(place) != ",":
                break
            place = self._after(",", place)
        if items is None:
            raise UncutError
        self.frame = self._text[: items[0]] + self._text[items[1] :]

    def _items(self, place: int) -> Generator[str, None, int]:
        """Give pieces; tell where the bracket is that ends them."""
        first = place
        if self._at(place) == "]":
            return self._skipped(place)
        while True:
            _, last = self._value(place)
            mark = self._at(last)
            if mark == "]" or last - first >= LARGE:
                yield self._text[first:last]
                first = self._skipped(last) + 1
            if mark == "]":
                return first - 1
            place = self._after(",", last)

    def _value(self, place: int) -> tuple[Any, int]:
        """Read a value; give it, and where it ends."""
        return _decoder.raw_decode(self._text, self._skipped(place))

    def _scalar(self, place: int) -> tuple[Any, int]:
        """Read a value that is short, as all are but the items."""
        if self._at(place) in ("[", "{"):
            raise UncutError
        return self._value(place)

    def _after(self, mark: str, place: int) -> int:
        place = self._skipped(place)
        if not self._text.startswith(mark, place):
            raise UncutError
        return place + 1

    def _at(self, place: int) -> str:
        place = self._skipped(place)
        return self._text[place : place + 1]

    def _skipped(self, place: int) -> int:
        """Go over spaces; a match of none is a match too."""
        found = _SPACE.match(self._text, place)
        return place if found is None else found.end()
