"""What the page says, as plain data, and how it is spoken in a language.

A `Said` names a phrase of the catalog and the figures in it; a `Speaker` turns it into markup.
Names and labels come from files that nobody has checked: each is shortened, escaped and kept in a
``<bdi>`` of its own, so that it can neither act nor turn its surroundings around.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from voirdire._types import Language
from voirdire._validation import check_choice, shorten
from voirdire.reporting.page import numerals
from voirdire.reporting.page.phrases import CHINESE, ENGLISH

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Clauses",
    "Count",
    "Decimal",
    "Interval",
    "Label",
    "Language",
    "Listing",
    "Margin",
    "Name",
    "P",
    "Percent",
    "Said",
    "Speaker",
    "Verbatim",
    "say",
]

_GLUED = re.compile(r"(?<=[\wεωρκα]) ([=<≥]) (?=[{\d.])")
"""Where a line must not break: around the sign in ``ε = {epsilon}``."""
_NAME_WIDTH = 60
_SENTENCE_WIDTH = 400
_UNBROKEN = 16
"""Names up to this length stay on one line, with their hyphens."""


@dataclass(frozen=True)
class Decimal:
    """A figure such as ω, ρ or κ."""

    value: float | None
    digits: int = 2


@dataclass(frozen=True)
class Margin:
    """ε, with all of its digits."""

    value: float


@dataclass(frozen=True)
class P:
    """A p-value with its sign of equality: ``p = .013``, ``p < .001``."""

    value: float | None


@dataclass(frozen=True)
class Percent:
    """A share in per cent."""

    value: float | None


@dataclass(frozen=True)
class Count:
    """So many of something; `noun` is a key under ``count.``, or empty for the bare number."""

    value: int
    noun: str = ""


@dataclass(frozen=True)
class Interval:
    """Two ends."""

    low: float | None
    high: float | None


@dataclass(frozen=True)
class Name:
    """A name of a judge, annotator, question or item."""

    text: str
    width: int = _NAME_WIDTH


@dataclass(frozen=True)
class Label:
    """A label, quoted."""

    text: str
    width: int = 40


@dataclass(frozen=True)
class Verbatim:
    """A sentence of the JSON, which is English; `otherwise` is a phrase for other languages."""

    text: str
    otherwise: str | None = None


@dataclass(frozen=True)
class Listing:
    """Several things; after `most` of them only their number, and that of `n_hidden` others."""

    parts: tuple[Any, ...]
    most: int = 8
    n_hidden: int = 0


@dataclass(frozen=True)
class Clauses:
    """Several things that have commas of their own."""

    parts: tuple[Any, ...]


@dataclass(frozen=True)
class Said:
    """A phrase of the catalog with the figures in it."""

    key: str
    figures: Mapping[str, Any] = field(default_factory=dict)


def say(key: str, **figures: Any) -> Said:
    """Name a phrase and its figures."""
    return Said(key, figures)


class Speaker:
    """Turn what is said into markup of one language.

    Parameters
    ----------
    language : {"en", "zh"}
        Which.
    """

    def __init__(self, language: Language = "en") -> None:
        self.language = check_choice("language", language, Language)
        catalog = {"en": ENGLISH, "zh": CHINESE}[language]
        self.phrases = {
            key: _GLUED.sub("\N{NO-BREAK SPACE}\\1\N{NO-BREAK SPACE}", text)
            for key, text in catalog.items()
        }
        self.zero = language == "zh"

    def __call__(self, thing: Any, **figures: Any) -> Markup:
        """Speak a phrase by its key, or any of the things that can be said."""
        if isinstance(thing, str) and not isinstance(thing, Markup):
            thing = Said(thing, figures)
        if isinstance(thing, Said):
            spoken = {name: self._spoken(value) for name, value in thing.figures.items()}
            return Markup(self.phrases[thing.key]).format(**spoken)  # noqa: S704  # our catalog
        return Markup(self._spoken(thing))  # noqa: S704  # escaped there

    def attribute(self, key: str, **figures: Any) -> str:
        """Speak a phrase as plain text, for an attribute or the title; it is not escaped yet."""
        return self(key, **figures).striptags()

    def knows(self, key: str) -> bool:
        """Whether the catalog has a phrase."""
        return key in self.phrases

    def number(self, value: float | None, digits: int = 2) -> str:
        """Write a figure for a table."""
        return numerals.decimal(value, digits=digits, leading_zero=self.zero)

    def p(self, value: float | None) -> str:
        """Write a p-value for a table."""
        return numerals.p_value(value, leading_zero=self.zero)

    def margin(self, value: float) -> str:
        """Write ε for a table."""
        return numerals.margin(value, leading_zero=self.zero)

    def _spoken(self, value: Any) -> Markup:
        text = _PLAIN.get(type(value))
        if text is not None:
            return Markup.escape(text(self, value))
        if isinstance(value, Verbatim) and value.otherwise and self.language != "en":
            return self(value.otherwise)
        if isinstance(value, Said | str):
            return self(value) if isinstance(value, Said) else Markup.escape(value)
        if isinstance(value, Listing):
            return self._listed(value)
        if isinstance(value, Clauses):
            semicolon = Markup.escape(self.phrases["list.clause"])
            return semicolon.join(self._spoken(part) for part in value.parts)
        return _isolated(value, quotes=self.phrases["quotes"])

    def _listed(self, listing: Listing) -> Markup:
        shown = [self._spoken(part) for part in listing.parts[: listing.most]]
        hidden = len(listing.parts) - len(shown) + listing.n_hidden
        comma = Markup.escape(self.phrases["list.comma"])
        if hidden:
            return self("list.more", shown=comma.join(shown), n=numerals.whole(hidden))
        if len(shown) < 2:  # one is no list
            return comma.join(shown)
        return self("list.and", shown=comma.join(shown[:-1]), last=shown[-1])

    def counted(self, count: Count) -> str:
        """Write a number with its noun."""
        number = numerals.whole(count.value)
        if not count.noun:
            return number
        form = "one" if count.value == 1 else "many"
        return self.phrases[f"count.{count.noun}.{form}"].replace("{n}", number)

    def between(self, ends: Interval) -> str:
        """Write an interval."""
        low, high = (self.number(end) for end in (ends.low, ends.high))
        negative = (ends.low or 0) < 0 or (ends.high or 0) < 0
        return self.phrases["interval.negative" if negative else "interval"].format(
            low=low, high=high
        )

    def probability(self, p: P) -> str:
        """Write ``p = .013``."""
        shown = self.p(p.value)
        return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


_PLAIN: dict[type, Any] = {
    Decimal: lambda speaker, it: speaker.number(it.value, it.digits),
    Margin: lambda speaker, it: speaker.margin(it.value),
    P: lambda speaker, it: speaker.probability(it),
    Percent: lambda _speaker, it: numerals.percent(it.value),
    Count: lambda speaker, it: speaker.counted(it),
    Interval: lambda speaker, it: speaker.between(it),
    int: lambda _speaker, it: numerals.whole(it),
}


def _isolated(value: Name | Label | Verbatim, *, quotes: str) -> Markup:
    """Show text from a file: shortened, escaped, its direction kept to itself."""
    if isinstance(value, Name):
        shown = shorten(value.text, width=value.width)
        sort = "name short" if len(shown) <= _UNBROKEN else "name"
        return Markup('<bdi class="{}">{}</bdi>').format(sort, shown)
    if isinstance(value, Label):
        inner = Markup("<bdi>{}</bdi>").format(shorten(value.text, width=value.width))
        return Markup('<span class="label">{}{}{}</span>').format(quotes[0], inner, quotes[1])
    shown = shorten(value.text, width=_SENTENCE_WIDTH)
    return Markup('<bdi lang="en">{}</bdi>').format(shown)
