"""How what the page says is spoken in a language: a `Speaker` turns it into markup.

Names and labels come from files that nobody has checked: each is shortened, escaped and kept in a
``<bdi>`` of its own, so that it can neither act nor turn its surroundings around.
"""

from __future__ import annotations

from typing import Any, ClassVar

from markupsafe import Markup

from voirdire._types import Language
from voirdire._validation import check_choice
from voirdire.reporting.page_frame import numerals
from voirdire.reporting.page_frame.catalog import Catalog, phrases_of
from voirdire.reporting.page_frame.phrases import CHINESE, ENGLISH
from voirdire.reporting.page_frame.shown import one_line
from voirdire.reporting.page_frame.speech import (
    Clauses,
    Count,
    Decimal,
    Interval,
    Label,
    Listing,
    Margin,
    Name,
    P,
    Percent,
    Said,
    Share,
    Verbatim,
)

__all__ = ["Speaker"]

_SENTENCE_WIDTH = 400
_TEXT_WIDTH = 60
_UNBROKEN = 16
"""Names up to this length stay on one line, with their hyphens."""


class Speaker:
    """Turn what is said into markup of one language.

    A page has a speaker of its own, which adds its catalog, and what only it can say.

    Parameters
    ----------
    language : {"en", "zh"}
        Which.
    """

    catalogs: ClassVar[tuple[Catalog, ...]] = (Catalog(ENGLISH, CHINESE),)

    def __init__(self, language: Language = "en") -> None:
        self.language = check_choice("language", language, Language)
        self.phrases = phrases_of(*self.catalogs, language=self.language)
        self.zero = language == "zh"

    def __call__(self, thing: Any, **figures: Any) -> Markup:
        """Speak a phrase by its key, or any of the things that can be said."""
        if isinstance(thing, str) and not isinstance(thing, Markup):
            thing = Said(thing, figures)
        return self._spoken(thing)

    def attribute(self, key: str, **figures: Any) -> str:
        """Speak a phrase as plain text, for an attribute or the title; it is not escaped yet."""
        return self(key, **figures).striptags()

    def number(self, value: float | None, digits: int = 2) -> str:
        """Write a figure for a table."""
        return numerals.decimal(value, digits=digits, leading_zero=self.zero)

    def p(self, value: float | None) -> str:
        """Write a p-value for a table."""
        return numerals.p_value(value, leading_zero=self.zero)

    def margin(self, value: float) -> str:
        """Write ε for a table."""
        return numerals.margin(value, leading_zero=self.zero)

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

    def _spoken(self, value: Any) -> Markup:
        if isinstance(value, Markup):
            return value
        plain = _PLAIN.get(type(value))
        if plain is not None:
            return Markup.escape(plain(self, value))
        if isinstance(value, str):  # nothing says where it comes from: kept to itself too
            return Markup("<bdi>{}</bdi>").format(one_line(value, width=_TEXT_WIDTH))
        if isinstance(value, Verbatim) and value.otherwise and self.language != "en":
            value = Said(value.otherwise)
        if isinstance(value, Said):
            spoken = {name: self._spoken(each) for name, each in value.figures.items()}
            return Markup(self.phrases[value.key]).format(**spoken)  # noqa: S704  # our catalog
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
            return self("list.more", shown=comma.join(shown), n=hidden)
        if len(shown) < 2:  # one is no list
            return comma.join(shown)
        key = "list.or" if listing.either else "list.and"
        return self(key, shown=comma.join(shown[:-1]), last=shown[-1])


_PLAIN: dict[type, Any] = {
    Decimal: lambda speaker, it: speaker.number(it.value, it.digits),
    Margin: lambda speaker, it: speaker.margin(it.value),
    P: lambda speaker, it: speaker.probability(it),
    Percent: lambda _speaker, it: numerals.percent(it.value),
    Share: lambda _speaker, it: numerals.share(it.value),
    Count: lambda speaker, it: speaker.counted(it),
    Interval: lambda speaker, it: speaker.between(it),
    int: lambda _speaker, it: numerals.whole(it),
}


def _isolated(value: Name | Label | Verbatim, *, quotes: str) -> Markup:
    """Show text from a file: shortened, escaped, its direction kept to itself."""
    if isinstance(value, Verbatim):
        shown = one_line(value.text, width=_SENTENCE_WIDTH)
        return Markup('<bdi lang="en">{}</bdi>').format(shown)
    shown = one_line(value.text, width=value.width, both_ends=True)
    if isinstance(value, Name):
        sort = "name short" if len(shown) <= _UNBROKEN else "name"
        return Markup('<bdi class="{}">{}</bdi>').format(sort, shown)
    inner = Markup("<bdi>{}</bdi>").format(shown)
    return Markup('<span class="label">{}{}{}</span>').format(quotes[0], inner, quotes[1])
