"""Recipes for a rubric that has none: one completion of each class, by the rubric's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.judging.prompts import said
from voirdire.rewards.synthesis.draws import draw_traits
from voirdire.rewards.synthesis.recipe import Recipes, Sampled, Slot
from voirdire.rubrics import hard_classes

if TYPE_CHECKING:
    from voirdire._types import Language
    from voirdire.rubrics import Behavior, Rubric

__all__ = ["default_recipes", "instruction_of"]

_VERSION = "default-1"

_ASKED = {
    "en": "See to it that the answer to this question about the response is {answer}: {question}",
    "zh": "对于下面这道关于回复的题，要让答案为“{answer}”：{question}",
}
_ANSWERS = {"en": ("no", "yes"), "zh": ("否", "是")}


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
    bare = Recipes(
        name=rubric.name,
        version=_VERSION,
        rubric=rubric.name,
        instructions={},
        implies={},
        behaviors={},
        source=f"recipes made from rubric {rubric.name}",
    )
    behaviors: dict[str, tuple[Slot, ...]] = {}
    notes: list[str] = []
    for behavior in rubric.behaviors:
        slots = []
        for name in _best_first(behavior, rubric):
            slot = Slot(label=name, sampled=Sampled(among=("all",), fewest=True))
            if _is_possible(slot, behavior, rubric=rubric, recipes=bare):
                slots.append(slot)
            else:
                notes.append(f"no completion of {behavior.id}.{name} could be made up")
        if slots:
            behaviors[behavior.id] = tuple(slots)
    if not behaviors:
        msg = (
            f"`recipes` must be given for rubric {shorten(rubric.name)!r}, got none, and no class "
            "of it could be made up. Write a file of recipes."
        )
        raise InputError(msg)
    return Recipes(
        name=bare.name,
        version=bare.version,
        rubric=bare.rubric,
        instructions={},
        implies={},
        behaviors=behaviors,
        notes=tuple(notes),
        source=bare.source,
    )


def instruction_of(
    proposition: str, *, wanted: bool, recipes: Recipes, rubric: Rubric, language: Language
) -> str:
    """Give the words that ask for a state of a proposition.

    Those of the recipes count; without any, the question's own text is turned into words. Where
    one language lacks them, the other stands in.
    """
    known = recipes.instructions.get(proposition)
    if known is not None:
        return said(known.when_true if wanted else known.when_false, language) or ""
    question = said(rubric.question(proposition).text, language) or proposition
    text = _ASKED[language].replace("{answer}", _ANSWERS[language][wanted])
    return text.replace("{question}", question)


def _best_first(behavior: Behavior, rubric: Rubric) -> list[str]:
    """List the classes, first the one of a response that meets every demand.

    The others follow in the reverse order of the file, which has the worst first.
    """
    names = [row.name for row in behavior.classes]
    demands = behavior.demands
    states = [demands[q].demanded if q in demands else None for q in rubric.propositions]
    labels = np.array([states], dtype=float)
    met = int(hard_classes(rubric, behavior.id, labels=labels)[0])
    others = [name for place, name in enumerate(names) if place != met]
    return [*([names[met]] if met >= 0 else []), *reversed(others)]


def _is_possible(slot: Slot, behavior: Behavior, *, rubric: Rubric, recipes: Recipes) -> bool:
    try:
        draw_traits(slot, rubric=rubric, behavior=behavior.id, recipes=recipes, key="check")
    except InputError:
        return False
    return True
