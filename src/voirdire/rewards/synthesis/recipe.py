"""What a recipe is: which completions a prompt gets, and the words that ask for their traits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from voirdire._types import Language
from voirdire.judging.fingerprint import hash_of

if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "RECIPES_SCHEMA",
    "Instruction",
    "Recipes",
    "Sampled",
    "Slot",
    "Start",
    "Verify",
]

RECIPES_SCHEMA = "voirdire.recipes/1"

Text = Mapping[Language, str]

Start: TypeAlias = Literal["demanded", "free"]
"""What holds of a completion besides what its slot demands: whatever its behavior demands, or
nothing."""

Verify: TypeAlias = Literal["both", "traits", "class"]
"""What the judge must find in a completion: the traits that were asked for, the class that is its
label, or both."""


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """How a proposition is asked for, and how it is kept out.

    Attributes
    ----------
    when_true, when_false : mapping of language to str
        One sentence or two, to the assistant whose response is written.
    """

    when_true: Text
    when_false: Text


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """Traits that are drawn for each completion.

    Attributes
    ----------
    among : tuple of str
        Propositions, and groups of demands as expressions name them (``undesired``, ``core``, …).
        A drawn proposition gets the state opposite to the one it has, and true if it has none.
    least, most : int or None
        How many are drawn; None where `probability` or `fewest` says it.
    probability : float or None
        In (0, 1): each is drawn on its own.
    fewest : bool
        Whether as few are drawn as make the label the completion's class.
    """

    among: tuple[str, ...]
    least: int | None = None
    most: int | None = None
    probability: float | None = None
    fewest: bool = False


@dataclass(frozen=True, kw_only=True)
class Slot:
    """One sort of completion.

    Attributes
    ----------
    label : str
        Its completion label, such as ``"ideal"``.
    count : int
        How many of them a prompt gets.
    start : {"demanded", "free"}
        What holds besides `demands`.
    demands : mapping of str to bool
        Propositions in the state that they must have.
    sampled : Sampled or None
        What is drawn on top.
    verify : {"both", "traits", "class"}
        What the judge must find.
    brief : mapping of language to str
        What it is in a phrase; may be empty.
    """

    label: str
    count: int = 1
    start: Start = "demanded"
    demands: Mapping[str, bool] = field(default_factory=dict)
    sampled: Sampled | None = None
    verify: Verify = "both"
    brief: Text = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Recipes:
    """Recipes for the behaviors of a rubric.

    Attributes
    ----------
    name, version : str
        Which recipes they are. The version is the author's; `content_hash` is what counts.
    rubric : str
        Name of the rubric that they are for.
    instructions : mapping of str to Instruction
        By proposition. One that is not here is asked for by its question.
    implies : mapping of (str, bool) to mapping of str to bool
        What follows where a proposition is wanted in a state.
    behaviors : mapping of str to tuple of Slot
        What a prompt of each behavior gets.
    notes : tuple of str
        What the reader should know, such as classes that nothing was found for.
    source : str
        The file it came from, for messages; not part of its content.
    """

    name: str
    version: str
    rubric: str
    instructions: Mapping[str, Instruction] = field(repr=False)
    implies: Mapping[tuple[str, bool], Mapping[str, bool]] = field(repr=False)
    behaviors: Mapping[str, tuple[Slot, ...]] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    source: str = field(default="<memory>", compare=False)

    @cached_property
    def content_hash(self) -> str:
        """``sha256:`` and 64 hexadecimal digits over everything that it says."""
        told: dict[str, Any] = {
            "schema": RECIPES_SCHEMA,
            "name": self.name,
            "version": self.version,
            "rubric": self.rubric,
            "instructions": {name: asdict(row) for name, row in self.instructions.items()},
            "implies": [[*key, dict(states)] for key, states in self.implies.items()],
            "behaviors": {
                name: [asdict(slot) for slot in slots] for name, slots in self.behaviors.items()
            },
        }
        return hash_of(told)

    @property
    def title(self) -> str:
        """Name, version and the first digits of the hash, as rows carry them."""
        return f"{self.name} {self.version} ({self.content_hash[7:19]})"
