"""One completion that a prompt is to get, and the drafts that were tried for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from voirdire.rewards.synthesis.draws import draw_traits
from voirdire.rewards.synthesis.prompt_source import conversation_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from voirdire.records import Item
    from voirdire.rewards.synthesis.draws import Traits
    from voirdire.rewards.synthesis.plan import SynthesisPlan
    from voirdire.rewards.synthesis.recipe import Slot

__all__ = ["Assignment", "Draft", "assignments_of"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Draft:
    """What was written, and what is wrong with it.

    Attributes
    ----------
    response : str or None
        The text; None where the model gave none.
    reason : str or None
        What is wrong with the text itself: no reply, cut off, empty, no verdict.
    probabilities : mapping of str to (float or None)
        The judge's; empty where it was not asked.
    completion_class : str or None
        The class that holds; None where none is known.
    unmet : tuple of str
        Propositions that had to be in a state and are not.
    missed : tuple of str
        All propositions that were asked for and came out otherwise.
    wrong_class : bool
        Whether the class had to be the label and is not.
    """

    response: str | None = None
    reason: str | None = None
    probabilities: Mapping[str, float | None] = field(default_factory=dict)
    completion_class: str | None = None
    unmet: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    wrong_class: bool = False

    @property
    def is_right(self) -> bool:
        """Whether it may be kept."""
        return self.reason is None and not self.unmet and not self.wrong_class


@dataclass(eq=False, slots=True)
class Assignment:
    """A completion to be written.

    Attributes
    ----------
    prompt : Item
        What it answers; its response is empty.
    key : bytes
        Hash of conversation and behavior.
    slot : Slot
        Which sort it is.
    id : str
        What the row will be called.
    number : int
        Its place among the completions of the prompt, from 0.
    traits : Traits
        What it is to be like.
    drafts : list of Draft
        What was tried, in order.
    """

    prompt: Item
    key: bytes
    slot: Slot
    id: str
    number: int
    traits: Traits
    drafts: list[Draft] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """Whether the last draft may be kept."""
        return bool(self.drafts) and self.drafts[-1].is_right

    @property
    def missed(self) -> tuple[str, ...]:
        """What the last draft got wrong, for the next one to mind."""
        return self.drafts[-1].missed if self.drafts else ()


def assignments_of(prompt: Item, plan: SynthesisPlan) -> Iterator[Assignment]:
    """Lay out the completions of a prompt, in the order of its recipe."""
    behavior = prompt.behavior or ""
    key = conversation_key(prompt)
    number = 0
    counts: dict[str, int] = {}
    for slot in plan.recipes.behaviors[behavior]:
        for _ in range(slot.count):
            counts[slot.label] = counts.get(slot.label, 0) + 1
            yield Assignment(
                prompt=prompt,
                key=key,
                slot=slot,
                id=f"{prompt.id}/{slot.label}/{counts[slot.label]}",
                number=number,
                traits=draw_traits(
                    slot,
                    rubric=plan.rubric,
                    behavior=behavior,
                    recipes=plan.recipes,
                    key=f"{plan.seed}/{key.hex()}/{number}",
                ),
            )
            number += 1
