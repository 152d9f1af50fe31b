"""Recipes from their built-in names, from files and from text."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.documents import document_from_text, read_document
from voirdire.errors import InputError
from voirdire.rewards.synthesis.recipe import Instruction, Recipes, Sampled, Slot
from voirdire.rewards.synthesis.recipe_checks import check_recipes, fits
from voirdire.rewards.synthesis.recipe_form import RecipesForm

if TYPE_CHECKING:
    from voirdire.documents import Document
    from voirdire.rewards.synthesis.recipe_form import SampledForm, SlotForm
    from voirdire.rubrics import Rubric

__all__ = ["built_in_recipes", "load_recipes", "recipes_from_text"]

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
        check_recipes(recipes, rubric=rubric)
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
    check_recipes(recipes, rubric=rubric, document=document)
    return recipes


def _of_rubric(rubric: Rubric) -> Recipes:
    """Take the built-in recipes where they are for just this rubric, else make some."""
    from voirdire.rewards.synthesis.default_recipes import default_recipes

    if rubric.name in built_in_recipes():
        found = _built_in(rubric.name, rubric=rubric, checked=False)
        if fits(found, rubric):
            check_recipes(found, rubric=rubric)
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
