"""Whether recipes suit a rubric: names that it has, and slots that can be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.documents import Problem, did_you_mean, problem_error
from voirdire.errors import InputError
from voirdire.rewards.synthesis.draws import GROUPS, draw_traits, members_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.documents import Document, Path
    from voirdire.rewards.synthesis.recipe import Recipes, Slot
    from voirdire.rubrics import Behavior, Rubric

__all__ = ["check_recipes", "fits"]


def fits(recipes: Recipes, rubric: Rubric) -> bool:
    """Say whether recipes name nothing that the rubric lacks, and leave out no behavior."""
    is_whole = {row.id for row in rubric.behaviors} == set(recipes.behaviors)
    return is_whole and not any(_unknown_names(recipes, rubric))


def check_recipes(recipes: Recipes, *, rubric: Rubric, document: Document | None = None) -> None:
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


def _unknown_names(recipes: Recipes, rubric: Rubric) -> Iterator[tuple[Path, str]]:
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
    slot: Slot, behavior: Behavior, propositions: tuple[str, ...], path: Path
) -> Iterator[tuple[Path, str]]:
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


def _impossible(recipes: Recipes, rubric: Rubric) -> Iterator[tuple[Path, str]]:
    for behavior, slots in recipes.behaviors.items():
        for place, slot in enumerate(slots):
            try:
                draw_traits(slot, rubric=rubric, behavior=behavior, recipes=recipes, key="check")
            except InputError as error:
                yield ("recipes", behavior, place), str(error)


def _not_there(what: str, name: str, known: tuple[str, ...] | list[str]) -> str:
    return f"must name {what} of the rubric, got {shorten(name)!r}.{did_you_mean(name, known)}"
