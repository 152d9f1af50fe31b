"""Recipes: the completions that a prompt gets, the traits drawn for each, and their files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property, partial
from importlib.resources import files
from itertools import combinations, product
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from pydantic import BeforeValidator, Field

from voirdire._messages import shorten
from voirdire._types import Language  # pydantic reads the annotation
from voirdire.documents import (
    Document,
    Filled,
    Form,
    Name,
    Number,
    did_you_mean,
    document_from_text,
    hash_content,
    read_document,
    rule_error,
)
from voirdire.errors import InputError
from voirdire.rubrics import hard_classes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from voirdire.documents import Path as Keys
    from voirdire.rubrics import Behavior, Rubric

__all__ = [
    "RECIPES_SCHEMA",
    "Implies",
    "Instruction",
    "Recipes",
    "Sampled",
    "Slot",
    "Traits",
    "built_in_recipes",
    "default_recipes",
    "draw_traits",
    "load_recipes",
    "make_seed",
    "recipes_from_text",
]

RECIPES_SCHEMA = "voirdire.recipes/1"

GROUPS = (
    "all", "required", "core", "desired", "allowed", "undesired", "unacceptable", "illogical",
    "disallowed",
)  # fmt: skip
"""Groups of demands to draw from, with their names in expressions; ``all`` is every demand."""

_MOST_DRAWS = 200
_MOST_CHANGED = 3
_MANY = 30
"""Among so many propositions, no more than two are changed by trying out every way."""

_N_RANDOM = 8_192

_MOST = 100
"""Completions of one sort, sorts per behavior, propositions to draw: far more than people write."""

_WHOLE = f"be a whole number from 1 to {_MOST}"
_SHIPPED = files("voirdire") / "data" / "recipes"
_SUFFIX = ".yaml"
_NOT = "not "
_WHAT = "a file of recipes"

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
        content = asdict(self)
        del content["notes"], content["source"]
        implied = [[*key, dict(states)] for key, states in self.implies.items()]
        return hash_content({"schema": RECIPES_SCHEMA, **content, "implies": implied})

    @property
    def title(self) -> str:
        """Name, version and the first digits of the hash, as rows carry them."""
        return f"{self.name} {self.version} ({self.content_hash[7:19]})"


# Draws -----------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Traits:
    """The states that a completion should have, in the order of the rubric.

    `sampled` are the states that were drawn; `checked` are the propositions that the recipe demands
    or that were drawn, which must hold.
    """

    wanted: Mapping[str, bool]
    sampled: Mapping[str, bool]
    checked: frozenset[str]


def draw_traits(
    slot: Slot, *, rubric: Rubric, behavior: Behavior, implies: Implies, key: str
) -> Traits:
    """Draw traits under which the label is the class of the completion; `key` is the seed.

    Traits that leave the class open are accepted. Raises an `InputError` where many draws fail.
    """
    classes = partial(find_classes, rubric=rubric, behavior=behavior)
    is_class = slot.label in [row.name for row in behavior.classes]
    is_fewest = slot.sampled is not None and slot.sampled.fewest
    start = {**(list_demanded_states(behavior) if slot.start == "demanded" else {}), **slot.demands}
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


def list_members(name: str, behavior: Behavior) -> tuple[str, ...]:
    """List the propositions of a group of demands; a proposition is its own group."""
    if name not in GROUPS:
        return (name,)
    return tuple(
        proposition
        for proposition, demand in behavior.demands.items()
        if name == "all" or (demand.core if name == "core" else demand.word == name)
    )


def list_demanded_states(behavior: Behavior) -> dict[str, bool]:
    """List the states that a behavior demands, by proposition."""
    demanded = {name: need.demanded for name, need in behavior.demands.items()}
    return {name: state for name, state in demanded.items() if state is not None}


def find_classes(
    rows: Sequence[Mapping[str, bool]], *, rubric: Rubric, behavior: Behavior
) -> list[str | None]:
    """Find the class of each row of states; None where the states leave it open."""
    names = rubric.propositions
    labels = np.array([[row.get(name, np.nan) for name in names] for row in rows], dtype=float)
    places = hard_classes(rubric, behavior.id, labels=labels, propositions=names)
    return [behavior.classes[place].name if place >= 0 else None for place in places]


def make_seed(key: str) -> int:
    """Make a seed from a text, the same in every process."""
    return int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8])


def _draw_states(
    slot: Slot, start: dict[str, bool], *, behavior: Behavior, classes: Classes, key: str
) -> Iterator[dict[str, bool]]:
    """Yield drawn states, one attempt after another; without `sampled` a single empty one."""
    sampled, rng = slot.sampled, np.random.default_rng(make_seed(key))
    if sampled is None:
        yield {}
        return
    members = (each for name in sampled.among for each in list_members(name, behavior))
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
    states, waiting = dict(firm), list(firm.items())
    while waiting:
        for name, state in implies.get(waiting.pop(), {}).items():
            if states.get(name, state) != state:
                return None
            if name not in states and name in behavior.demands:
                states[name] = state
                waiting.append((name, state))
    return states


def _draw_fewest(
    label: str,
    start: dict[str, bool],
    among: Sequence[str],
    *,
    classes: Classes,
    rng: np.random.Generator,
) -> Iterator[dict[str, bool]]:
    """Yield the smallest change under which the label is the class, a random one of several."""
    for changes in _list_changes(start, among, rng):
        found = classes([start | change for change in changes])
        right = [change for change, name in zip(changes, found, strict=True) if name == label]
        sizes = [sum(start.get(n, s) != s for n, s in row.items()) for row in right]
        if right:
            least = [row for row, n in zip(right, sizes, strict=True) if n == min(sizes)]
            yield least[int(rng.integers(len(least)))]
            return


def _list_changes(
    start: Mapping[str, bool], among: Sequence[str], rng: np.random.Generator
) -> Iterator[list[dict[str, bool]]]:
    """Yield changes of none, one, two and three propositions, then random changes of any size."""
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


# The form of a file ----------------------------------------------------------------------------


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST


def _check_count(value: Any) -> Any:
    if not _is_whole(value):
        raise rule_error(_WHOLE)
    return value


def _check_drawn(value: Any) -> Any:
    ends = value if isinstance(value, list) else [value, value]
    is_range = len(ends) == 2 and all(map(_is_whole, ends)) and ends[0] <= ends[1]
    if value != "fewest" and not is_range:
        raise rule_error(f"{_WHOLE}, two of them, or the word fewest")
    return value if value == "fewest" else ends


def _take_as_english(value: Any) -> Any:
    return {"en": value} if isinstance(value, str) else value


_Text = Annotated[dict[Language, Filled], BeforeValidator(_take_as_english), Field(min_length=1)]


class InstructionForm(Form):
    """How to ask for both states of a proposition."""

    when_true: _Text
    when_false: _Text


class SampledForm(Form):
    """What is drawn."""

    among: Annotated[list[Filled], Field(alias="from", min_length=1, max_length=_MOST)]
    count: Annotated[Any, BeforeValidator(_check_drawn)] = None
    probability: Annotated[Number, Field(gt=0, lt=1)] | None = None

    def sampled(self) -> Sampled:
        """Make the record; without a count and a probability, one trait is drawn."""
        among = tuple(self.among)
        if self.count == "fewest":
            return Sampled(among=among, fewest=True)
        if self.count is None and self.probability is not None:
            return Sampled(among=among, probability=float(self.probability))
        least, most = self.count or (1, 1)
        return Sampled(among=among, least=least, most=most)


class SlotForm(Form):
    """One sort of completion."""

    label: Filled
    count: Annotated[Any, BeforeValidator(_check_count)] = 1
    start: Start = "demanded"
    demands: Annotated[dict[str, bool], Field(default_factory=dict)]
    sampled: SampledForm | None = None
    verify: Verify = "both"
    brief: _Text | None = None

    def slot(self) -> Slot:
        """Make the record."""
        sampled = None if self.sampled is None else self.sampled.sampled()
        return Slot(**dict(self) | {"sampled": sampled, "brief": self.brief or {}})


class RecipesForm(Form):
    """A whole file."""

    schema_: Annotated[Literal["voirdire.recipes/1"], Field(alias="schema")]
    name: Name
    version: Filled
    rubric: Filled
    instructions: Annotated[dict[str, InstructionForm], Field(default_factory=dict)]
    implies: Annotated[dict[str, dict[str, bool]], Field(default_factory=dict)]
    recipes: Annotated[
        dict[str, Annotated[list[SlotForm], Field(min_length=1, max_length=_MOST)]],
        Field(min_length=1),
    ]


def _read_recipes(document: Document) -> Recipes:
    """Read recipes by the form, without checking that they fit a rubric."""
    form = document.read_or_raise(RecipesForm)
    return Recipes(
        name=form.name,
        version=form.version,
        rubric=form.rubric,
        instructions={name: Instruction(**dict(row)) for name, row in form.instructions.items()},
        implies={
            (key.removeprefix(_NOT), not key.startswith(_NOT)): states
            for key, states in form.implies.items()
        },
        behaviors={
            name: tuple(row.slot() for row in slots) for name, slots in form.recipes.items()
        },
        source=document.source,
    )


# Reading ---------------------------------------------------------------------------------------


def built_in_recipes() -> tuple[str, ...]:
    """Name the rubrics for which recipes ship with voirdire.

    Returns
    -------
    tuple of str
        In alphabetical order.

    Examples
    --------
    >>> built_in_recipes()
    ('safety',)
    """
    names = [file.name for file in _SHIPPED.iterdir() if file.name.endswith(_SUFFIX)]
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names))


def load_recipes(recipes: Recipes | str | Path | None, *, rubric: Rubric) -> Recipes:
    """Load recipes that suit a rubric.

    Parameters
    ----------
    recipes : Recipes, str, path or None
        A name of `built_in_recipes`, a YAML file, or recipes that are loaded already. None takes
        the built-in ones of that rubric where they suit it, and else makes some from its demands
        and classes.
    rubric : Rubric
        What the completions are to be judged by.

    Returns
    -------
    Recipes
        Checked: every name is the rubric's, and every slot can be drawn.

    Raises
    ------
    RubricError
        If the file breaks a rule, or a slot can never have the class that is its label; the message
        begins with file, line and column.
    InputError
        If there is no such file, or if the rubric has no behaviors.

    Examples
    --------
    >>> from voirdire.rubrics import load_rubric
    >>> recipes = load_recipes(None, rubric=load_rubric("safety"))
    >>> [slot.label for slot in recipes.behaviors["comply"]]
    ['ideal', 'less_good', 'less_good', 'unacceptable']
    """
    if not rubric.behaviors:
        msg = (
            f"`rubric` must have behaviors to write completions for, got {shorten(rubric.name)!r} "
            "without any. Add `behaviors`."
        )
        raise InputError(msg)
    known = built_in_recipes()
    if recipes is None:
        return _choose_for(rubric)
    if isinstance(recipes, Recipes):
        nowhere = Document({}, source=recipes.source, what=_WHAT)
        return _read_for(nowhere, rubric, recipes)
    if recipes in known:
        return _read_for(_read_built_in(str(recipes)), rubric)
    if not os.path.exists(recipes):  # noqa: PTH110  # a name may be too long for `Path`
        msg = (
            f"`recipes` must be a file that exists or one of {', '.join(known)}, got "
            f"{shorten(str(recipes))!r}. Check the path."
        )
        raise InputError(msg)
    return _read_for(read_document(recipes, what=_WHAT), rubric)


def recipes_from_text(text: str | bytes, *, rubric: Rubric, source: str = "<text>") -> Recipes:
    """Read recipes from YAML text.

    Parameters
    ----------
    text : str or bytes
        A whole file in the form ``voirdire.recipes/1``.
    rubric : Rubric
        What the completions are to be judged by.
    source : str, optional
        What errors call it.

    Returns
    -------
    Recipes
        As `load_recipes` gives them.

    Raises
    ------
    RubricError
        If it breaks a rule, or a slot can never have the class that is its label.
    """
    return _read_for(document_from_text(text, source=source, what=_WHAT), rubric)


def _choose_for(rubric: Rubric) -> Recipes:
    """Choose the built-in recipes where they fit this rubric, else make recipes from it."""
    if rubric.name in built_in_recipes():
        recipes = _read_recipes(_read_built_in(rubric.name))
        is_whole = {row.id for row in rubric.behaviors} == set(recipes.behaviors)
        if is_whole and not any(_find_problems(recipes, rubric)):
            return recipes
    return default_recipes(rubric)


def _read_built_in(name: str) -> Document:
    text = (_SHIPPED / f"{name}{_SUFFIX}").read_text(encoding="utf-8")
    return document_from_text(text, source=f"built-in recipes {name}", what=_WHAT)


def _read_for(document: Document, rubric: Rubric, recipes: Recipes | None = None) -> Recipes:
    recipes = recipes or _read_recipes(document)
    for path, message in _find_problems(recipes, rubric):
        document.add(path, message)
    document.raise_problems()
    return recipes


# Checks against a rubric -----------------------------------------------------------------------


def _find_problems(recipes: Recipes, rubric: Rubric) -> list[tuple[Keys, str]]:
    """List names that the rubric lacks; if there are none, slots that can never be drawn."""
    problems: list[tuple[Keys, str]] = []
    for path, what, name, known in _list_names(recipes, rubric):
        if name not in known:
            hint = did_you_mean(name, known)
            hint += " Or write `verify: traits`." if path[-1] == "label" else ""
            problems.append((path, f"must name {what} of the rubric, got {shorten(name)!r}.{hint}"))
    if problems:
        return problems
    for behavior, slots in recipes.behaviors.items():
        row = rubric.behavior(behavior)
        for place, slot in enumerate(slots):
            path = ("recipes", behavior, place)
            for name in () if slot.sampled is None else slot.sampled.among:
                if not list_members(name, row):
                    message = f"group `{name}` has no member in behavior `{behavior}`. Take it out."
                    problems.append(((*path, "sampled", "from"), message))
            fault = _find_fault(slot, rubric=rubric, behavior=row, implies=recipes.implies)
            problems += [(path, fault)] if fault else []
    return problems


def _list_names(recipes: Recipes, rubric: Rubric) -> Iterator[tuple[Keys, str, str, Sequence[str]]]:
    """List the names in recipes: their path, what they name, and the names that are allowed."""
    propositions = rubric.propositions
    behaviors = {row.id: [each.name for each in row.classes] for row in rubric.behaviors}
    for name in recipes.instructions:
        yield ("instructions", name), "a proposition", name, propositions
    for (name, is_wanted), states in recipes.implies.items():
        key = name if is_wanted else f"{_NOT}{name}"
        for named in (name, *states):
            yield ("implies", key), "a proposition", named, propositions
    for behavior, slots in recipes.behaviors.items():
        yield ("recipes", behavior), "a behavior", behavior, list(behaviors)
        for place, slot in enumerate(slots):
            path = ("recipes", behavior, place)
            for name in slot.demands:
                yield (*path, "demands", name), "a proposition", name, propositions
            if slot.verify != "traits" and behavior in behaviors:
                what, known = f"a class of `{behavior}`", behaviors[behavior]
                yield (*path, "label"), what, slot.label, known
            for name in () if slot.sampled is None else slot.sampled.among:
                what, known = "a proposition or group", [*propositions, *GROUPS]
                yield (*path, "sampled", "from"), what, name, known


def _find_fault(slot: Slot, *, rubric: Rubric, behavior: Behavior, implies: Implies) -> str:
    """Explain why a slot can never be drawn; empty where it can."""
    try:
        draw_traits(slot, rubric=rubric, behavior=behavior, implies=implies, key="check")
    except InputError as error:
        return str(error)
    return ""


# Made of a rubric ------------------------------------------------------------------------------


def default_recipes(rubric: Rubric) -> Recipes:
    """Make recipes from a rubric's demands and classes.

    Each behavior gets one completion of each of its classes, first the one of a response that meets
    every demand. A completion begins
    with everything that the behavior demands, and as few propositions are changed as make it one
    of the class: by chance where several changes are as small. Propositions are asked for by their
    questions.

    Parameters
    ----------
    rubric : Rubric
        One with behaviors.

    Returns
    -------
    Recipes
        A class that nothing was found for is left out; `notes` name it.

    Raises
    ------
    InputError
        If nothing was found for any class.
    """
    behaviors: dict[str, tuple[Slot, ...]] = {}
    notes: list[str] = []
    for row in rubric.behaviors:
        for name in _sort_classes(row, rubric):
            slot = Slot(label=name, sampled=Sampled(among=("all",), fewest=True))
            if _find_fault(slot, rubric=rubric, behavior=row, implies={}):
                notes.append(f"no completion of {row.id}.{name} could be made up")
            else:
                behaviors[row.id] = (*behaviors.get(row.id, ()), slot)
    if not behaviors:
        msg = (
            f"`recipes` must be given for rubric {shorten(rubric.name)!r}, got none, and no class "
            "of it could be made up. Write a file of recipes."
        )
        raise InputError(msg)
    return Recipes(
        name=rubric.name,
        version="default-1",
        rubric=rubric.name,
        instructions={},
        implies={},
        behaviors=behaviors,
        notes=tuple(notes),
        source=f"recipes made from rubric {rubric.name}",
    )


def _sort_classes(behavior: Behavior, rubric: Rubric) -> list[str]:
    """List the classes, first the one of a response that meets every demand.

    The others follow in the reverse order of the file, which has the worst first.
    """
    (best,) = find_classes([list_demanded_states(behavior)], rubric=rubric, behavior=behavior)
    names = [row.name for row in reversed(behavior.classes)]
    return sorted(names, key=lambda name: name != best)
