"""Settings as rows of a table, cut at a number of rows and at a depth."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from voirdire.reporting.page_frame.shown import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["settings_rows"]

_VALUE_WIDTH = 200
_MOST_SETTINGS = 300
_MOST_LISTED = 20
_DEEPEST = 3
_MOST_SHOWN = 10**40


def settings_rows(settings: dict[str, Any]) -> list[tuple[str, str]]:
    """List settings as text, the first 300; nested ones under their names with dots."""
    return list(islice(_settings(settings, prefix="", depth=1), _MOST_SETTINGS))


def _settings(value: Any, *, prefix: str, depth: int) -> Iterator[tuple[str, str]]:
    for name, each in _entries(value):
        here = f"{prefix}{one_line(str(name), width=40)}"
        inner = isinstance(each, dict) or (isinstance(each, list) and _has_objects(each))
        if inner and each and depth < _DEEPEST:
            yield from _settings(each, prefix=f"{here}.", depth=depth + 1)
        else:
            yield here, _as_text(each)


def _entries(value: dict[str, Any] | list[Any]) -> Iterator[tuple[Any, Any]]:
    return iter(value.items()) if isinstance(value, dict) else iter(enumerate(value, start=1))


def _has_objects(value: list[Any]) -> bool:
    return any(isinstance(each, dict) for each in value[:_MOST_LISTED])


def _as_text(value: Any) -> str:
    if isinstance(value, list) and not any(isinstance(each, dict | list) for each in value):
        shown = ", ".join(_as_text(each) for each in value[:_MOST_LISTED])
        more = len(value) - _MOST_LISTED
        return one_line(f"{shown}, … ({more:,})" if more > 0 else shown, width=_VALUE_WIDTH)
    if isinstance(value, dict | list):
        return f"an {'object' if isinstance(value, dict) else 'array'} of {len(value):,}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and abs(value) > _MOST_SHOWN:
        return "…"
    return "–" if value is None else one_line(str(value), width=_VALUE_WIDTH)
