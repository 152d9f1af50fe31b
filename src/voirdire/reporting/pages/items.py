"""Show items with their texts and answers, with search and filters that need no network."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from voirdire._messages import printable
from voirdire.reporting.pages.speech import Name, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_MOST_CHOICES = 100
_MOST_CHARACTERS = 4_000


@dataclass(frozen=True, kw_only=True)
class ItemText:
    """A text of an item under a heading, such as the prompt or the response.

    Attributes
    ----------
    heading : str
        Key of a sentence, or ``=`` and the name of a column.
    text : str
        As it stands in a file; the page shows the first 4,000 characters.
    """

    heading: str
    text: str

    @property
    def shown(self) -> str:
        """The text with line ends, and with nothing that could act."""
        return printable(self.text[:_MOST_CHARACTERS])

    @property
    def n_hidden(self) -> int:
        """Characters that are not shown."""
        return max(len(self.text) - _MOST_CHARACTERS, 0)


@dataclass(frozen=True, kw_only=True)
class ItemCard:
    """One item, or one pair of items.

    Attributes
    ----------
    title : str
        Its id.
    summary : sequence of object
        What is said beside the id while the item is folded.
    texts : sequence of ItemText
        What a reader needs to judge it.
    rows : sequence of (object, object, object)
        Who said it, what was said, and why: things that can be said, None where there is nothing.
    tags : mapping of str to str or sequence of str
        By what the list is filtered: key of a filter (as a heading), and value. Sequences are as
        long as each other: an item is shown where one place in them has all values asked for.
    """

    title: str
    summary: Sequence[Any] = ()
    texts: Sequence[ItemText] = ()
    rows: Sequence[tuple[Any, Any, Any]] = ()
    tags: Mapping[str, str | Sequence[str]] = field(default_factory=dict)

    @property
    def plain_tags(self) -> str:
        """The tags for the script."""
        return json.dumps(
            {
                printable(key): (
                    printable(value) if isinstance(value, str) else [*map(printable, value)]
                )
                for key, value in self.tags.items()
            }
        )


def item_filters(cards: Sequence[ItemCard]) -> list[tuple[str, list[str]]]:
    """List by what cards can be filtered: each key with its values, where cards differ."""
    choices: dict[str, dict[str, None]] = {}
    n_tagged = Counter(key for card in cards for key in card.tags)
    for card in cards:
        for key, values in card.tags.items():
            several = [values] if isinstance(values, str) else values
            choices.setdefault(key, {}).update(dict.fromkeys(map(printable, several)))
    return [
        (printable(key), list(values)[:_MOST_CHOICES])
        for key, values in choices.items()
        if len(values) > 1 or n_tagged[key] < len(cards)
    ]


def heading_of(key: str) -> str | Name:
    """Return what a heading says: a sentence of this key, or the name of a column after ``=``."""
    return Name(key[1:]) if key.startswith("=") else key


def as_written(text: str, *, width: int = _MOST_CHARACTERS) -> Markup:
    """Show text of a file on one line, escaped and isolated."""
    return Markup("<bdi>{}</bdi>").format(one_line(text, width=width))


_MAIN = {"prompt": "items.prompt", "response": "items.response"}
_MOST_VALUES, _SHORT = 20, 40
"""Values of a column by which items are filtered, and the longest of them: others are texts."""


def slice_columns(items: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    """Name the columns by which items can be filtered: 2 to 20 short values."""
    values: dict[str, set[str]] = {}
    for texts in items:
        for name, value in texts.items():
            values.setdefault(name, set()).add(value)
    return tuple(
        name
        for name, those in values.items()
        if name not in _MAIN and 1 < len(those) <= _MOST_VALUES and max(map(len, those)) <= _SHORT
    )


def item_texts(texts: Mapping[str, str]) -> tuple[ItemText, ...]:
    """Show prompt and response, then the other columns with something to read."""
    main = [ItemText(heading=_MAIN[name], text=texts[name]) for name in _MAIN if name in texts]
    others = [
        ItemText(heading=f"={name}", text=text)
        for name, text in texts.items()
        if name not in _MAIN and len(text) > _SHORT
    ]
    return (*main, *others)


def text_start(texts: Mapping[str, str]) -> tuple[Markup, ...]:
    """Show the beginning of the prompt or response, by which a reader knows a folded item."""
    text = texts.get("prompt") or texts.get("response")
    return (as_written(text, width=60),) if text else ()


def item_rows(texts: Mapping[str, str]) -> list[tuple[Any, Any, Any]]:
    """List the short columns."""
    return [
        (Name(name), as_written(text), None)
        for name, text in texts.items()
        if name not in _MAIN and len(text) <= _SHORT
    ]


@cache
def items_script() -> Markup:
    """Return the script of lists; the page is whole without it."""
    text = files(__package__).joinpath("templates", "items.js").read_text("utf-8")
    return Markup(text)  # noqa: S704  # ours, and no other


@cache
def script_source() -> str:
    """Return the hash by which the page's policy allows this script, and no other."""
    digest = hashlib.sha256(str(items_script()).encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
