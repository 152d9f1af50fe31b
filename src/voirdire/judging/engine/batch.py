"""Tracks, for a batch of items, which calls are stored, which are open, and which are answered."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from voirdire.judging.call_plan import hash_item
from voirdire.judging.engine.combining import calibrate_verdict, combine, failed_verdict
from voirdire.judging.prompts import new_nonce

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from voirdire.judging.binding import BoundJudge
    from voirdire.judging.client.call import Call, Outcome
    from voirdire.judging.engine.combining import ItemVerdict
    from voirdire.records import Item

__all__ = ["Batch", "ItemRequest", "Unit", "UnitName", "UnitOwner"]

UnitName: TypeAlias = tuple[bytes, tuple[str, ...]]
"""Hash of the item, and the names of the calls about it."""


class ItemRequest(ABC):
    """An item whose verdict a caller waits for; an engine always answers it.

    Attributes
    ----------
    item : Item
        What is asked about.
    deadline : float
        When the last caller stops waiting, by the event loop's clock. Items that no caller waits
        for come last.
    answered_by : str or None
        The judge of a cascade or jury that answered it.
    """

    __slots__ = ("answered_by", "deadline", "item")

    def __init__(self, item: Item, deadline: float = math.inf) -> None:
        self.item = item
        self.deadline = deadline
        self.answered_by: str | None = None

    @property
    @abstractmethod
    def is_answered(self) -> bool:
        """Whether it needs no more work."""

    @abstractmethod
    def answer(self, verdict: ItemVerdict) -> None:
        """Set the verdict, unless there is one already."""


class UnitOwner(Protocol):
    """Receives the outcomes of units."""

    def deliver(self, unit: Unit, outcomes: Sequence[Outcome[Any]]) -> list[Unit]:
        """Take the outcomes of a unit; return the units to call next."""

    def fail(self, unit: Unit, outcome: Outcome[Any]) -> None:
        """Take one outcome for a unit and all its followers."""

    def deadline(self, key: bytes) -> float:
        """Return the time until which a caller waits for the items with this hash."""

    def is_answered(self, key: bytes) -> bool:
        """Return whether all items with this hash are answered."""


@dataclass(eq=False, slots=True)
class Unit:
    """Calls that one worker makes together, and the places of their outcomes.

    Attributes
    ----------
    batch : UnitOwner
        Receives their outcomes.
    key : bytes
        Hash of their item.
    calls : list of Call
        The calls.
    slots : list of int
        The place of each among the outcomes of the item.
    stored : mapping of str to sequence of bytes
        Stored attempts about the item, by the name of their call.
    followers : list of Unit
        Units that are called after this one, such as calls that reuse its cached prompt.
    """

    batch: UnitOwner
    key: bytes
    calls: list[Call[Any]]
    slots: list[int]
    stored: Mapping[str, Sequence[bytes]]
    followers: list[Unit] = field(default_factory=list)

    @property
    def name(self) -> UnitName:
        """Two units with one name at the same time would pay twice."""
        return self.key, tuple([call.name for call in self.calls])

    @property
    def deadline(self) -> float:
        """When the last caller stops waiting for it."""
        return self.batch.deadline(self.key)

    @property
    def is_answered(self) -> bool:
        """Whether no caller can get an answer from it any more."""
        return self.batch.is_answered(self.key)


class Batch:
    """Items with the outcomes of all calls about them; equal items share their calls.

    `note` is called with every verdict.
    """

    def __init__(
        self,
        asked: Sequence[ItemRequest],
        bound: BoundJudge,
        *,
        note: Callable[[ItemVerdict], None],
    ) -> None:
        self._bound, self._plan = bound, bound.calls
        self._calibrators = bound.calibrators
        self._note = note
        self._waiting: dict[bytes, list[ItemRequest]] = {}
        self._outcomes: dict[bytes, list[Outcome[Any] | None]] = {}
        for each in asked:
            key = hash_item(each.item)
            if key in self._waiting:
                self._waiting[key].append(each)
            else:
                self._waiting[key] = [each]
                self._outcomes[key] = [None] * len(self._plan.specs)

    @property
    def keys(self) -> list[bytes]:
        """Every item hash, once each."""
        return list(self._outcomes)

    def units(
        self,
        *,
        stored: Mapping[bytes, Mapping[str, Sequence[bytes]]],
        reuse: Callable[[Call[Any], Sequence[bytes]], Outcome[Any] | None],
        samples: bool,
    ) -> list[Unit]:
        """Use the stored outcomes, answer the items that are complete, return the units to call."""
        units: list[Unit] = []
        nothing: dict[str, Sequence[bytes]] = {}
        for key in self.keys:
            known = stored.get(key, nothing)
            unit = Unit(self, key, [], [], known)
            for slot, call in enumerate(self._calls(key)):
                blobs = known.get(call.name, ())
                outcome = reuse(call, blobs) if blobs else None
                if outcome is None:
                    unit.calls.append(call)
                    unit.slots.append(slot)
                else:
                    self._outcomes[key][slot] = outcome
            if unit.calls:
                units += self._split_unit(unit, samples=samples)
            self._answer_if_complete(key)
        return units

    def deliver(self, unit: Unit, outcomes: Sequence[Outcome[Any]]) -> list[Unit]:
        """Take the outcomes of a unit; return the units to call next."""
        following = unit.followers
        unit.followers = []
        for slot, outcome in zip(unit.slots, outcomes, strict=True):
            self._outcomes[unit.key][slot] = outcome
        self._answer_if_complete(unit.key)
        return following

    def fail(self, unit: Unit, outcome: Outcome[Any]) -> None:
        """Take one outcome for a unit and all its followers."""
        for each in (unit, *unit.followers):
            for slot in each.slots:
                self._outcomes[each.key][slot] = outcome
        unit.followers = []
        self._answer_if_complete(unit.key)

    def give_up(self, why: str) -> None:
        """Answer every open item with a failure."""
        verdict = failed_verdict(len(self._bound.rubric.questions), why)
        for key in list(self._waiting):
            self._answer(key, verdict)

    def deadline(self, key: bytes) -> float:
        """Return the time until which a caller waits for the items with this hash."""
        return max((each.deadline for each in self._waiting.get(key, ())), default=0.0)

    def is_answered(self, key: bytes) -> bool:
        """Return whether all items with this hash are answered."""
        return all(each.is_answered for each in self._waiting.get(key, ()))

    def _calls(self, key: bytes) -> Iterator[Call[Any]]:
        item = self._waiting[key][0].item
        nonce = new_nonce() if self._plan.shares_fence else None
        for spec in self._plan.specs:
            yield spec.call(item, key=key, nonce=nonce)

    def _split_unit(self, unit: Unit, *, samples: bool) -> list[Unit]:
        """Make one unit per call, or one for all samples of an item.

        Where prompts begin alike, the first call goes ahead: a server with a prompt cache then
        reuses the beginning for the others.
        """
        if len(unit.calls) == 1:
            return [unit]
        parts: dict[object, Unit] = {}
        for call, slot in zip(unit.calls, unit.slots, strict=True):
            spec = self._plan.specs[slot]
            is_sample = samples and spec.seed is not None
            asked = (spec.places, spec.ask.swapped) if is_sample else slot
            part = parts.setdefault(asked, Unit(self, unit.key, [], [], unit.stored))
            part.calls.append(call)
            part.slots.append(slot)
        first, *others = parts.values()
        if not self._plan.shares_fence:
            return [first, *others]
        first.followers = others
        return [first]

    def _answer_if_complete(self, key: bytes) -> None:
        outcomes = self._outcomes[key]
        if key not in self._waiting or None in outcomes:
            return
        verdict = combine(
            outcomes,  # type: ignore[arg-type]  # every slot is filled
            plan=self._plan,
            questions=self._bound.rubric.questions,
            votes=self._bound.judge.probability == "vote",
        )
        if self._calibrators:
            verdict = calibrate_verdict(verdict, self._calibrators)
        self._answer(key, verdict)

    def _answer(self, key: bytes, verdict: ItemVerdict) -> None:
        for each in self._waiting.pop(key):
            self._note(verdict)
            each.answer(verdict)
