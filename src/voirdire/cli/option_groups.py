"""Settings records as groups of options: a field is declared once, in its record.

The names of options follow from those of fields: ``n_samples`` is ``--samples``, ``timeout_s`` is
``--timeout``. Their help is what the record's docstring says of them.
"""

from __future__ import annotations

import json
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from inspect import signature
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from cyclopts import Group, Parameter

from voirdire._messages import shorten
from voirdire.cli.shell import OPTIONS, UsageError

__all__ = [
    "Labels",
    "Numbers",
    "Text",
    "called",
    "option_group",
    "pairs_of",
    "read_number",
    "read_utf8",
    "with_reader",
    "with_spelling",
]

R = TypeVar("R")


def option_group(
    record: type[R],
    *,
    panel: Group,
    only: Sequence[str] = (),
    without: Sequence[str] = (),
    plain: Sequence[str] = (),
    **own: Any,
) -> type[R]:
    """Make the fields of a settings record options in a panel of their own.

    `only` names the fields that are options, `without` those that are none, `plain` those that
    stand among the command's other options; `own` gives a field another type or spelling, as
    ``Annotated[kind, Parameter(...)]``.
    """
    hints = get_type_hints(record, include_extras=True)
    annotations = {}
    for row in fields(record):  # type: ignore[arg-type]  # a dataclass
        is_option = row.name in (only or hints) and row.name not in without
        typed = option_type(own.get(row.name, hints[row.name]))
        place = OPTIONS if row.name in plain else panel
        shown = Parameter(group=place) if is_option else Parameter(parse=False)
        annotations[row.name] = Annotated[typed, shown]

    def make(_cls: type, **given: Any) -> R:
        return record(**given)

    def of_fields(_self: R) -> None:  # the library reads it for what must be given
        raise NotImplementedError

    of_fields.__annotations__ = hints  # those of a record it inherits from are of another module
    of_fields.__signature__ = signature(record.__init__)  # type: ignore[attr-defined]
    contents = {
        "__init__": of_fields,
        "__annotations__": annotations,
        "__get_pydantic_core_schema__": classmethod(_skip_check),
        "__module__": __name__,
        "__new__": make,
    }
    group: type[R] = type(record.__name__, (record,), contents)
    return Parameter(name="*")(group)


def _skip_check(_cls: type, _source: Any, _handler: Any) -> Any:
    """Keep pydantic from checking what the record checks."""
    from pydantic_core import core_schema

    return core_schema.any_schema()


def option_type(hint: Any) -> Any:
    """Give the kind in which a field is typed: repeated for a sequence, in pairs for a mapping."""
    if get_origin(hint) is Annotated:
        return hint
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    for kind in kinds:
        if get_origin(kind) in (Sequence, tuple):
            several: Any = list.__class_getitem__(get_args(kind)[0])
            return Numbers if float in kinds else several | None
        if get_origin(kind) is Mapping:
            return pairs_of(get_args(kind)[1])
    return hint


def with_reader(
    read: Callable[[Sequence[Any]], Any], *, is_repeated: bool = False, metavar: str = "NUMBER"
) -> Any:
    """Give the kind of an option that a function reads from its tokens."""
    parameter = Parameter(
        converter=lambda _kind, tokens: read(tokens),
        n_tokens=-1 if is_repeated else 1,
        accepts_keys=False,
        metavar=metavar,
    )
    return Annotated[Any, parameter]  # which no library checks again


def with_spelling(name: str | tuple[str, ...], kind: Any, *, metavar: str | None = None) -> Any:
    """Give an option a spelling of its own, or several."""
    if metavar is None:  # that of the kind stays
        return Annotated[kind, Parameter(name=name)]
    return Annotated[kind, Parameter(name=name, metavar=metavar)]


def pairs_of(kind: Any, *, named: str = "NAME", alone: str | None = None) -> Any:
    """Give the kind of an option that is typed as NAME=VALUE, once for each name.

    A value without a name is that of `alone`, where that is given.
    """
    words = get_args(kind) if get_origin(kind) is Literal else ()
    value = "|".join(words) or {float: "NUMBER"}.get(kind, "VALUE")
    form = f"{named}={value}" if alone is None else f"[{named}=]{value}"

    def read(tokens: Sequence[Any]) -> dict[str, Any]:
        option = called(tokens[0])
        found: dict[str, Any] = {}
        for token in tokens:
            text = token.value
            if alone is not None and text.strip() in words:
                text = f"{alone}={text}"
            name, text = _split_pair(text, option=option, form=form)
            if name in found:
                msg = f"{option} must name {shorten(name)!r} once, got it twice."
                raise UsageError(msg)
            found[name] = read_number(token, text) if kind is float else text
        return found

    return with_reader(read, is_repeated=True, metavar=form)


def called(token: Any) -> str:
    """Name the option of a token."""
    return f"`{token.keyword or 'text'}`"


def _split_pair(pair: str, *, option: str, form: str) -> tuple[str, str]:
    """Part a pair at its last sign where no value holds one, for a name may."""
    part = str.rpartition if form.endswith("NUMBER") or "|" in form else str.partition
    name, equals, value = (each.strip() for each in part(pair, "="))
    if not (name and equals and value):
        msg = f"{option} must be {form}, got {pair!r}."
        raise UsageError(msg)
    return name, value


def read_number(token: Any, text: str | None = None) -> float:
    """Read the number of a token, or of a part of it."""
    try:
        return float(token.value if text is None else text)
    except ValueError as error:
        msg = f"{called(token)} must be a number, got {text or token.value!r}."
        raise UsageError(msg) from error


def _read_numbers(tokens: Sequence[Any]) -> list[float]:
    return [read_number(token) for token in tokens]


def _read_labels(tokens: Sequence[Any]) -> list[str]:
    """Read a label universe: labels between commas, or a JSON array."""
    text = tokens[0].value
    try:
        found = json.loads(text) if text.lstrip().startswith("[") else text.split(",")
    except ValueError:
        found = []
    is_right = found and not any(
        label in (None, "") or isinstance(label, list | dict | bool) for label in found
    )
    labels = [str(label).strip() for label in found] if is_right else [""]
    if "" in labels:
        rule = "be words between commas or a JSON array of them"
        msg = f"{called(tokens[0])} must {rule}, got {text!r}."
        raise UsageError(msg)
    return labels


def read_utf8(tokens: Sequence[Any]) -> str:
    """Refuse text that is not valid UTF-8, which no file could hold."""
    text = str(tokens[0].value)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        msg = f"{called(tokens[0])} must be UTF-8 text, got {text!a}."
        raise UsageError(msg) from error
    return text


if TYPE_CHECKING:
    Labels: TypeAlias = list[str] | None
    Numbers: TypeAlias = list[float]
    Text: TypeAlias = str | None
else:
    Labels = with_reader(_read_labels, metavar="LABELS")
    Numbers = with_reader(_read_numbers, is_repeated=True)
    Text = with_reader(read_utf8, metavar="TEXT")
