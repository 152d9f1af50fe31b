"""Collect what is wrong with a file while it is read, each thing at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from voirdire.rubrics.problems import MOST_PROBLEMS, Problem, problem_error
from voirdire.rubrics.yaml_nodes import ListNode, MappingNode, ScalarNode

if TYPE_CHECKING:
    from collections.abc import Callable

    from voirdire.errors import RubricError
    from voirdire.rubrics.rubric import Rubric
    from voirdire.rubrics.yaml_nodes import Node

__all__ = ["Findings", "Path"]

Path: TypeAlias = tuple[str | int | float, ...]
"""Keys and positions in lists that lead to a value."""


class Findings:
    """Everything found wrong so far with one file."""

    def __init__(self, root: Node, *, source: str) -> None:
        self.root = root
        self.source = source
        self._problems: list[Problem] = []

    def add(
        self, path: Path, message: str, *, at_key: bool = False, is_unknown_key: bool = False
    ) -> None:
        """Note a problem of the value that `path` leads to, or of its key; many are raised."""
        place = self.place(path, at_key=at_key)
        self._problems.append(
            Problem(
                source=self.source,
                line=place.line,
                column=place.column,
                message=message,
                is_unknown_key=is_unknown_key,
            )
        )
        if len(self._problems) >= MOST_PROBLEMS:
            raise self.error()

    def find(self, path: Path) -> Node | None:
        """Find the value at a path."""
        nodes = self._along(path)
        return nodes[-1][1] if len(nodes) == len(path) + 1 else None

    def place(self, path: Path, *, at_key: bool = False) -> Node:
        """Find the value at a path, or its key; the nearest around it where there is none."""
        key, node = self._along(path)[-1]
        return key if at_key and key is not None else node

    def _along(self, path: Path) -> list[tuple[ScalarNode | None, Node]]:
        """List the nodes that a path leads through, each with its key, as far as they go."""
        node: Node = self.root
        found: list[tuple[ScalarNode | None, Node]] = [(None, node)]
        for step in path:
            key: ScalarNode | None = None
            if isinstance(node, MappingNode) and (pair := node.find(step)) is not None:
                key, node = pair
            elif isinstance(node, ListNode) and isinstance(step, int):
                node = node.items[step]
            elif step != "en" or isinstance(node, MappingNode):
                break  # a bare text, or list of texts, is the English one itself
            found.append((key, node))
        return found

    def add_logic(self, rubric: Rubric, *, place_of: Callable[[tuple[str, ...]], Path]) -> None:
        """Note what is wrong with named expressions, or else with the behaviors.

        `place_of` gives the place in the file for a place in the rubric that was read from it.
        """
        from voirdire.rubrics.logic import logic_errors

        for error in logic_errors(rubric):
            path = place_of(error.where)
            stands_there = isinstance(self.find(path), ScalarNode)
            self.add(path, str(error), at_key=not stands_there)

    @property
    def found(self) -> bool:
        """Whether anything is wrong."""
        return bool(self._problems)

    def error(self) -> RubricError:
        """Make the error that says all problems, in the order of the file."""
        ordered = sorted(self._problems, key=lambda row: (row.line or 0, row.column or 0))
        return problem_error(*ordered)
