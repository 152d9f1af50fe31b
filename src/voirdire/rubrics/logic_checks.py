"""Expressions and classes of a rubric that was read, checked as far as each can be by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire.rubrics.yaml_nodes import ScalarNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from voirdire.rubrics.findings import Findings, Path
    from voirdire.rubrics.rubric import Rubric

__all__ = ["note_logic"]

def note_logic(
    rubric: Rubric, findings: Findings, *, place_of: Callable[[tuple[str, ...]], Path]
) -> None:
    """Note what is wrong with named expressions, or else with the behaviors.

    Parameters
    ----------
    rubric : Rubric
        What was read.
    findings : Findings
        Gets what is wrong, at its place in the file.
    place_of : callable
        Gives the place in the file for a place in the rubric.
    """
    from voirdire.rubrics.logic import logic_errors

    for error in logic_errors(rubric):
        path = place_of(error.where)
        stands_there = isinstance(findings.find(path), ScalarNode)
        findings.add(path, str(error), at_key=not stands_there)
