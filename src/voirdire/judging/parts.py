"""Stretches of items that are judged, written and kept together."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import voirdire
from voirdire.errors import InputError
from voirdire.io.verdict_files import encode_part
from voirdire.judging.fingerprint import hash_of
from voirdire.judging.tally import add_tallies, tally_of
from voirdire.judging.work_folder import write_part

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from voirdire.io.verdict_files import VerdictFormat
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.work_folder import PartRecord
    from voirdire.records import Item
    from voirdire.records.verdict_tables import VerdictLayout

__all__ = [
    "CALL_CHARACTERS",
    "CALL_ITEMS",
    "PART_CHARACTERS",
    "PART_ITEMS",
    "Part",
    "judge_part",
    "key_of",
    "stretches",
]

PART_ITEMS = 2_000
"""Items in a part: what a killed run loses at most, per worker."""

PART_CHARACTERS = 1 << 25
"""Characters in a part, about: long items make shorter parts, so that memory stays flat."""

CALL_ITEMS = 1_000
CALL_CHARACTERS = 1 << 21
"""Items and characters, about, that a judge is asked about at once."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Items to judge, and where their verdicts belong."""

    items: Sequence[Item] = field(repr=False)
    path: Path
    key: str
    written_as: VerdictFormat
    layout: VerdictLayout


def stretches(
    items: Iterable[Item], *, most_items: int, most_characters: int
) -> Iterator[list[Item]]:
    """Cut items into stretches that end where either limit is reached."""
    waiting: list[Item] = []
    n_characters = 0
    for item in items:
        waiting.append(item)
        n_characters += len(item.response)
        for message in item.prompt:
            n_characters += len(message.content)
        if len(waiting) >= most_items or n_characters >= most_characters:
            yield waiting
            waiting, n_characters = [], 0
    if waiting:
        yield waiting


def key_of(
    items: Sequence[Item], plan: JudgingPlan, *, layout: VerdictLayout, written_as: VerdictFormat
) -> str:
    """Hash over everything that a part of the output depends on."""
    content = hashlib.sha256()
    for item in items:
        name = item.id.encode("utf-8", "surrogatepass")
        content.update(len(name).to_bytes(8, "big") + name + item.content_hash())
    return hash_of(
        {
            "items": content.hexdigest(),
            "fingerprint": plan.fingerprint,
            "judge": plan.judge.name,
            "source": plan.judge.source,
            "layout": layout,
            "format": written_as,
            "version": voirdire.__version__,
        }
    )


def judge_part(part: Part, plan: JudgingPlan) -> PartRecord:
    """Judge the items of a part and write it."""
    import polars as pl

    from voirdire.judging.verdict_making import verdicts_on

    calls = stretches(part.items, most_items=CALL_ITEMS, most_characters=CALL_CHARACTERS)
    batches = [verdicts_on(items, plan) for items in calls]
    frame = pl.concat([batch.frame(part.layout) for batch in batches])
    data = encode_part(frame, part.written_as)
    try:
        return write_part(
            part.path, data, key=part.key, tally=add_tallies(tally_of(batch) for batch in batches)
        )
    except OSError as error:
        msg = (
            f"{part.path}: cannot be written ({error.strerror}). The finished parts are kept: make "
            "room, and run the same command again."
        )
        raise InputError(msg) from error
