"""Reads a document, and collects every problem in it with its place."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path as FilePath
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, TypeVar, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from voirdire._messages import Problem, shorten
from voirdire.documents import json_text, yaml_text
from voirdire.documents.files import NotRegularError, read_small
from voirdire.documents.problems import (
    MOST_PROBLEMS,
    NAME_RULE,
    closest,
    did_you_mean,
    find_place,
    is_name,
    problem_error,
    size_error,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pydantic_core import ErrorDetails

    from voirdire.errors import RubricError

__all__ = [
    "Document",
    "Filled",
    "Form",
    "Line",
    "Name",
    "Number",
    "Path",
    "document_from_text",
    "document_of_value",
    "read_document",
    "rule_error",
]


class Form(BaseModel):
    """A mapping in which only its own keys may stand, each of exactly its own kind."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def rule_error(words: str) -> PydanticCustomError:
    """Make the error of a value that must ``words``, such as ``be on one line``."""
    # pydantic fills in braces of a message
    return PydanticCustomError("rule", "{words_of_rule}", {"words_of_rule": words})


def _strip_text(text: str) -> str:
    """Take off white space around a text; how a YAML block ends is formatting."""
    text = text.strip()
    if not text:
        raise rule_error("not be empty")
    return text


def _check_one_line(text: str) -> str:
    if "\n" in text:
        raise rule_error("be on one line")
    return text


def _name(word: str) -> str:
    if not is_name(word):
        raise rule_error(f"be {NAME_RULE}")
    return word


Filled = Annotated[str, AfterValidator(_strip_text)]
Line = Annotated[Filled, AfterValidator(_check_one_line)]
Name = Annotated[str, AfterValidator(_name)]
Number = Annotated[float, Field(allow_inf_nan=False)]


F = TypeVar("F", bound=BaseModel)

Path: TypeAlias = tuple[str | int | float, ...]
"""Keys and positions in lists that lead to a value."""

Place: TypeAlias = tuple[int | None, int | None]
"""A line and a column; None where what was read has none."""

Layout: TypeAlias = Literal["yaml", "json"]

Check: TypeAlias = "Callable[[str], Iterable[tuple[int, str]]]"
"""Finds the rules that a text breaks, each with the offset where."""

_MISSING: Any = object()
_KEY = "[key]"
_SHOWN_WIDTH = 60
_MOST_NUMBERS = 4

_RULES = {
    "string_type": "be text",
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
}
"""For each type of error of pydantic what must be; a test breaks every value in every way."""

_UNKNOWN = "be of another form"


def read_document(
    path: str | FilePath,
    *,
    what: str,
    layout: Layout = "yaml",
    check_text: Check | None = None,
) -> Document:
    """Read a file: YAML of at most 256 KiB, or one JSON object of at most 64 MiB.

    `what` it should hold is for messages: ``"a rubric"``. `check_text` is given the text of YAML
    before anything of it can get into a message, and gives the rules that are broken.
    """
    source = str(path)
    most_bytes = yaml_text.MOST_BYTES if layout == "yaml" else json_text.MOST_BYTES
    try:
        data = read_small(path, most_bytes=most_bytes)
        size = FilePath(path).stat().st_size
    except (OSError, ValueError) as error:
        raise _unreadable(source, error) from error
    if len(data) > most_bytes:
        shown_size = f"{size:,}" if size > most_bytes else "more"
        raise size_error(source, shown_size, what=what, most_bytes=most_bytes)
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
    if layout == "json":
        return _json_document(text, source=source, what=what)
    decoded = yaml_text.decode_text(text, source=source, what=what)
    if check_text is not None:
        _refuse(islice(check_text(decoded), MOST_PROBLEMS), decoded, source=source, what=what)
    root = yaml_text.compose(decoded, source=source, what=what)

    def place_of(path: Path, at_key: bool) -> Place:  # noqa: FBT001
        return yaml_text.find_node_place(root, path, at_key=at_key)

    return Document(yaml_text.plain_yaml(root), source=source, what=what, place_of=place_of)


def document_of_value(value: Any, *, source: str, what: str) -> Document:
    """Make a document from JSON, or a value of another reader: it has no lines."""
    return Document(value, source=source, what=what, place_of=lambda _path, _at_key: (None, None))


class Document:
    """The content of a file, as lists, dicts and plain values, with the problems found so far."""

    def __init__(
        self, value: Any, *, source: str, what: str, place_of: Callable[[Path, bool], Place]
    ) -> None:
        self.value = value
        self.source = source
        self.what = what
        self._place_of = place_of
        self._problems: list[Problem] = []

    @property
    def is_wrong(self) -> bool:
        """Whether there are problems."""
        return bool(self._problems)

    def has(self, path: Path) -> bool:
        """Return whether there is a value at a path."""
        return self._follow(path)[2]

    def get(self, path: Path) -> Any:
        """Return the value at a path; None where there is none."""
        _, value, is_there, _ = self._follow(path)
        return value if is_there else None

    def line(self, path: Path) -> int | None:
        """Return the line of the value at a path."""
        return self._place(path)[0]

    def read(self, form: type[F], path: Path = (), *, what: str | None = None) -> F | None:
        """Read the value at a path, called `what`, by a form; None, and noted, if it is wrong."""
        value = self._follow(path)[1]
        try:
            return form.model_validate(value)
        except ValidationError as error:
            details = error.errors(include_url=False)
            misspelt = set(self._misspelt(details, form, path))
            for detail in details:
                if not (detail["type"] == "missing" and detail["loc"] in misspelt):
                    self._report(detail, form, path, what or self.what)
            return None

    def read_or_raise(self, form: type[F]) -> F:
        """Read the whole by a form, or raise its problems."""
        found = self.read(form)
        if found is None:
            raise self.error()
        return found

    def add(
        self, path: Path, message: str, *, at_key: bool = False, is_unknown_key: bool = False
    ) -> None:
        """Note a problem of the value that `path` leads to, or of its key; many are raised."""
        line, column = self._place(path, at_key=at_key)
        self._problems.append(
            Problem(
                source=self.source,
                line=line,
                column=column,
                message=message,
                is_unknown_key=is_unknown_key,
            )
        )
        if len(self._problems) >= MOST_PROBLEMS:
            raise self.error()

    def error_at(self, path: Path, message: str) -> RubricError:
        """Note a problem, and make the error with all problems."""
        self.add(path, message)
        return self.error()

    def error(self) -> RubricError:
        """Make the error with all problems, in the order of the file."""
        ordered = sorted(self._problems, key=lambda row: (row.line or 0, row.column or 0))
        return problem_error(*ordered)

    def raise_problems(self) -> None:
        """Raise the problems, if there are any."""
        if self._problems:
            raise self.error()

    def _place(self, path: Path, *, at_key: bool = False) -> Place:
        """Find the value at a path, or its key; the nearest around it where there is none."""
        real, _, _, has_key = self._follow(path)
        return self._place_of(real, at_key and has_key)

    def _follow(self, path: Path) -> tuple[Path, Any, bool, bool]:
        """Follow a path as far as it goes: its own keys, the value, whether it is all, and a key.

        Keys are also found by what they look like: pydantic names the number 1.5 as text.
        """
        value, has_key = self.value, False
        real: list[str | int | float] = []
        for step in path:
            if isinstance(value, dict):
                alike = (key for key in value if str(key) == str(step))
                key = step if step in value else next(alike, _MISSING)
                if key is _MISSING:
                    return tuple(real), value, False, has_key
                real.append(key)
                value, has_key = value[key], True
            elif isinstance(value, list) and isinstance(step, int):
                real.append(step)
                value, has_key = value[step], False
            elif step == "en":
                has_key = False  # a bare text, or list of texts, is the English one itself
            else:
                return tuple(real), value, False, has_key
        return tuple(real), value, True, has_key

    def _report(self, detail: ErrorDetails, form: type[BaseModel], path: Path, what: str) -> None:
        kind = detail["type"]
        tags = _tags(form)
        inner = tuple(step for step in detail["loc"] if step not in tags)
        at_key = inner[-1:] == (_KEY,) or kind in ("extra_forbidden", "invalid_key")
        inner = tuple(step for step in inner if step != _KEY)
        whole = (*path, *inner)
        if kind == "missing":
            message = f"{_name_value(inner[:-1], what)} must have the key `{inner[-1]}`. Add it."
        elif kind == "extra_forbidden":
            message = self._about_strange_key(inner, form, whole, what)
        else:
            found = self._key(whole) if at_key else self._follow(whole)[1]
            named = _name_value(inner[:-1], what) if at_key else _name_value(inner, what)
            named = f"a key of {named}" if at_key else named
            message = (
                f"{named} must {_rule(detail)}, got {describe_value(found)}.{_hint(detail, found)}"
            )
        self.add(whole, message, at_key=at_key, is_unknown_key=kind == "extra_forbidden")

    def _about_strange_key(self, inner: Path, form: type[BaseModel], whole: Path, what: str) -> str:
        known = _keys_of(_form_at(form, inner[:-1]))
        word = repr(shorten(inner[-1], width=_SHOWN_WIDTH))
        lacking = self._lacking(known, whole[:-1])
        hint = did_you_mean(inner[-1], lacking) or did_you_mean(inner[-1], known)
        hint = hint or f" It has {', '.join(f'`{x}`' for x in known)}."
        return f"{_name_value(inner[:-1], what)} has no key {word}.{hint}"

    def _key(self, path: Path) -> Any:
        real, value, _, has_key = self._follow(path)
        return real[-1] if has_key else value

    def _misspelt(
        self, details: Iterable[ErrorDetails], form: type[BaseModel], path: Path
    ) -> Iterator[Path]:
        """Return the places of keys that are there under a name much like theirs.

        One mistake is told once: a key that is not known, and not also the one that it should be.
        """
        strange = (detail for detail in details if detail["type"] == "extra_forbidden")
        for detail in islice(strange, MOST_PROBLEMS):
            *around, word = detail["loc"]
            known = _keys_of(_form_at(form, tuple(around)))
            meant = closest(word, self._lacking(known, (*path, *around)))
            if meant is not None:
                yield (*around, meant)

    def _lacking(self, known: Iterable[str], path: Path) -> list[str]:
        """Leave out keys that exist, since a missing one is more likely meant."""
        there = self._follow(path)[1]
        return [key for key in known if not (isinstance(there, dict) and key in there)]


def describe_value(value: Any) -> str:
    """Describe a value, such as ``'yes'``, ``the number 1.0`` or ``a list``."""
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, list):
        numbers = [shorten(item, width=20) for item in value if _is_number(item)]
        if len(value) == len(numbers) and 1 < len(numbers) <= _MOST_NUMBERS:
            return f"[{', '.join(numbers)}]"
        return "a list" if value else "an empty list"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return repr(shorten(value, width=_SHOWN_WIDTH))
    return f"the number {shorten(value, width=_SHOWN_WIDTH)}"


def _refuse(broken: Iterable[tuple[int, str]], text: str, *, source: str, what: str) -> None:
    problems = []
    for offset, rule in broken:
        line, column = find_place(text, offset)
        message = f"{what} must {rule}"
        problems.append(Problem(source=source, line=line, column=column, message=message))
    if problems:
        raise problem_error(*problems)


def _json_document(text: str | bytes, *, source: str, what: str) -> Document:
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    line: int | None = None
    column: int | None = None
    try:
        value = json_text.parse_object(data, what=what)
    except json_text.WrongJsonError as error:
        message = str(error)
    except json.JSONDecodeError as error:
        line, column = (error.lineno, error.colno) if data.strip() else (None, None)
        why = shorten(error.msg) if data.strip() else "the file is empty"
        message = f"{what} must be a JSON object, got something else ({why}). Check the path."
    except ValueError as error:  # what is no UTF-8, and a number of thousands of digits
        message = f"{what} must be a JSON object, got something else ({shorten(str(error))})."
    else:
        return document_of_value(value, source=source, what=what)
    raise problem_error(Problem(source=source, line=line, column=column, message=message)) from None


def _unreadable(source: str, error: Exception) -> RubricError:
    if isinstance(error, FileNotFoundError):
        message = "must be a file that exists. Check the path."
    elif isinstance(error, IsADirectoryError):
        message = "must be a file, got a folder. Name a file in it."
    elif isinstance(error, NotRegularError):
        message = "must be a regular file, got a pipe, a device or a socket. Name a file."
    else:
        why = getattr(error, "strerror", None) or error
        message = f"must be a file that can be read ({why}). Check the path."
    return problem_error(Problem(source=source, message=message))


def _tags(form: type[BaseModel]) -> frozenset[str]:
    """Return the names of alternatives, which pydantic puts into the place of an error."""
    return getattr(form, "alternatives", frozenset())


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _keys_of(form: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in form.model_fields.items()]


def _form_at(form: type[BaseModel], path: Path) -> type[BaseModel]:
    """Find the form of a mapping inside of what a form describes."""
    for step in path:
        for name, field in form.model_fields.items():
            inner = set(_forms_in(field.annotation)) if (field.alias or name) == step else set()
            if len(inner) == 1:
                (form,) = inner
                break
    return form


def _forms_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _forms_in(inner)


def _keys(inner: Path) -> str:
    return ".".join(shorten(step, width=40) for step in inner if isinstance(step, str))


def _name_value(inner: Path, what: str) -> str:
    """Name a value by the keys that lead to it; entries of lists have the name of the list."""
    if not inner:
        return what
    return f"an entry of `{_keys(inner)}`" if isinstance(inner[-1], int) else f"`{_keys(inner)}`"


def _rule(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "invalid_key":
        return "be text"
    words = ", ".join(_words(context))
    return _RULES.get(kind, _UNKNOWN).format(**context, rule=detail["msg"], words=words)


def _words(context: dict[str, Any]) -> list[str]:
    """Take the allowed words out of pydantic's sentence about them."""
    expected = str(context.get("expected", "")).replace(" or ", ", ")
    return [word.strip("'") for word in expected.split(", ")]


def _hint(detail: ErrorDetails, value: Any) -> str:
    if isinstance(value, dict | list):
        return ""
    if detail["type"] == "literal_error":
        return did_you_mean(value, _words(detail.get("ctx", {})))
    is_word = value is not None and not isinstance(value, str)
    return " Put it in quotes." if detail["type"] == "string_type" and is_word else ""
