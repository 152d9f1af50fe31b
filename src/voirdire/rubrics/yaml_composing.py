"""From YAML text to nodes; whatever could act is refused.

Only the events of PyYAML's safe loader are used: nothing is constructed from tags, aliases are
never followed, and the nesting is counted here instead of on Python's stack.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import yaml  # type: ignore[import-untyped]

from voirdire._validation import shorten
from voirdire.errors import RubricError
from voirdire.rubrics.problems import MOST_PROBLEMS, Problem, problem_error
from voirdire.rubrics.scalars import resolve_scalar
from voirdire.rubrics.source_text import UNSEEN, name_character
from voirdire.rubrics.yaml_nodes import ListNode, MappingNode, Node, ScalarNode

__all__ = ["MOST_LEVELS", "compose"]

MOST_LEVELS = 16


def compose(text: str, *, source: str) -> Node:
    """Read one YAML document into nodes, or raise a `RubricError` with all that is wrong.

    Parameters
    ----------
    text : str
        Checked by `decode_rubric`.
    source : str
        The file, for messages.
    """
    composer = _Composer(source)
    loader = yaml.SafeLoader(text)
    try:
        while loader.check_event():
            composer.take(loader.get_event())
    except RubricError:  # a ValueError too
        raise
    except yaml.MarkedYAMLError as error:
        composer.report(error.problem_mark or error.context_mark, _syntax(error))
    except (ValueError, OverflowError):  # PyYAML hands such a number to `chr`
        message = "an escape must name a character of Unicode. Correct what follows the backslash."
        composer.report(loader.get_mark(), message)
    if composer.problems:
        raise problem_error(*composer.problems)
    if composer.root is None:
        message = "a rubric must hold at least one question, got an empty file. Fill it."
        raise problem_error(Problem(source=source, message=message))
    return composer.root


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come; `key` waits for its value."""

    node: ListNode | MappingNode
    key: ScalarNode | None = None
    at_key: bool = True


class _StopError(yaml.MarkedYAMLError):  # type: ignore[misc]
    """What ends the reading at once, in our words."""


class _Composer:
    """Takes events one by one."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self._open: list[_Open] = []

    def report(self, mark: Any, message: str) -> None:
        line, column = (None, None) if mark is None else (mark.line + 1, mark.column + 1)
        problem = Problem(source=self.source, line=line, column=column, message=message)
        self.problems.append(problem)
        if len(self.problems) >= MOST_PROBLEMS:
            raise problem_error(*self.problems)

    def take(self, event: Any) -> None:
        match event:
            case yaml.DocumentStartEvent():
                self._start_document(event)
            case yaml.AliasEvent():
                self._refuse_alias(event)
            case yaml.ScalarEvent():
                self._check_properties(event)
                self._add(self._scalar(event), event)
            case yaml.SequenceStartEvent():
                self._check_properties(event)
                self._begin(ListNode(line=_line(event), column=_column(event)), event)
            case yaml.MappingStartEvent():
                self._check_properties(event)
                self._begin(MappingNode(line=_line(event), column=_column(event)), event)
            case yaml.SequenceEndEvent() | yaml.MappingEndEvent():
                self._open.pop()

    def _start_document(self, event: Any) -> None:
        if event.version or event.tags:
            self.report(event.start_mark, "a rubric must be without %-directives. Delete them.")
        if self.root is not None:
            message = "a file must hold one rubric, got a second document. Split the file."
            raise _StopError(problem=message, problem_mark=event.start_mark)

    def _refuse_alias(self, event: Any) -> None:
        message = (
            f"a rubric must be without aliases, got {shorten('*' + event.anchor)!r}. "
            "Write the text out."
        )
        self.report(event.start_mark, message)
        self._add(ScalarNode(line=_line(event), column=_column(event), value=None), event)

    def _check_properties(self, event: Any) -> None:
        if event.anchor is not None:
            shown = repr(shorten("&" + event.anchor))
            message = f"a rubric must be without anchors, got {shown}. Delete it."
            self.report(event.start_mark, message)
        if event.tag is not None:
            message = f"a rubric must be without tags, got {_shown_tag(event.tag)}. Delete it."
            self.report(event.start_mark, message)

    def _scalar(self, event: Any) -> ScalarNode:
        unseen = UNSEEN.search(event.value)
        if unseen is not None or "\r" in event.value:
            shown = name_character(unseen[0] if unseen else "\r")
            message = f"text must be without control characters, got {shown}. Delete the escape."
            self.report(event.start_mark, message)
        value = event.value if event.style is not None else resolve_scalar(event.value)
        return ScalarNode(line=_line(event), column=_column(event), value=value)

    def _begin(self, node: ListNode | MappingNode, event: Any) -> None:
        self._add(node, event)
        self._open.append(_Open(node))
        if len(self._open) > MOST_LEVELS:
            message = f"a rubric must be at most {MOST_LEVELS} levels deep. Flatten this."
            raise _StopError(problem=message, problem_mark=event.start_mark)

    def _add(self, node: Node, event: Any) -> None:
        """Put a node where it belongs: a key, the value of the key before it, or an item."""
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        if isinstance(parent.node, ListNode):
            parent.node.items.append(node)
        elif parent.at_key:
            parent.at_key = False
            parent.key = self._key(parent.node, node, event)
        else:
            parent.at_key = True
            if parent.key is not None:
                parent.node.pairs[parent.key.value] = (parent.key, node)

    def _key(self, mapping: MappingNode, node: Node, event: Any) -> ScalarNode | None:
        """Check a key; None for one whose value has no place to go."""
        if not isinstance(node, ScalarNode):
            what = "a list" if isinstance(node, ListNode) else "a mapping"
            self.report(event.start_mark, f"a key must be text, got {what}. Write a word.")
            return None
        if isinstance(node.value, bool) or node.value is None:
            shown = "nothing" if node.value is None else str(node.value).lower()
            self.report(event.start_mark, f"a key must be text, got {shown}. Put it in quotes.")
            return None
        if node.value == "<<" and event.style is None:
            self.report(event.start_mark, "a rubric must be without merge keys, got '<<'.")
            return None
        earlier = mapping.pairs.get(node.value)
        if earlier is None:
            return node
        shown = repr(shorten(node.value) if isinstance(node.value, str) else node.value)
        message = f"a key must be there once, got {shown} again (first on line {earlier[0].line})."
        self.report(event.start_mark, message)
        return None


def _line(event: Any) -> int:
    line: int = event.start_mark.line
    return line + 1


def _column(event: Any) -> int:
    column: int = event.start_mark.column
    return column + 1


def _shown_tag(tag: str) -> str:
    """Write a tag as it stands in the file."""
    return repr(shorten(tag.replace("tag:yaml.org,2002:", "!!", 1)))


_QUESTION_MARK = "a question mark between braces or brackets must be in quotes"
_SYNTAX = {
    "mapping values are not allowed here": "a colon in a text must be in quotes, or this line "
    "must be indented as its neighbours are",
    "found character '\\t' that cannot start any token": "indentation must be spaces, got a tab",
    "expected ',' or '}', but got '?'": _QUESTION_MARK,
    "expected ',' or ']', but got '?'": _QUESTION_MARK,
    "found unexpected end of stream": "a quote or bracket must be closed before the file ends",
}


def _syntax(error: Any) -> str:
    """Say in our words what the parser says in its own."""
    if isinstance(error, _StopError):
        return str(error.problem)
    said = str(error.problem or error.context or "no more is known")
    known = _SYNTAX.get(said)
    if known is not None:
        return f"{known}."
    began = error.context_mark
    since = f", in what began on line {began.line + 1}" if began is not None else ""
    return f"text must be YAML, got something else ({shorten(said)}{since}). Correct this line."
