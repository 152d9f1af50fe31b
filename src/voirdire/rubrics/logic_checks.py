"""Expressions and classes of a rubric that was read, checked as far as each can be by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from voirdire.errors import LogicError
from voirdire.rubrics.yaml_nodes import ScalarNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from voirdire.rubrics.findings import Findings, Path
    from voirdire.rubrics.rubric import Rubric

__all__ = ["note_logic"]

_MOST_ATTEMPTS = 5
"""Each may cost as many steps as a whole rubric is allowed: a hostile one gets no more of them."""


def note_logic(
    rubric: Rubric, findings: Findings, *, place_of: Callable[[tuple[str, ...]], Path]
) -> None:
    """Note what is wrong with named expressions, or else with each of the first few behaviors.

    Parameters
    ----------
    rubric : Rubric
        What was read.
    findings : Findings
        Gets what is wrong, at its place in the file.
    place_of : callable
        Gives the place in the file for a place in the rubric.
    """
    from voirdire.rubrics.logic import check_logic

    for _ in range(_MOST_ATTEMPTS):
        try:
            check_logic(rubric)
        except LogicError as error:
            path = place_of(error.where)
            stands_there = isinstance(findings.find(path), ScalarNode)
            findings.add(path, str(error), at_key=not stands_there)
            blamed = error.where[1] if error.where[:1] == ("behaviors",) else None
            others = tuple(row for row in rubric.behaviors if row.id != blamed)
            if blamed is None or not others:
                return  # whatever uses a wrong expression would say the same again
            rubric = replace(rubric, behaviors=others)
        else:
            return
