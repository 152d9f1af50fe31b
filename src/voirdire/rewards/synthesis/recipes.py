"""Recipes: which completions the prompts of a behavior get, and how they are asked for.

They are data: those of the safety rubric ship with voirdire, all others are files. What is drawn
for a completion, such as the flaws of a bad one, follows from a seed.
"""

from __future__ import annotations

import hashlib
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from pydantic import BeforeValidator, ConfigDict, Field

from voirdire._messages import shorten
from voirdire._types import Language
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
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from voirdire.documents import Path as Keys
    from voirdire.rubrics import Behavior, Rubric

RECIPES_SCHEMA = "voirdire.recipes/1"

GROUPS = (
    "all", "required", "core", "desired", "allowed", "undesired", "unacceptable", "illogical",
    "disallowed",
)  # fmt: skip
"""Groups of demands to draw from, with their names in expressions; ``all`` is every demand."""

_MOST_DRAWS = 200
_MOST = 100
"""Completions of one sort, sorts per behavior, propositions to draw: far more than people write."""
_WHOLE = f"be a whole number from 1 to {_MOST}"
_SHIPPED = "safety"
_NOT = "not "
_WHAT = "a file of recipes"


def _take_as_english(value: Any) -> Any:
    return {"en": value} if isinstance(value, str) else value


def _check_count(value: Any) -> Any:
    if type(value) is not int or not 1 <= value <= _MOST:
        raise rule_error(_WHOLE)
    return value


def _check_range(value: Any) -> Any:
    """Read a number of traits as the least and the most."""
    ends = list(value) if isinstance(value, list | tuple) else [value, value]
    if len(ends) != 2 or _check_count(ends[0]) > _check_count(ends[1]):
        raise rule_error(f"{_WHOLE}, or two of them, the least first")
    return tuple(ends)


Text: TypeAlias = Annotated[
    dict[Language, Filled], BeforeValidator(_take_as_english), Field(min_length=1)
]


class _Recipe(Form):
    model_config = ConfigDict(populate_by_name=True)


class Instruction(_Recipe):
    """How a proposition is asked for, and how it is kept out.

    Attributes
    ----------
    when_true, when_false : mapping of language to str
        One sentence or two, to the assistant whose response is written.
    """

    when_true: Text
    when_false: Text


class Sampled(_Recipe):
    """Traits that are drawn for each completion.

    Attributes
    ----------
    among : list of str
        Propositions, and groups of demands as expressions name them (``undesired``, ``core``, …);
        ``from`` in a file. A drawn proposition gets the state opposite to the one it has, and true
        if it has none.
    count : tuple of (int, int) or None
        How many are drawn, at least and at most; one number in a file stands for both.
    probability : float or None
        In (0, 1): each is drawn on its own. Without it and a count one is drawn.
    """

    among: Annotated[list[Filled], Field(alias="from", min_length=1, max_length=_MOST)]
    count: Annotated[tuple[int, int] | None, BeforeValidator(_check_range)] = None
    probability: Annotated[Number, Field(gt=0, lt=1)] | None = None


class Slot(_Recipe):
    """One sort of completion.

    Attributes
    ----------
    label : str
        Its completion label, such as ``"ideal"``.
    count : int
        How many of them a prompt gets.
    start : {"demanded", "free"}
        What holds besides `demands`: whatever the behavior demands, or nothing.
    demands : mapping of str to bool
        Propositions in the state that they must have.
    sampled : Sampled or None
        What is drawn on top.
    verify : {"both", "traits", "class"}
        What the judge must find: the traits that were asked for, the class that is its label, or
        both.
    brief : mapping of language to str, or None
        What it is in a phrase.
    """

    label: Filled
    count: Annotated[int, BeforeValidator(_check_count)] = 1
    start: Literal["demanded", "free"] = "demanded"
    demands: Annotated[dict[str, bool], Field(default_factory=dict)]
    sampled: Sampled | None = None
    verify: Literal["both", "traits", "class"] = "both"
    brief: Text | None = None


class Recipes(_Recipe):
    """Recipes for the behaviors of a rubric.

    Attributes
    ----------
    name, version : str
        Which recipes they are. The version is the author's; `content_hash` is what counts.
    rubric : str
        Name of the rubric that they are for.
    instructions : mapping of str to Instruction
        By proposition. One that is not here is asked for by its question.
    implies : mapping of str to mapping of str to bool
        What follows where a proposition is wanted, or ``"not PROPOSITION"``.
    behaviors : mapping of str to list of Slot
        What a prompt of each behavior gets, the best first and the worst last; ``recipes`` in a
        file.
    """

    schema_: Annotated[Literal["voirdire.recipes/1"], Field(alias="schema")] = "voirdire.recipes/1"
    name: Name
    version: Filled
    rubric: Filled
    instructions: Annotated[dict[str, Instruction], Field(default_factory=dict)]
    implies: Annotated[dict[str, dict[str, bool]], Field(default_factory=dict)]
    behaviors: Annotated[
        dict[str, Annotated[list[Slot], Field(min_length=1, max_length=_MOST)]],
        Field(alias="recipes", min_length=1),
    ]

    @cached_property
    def content_hash(self) -> str:
        """``sha256:`` and 64 hexadecimal digits over everything that it says."""
        return hash_content(self.model_dump(mode="json", by_alias=True))

    @property
    def title(self) -> str:
        """Name, version and the first digits of the hash, as rows carry them."""
        return f"{self.name} {self.version} ({self.content_hash[7:19]})"


# Draws -----------------------------------------------------------------------------------------


class Traits(NamedTuple):
    """The states that a completion should have, in the order of the rubric.

    `sampled` are the states that were drawn; `checked` are the propositions that the recipe demands
    or that were drawn, which must hold.
    """

    wanted: Mapping[str, bool]
    sampled: Mapping[str, bool]
    checked: frozenset[str]


def draw_traits(
    slot: Slot, *, rubric: Rubric, behavior: Behavior, recipes: Recipes, key: str
) -> Traits:
    """Draw traits under which the label is the class of the completion; `key` is the seed.

    Traits that leave the class open are accepted. Raises an `InputError` where many draws fail.
    """
    names, classes = rubric.propositions, [row.name for row in behavior.classes]
    demanded = {name: demand.demanded for name, demand in behavior.demands.items()}
    start = {name: state for name, state in demanded.items() if state is not None}
    start = (start if slot.start == "demanded" else {}) | slot.demands
    rng, sampled = np.random.default_rng(make_seed(key)), slot.sampled
    among: list[str] = []
    if sampled is not None:
        members = (each for name in sampled.among for each in list_members(name, behavior))
        among = list(dict.fromkeys(members))
    for _ in range(_MOST_DRAWS):
        chosen = among
        if sampled is not None and sampled.count is None and sampled.probability is not None:
            chosen = [name for name in among if rng.random() < sampled.probability]
        elif sampled is not None:
            least, most = (min(n, len(among)) for n in sampled.count or (1, 1))
            size = int(rng.integers(least, most + 1))
            chosen = [among[k] for k in sorted(rng.permutation(len(among))[:size])]
        drawn = {name: not start.get(name, False) for name in chosen}
        states = _add_implied({**slot.demands, **drawn}, recipes, behavior)
        if states is None:
            continue
        states = start | states
        if slot.label in classes:
            row = [[states.get(name, np.nan) for name in names]]
            labels = np.array(row, dtype=np.float64)
            (place,) = hard_classes(rubric, behavior.id, labels=labels, propositions=names)
            if place >= 0 and classes[place] != slot.label:
                continue
        return Traits(
            wanted={name: states[name] for name in names if name in states},
            sampled={name: drawn[name] for name in names if name in drawn},
            checked=frozenset({**slot.demands, **drawn}),
        )
    msg = (
        f"a completion of `{behavior.id}` must be able to have the label {shorten(slot.label)!r}, "
        f"got demands and draws that never make it so in {_MOST_DRAWS} tries. Change `demands` or "
        "`sampled`, or write another label."
    )
    raise InputError(msg)


def make_seed(key: str) -> int:
    """Make a seed from a text, the same in every process."""
    return int.from_bytes(hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()[:8])


def list_members(name: str, behavior: Behavior) -> tuple[str, ...]:
    """List the propositions of a group of demands; a proposition is its own group."""
    if name not in GROUPS:
        return (name,)
    return tuple(
        proposition
        for proposition, demand in behavior.demands.items()
        if name == "all" or (demand.core if name == "core" else demand.word == name)
    )


def _add_implied(
    firm: Mapping[str, bool], recipes: Recipes, behavior: Behavior
) -> dict[str, bool] | None:
    """Add the states that follow from others; None where they conflict."""
    states, waiting = dict(firm), list(firm.items())
    while waiting:
        proposition, is_wanted = waiting.pop()
        key = proposition if is_wanted else f"{_NOT}{proposition}"
        for name, state in recipes.implies.get(key, {}).items():
            if states.get(name, state) != state:
                return None
            if name not in states and name in behavior.demands:
                states[name] = state
                waiting.append((name, state))
    return states


# Reading ---------------------------------------------------------------------------------------


def load_recipes(recipes: Recipes | str | Path | None, *, rubric: Rubric) -> Recipes:
    """Load recipes that suit a rubric.

    Parameters
    ----------
    recipes : Recipes, str, path or None
        ``"safety"``, a YAML file, or recipes that are loaded already. None takes those that ship
        with voirdire, for the safety rubric.
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
        If there is no such file, or none is named for another rubric than the safety rubric.

    Examples
    --------
    >>> from voirdire.rubrics import load_rubric
    >>> recipes = load_recipes(None, rubric=load_rubric("safety"))
    >>> [slot.label for slot in recipes.behaviors["comply"]]
    ['ideal', 'less_good', 'less_good', 'unacceptable']
    """
    if recipes is None and rubric.name != _SHIPPED:
        msg = (
            f"`recipes` must name a file for rubric {shorten(rubric.name)!r}, got none: those that "
            f"ship are for {_SHIPPED!r}. Write one with `--recipes FILE`."
        )
        raise InputError(msg)
    if isinstance(recipes, Recipes):
        document = Document({}, source=f"recipes {recipes.name}", what=_WHAT)
        loaded = recipes
    else:
        if recipes is None or recipes == _SHIPPED:
            text = (files("voirdire") / "data" / "recipes" / f"{_SHIPPED}.yaml").read_bytes()
            document = document_from_text(text, source=f"built-in recipes {_SHIPPED}", what=_WHAT)
        else:
            document = read_document(recipes, what=_WHAT)
        loaded = document.read_or_raise(Recipes)
    _check_recipes(loaded, rubric, document)
    return loaded


def _check_recipes(recipes: Recipes, rubric: Rubric, document: Document) -> None:
    """Refuse names that the rubric lacks; if there are none, slots that can never be drawn."""
    for path, what, name, known in _list_names(recipes, rubric):
        if name not in known:
            hint = did_you_mean(name, known)
            hint += " Or write `verify: traits`." if path[-1] == "label" else ""
            message = f"must name {what} of the rubric, got {shorten(name)!r}.{hint}"
            document.add(path, message)
    document.raise_problems()
    for behavior, slots in recipes.behaviors.items():
        row = rubric.behavior(behavior)
        for place, slot in enumerate(slots):
            for name in () if slot.sampled is None else slot.sampled.among:
                if not list_members(name, row):
                    message = f"group `{name}` has no member in behavior `{behavior}`. Take it out."
                    document.add(("recipes", behavior, place, "sampled", "from"), message)
            try:
                draw_traits(slot, rubric=rubric, behavior=row, recipes=recipes, key="")
            except InputError as error:
                document.add(("recipes", behavior, place), str(error))
    document.raise_problems()


def _list_names(recipes: Recipes, rubric: Rubric) -> Iterator[tuple[Keys, str, str, Sequence[str]]]:
    """List the names in recipes: their path, what they name, and the names that are allowed."""
    propositions = rubric.propositions
    behaviors = {row.id: [each.name for each in row.classes] for row in rubric.behaviors}
    for name in recipes.instructions:
        yield ("instructions", name), "a proposition", name, propositions
    for key, states in recipes.implies.items():
        for named in (key.removeprefix(_NOT), *states):
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
