"""A YAML document as nodes that know their line and column."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from voirdire.rubrics.scalars import ScalarValue

__all__ = ["ListNode", "MappingNode", "Node", "ScalarNode", "plain"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ScalarNode:
    """Text, a number, true, false or nothing."""

    line: int
    column: int
    value: ScalarValue


@dataclass(frozen=True, kw_only=True, slots=True)
class ListNode:
    """Several nodes in order."""

    line: int
    column: int
    items: list[Node] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True, slots=True)
class MappingNode:
    """Keys with their values, in order; no key is there twice."""

    line: int
    column: int
    pairs: dict[ScalarValue, tuple[ScalarNode, Node]] = field(default_factory=dict)

    def find(self, name: object) -> tuple[ScalarNode, Node] | None:
        """Find a key, also by what it looks like: pydantic names the number 1.5 as text."""
        for key, pair in self.pairs.items():
            if key == name or str(key) == str(name):
                return pair
        return None


Node: TypeAlias = ScalarNode | ListNode | MappingNode


def plain(node: Node) -> Any:
    """Turn nodes into lists, dicts and values; their depth is bounded."""
    if isinstance(node, MappingNode):
        return {key: plain(value) for key, (_, value) in node.pairs.items()}
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    return node.value
