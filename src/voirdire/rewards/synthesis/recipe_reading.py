"""Recipes from their built-in names, from files and from text."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from voirdire._types import Language  # pydantic reads the annotation
from voirdire._validation import shorten
from voirdire.documents import (
    Filled,
    Form,
    Name,
    Problem,
    did_you_mean,
    document_from_text,
    problem_error,
    read_document,
    rule_error,
)
from voirdire.errors import InputError
from voirdire.rewards.synthesis.draws import GROUPS, draw_traits, members_of
from voirdire.rewards.synthesis.recipe import Instruction, Recipes, Sampled, Slot, Start, Verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.documents import Document
    from voirdire.documents import Path as Keys
    from voirdire.rubrics import Behavior, Rubric

__all__ = ["built_in_recipes", "load_recipes", "recipes_from_text"]

_MOST = 100
"""Completions of one sort, sorts per behavior, propositions to draw: far more than people write."""

_COUNT_RULE = f"be a whole number from 1 to {_MOST}, two of them, or the word fewest"


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST


def _count(value: Any) -> Any:
    if not _whole(value):
        raise rule_error(f"be a whole number from 1 to {_MOST}")
    return value


def _drawn(value: Any) -> Any:
    if value == "fewest" or _whole(value):
        return value
    is_pair = isinstance(value, list) and len(value) == 2 and all(map(_whole, value))
    if not is_pair or value[0] > value[1]:
        raise rule_error(_COUNT_RULE)
    return tuple(value)


def _probability(value: Any) -> Any:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < 1:
        raise rule_error("be a number between 0 and 1")
    return float(value)


def _in_english(value: Any) -> Any:
    return {"en": value} if isinstance(value, str) else value


TextForm = Annotated[dict[Language, Filled], BeforeValidator(_in_english), Field(min_length=1)]


class InstructionForm(Form):
    """The two sides of a proposition."""

    when_true: TextForm
    when_false: TextForm


class SampledForm(Form):
    """What is drawn."""

    among: Annotated[list[Filled], Field(alias="from", min_length=1, max_length=_MOST)]
    count: Annotated[Any, BeforeValidator(_drawn)] = None
    probability: Annotated[Any, BeforeValidator(_probability)] = None


class SlotForm(Form):
    """One sort of completion."""

    label: Filled
    count: Annotated[Any, BeforeValidator(_count)] = 1
    start: Start = "demanded"
    demands: Annotated[dict[str, bool], Field(default_factory=dict)]
    sampled: SampledForm | None = None
    verify: Verify = "both"
    brief: TextForm | None = None


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


def _fits(recipes: Recipes, rubric: Rubric) -> bool:
    """Say whether recipes name nothing that the rubric lacks, and leave out no behavior."""
    is_whole = {row.id for row in rubric.behaviors} == set(recipes.behaviors)
    return is_whole and not any(_unknown_names(recipes, rubric))


def _check_recipes(recipes: Recipes, *, rubric: Rubric, document: Document | None = None) -> None:
    """Refuse recipes that name what the rubric lacks, or that can never be drawn.

    `document`, where the recipes come from a file, gives each problem its line.
    """
    wrong = [*_unknown_names(recipes, rubric)] or [*_impossible(recipes, rubric)]
    if not wrong:
        return
    if document is None:
        raise problem_error(*(Problem(source=recipes.source, message=row) for _, row in wrong))
    for path, message in wrong:
        document.add(path, message)
    raise document.error()


def _unknown_names(recipes: Recipes, rubric: Rubric) -> Iterator[tuple[Keys, str]]:
    propositions, behaviors = rubric.propositions, [row.id for row in rubric.behaviors]
    for name in recipes.instructions:
        if name not in propositions:
            yield ("instructions", name), _not_there("a proposition", name, propositions)
    for (name, is_wanted), states in recipes.implies.items():
        key = name if is_wanted else f"not {name}"
        for named in (name, *states):
            if named not in propositions:
                yield ("implies", key), _not_there("a proposition", named, propositions)
    for behavior, slots in recipes.behaviors.items():
        if behavior not in behaviors:
            yield ("recipes", behavior), _not_there("a behavior", behavior, behaviors)
            continue
        for place, slot in enumerate(slots):
            path = ("recipes", behavior, place)
            yield from _unknown_in_slot(slot, rubric.behavior(behavior), propositions, path)


def _unknown_in_slot(
    slot: Slot, behavior: Behavior, propositions: tuple[str, ...], path: Keys
) -> Iterator[tuple[Keys, str]]:
    for name in slot.demands:
        if name not in propositions:
            yield (*path, "demands", name), _not_there("a proposition", name, propositions)
    classes = [row.name for row in behavior.classes]
    if slot.verify != "traits" and slot.label not in classes:
        message = _not_there(f"a class of `{behavior.id}`", slot.label, classes)
        yield (*path, "label"), f"{message} Or write `verify: traits`."
    for name in () if slot.sampled is None else slot.sampled.among:
        known = (*propositions, *GROUPS)
        if name not in known:
            yield (*path, "sampled", "from"), _not_there("a proposition or group", name, known)
        elif not members_of(name, behavior):
            message = f"group `{name}` has no member in behavior `{behavior.id}`. Take it out."
            yield (*path, "sampled", "from"), message


def _impossible(recipes: Recipes, rubric: Rubric) -> Iterator[tuple[Keys, str]]:
    for behavior, slots in recipes.behaviors.items():
        for place, slot in enumerate(slots):
            try:
                draw_traits(slot, rubric=rubric, behavior=behavior, recipes=recipes, key="check")
            except InputError as error:
                yield ("recipes", behavior, place), str(error)


def _not_there(what: str, name: str, known: tuple[str, ...] | list[str]) -> str:
    return f"must name {what} of the rubric, got {shorten(name)!r}.{did_you_mean(name, known)}"


_SUFFIX = ".yaml"
_NOT = "not "
_WHAT = "a file of recipes"


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
    folder = files("voirdire") / "data" / "recipes"
    names = [file.name for file in folder.iterdir() if file.name.endswith(_SUFFIX)]
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names))


def load_recipes(recipes: Recipes | str | Path | None, *, rubric: Rubric) -> Recipes:
    """Load recipes that suit a rubric.

    Parameters
    ----------
    recipes : Recipes, str, path or None
        A name of `built_in_recipes`, a YAML file, or recipes that are loaded already. None takes
        the built-in ones of that rubric, and makes some from its demands and classes where there
        are none.
    rubric : Rubric
        What the completions are to be judged by.

    Returns
    -------
    Recipes
        Checked: every name is the rubric's, and every slot can be drawn.

    Raises
    ------
    RubricError
        If the file breaks a rule; the message begins with file, line and column.
    InputError
        If there is no such file, if the rubric has no behaviors, or if a slot of the recipes can
        never have the class that is its label.

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
    if recipes is None:
        return _of_rubric(rubric)
    if isinstance(recipes, Recipes):
        _check_recipes(recipes, rubric=rubric)
        return recipes
    if isinstance(recipes, str) and recipes in built_in_recipes():
        return _built_in(recipes, rubric=rubric)
    path = Path(recipes)
    if not _exists(path):
        known = ", ".join(built_in_recipes())
        msg = (
            f"`recipes` must be a file that exists or one of {known}, got "
            f"{shorten(str(recipes))!r}. Check the path."
        )
        raise InputError(msg)
    return _checked(read_document(path, what=_WHAT), rubric)


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
        If it breaks a rule.
    InputError
        If a slot can never have the class that is its label.
    """
    return _checked(document_from_text(text, source=source, what=_WHAT), rubric)


def _checked(document: Document, rubric: Rubric) -> Recipes:
    recipes = _recipes(document.read_or_raise(RecipesForm), source=document.source)
    _check_recipes(recipes, rubric=rubric, document=document)
    return recipes


def _of_rubric(rubric: Rubric) -> Recipes:
    """Take the built-in recipes where they are for just this rubric, else make some."""
    from voirdire.rewards.synthesis.default_recipes import default_recipes

    if rubric.name in built_in_recipes():
        found = _built_in(rubric.name, rubric=rubric, checked=False)
        if _fits(found, rubric):
            _check_recipes(found, rubric=rubric)
            return found
    return default_recipes(rubric)


def _built_in(name: str, *, rubric: Rubric, checked: bool = True) -> Recipes:
    file = files("voirdire") / "data" / "recipes" / f"{name}{_SUFFIX}"
    text, source = file.read_text(encoding="utf-8"), f"built-in recipes {name}"
    if checked:
        return recipes_from_text(text, rubric=rubric, source=source)
    document = document_from_text(text, source=source, what=_WHAT)
    return _recipes(document.read_or_raise(RecipesForm), source=source)


def _recipes(form: RecipesForm, *, source: str) -> Recipes:
    return Recipes(
        name=form.name,
        version=form.version,
        rubric=form.rubric,
        instructions={
            name: Instruction(when_true=row.when_true, when_false=row.when_false)
            for name, row in form.instructions.items()
        },
        implies={
            (key.removeprefix(_NOT), not key.startswith(_NOT)): states
            for key, states in form.implies.items()
        },
        behaviors={name: tuple(map(_slot, slots)) for name, slots in form.recipes.items()},
        source=source,
    )


def _slot(form: SlotForm) -> Slot:
    return Slot(
        label=form.label,
        count=form.count,
        start=form.start,
        demands=form.demands,
        sampled=None if form.sampled is None else _sampled(form.sampled),
        verify=form.verify,
        brief=form.brief or {},
    )


def _sampled(form: SampledForm) -> Sampled:
    if form.count == "fewest":
        return Sampled(among=tuple(form.among), fewest=True)
    if form.count is None and form.probability is not None:
        return Sampled(among=tuple(form.among), probability=form.probability)
    least, most = form.count if isinstance(form.count, tuple) else (form.count or 1,) * 2
    return Sampled(among=tuple(form.among), least=least, most=most)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that is too long, or holds a zero byte
        return False
