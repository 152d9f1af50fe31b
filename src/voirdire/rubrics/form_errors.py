"""What pydantic finds wrong, in our words and at its line and column."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from voirdire._validation import shorten
from voirdire.rubrics.form import LABEL_FORMS
from voirdire.rubrics.names import closest, did_you_mean
from voirdire.rubrics.yaml_nodes import ListNode, MappingNode, plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pydantic_core import ErrorDetails

    from voirdire.rubrics.findings import Findings, Path
    from voirdire.rubrics.yaml_nodes import Node, ScalarNode

__all__ = ["read_form", "shown"]

F = TypeVar("F", bound=BaseModel)

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


def read_form(form: type[F], findings: Findings, *, path: Path, what: str) -> F | None:
    """Read the value at a path by a form; None, with findings, where it breaks a rule.

    Parameters
    ----------
    form : type
        A pydantic model.
    findings : Findings
        Gets what is wrong.
    path : tuple
        Where the value stands.
    what : str
        What it is, such as ``a question``.
    """
    try:
        return form.model_validate(plain(findings.place(path)))
    except ValidationError as error:
        details = error.errors(include_url=False)
        misspelt = set(_misspelt(details, form, findings, path=path))
        for detail in details:
            if not (detail["type"] == "missing" and detail["loc"] in misspelt):
                _report(detail, form, findings, path=path, what=what)
        return None


def shown(node: Node) -> str:
    """Say what stands at a place, such as ``'yes'``, ``the number 1.0`` or ``a list``."""
    if isinstance(node, MappingNode):
        return "a mapping" if node.pairs else "an empty mapping"
    if isinstance(node, ListNode):
        numbers = [shorten(item.value, width=20) for item in node.items if _is_number(item)]
        if len(node.items) == len(numbers) and 1 < len(numbers) <= _MOST_NUMBERS:
            return f"[{', '.join(numbers)}]"
        return "a list" if node.items else "an empty list"
    if node.value is None:
        return "nothing"
    if isinstance(node.value, bool):
        return str(node.value).lower()
    if isinstance(node.value, str):
        return repr(shorten(node.value, width=_SHOWN_WIDTH))
    return f"the number {shorten(node.value, width=_SHOWN_WIDTH)}"


def _is_number(node: Node) -> TypeGuard[ScalarNode]:
    value = getattr(node, "value", None)
    return isinstance(value, int | float) and not isinstance(value, bool)


def _report(
    detail: ErrorDetails, form: type[BaseModel], findings: Findings, *, path: Path, what: str
) -> None:
    kind = detail["type"]
    inner = tuple(step for step in detail["loc"] if step not in LABEL_FORMS)
    at_key = inner[-1:] == (_KEY,) or kind in ("extra_forbidden", "invalid_key")
    inner = tuple(step for step in inner if step != _KEY)
    whole = (*path, *inner)
    if kind == "missing":
        message = f"{what} must have the key `{inner[-1]}`. Add it."
    elif kind == "extra_forbidden":
        known = _keys_of(_form_at(form, inner[:-1]))
        word = repr(shorten(inner[-1], width=_SHOWN_WIDTH))
        lacking = _lacking(known, findings.place(whole[:-1]))
        hint = did_you_mean(inner[-1], lacking) or did_you_mean(inner[-1], known)
        hint = hint or f" It has {', '.join(f'`{x}`' for x in known)}."
        message = f"{what} has no key {word}.{hint}"
    elif at_key:
        key = findings.place(whole, at_key=True)
        message = f"a key of {_called(inner[:-1], what)} must {_rule(detail)}, got {shown(key)}."
        message += _hint(detail, key)
    else:
        value = findings.place(whole)
        message = f"{_called(inner, what)} must {_rule(detail)}, got {shown(value)}."
        message += _hint(detail, value)
    findings.add(whole, message, at_key=at_key, is_unknown_key=kind == "extra_forbidden")


def _misspelt(
    details: Iterable[ErrorDetails], form: type[BaseModel], findings: Findings, *, path: Path
) -> Iterator[Path]:
    """Give the places of keys that are there under a name much like theirs.

    One mistake is told once: a key that is not known, and not also the one that it should be.
    """
    for detail in details:
        if detail["type"] == "extra_forbidden":
            *around, word = detail["loc"]
            known = _keys_of(_form_at(form, tuple(around)))
            meant = closest(word, _lacking(known, findings.place((*path, *around))))
            if meant is not None:
                yield (*around, meant)


def _lacking(known: Iterable[str], node: Node) -> list[str]:
    """Leave out the keys that are there: another word is more likely meant for one that is not."""
    there = plain(node)
    return [key for key in known if not (isinstance(there, dict) and key in there)]


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


def _called(inner: Path, what: str) -> str:
    """Name a value by the keys that lead to it; entries of lists have the name of the list."""
    if not inner:
        return what
    keys = ".".join(shorten(step, width=40) for step in inner if isinstance(step, str))
    return f"an entry of `{keys}`" if isinstance(inner[-1], int) else f"`{keys}`"


def _rule(detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    if kind == "empty":
        return "not be empty"
    if kind == "invalid_key":
        return "be text"
    words = ", ".join(_words(context))
    return _RULES.get(kind, _UNKNOWN).format(**context, rule=detail["msg"], words=words)


def _words(context: dict[str, Any]) -> list[str]:
    """Take the allowed words out of pydantic's sentence about them."""
    expected = str(context.get("expected", "")).replace(" or ", ", ")
    return [word.strip("'") for word in expected.split(", ")]


def _hint(detail: ErrorDetails, node: Node) -> str:
    value = getattr(node, "value", None)
    if detail["type"] == "literal_error":
        return did_you_mean(value, _words(detail.get("ctx", {})))
    is_word = value is not None and not isinstance(value, str)
    return " Put it in quotes." if detail["type"] == "string_type" and is_word else ""
