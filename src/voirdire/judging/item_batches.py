"""Cuts items into batches that fit into memory, whatever their length."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from voirdire.records import Item

__all__ = ["CALL_CHARACTERS", "CALL_ITEMS", "split_into_batches"]

CALL_ITEMS = 1_000
CALL_CHARACTERS = 1 << 21
"""Items and characters, about, in one call of a judge."""


def split_into_batches(
    items: Iterable[Item], *, most_items: int, most_characters: int
) -> Iterator[list[Item]]:
    """Cut items into batches that end where either limit is reached."""
    waiting: list[Item] = []
    n_characters = 0
    for item in items:
        waiting.append(item)
        n_characters += len(item.response)
        for message in item.prompt:
            n_characters += len(message.content) + sum(map(len, message.images))
        if len(waiting) >= most_items or n_characters >= most_characters:
            yield waiting
            waiting, n_characters = [], 0
    if waiting:
        yield waiting
