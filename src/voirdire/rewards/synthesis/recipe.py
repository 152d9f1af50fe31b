"""What a recipe is, and which traits it draws for a completion by a seed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from itertools import combinations, product
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from voirdire._types import Language
from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.judging.fingerprint import hash_of
from voirdire.rubrics import hard_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from voirdire.rubrics import Behavior, Rubric

__all__ = [
    "GROUPS",
    "RECIPES_SCHEMA",
    "Instruction",
    "Recipes",
    "Sampled",
    "Slot",
    "Start",
    "Traits",
    "Verify",
    "classes_of",
    "demanded_states",
    "draw_traits",
    "members_of",
    "seed_of",
]

RECIPES_SCHEMA = "voirdire.recipes/1"

GROUPS = (
    "all", "required", "core", "desired", "allowed", "undesired", "unacceptable", "illogical",
    "disallowed",
)  # fmt: skip
"""Groups of demands that may be drawn from, called as in expressions; ``all`` is every one."""

_MOST_DRAWS = 200
_MOST_CHANGED = 3
_MANY = 30
"""Among so many propositions, no more than two are changed by trying out every way."""

_N_RANDOM = 8_192

Text = Mapping[Language, str]
Implies: TypeAlias = Mapping[tuple[str, bool], Mapping[str, bool]]
Classes: TypeAlias = "Callable[[Sequence[Mapping[str, bool]]], list[str | None]]"

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
    implies: Implies = field(repr=False)
    behaviors: Mapping[str, tuple[Slot, ...]] = field(repr=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    source: str = field(default="<memory>", compare=False)

    @cached_property
    def content_hash(self) -> str:
        """``sha256:`` and 64 hexadecimal digits over everything that it says."""
        told = asdict(self)
        del told["notes"], told["source"]
        implied = [[*key, dict(states)] for key, states in self.implies.items()]
        return hash_of({"schema": RECIPES_SCHEMA, **told, "implies": implied})

    @property
    def title(self) -> str:
        """Name, version and the first digits of the hash, as rows carry them."""
        return f"{self.name} {self.version} ({self.content_hash[7:19]})"


# Draws -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What a completion is to be like: everything that is `wanted`, in the order of the rubric.

    `sampled` was drawn of it; `checked` are the propositions that the recipe itself demands or that
    were drawn, which must hold.
    """

    wanted: Mapping[str, bool]
    sampled: Mapping[str, bool]
    checked: frozenset[str]


def draw_traits(
    slot: Slot, *, rubric: Rubric, behavior: Behavior, implies: Implies, key: str
) -> Traits:
    """Draw traits that make the label the class, as far as they decide it; `key` is the seed.

    An `InputError` says that none of many draws does.
    """
    classes = partial(classes_of, rubric=rubric, behavior=behavior)
    is_class = slot.label in [row.name for row in behavior.classes]
    is_fewest = slot.sampled is not None and slot.sampled.fewest
    start = {**(demanded_states(behavior) if slot.start == "demanded" else {}), **slot.demands}
    for drawn in _draw_states(slot, start, behavior=behavior, classes=classes, key=key):
        firm = {**slot.demands, **drawn}
        followed = firm if is_fewest else _add_implied(firm, implies, behavior)
        if followed is None:
            continue
        states = start | followed
        if not is_class or classes([states])[0] in (None, slot.label):
            return Traits(
                wanted={name: states[name] for name in rubric.propositions if name in states},
                sampled={name: drawn[name] for name in rubric.propositions if name in drawn},
                checked=frozenset(firm),
            )
    msg = (
        f"a completion of `{behavior.id}` must be able to have the label {shorten(slot.label)!r}, "
        f"got demands and draws that never make it so in {_MOST_DRAWS} tries. Change `demands` or "
        "`sampled`, or write another label."
    )
    raise InputError(msg)


def members_of(name: str, behavior: Behavior) -> tuple[str, ...]:
    """List the propositions that a group of demands has, or the one that is named."""
    if name not in GROUPS:
        return (name,)
    return tuple(
        proposition
        for proposition, demand in behavior.demands.items()
        if name == "all" or (demand.core if name == "core" else demand.word == name)
    )


def demanded_states(behavior: Behavior) -> dict[str, bool]:
    """Give the state of each proposition for which a behavior demands one."""
    demanded = {name: need.demanded for name, need in behavior.demands.items()}
    return {name: state for name, state in demanded.items() if state is not None}


def classes_of(
    rows: Sequence[Mapping[str, bool]], *, rubric: Rubric, behavior: Behavior
) -> list[str | None]:
    """Name the class of each row of states; None where they leave it open."""
    names = rubric.propositions
    labels = np.array([[row.get(name, np.nan) for name in names] for row in rows], dtype=float)
    places = hard_classes(rubric, behavior.id, labels=labels, propositions=names)
    return [behavior.classes[place].name if place >= 0 else None for place in places]


def seed_of(key: str) -> int:
    """Make a seed of a text, the same in every process."""
    return int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8])


def _draw_states(
    slot: Slot, start: dict[str, bool], *, behavior: Behavior, classes: Classes, key: str
) -> Iterator[dict[str, bool]]:
    """Give states that are drawn, one attempt after another; without `sampled` a single empty."""
    sampled, rng = slot.sampled, np.random.default_rng(seed_of(key))
    if sampled is None:
        yield {}
        return
    members = (each for name in sampled.among for each in members_of(name, behavior))
    among = list(dict.fromkeys(members))
    if sampled.fewest:
        free = [name for name in among if name not in slot.demands]
        yield from _draw_fewest(slot.label, start, free, classes=classes, rng=rng)
        return
    for _ in range(_MOST_DRAWS):
        if sampled.probability is not None:
            chosen = [name for name in among if rng.random() < sampled.probability]
        else:
            least, most = (min(n or 1, len(among)) for n in (sampled.least, sampled.most))
            size = int(rng.integers(least, most + 1))
            chosen = [among[k] for k in sorted(rng.permutation(len(among))[:size])]
        yield {name: not start.get(name, False) for name in chosen}


def _add_implied(
    firm: Mapping[str, bool], implies: Implies, behavior: Behavior
) -> dict[str, bool] | None:
    """Add the states that follow from others; None where they conflict."""
    found, waiting = dict(firm), list(firm.items())
    while waiting:
        for name, state in implies.get(waiting.pop(), {}).items():
            if found.get(name, state) != state:
                return None
            if name not in found and name in behavior.demands:
                found[name] = state
                waiting.append((name, state))
    return found


def _draw_fewest(
    label: str,
    start: dict[str, bool],
    among: Sequence[str],
    *,
    classes: Classes,
    rng: np.random.Generator,
) -> Iterator[dict[str, bool]]:
    """Give the least changes that make the label the class, by chance one of several as small."""
    for changes in _changes_by_size(start, among, rng):
        found = classes([start | change for change in changes])
        right = [change for change, name in zip(changes, found, strict=True) if name == label]
        sizes = [sum(start.get(n, s) != s for n, s in row.items()) for row in right]
        if right:
            least = [row for row, n in zip(right, sizes, strict=True) if n == min(sizes)]
            yield least[int(rng.integers(len(least)))]
            return


def _changes_by_size(
    start: Mapping[str, bool], among: Sequence[str], rng: np.random.Generator
) -> Iterator[list[dict[str, bool]]]:
    """Give changes of none, one, two and three propositions, then any number of them by chance."""
    states = {name: (not start[name],) if name in start else (True, False) for name in among}
    for size in range(_MOST_CHANGED + (len(among) <= _MANY)):
        changes = [
            dict(zip(names, row, strict=True))
            for names in combinations(among, size)
            for row in product(*(states[name] for name in names))
        ]
        if changes:
            yield changes
    random = (rng.random((_N_RANDOM, len(among))) < 0.5).tolist()
    yield [
        {n: state for n, state in zip(among, row, strict=True) if start.get(n) is not state}
        for row in random
    ]
