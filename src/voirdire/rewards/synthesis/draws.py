"""Which traits a completion is to have: drawn by a seed, and fitting the class that it is for."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.rubrics import hard_classes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from voirdire.rewards.synthesis.recipe import Recipes, Sampled, Slot
    from voirdire.rubrics import Behavior, Rubric

__all__ = ["GROUPS", "Traits", "draw_traits", "members_of", "seed_of"]

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


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What a completion is to be like.

    Attributes
    ----------
    wanted : mapping of str to bool
        By proposition, in the order of the rubric: everything that is asked for.
    sampled : mapping of str to bool
        What of it was drawn.
    checked : frozenset of str
        The propositions that the recipe itself demands or that were drawn: what must hold.
    """

    wanted: Mapping[str, bool]
    sampled: Mapping[str, bool] = field(default_factory=dict)
    checked: frozenset[str] = frozenset()


def draw_traits(slot: Slot, *, rubric: Rubric, behavior: str, recipes: Recipes, key: str) -> Traits:
    """Draw the traits of one completion.

    Parameters
    ----------
    slot : Slot
        Which sort of completion it is.
    rubric : Rubric
        With the behavior.
    behavior : str
        Its id.
    recipes : Recipes
        Whose implications hold.
    key : str
        The same key draws the same traits.

    Returns
    -------
    Traits
        They make the label the completion's class, as far as they decide it.

    Raises
    ------
    InputError
        If none of many draws does.
    """
    chances = np.random.default_rng(seed_of(key))
    row = rubric.behavior(behavior)
    if slot.sampled is not None and slot.sampled.fewest:
        return _fewest(slot, slot.sampled, rubric=rubric, behavior=row, chances=chances)
    drawing = _Drawing(slot, rubric=rubric, behavior=row, recipes=recipes)
    for _ in range(_MOST_DRAWS if slot.sampled is not None else 1):
        traits = drawing.traits(_drawn(slot.sampled, drawing.states, row, chances))
        if traits is not None and _may_be(slot, traits.wanted, rubric=rubric, behavior=behavior):
            return traits
    raise _never(slot, behavior)


def members_of(name: str, behavior: Behavior) -> tuple[str, ...]:
    """List the propositions that a group of demands has, or the one that is named."""
    if name not in GROUPS:
        return (name,)
    return tuple(
        proposition
        for proposition, demand in behavior.demands.items()
        if name == "all" or (demand.core if name == "core" else demand.word == name)
    )


def seed_of(key: str) -> int:
    """Make a seed of a text, the same in every process."""
    return int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8])


class _Drawing:
    """What is known of a slot before anything is drawn."""

    def __init__(self, slot: Slot, *, rubric: Rubric, behavior: Behavior, recipes: Recipes) -> None:
        self._slot = slot
        self._implies = recipes.implies
        self._order = rubric.propositions
        self._known = behavior.demands
        self.states = _start(slot, behavior)

    def traits(self, drawn: Mapping[str, bool]) -> Traits | None:
        """Put demands, draws and what follows from them together; None where they conflict."""
        firm = {**self._slot.demands, **drawn}
        followed = dict(firm)
        waiting = list(firm.items())
        while waiting:
            for name, state in self._implies.get(waiting.pop(), {}).items():
                if name in followed:
                    if followed[name] != state:
                        return None
                elif name in self._known:
                    followed[name] = state
                    waiting.append((name, state))
        states = self.states | followed
        return Traits(
            wanted={name: states[name] for name in self._order if name in states},
            sampled={name: drawn[name] for name in self._order if name in drawn},
            checked=frozenset(firm),
        )


def _start(slot: Slot, behavior: Behavior) -> dict[str, bool]:
    found: dict[str, bool] = {}
    if slot.start == "demanded":
        demands = behavior.demands.items()
        found = {name: row.demanded for name, row in demands if row.demanded is not None}
    return found | dict(slot.demands)


def _drawn(
    sampled: Sampled | None,
    states: Mapping[str, bool],
    behavior: Behavior,
    chances: np.random.Generator,
) -> dict[str, bool]:
    if sampled is None:
        return {}
    among = _among(sampled, behavior)
    if sampled.probability is not None:
        chosen = [name for name in among if chances.random() < sampled.probability]
    else:
        least, most = (min(n or 1, len(among)) for n in (sampled.least, sampled.most))
        size = int(chances.integers(least, most + 1))
        chosen = [among[k] for k in sorted(chances.permutation(len(among))[:size])]
    return {name: not states.get(name, False) for name in chosen}


def _among(sampled: Sampled, behavior: Behavior) -> list[str]:
    return list(
        dict.fromkeys(each for name in sampled.among for each in members_of(name, behavior))
    )


def _may_be(slot: Slot, wanted: Mapping[str, bool], *, rubric: Rubric, behavior: str) -> bool:
    """Say whether the label is the class of these states, or they leave it open."""
    classes = [row.name for row in rubric.behavior(behavior).classes]
    if slot.label not in classes:
        return True
    found = _classes(rubric, behavior, [wanted])[0]
    return bool(found < 0 or classes[found] == slot.label)


def _classes(
    rubric: Rubric, behavior: str, rows: Sequence[Mapping[str, bool]]
) -> NDArray[np.int64]:
    names = rubric.propositions
    labels = np.array([[row.get(name, np.nan) for name in names] for row in rows], dtype=float)
    return hard_classes(rubric, behavior, labels=labels, propositions=names)


def _fewest(
    slot: Slot,
    sampled: Sampled,
    *,
    rubric: Rubric,
    behavior: Behavior,
    chances: np.random.Generator,
) -> Traits:
    """Change as little as makes the label the class; by chance where several ways are as short."""
    start = _start(slot, behavior)
    among = [name for name in _among(sampled, behavior) if name not in slot.demands]
    target = [row.name for row in behavior.classes].index(slot.label)
    for changes in _ever_more(start, among, chances):
        found = _classes(rubric, behavior.id, [start | change for change in changes])
        right = [change for change, k in zip(changes, found, strict=True) if k == target]
        if right:
            distance = [sum(start.get(n, s) != s for n, s in row.items()) for row in right]
            nearest = [row for row, n in zip(right, distance, strict=True) if n == min(distance)]
            drawn = nearest[int(chances.integers(len(nearest)))]
            states = start | drawn
            return Traits(
                wanted={name: states[name] for name in rubric.propositions if name in states},
                sampled=drawn,
                checked=frozenset({*slot.demands, *drawn}),
            )
    raise _never(slot, behavior.id)


def _ever_more(
    start: Mapping[str, bool], among: Sequence[str], chances: np.random.Generator
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
    random = chances.random((_N_RANDOM, len(among))) < 0.5
    for_all = (dict(zip(among, map(bool, row), strict=True)) for row in random)
    yield [
        {name: state for name, state in row.items() if start.get(name) is not state}
        for row in for_all
    ]


def _never(slot: Slot, behavior: str) -> InputError:
    msg = (
        f"a completion of `{behavior}` must be able to have the label {shorten(slot.label)!r}, "
        f"got demands and draws that never make it so in {_MOST_DRAWS} tries. Change `demands` or "
        "`sampled`, or write another label."
    )
    return InputError(msg)
