"""Reads a document (YAML, or one JSON object) by a form; every problem in it has its place.

PyYAML composes nodes, which know line and column, and pydantic knows the rules of a form. Nothing
is constructed from tags, aliases are never followed, and words without quotes are read by the core
schema of YAML 1.2, where PyYAML reads them by YAML 1.1.
"""

from __future__ import annotations

import json
import math
import re
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_args

import yaml  # type: ignore[import-untyped]
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
)
from pydantic_core import PydanticCustomError

from voirdire._messages import Problem, closest, did_you_mean, shorten
from voirdire.documents.files import NotRegularError, is_name, open_regular
from voirdire.errors import RubricError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path as FilePath

    from pydantic_core import ErrorDetails

MOST_BYTES = {"yaml": 256 * 1024, "json": 64 * 1024 * 1024}
MOST_LEVELS = {"yaml": 16, "json": 64}
MOST_PROBLEMS = 100
"""Reading stops here: nobody mends more at once, and a hostile file could have many thousands."""

_MOST_KEYS = 5  # that one message names: it stays a line
_MOST_NUMBERS = 4
_SHOWN_WIDTH = 60
_KEY = "[key]"

Path: TypeAlias = tuple[str | int | float, ...]
"""Keys and positions in lists that lead to a value."""

Layout: TypeAlias = Literal["yaml", "json"]
Check: TypeAlias = "Callable[[str], Iterable[tuple[int, str]]]"
"""Finds the rules that a text breaks, each with the offset where."""

ScalarValue: TypeAlias = str | int | float | bool | None
F = TypeVar("F", bound=BaseModel)

# Forms -------------------------------------------------------------------------------------------


class Form(BaseModel):
    """A mapping in which only its own keys may stand, each of exactly its own kind."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def rule_error(words: str) -> PydanticCustomError:
    """Make the error of a value that must ``words``, such as ``be on one line``."""
    # pydantic fills in braces of a message
    return PydanticCustomError("rule", "{words_of_rule}", {"words_of_rule": words})


def _check_one_line(text: str) -> str:
    if "\n" in text:
        raise rule_error("be on one line")
    return text


def _check_name(word: str) -> str:
    if not is_name(word):
        characters = "letters, digits, '-', '_' and '.'"
        raise rule_error(f"be {characters}, a letter or digit first, at most 100")
    return word


# How a block of YAML ends is formatting.
Filled = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Line = Annotated[Filled, AfterValidator(_check_one_line)]
Name = Annotated[str, AfterValidator(_check_name)]
Number = Annotated[float, Field(allow_inf_nan=False)]

# Reading -----------------------------------------------------------------------------------------


def read_document(
    path: str | FilePath, *, what: str, layout: Layout = "yaml", check_text: Check | None = None
) -> Document:
    """Read a file: YAML of at most 256 KiB, or one JSON object of at most 64 MiB.

    `what` it should hold is for messages: ``"a rubric"``. `check_text` is given the text of YAML
    before anything of it can get into a message, and gives the rules that are broken.
    """
    source = str(path)
    try:
        with open_regular(path) as file:
            data = file.read(MOST_BYTES[layout] + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        rules: dict[type, str] = {
            FileNotFoundError: "be a file that exists. Check the path.",
            IsADirectoryError: "be a file, got a folder. Name a file in it.",
            NotRegularError: "be a regular file, got a pipe, a device or a socket. Name a file.",
        }
        rule = rules.get(type(error), f"be a file that can be read ({why}). Check the path.")
        raise Document(None, source=source, what=what).error_at((), f"must {rule}") from error
    return document_from_text(data, source=source, what=what, layout=layout, check_text=check_text)


def document_from_text(
    text: str | bytes,
    *,
    source: str,
    what: str,
    layout: Layout = "yaml",
    check_text: Check | None = None,
) -> Document:
    """Read text, which messages call `source`, as `read_document` reads a file."""
    document = Document(None, source=source, what=what)
    data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if len(data) > MOST_BYTES[layout]:
        rule = f"at most {MOST_BYTES[layout]:,} bytes, got more. Shorten it."
        raise document.error_at((), f"{what} must be {rule}")
    try:
        text = data.decode("utf-8", "strict" if layout == "yaml" else "surrogatepass")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "surrogatepass")
        rule = f"UTF-8, got byte 0x{data[error.start]:02x}. Save the file as UTF-8."
        document.report(f"text must be {rule}", _find_mark(before, len(before)))
        raise document.error() from None
    text = text.removeprefix("\ufeff")
    if not text.strip():
        raise document.error_at((), _EMPTY.format(what=what))
    if layout == "json":
        _read_json(text, document)
    else:
        _read_yaml(text, document, check_text)
    return document


class Document:
    """The content of a file, as lists, dicts and plain values, with the problems found so far."""

    def __init__(self, value: Any, *, source: str, what: str) -> None:
        self.value = value
        self.source = source
        self.what = what
        self.root: Any = None  # the node of YAML that is the whole
        self._problems: list[Problem] = []

    @property
    def is_wrong(self) -> bool:
        """Whether there are problems."""
        return bool(self._problems)

    def has(self, path: Path) -> bool:
        """Return whether there is a value at a path."""
        return self._follow(path)[1]

    def get(self, path: Path) -> Any:
        """Return the value at a path; None where there is none."""
        value, is_there, _, _ = self._follow(path)
        return value if is_there else None

    def line(self, path: Path) -> int | None:
        """Return the line of the value at a path."""
        node = self._follow(path)[2]
        return None if node is None else node.start_mark.line + 1

    def read(self, form: type[F], path: Path = (), *, what: str | None = None) -> F | None:
        """Read the value at a path, called `what`, by a form; None, and noted, if it is wrong."""
        try:
            return form.model_validate(self.get(path))
        except ValidationError as error:
            details = error.errors(include_url=False)
        # A misspelt key is told once, and not also as the one that is missing.
        meant: set[Path] = set()
        for detail in sorted(details, key=lambda row: row["type"] != "extra_forbidden"):
            kind = detail["type"]
            inner = tuple(step for step in detail["loc"] if step != _KEY)
            whole, last = (*path, *inner), inner[-1:]
            around = _name_value(inner[:-1], what or self.what)
            if kind == "extra_forbidden":
                keys = _list_keys(form, inner[:-1])
                lacking = [key for key in keys if not self.has((*whole[:-1], key))]
                close = closest(last[0], lacking) or closest(last[0], keys)
                meant.add((*inner[:-1], close or ""))
                hint = f"Did you mean `{close}`?" if close else f"It has `{'`, `'.join(keys)}`."
                message = f"{around} has no key {shorten(last[0], width=_SHOWN_WIDTH)!r}. {hint}"
                self.add(whole, message, at_key=True, is_unknown_key=True)
            elif kind == "missing":
                if inner not in meant:
                    self.add(whole, f"{around} must have the key `{last[0]}`. Add it.")
            else:
                at_key = kind == "invalid_key" or detail["loc"][-1:] == (_KEY,)
                name = f"a key of {around}" if at_key else _name_value(inner, what or self.what)
                message = f"{name} must {_describe_rule(detail)}"
                self.add(whole, message, at_key=at_key)
        return None

    def read_or_raise(self, form: type[F]) -> F:
        """Read the whole by a form, or raise its problems."""
        content = self.read(form)
        if content is None:
            raise self.error()
        return content

    def add(
        self, path: Path, message: str, *, at_key: bool = False, is_unknown_key: bool = False
    ) -> None:
        """Note a problem of the value that `path` leads to, or of its key; many are raised.

        Where there is no such value, the place is that of the nearest around it.
        """
        _, _, node, key = self._follow(path)
        node = key if at_key and key is not None else node
        mark = None if node is None else node.start_mark
        self.report(message, mark, is_unknown_key=is_unknown_key)

    def report(
        self, message: str, mark: yaml.Mark | None = None, *, is_unknown_key: bool = False
    ) -> None:
        """Note a problem at a place in the text; many are raised."""
        place = {} if mark is None else {"line": mark.line + 1, "column": mark.column + 1}
        self._problems.append(
            Problem(source=self.source, message=message, is_unknown_key=is_unknown_key, **place)
        )
        if len(self._problems) >= MOST_PROBLEMS:
            raise self.error()

    def error_at(self, path: Path, message: str) -> RubricError:
        """Note a problem, and make the error with all problems."""
        self.add(path, message)
        return self.error()

    def error(self) -> RubricError:
        """Make the error with all problems, in the order of the file.

        Its message has the first; but unknown keys come before it, several of them.
        """
        rows = sorted(self._problems, key=lambda row: (row.line or 0, row.column or 0))
        first = [row for row in rows if row.is_unknown_key][:_MOST_KEYS] or rows[:1]
        n_more = len(rows) - len(first)
        more = f" ({n_more} more problem{'s'[: n_more > 1]} in this file.)" if n_more else ""
        return RubricError(f"{' '.join(map(str, first))}{more}", problems=rows)

    def raise_problems(self) -> None:
        """Raise the problems, if there are any."""
        if self._problems:
            raise self.error()

    def _follow(self, path: Path) -> tuple[Any, bool, Any, Any]:
        """Follow a path as far as it goes: the value, whether it is all, its node, its key's node.

        Keys are also found by what they look like: pydantic names the number 1.5 as text.
        """
        value, node, key = self.value, self.root, None
        for step in path:
            if isinstance(value, dict):
                name = next((name for name in value if step in (name, str(name))), None)
                if name is None:
                    return value, False, node, key
                value = value[name]
                if node is not None:
                    key, node = next(row for row in node.value if _read_word(row[0]) == name)
            elif isinstance(value, list) and isinstance(step, int):
                value, key = value[step], None
                node = None if node is None else node.value[step]
            elif step == "en":
                key = None  # a bare text, or list of texts, is the English one itself
            else:
                return value, False, node, key
        return value, True, node, key


# YAML --------------------------------------------------------------------------------------------

_WORDS: dict[str, ScalarValue] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **{sign + word: math.inf for sign in ("", "+") for word in (".inf", ".Inf", ".INF")},
    **{f"-{word}": -math.inf for word in (".inf", ".Inf", ".INF")},
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_MOST_DIGITS = 300
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff\ud800-\udfff]"
)
"""Control characters, invisible line ends, byte order marks, lone surrogates."""


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
        base = 0 if text[1:2] in ("o", "x") else 10
        return int(text, base) if len(text) <= _MOST_DIGITS else math.inf
    return float(text) if _FLOAT.fullmatch(text) else text


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """Composes nodes; it notes tags, anchors and aliases, and follows none."""

    def __init__(self, text: str, document: Document) -> None:
        super().__init__(text)
        self._document = document
        self._n_levels = 0

    def compose_document(self) -> Any:
        event = self.peek_event()
        if event.version or event.tags:
            self._refuse(event, "be without %-directives. Delete them.")
        return super().compose_document()

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.peek_event()
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if isinstance(event, yaml.AliasEvent):
            self.get_event()
            shown = repr(shorten(f"*{anchor}"))
            self._refuse(event, f"be without aliases, got {shown}. Write the text out.")
            return yaml.ScalarNode("", "", event.start_mark, event.end_mark)
        if anchor is not None:
            shown = repr(shorten(f"&{anchor}"))
            self._refuse(event, f"be without anchors, got {shown}. Delete it.")
        if tag is not None:
            shown = repr(shorten(tag.replace("tag:yaml.org,2002:", "!!", 1)))
            self._refuse(event, f"be without tags, got {shown}. Delete it.")
        event.anchor = event.tag = None
        self._n_levels += 1
        most = MOST_LEVELS["yaml"]
        if self._n_levels > most + isinstance(event, yaml.ScalarEvent):
            self._refuse(event, f"be at most {most} levels deep. Flatten this.")
            raise self._document.error()
        node = super().compose_node(parent, index)
        self._n_levels -= 1
        return node

    def _refuse(self, event: Any, rule: str) -> None:
        self._document.report(f"{self._document.what} must {rule}", event.start_mark)


def _read_yaml(text: str, document: Document, check_text: Check | None) -> None:
    """Read YAML into the nodes and the value of a document, or raise all its problems."""
    unseen = _UNSEEN.search(text)
    if unseen is not None:
        message = f"text must be without control characters, got U+{ord(unseen[0]):04X}. Delete it."
        document.report(message, _find_mark(text, unseen.start()))
        raise document.error()
    for offset, rule in islice(check_text(text) if check_text else (), MOST_PROBLEMS):
        document.report(f"{document.what} must {rule}", _find_mark(text, offset))
    document.raise_problems()
    loader = _Loader(text, document)
    try:
        document.root = loader.get_single_node()
    except RubricError:  # a ValueError too
        raise
    except yaml.MarkedYAMLError as error:
        problem = str(error.problem or error.context or "no more is known")
        start = error.context_mark
        since = f", in what began on line {start.line + 1}" if start is not None else ""
        unknown = (
            f"text must be YAML, got something else ({shorten(problem)}{since}). Correct this line."
        )
        document.report(_SYNTAX.get(problem, unknown), error.problem_mark or start)
    except (ValueError, OverflowError):  # PyYAML hands such a number to `chr`
        message = "an escape must name a character of Unicode. Correct what follows the backslash."
        document.report(message, loader.get_mark())
    else:
        if document.root is None:
            raise document.error_at((), _EMPTY.format(what=document.what))
        document.value = _read_node(document.root, document)
    document.raise_problems()


def _read_word(node: Any) -> ScalarValue:
    word: str = node.value
    return word if node.style else resolve_scalar(word)


def _read_node(node: Any, document: Document) -> Any:
    """Turn nodes into lists, dicts and values; note the keys and characters that may not be."""
    if isinstance(node, yaml.SequenceNode):
        return [_read_node(item, document) for item in node.value]
    if isinstance(node, yaml.ScalarNode):
        unseen = _UNSEEN.search(node.value) or re.search("\r", node.value)
        if unseen is not None:
            shown = f"U+{ord(unseen[0]):04X}. Delete the escape."
            document.report(
                f"text must be without control characters, got {shown}", node.start_mark
            )
        return _read_word(node)
    values: dict[Any, Any] = {}
    lines: dict[Any, int] = {}
    for key_node, value_node in node.value:
        key, value = _read_node(key_node, document), _read_node(value_node, document)
        if isinstance(key, list | dict | bool | None):
            message = f"a key must be text, got {describe_value(key)}. Put it in quotes."
        elif key == "<<" and not key_node.style:
            message = f"{document.what} must be without merge keys, got '<<'."
        elif key in values:
            shown = f"{describe_value(key)} again (first on line {lines[key]})"
            message = f"a key must be there once, got {shown}."
        else:
            values[key], lines[key] = value, key_node.start_mark.line + 1
            continue
        document.report(message, key_node.start_mark)
    return values


_EMPTY = "{what} must hold keys and values, got an empty file. Check the path."
_QUESTION_MARK = "a question mark between braces or brackets must be in quotes."
_SYNTAX = {
    "mapping values are not allowed here": "a colon in a text must be in quotes, or this line "
    "must be indented as its neighbours are.",
    "found character '\\t' that cannot start any token": "indentation must be spaces, got a tab.",
    "expected ',' or '}', but got '?'": _QUESTION_MARK,
    "expected ',' or ']', but got '?'": _QUESTION_MARK,
    "found unexpected end of stream": "a quote or bracket must be closed before the file ends.",
    "but found another document": "a file must be one document, got a second document. Split it.",
}
"""What PyYAML says is wrong, and what must be."""


def _find_mark(text: str, offset: int) -> yaml.Mark:
    """Find the line and the column of a character, whatever ends the lines."""
    lines = f"{text[:offset]}|".splitlines()
    return yaml.Mark("", offset, len(lines) - 1, len(lines[-1]) - 1, None, None)


# JSON --------------------------------------------------------------------------------------------


def _read_json(text: str, document: Document) -> None:
    """Read one JSON object into the value of a document, or raise what it is instead."""
    mark = None
    wrong = f"one of more than {MOST_LEVELS['json']} levels: it is nested too deeply."
    try:
        content = json.loads(text, parse_constant=_read_number, parse_float=_read_number)
        if not isinstance(content, dict):
            wrong = f"{describe_value(content)}."
        elif not _is_deeper(content, MOST_LEVELS["json"]):
            document.value = content
            return
    except RecursionError:
        pass
    except json.JSONDecodeError as error:
        mark = _find_mark(text, error.pos)
        wrong = f"something else ({shorten(error.msg)}). Check the path."
    except ValueError as error:  # a number of thousands of digits too
        wrong = f"something else ({shorten(str(error))})."
    document.report(f"{document.what} must be a JSON object, got {wrong}", mark)
    raise document.error()


def _read_number(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        msg = f"{shorten(digits)} is no number, or too large a number"
        raise ValueError(msg)
    return number


def _is_deeper(value: Any, n_levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value
    return isinstance(value, dict | list) and (
        not n_levels or any(_is_deeper(row, n_levels - 1) for row in inner)
    )


# Words -------------------------------------------------------------------------------------------

_RULES = {
    "string_type": "be text",
    "string_too_short": "not be empty",
    "list_type": "be a list",
    "dict_type": "be a mapping",
    "model_type": "be a mapping",
    "bool_type": "be true or false",
    "float_type": "be a number",
    "int_type": "be a whole number",
    "finite_number": "be a finite number",
    "greater_than": "be more than {gt:g}",
    "less_than": "be less than {lt:g}",
    "too_short": "hold at least one entry",
    "too_long": "hold at most {max_length:,} entries",
    "rule": "{rule}",
    "literal_error": "be one of {words}",
    "invalid_key": "be text",
}
"""For each type of error of pydantic what must be; a test breaks every value in every way."""


def _describe_rule(detail: ErrorDetails) -> str:
    """Say what a value must be, what it is, and what may be meant."""
    kind, context, value = detail["type"], detail.get("ctx", {}), detail["input"]
    # pydantic lists allowed words in a sentence
    words = re.findall("'([^']*)'", str(context.get("expected", "")))
    rule = _RULES.get(kind, "be of another form")
    rule = rule.format(**context, rule=detail["msg"], words=", ".join(words))
    hint = ""
    if kind == "literal_error" and not isinstance(value, dict | list):
        hint = did_you_mean(value, words)
    elif kind == "string_type" and isinstance(value, bool | int | float):
        hint = " Put it in quotes."
    return f"{rule}, got {describe_value(value)}.{hint}"


def describe_value(value: Any) -> str:
    """Describe a value, such as ``'yes'``, ``the number 1.0`` or ``a list``."""
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        is_short = 1 < len(value) <= _MOST_NUMBERS and all(type(x) in (int, float) for x in value)
        return shorten(value) if is_short else "a list" if value else "an empty list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    shown = shorten(value, width=_SHOWN_WIDTH)
    return repr(shown) if isinstance(value, str) else f"the number {shown}"


def _name_value(path: Path, what: str) -> str:
    """Name a value by the keys that lead to it; entries of lists have the name of the list."""
    keys = ".".join(shorten(step, width=40) for step in path if isinstance(step, str))
    if not path:
        return what
    return f"an entry of `{keys}`" if isinstance(path[-1], int) else f"`{keys}`"


def _list_keys(form: type[BaseModel], path: Path) -> list[str]:
    """List the keys of the mapping that is at a path of what a form describes."""
    for step in path:
        for name, field in form.model_fields.items():
            inner = set(_list_forms(field.annotation)) if step in (name, field.alias) else set()
            form = inner.pop() if len(inner) == 1 else form
    return [field.alias or name for name, field in form.model_fields.items()]


def _list_forms(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _list_forms(inner)
