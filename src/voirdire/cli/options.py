"""Turn what was typed into what the library takes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from voirdire.cli.shell import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["as_labels", "as_mapping", "as_text", "as_weights"]


def as_labels(text: str | None, *, numeric: bool) -> list[Any] | None:
    """Read a label universe: labels between commas, or a JSON array."""
    if text is None:
        return None
    try:
        found = json.loads(text) if text.lstrip().startswith("[") else text.split(",")
        if any(label is None or isinstance(label, list | dict | bool) for label in found):
            raise ValueError
        labels = [float(label) if numeric else str(label).strip() for label in found]
    except ValueError:
        labels = []
    if not labels or "" in labels:
        msg = f"`--labels` must be words between commas or a JSON array of them, got {text!r}."
        raise UsageError(msg)
    return labels


def as_text(text: str | None, *, option: str) -> str | None:
    """Refuse text that is not valid UTF-8, which no file could hold."""
    try:
        (text or "").encode()
    except UnicodeEncodeError as error:
        msg = f"`{option}` must be UTF-8 text, got {text!a}."
        raise UsageError(msg) from error
    return text


def as_mapping(pairs: Sequence[str], *, option: str) -> dict[str, str]:
    """Read `NAME=VALUE` pairs."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals and value):
            msg = f"`{option}` must be NAME=VALUE, got {pair!r}."
            raise UsageError(msg)
        if name.strip() in found:
            msg = f"`{option}` must name {name.strip()!r} once, got it twice."
            raise UsageError(msg)
        found[name.strip()] = value.strip()
    return found


def as_weights(pairs: Sequence[str]) -> dict[str, float] | None:
    """Read `ANNOTATOR=WEIGHT` pairs."""
    named = as_mapping(pairs, option="--quality")
    try:
        return {name: float(weight) for name, weight in named.items()} or None
    except ValueError as error:
        msg = f"`--quality` must be ANNOTATOR=NUMBER, got {list(pairs)!r}."
        raise UsageError(msg) from error
