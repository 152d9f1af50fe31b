"""Parses YAML text into nodes, and refuses tags, anchors and aliases.

Only the events of PyYAML's safe loader are used: nothing is constructed from tags, aliases are
never followed, and the nesting is counted here instead of on Python's stack.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import yaml  # type: ignore[import-untyped]

from voirdire._messages import Problem, shorten
from voirdire.documents.problems import (
    MOST_PROBLEMS,
    find_place,
    problem_error,
    size_error,
)
from voirdire.errors import RubricError

__all__ = [
    "ListNode",
    "MappingNode",
    "Node",
    "ScalarNode",
    "compose",
    "decode_text",
    "find_node_place",
    "plain_yaml",
    "resolve_scalar",
]

MOST_BYTES = 256 * 1024
MOST_LEVELS = 16

ScalarValue: TypeAlias = str | int | float | bool | None

_WORDS: dict[str, ScalarValue] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **{f"-{word}": -math.inf for word in (".inf", ".Inf", ".INF")},
}
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MOST_DIGITS = 300


def resolve_scalar(text: str) -> ScalarValue:
    """Read a word without quotes, by the core schema of YAML 1.2 (section 10.3.2).

    Examples
    --------
    >>> [resolve_scalar(word) for word in ("yes", "true", "0o17", "1e3", "1.0.0", "2024-01-01")]
    ['yes', True, 15, 1000.0, '1.0.0', '2024-01-01']
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) <= _MOST_DIGITS else math.inf
    if _BASED.fullmatch(text):
        return int(text, 0) if len(text) <= _MOST_DIGITS else math.inf
    if _FLOAT.fullmatch(text):
        return float(text)
    return text


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


Node: TypeAlias = ScalarNode | ListNode | MappingNode


def plain_yaml(node: Node) -> Any:
    """Turn nodes into lists, dicts and values; their depth is bounded."""
    if isinstance(node, MappingNode):
        return {key: plain_yaml(value) for key, (_, value) in node.pairs.items()}
    if isinstance(node, ListNode):
        return [plain_yaml(item) for item in node.items]
    return node.value


def find_node_place(root: Node, path: tuple[Any, ...], *, at_key: bool) -> tuple[int, int]:
    """Return the line and the column of the value that a path leads to, or of its key."""
    key, node = None, root
    for step in path:
        if isinstance(node, MappingNode):
            key, node = node.pairs[step]
        elif isinstance(node, ListNode):
            key, node = None, node.items[step]
    found = key if at_key and key is not None else node
    return found.line, found.column


_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"
)
"""Control characters, invisible line ends, byte order marks, lone surrogates."""


def decode_text(data: bytes | str, *, source: str, what: str) -> str:
    """Check size, encoding and characters, and take off a byte order mark."""
    n_bytes = len(data if isinstance(data, bytes) else data.encode("utf-8", "surrogatepass"))
    if n_bytes > MOST_BYTES:
        size = f"{n_bytes:,}" if isinstance(data, str) else "more"
        raise size_error(source, size, what=what, most_bytes=MOST_BYTES)
    text = data if isinstance(data, str) else _decode(data, source=source)
    text = text.removeprefix("\ufeff")
    found = _UNSEEN.search(text)
    if found is not None:
        message = (
            f"text must be without control characters, got {_shown_character(found[0])}. Delete it."
        )
        raise _error_at(source, text, found.start(), message)
    if not text.strip():
        raise _empty(source, what=what)
    return text


def _empty(source: str, *, what: str) -> RubricError:
    message = f"{what} must hold keys and values, got an empty file. Fill it."
    return problem_error(Problem(source=source, message=message))


def _error_at(source: str, text: str, offset: int, message: str) -> RubricError:
    line, column = find_place(text, offset)
    return problem_error(Problem(source=source, line=line, column=column, message=message))


def _shown_character(character: str) -> str:
    """Show a character that cannot be seen, such as ``U+0007``."""
    return f"U+{ord(character):04X}"


def _decode(data: bytes, *, source: str) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        message = f"text must be UTF-8, got byte 0x{data[error.start]:02x}. Save the file as UTF-8."
        before = data[: error.start].decode("utf-8")
        raise _error_at(source, before, len(before), message) from None


def compose(text: str, *, source: str, what: str) -> Node:
    """Read the text of one YAML document into nodes, or note its problems."""
    composer = _Composer(source, what)
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
        raise _empty(source, what=what)
    return composer.root


@dataclass(slots=True)
class _Open:
    """An open list or mapping; `key` is the key without a value yet."""

    node: ListNode | MappingNode
    key: ScalarNode | None = None
    at_key: bool = True


class _StopError(yaml.MarkedYAMLError):  # type: ignore[misc]
    """An error that ends the reading at once."""


class _Composer:
    """Takes events one by one."""

    def __init__(self, source: str, what: str) -> None:
        self.source = source
        self.what = what
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
            self.report(event.start_mark, f"{self.what} must be without %-directives. Delete them.")
        if self.root is not None:
            message = f"{self.what} must be one document, got a second document. Split the file."
            raise _StopError(problem=message, problem_mark=event.start_mark)

    def _refuse_alias(self, event: Any) -> None:
        message = (
            f"{self.what} must be without aliases, got {shorten('*' + event.anchor)!r}. "
            "Write the text out."
        )
        self.report(event.start_mark, message)
        self._add(ScalarNode(line=_line(event), column=_column(event), value=None), event)

    def _check_properties(self, event: Any) -> None:
        if event.anchor is not None:
            shown = repr(shorten("&" + event.anchor))
            message = f"{self.what} must be without anchors, got {shown}. Delete it."
            self.report(event.start_mark, message)
        if event.tag is not None:
            message = f"{self.what} must be without tags, got {_shown_tag(event.tag)}. Delete it."
            self.report(event.start_mark, message)

    def _scalar(self, event: Any) -> ScalarNode:
        unseen = _UNSEEN.search(event.value)
        if unseen is not None or "\r" in event.value:
            shown = _shown_character(unseen[0] if unseen else "\r")
            message = f"text must be without control characters, got {shown}. Delete the escape."
            self.report(event.start_mark, message)
        value = event.value if event.style is not None else resolve_scalar(event.value)
        return ScalarNode(line=_line(event), column=_column(event), value=value)

    def _begin(self, node: ListNode | MappingNode, event: Any) -> None:
        self._add(node, event)
        self._open.append(_Open(node))
        if len(self._open) > MOST_LEVELS:
            message = f"{self.what} must be at most {MOST_LEVELS} levels deep. Flatten this."
            raise _StopError(problem=message, problem_mark=event.start_mark)

    def _add(self, node: Node, event: Any) -> None:
        """Add a node as a key, as the value of the key before it, or as an item."""
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
        """Check a key; None for one that cannot be used."""
        if not isinstance(node, ScalarNode):
            what = "a list" if isinstance(node, ListNode) else "a mapping"
            self.report(event.start_mark, f"a key must be text, got {what}. Write a word.")
            return None
        if isinstance(node.value, bool) or node.value is None:
            shown = "nothing" if node.value is None else str(node.value).lower()
            self.report(event.start_mark, f"a key must be text, got {shown}. Put it in quotes.")
            return None
        if node.value == "<<" and event.style is None:
            self.report(event.start_mark, f"{self.what} must be without merge keys, got '<<'.")
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
    """Turn the parser's error into one of ours."""
    if isinstance(error, _StopError):
        return str(error.problem)
    said = str(error.problem or error.context or "no more is known")
    known = _SYNTAX.get(said)
    if known is not None:
        return f"{known}."
    began = error.context_mark
    since = f", in what began on line {began.line + 1}" if began is not None else ""
    return f"text must be YAML, got something else ({shorten(said)}{since}). Correct this line."
