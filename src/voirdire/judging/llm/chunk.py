"""A stretch of items on its way: what is stored of them, what must be called, what came of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from voirdire.judging.llm.call_plan import item_key
from voirdire.judging.prompts import new_nonce

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from voirdire.judging.client.call import Call, Outcome
    from voirdire.judging.llm.call_plan import CallPlan
    from voirdire.records import Item

__all__ = ["Chunk", "Unit"]


@dataclass(eq=False, slots=True)
class Unit:
    """Calls that one worker makes, and where their outcomes belong."""

    chunk: Chunk
    key: bytes
    calls: list[Call[Any]]
    slots: list[int]
    stored: Mapping[str, Sequence[bytes]]

    def deliver(self, outcomes: Sequence[Outcome[Any]]) -> None:
        """Hand the outcomes to every item that they concern."""
        self.chunk.deliver(self, outcomes)


@dataclass(eq=False, slots=True)
class Chunk:
    """Items in their order with one row of outcomes each.

    A row has a slot per call of the plan, then one for the check of orders, which stays empty where
    it is not wanted.
    """

    items: list[Item]
    keys: list[bytes]
    rows: list[list[Outcome[Any] | None]]
    n_waiting: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)
    _rows_of: dict[bytes, list[int]] = field(default_factory=dict)

    @classmethod
    def of(cls, items: list[Item], plan: CallPlan) -> Chunk:
        """Prepare a chunk; nothing is looked up yet."""
        keys = [item_key(item) for item in items]
        rows: list[list[Outcome[Any] | None]] = [[None] * (len(plan.specs) + 1) for _ in items]
        chunk = cls(items, keys, rows)
        for row, key in enumerate(keys):
            chunk._rows_of.setdefault(key, []).append(row)
        return chunk

    @property
    def all_keys(self) -> list[bytes]:
        """Every hash that the store may know something of, each once."""
        return list(self._rows_of)

    def units(
        self,
        plan: CallPlan,
        *,
        stored: Mapping[bytes, Mapping[str, Sequence[bytes]]],
        reuse: Callable[[Call[Any], Sequence[bytes]], Outcome[Any] | None],
        n_check: int,
        together: bool,
    ) -> list[Unit]:
        """Fill in what the store has, and give what must be called."""
        units: list[Unit] = []
        nothing: dict[str, Sequence[bytes]] = {}
        for key, rows in self._rows_of.items():
            known = stored.get(key, nothing)
            unit = Unit(self, key, [], [], known)
            row = rows[0]
            item = self.items[row]
            nonce = new_nonce() if plan.shares_fence else None
            wanted = [spec.call(item, key=key, nonce=nonce) for spec in plan.specs]
            if plan.check is not None and row < n_check:
                wanted.append(plan.check.call(item, key=key))
            for slot, call in enumerate(wanted):
                blobs = known.get(call.name, ())
                outcome = reuse(call, blobs) if blobs else None
                if outcome is None:
                    unit.calls.append(call)
                    unit.slots.append(slot)
                else:
                    for each in rows:
                        self.rows[each][slot] = outcome
            if unit.calls:
                units += [unit] if together else _apart(unit)
        self.n_waiting = len(units)
        if not units:
            self.done.set()
        return units

    def deliver(self, unit: Unit, outcomes: Sequence[Outcome[Any]]) -> None:
        """Take the outcomes of a unit."""
        for slot, outcome in zip(unit.slots, outcomes, strict=True):
            for row in self._rows_of[unit.key]:
                self.rows[row][slot] = outcome
        self.n_waiting -= 1
        if not self.n_waiting:
            self.done.set()


def _apart(unit: Unit) -> list[Unit]:
    """Give each call of an item to a worker of its own."""
    if len(unit.calls) == 1:
        return [unit]
    return [
        Unit(unit.chunk, unit.key, [call], [slot], unit.stored)
        for call, slot in zip(unit.calls, unit.slots, strict=True)
    ]
