"""What a reply may look like under its JSON Schema, and whether bytes can still become one."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from voirdire._validation import shorten
from voirdire.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ReplyGrammar", "State", "grammar_of"]

State = Literal["impossible", "open", "complete"]

_BEYOND_ASCII = (
    r"[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]"
    r"|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|\xf0[\x90-\xbf][\x80-\xbf]{2}"
    r"|[\xf1-\xf3][\x80-\xbf]{3}|\xf4[\x80-\x8f][\x80-\xbf]{2}"
)
"""A character of two to four bytes in UTF-8."""

_CHARACTER = rf'[\x20!#-\[\]-\x7e]|{_BEYOND_ASCII}|\\["\\/bfnrt]|\\u[0-9a-fA-F]{{4}}'
_WHOLE = r"(?:0|[1-9][0-9]{0,8})"
_MOST_LISTED = 1_000
"""Whole numbers between two ends are listed one by one up to this many."""


class ReplyGrammar:
    """The JSON objects that a schema allows, as UTF-8: a token may end within a character.

    Parameters
    ----------
    schema : bytes
        JSON Schema of an object whose properties are booleans, numbers, strings, enumerations,
        or arrays of one of these.

    Raises
    ------
    UnsupportedError
        If the schema says something else; the feature is ``"json_schema"``.

    Notes
    -----
    Keys come in the schema's order, all of them, with at most one space after a brace, colon or
    comma. Of bounds, those of whole numbers are kept where they list at most 1,000, and those of
    other numbers where they are 0 and 1; who reads the reply checks the rest.

    Examples
    --------
    >>> grammar = ReplyGrammar(b'{"type":"object","properties":{"ok":{"type":"boolean"}}}')
    >>> [grammar.state(data) for data in (b'{"ok":t', b'{"ok":true}', b'{"ok":1')]
    ['open', 'complete', 'impossible']
    """

    def __init__(self, schema: bytes) -> None:
        # Needed by transformers itself, so it is there wherever a model runs in this process.
        import regex

        self._pattern = regex.compile(_object(msgspec.json.decode(schema)).encode())

    def state(self, data: bytes) -> State:
        """Say whether `data` is a reply, the beginning of one, or neither.

        Parameters
        ----------
        data : bytes
            Everything from the reply's first character on.

        Returns
        -------
        {"impossible", "open", "complete"}
            ``"open"``: there is a way to go on to a whole reply.
        """
        match = self._pattern.fullmatch(data, partial=True)
        if match is None:
            return "impossible"
        return "open" if match.partial else "complete"


@lru_cache(maxsize=256)
def grammar_of(schema: bytes) -> ReplyGrammar:
    """Make the grammar of a schema once; a run has few schemas and many replies."""
    return ReplyGrammar(schema)


def _object(schema: Any) -> str:
    if not isinstance(schema, dict) or not schema.get("properties"):
        raise _unsupported(schema)
    pairs = [f"{_literal(key)}: ?{_value(form)}" for key, form in schema["properties"].items()]
    return r"\{ ?" + ", ?".join(pairs) + r" ?\}"


def _value(form: Mapping[str, Any]) -> str:
    if "enum" in form:
        return _one_of(form["enum"])
    kind = form.get("type")
    if kind == "boolean":
        return "(?:true|false)"
    if kind == "integer":
        return _whole(form)
    if kind == "number":
        return _number(form)
    if kind == "string":
        return f'"(?:{_CHARACTER}){{0,{form.get("maxLength", "")}}}"'
    if kind == "array" and isinstance(form.get("items"), dict):
        return _array(form["items"])
    raise _unsupported(form)


def _whole(form: Mapping[str, Any]) -> str:
    low, high = form.get("minimum"), form.get("maximum")
    if low is None or high is None or high - low >= _MOST_LISTED:
        return f"-?{_WHOLE}"
    return _one_of(range(int(low), int(high) + 1))


def _number(form: Mapping[str, Any]) -> str:
    if form.get("minimum") == 0 and form.get("maximum") == 1:
        return r"(?:0(?:\.[0-9]{1,6})?|1(?:\.0{1,6})?)"
    return rf"-?{_WHOLE}(?:\.[0-9]{{1,6}})?"


def _array(items: Mapping[str, Any]) -> str:
    one = _value(items)
    # A set has each label at most once, so it is never longer than the list of labels.
    most = len(items["enum"]) - 1 if "enum" in items else ""
    return rf"\[ ?(?:{one}(?:, ?{one}){{0,{most}}})? ?\]"


def _one_of(values: Any) -> str:
    return "(?:" + "|".join(_literal(value) for value in values) + ")"


def _literal(value: Any) -> str:
    import regex

    return str(regex.escape(msgspec.json.encode(value).decode()))


def _unsupported(form: Any) -> UnsupportedError:
    msg = (
        f"A reply in this process cannot be held to the JSON Schema {shorten(form)!r}. "
        "Ask for the form 'text'."
    )
    return UnsupportedError(msg, feature="json_schema")
