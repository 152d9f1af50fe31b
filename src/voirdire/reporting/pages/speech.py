"""What a page says, as plain data, and the speaker who turns it into markup of one language.

A `Said` names a sentence of the data files in ``sentences``, which hold English and Chinese side by
side, and the figures in it. Names and labels come from files that nobody has checked: each is
shortened, escaped and kept in a ``<bdi>`` of its own, so that it can neither act nor turn its
surroundings around.
"""

from __future__ import annotations

import re
import shlex
import string
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from importlib.resources import files
from types import NoneType
from typing import TYPE_CHECKING, Any

import yaml  # type: ignore[import-untyped]
from babel.plural import PluralRule
from markupsafe import Markup, escape

from voirdire._messages import shorten
from voirdire._types import Language
from voirdire._validation import check_choice
from voirdire.reporting.number_formats import decimal, is_defined, margin, p_value, percent

if TYPE_CHECKING:
    from collections.abc import Mapping


# What can be said ---------------------------------------------------------------------------------


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
    """A p-value with its sign of equality: ``p = .013``, ``p < .001``; in a table bare."""

    value: float | None
    is_bare: bool = False

    @staticmethod
    def bare(value: float | None) -> P:
        """Say it as a cell of a table does."""
        return P(value, is_bare=True)


@dataclass(frozen=True)
class Percent:
    """A share in per cent."""

    value: float | None
    digits: int = 0


Share = partial(Percent, digits=1)


@dataclass(frozen=True)
class Count:
    """A number of something; `noun` is a key under ``count.``, or empty for the bare number."""

    value: int
    noun: str = ""


@dataclass(frozen=True)
class Interval:
    """Two ends, of a figure or of a share."""

    low: float | None
    high: float | None
    is_share: bool = False


@dataclass(frozen=True)
class Dollars:
    """US dollars."""

    value: float | None


@dataclass(frozen=True)
class Argument:
    """A command or an argument of one, as a shell takes it."""

    text: str
    width: int = 4_000


@dataclass(frozen=True)
class Name:
    """A name of a judge, annotator, question or item."""

    text: str
    width: int = 60


@dataclass(frozen=True)
class Label:
    """A label, quoted."""

    text: str
    width: int = 40


@dataclass(frozen=True)
class Verbatim:
    """A sentence of the JSON, which is English; `otherwise` is said in other languages."""

    text: str
    otherwise: Said | Verbatim | str | None = None
    width: int = 400


@dataclass(frozen=True)
class Listing:
    """Several things; after `most` of them only their number, and that of `n_hidden` others.

    `either` says that they are alternatives: "or" instead of "and".
    """

    parts: tuple[Any, ...]
    most: int = 8
    n_hidden: int = 0
    either: bool = False


@dataclass(frozen=True)
class Clauses:
    """Several things that have commas of their own; `joint` is the key of what is between."""

    parts: tuple[Any, ...]
    joint: str = "list.clause"


@dataclass(frozen=True)
class Said:
    """A sentence of the data files with the figures in it."""

    key: str
    figures: Mapping[str, Any] = field(default_factory=dict, hash=False)


def say(key: str, **figures: Any) -> Said:
    """Name a sentence and its figures: whole numbers under the name of a noun are counted.

    Text is a name, several things are a list, and ε has all of its digits.
    """
    for name, value in figures.items():
        if isinstance(value, int) and has_sentence(f"count.{name}"):
            figures[name] = Count(value, name)
        elif isinstance(value, list | tuple):
            figures[name] = Listing(tuple(value))
        elif name == "epsilon" and isinstance(value, float):
            figures[name] = Margin(value)
    return Said(key, figures)


def say_with_ends(
    value: float | None, low: float | None, high: float | None, *, is_share: bool = False
) -> Said | Percent | Decimal | Interval:
    """Say a figure with its interval; the one that is defined alone, or a dash."""
    figure = (Share if is_share else Decimal)(value)
    if not all(map(is_defined, (low, high))):
        return figure
    ends = Interval(low, high, is_share)
    return say("cell.figure", value=figure, ends=ends) if is_defined(value) else ends


def say_estimate(found: Any, *, is_share: bool = False) -> Any:
    """Say a record of a figure with its interval; a dash where there is none."""
    if found is None:
        return Decimal(None)
    value = found.estimate if hasattr(found, "estimate") else found.value
    return say_with_ends(value, found.low, found.high, is_share=is_share)


def say_rate(found: Any) -> Any:
    """Say a record of a share with its interval."""
    return say_estimate(found, is_share=True)


def argument_of(path: str) -> Argument:
    """Quote a path for a shell; one that begins with a dash is no option."""
    return Argument(shlex.quote(f"./{path}" if path.startswith("-") else path), width=300)


# How it is said -----------------------------------------------------------------------------------

_GLUED = re.compile(r"(?<=[\wεωρκα]) ([=<≥]) (?=[{\d.])| ([±→]) ")
"""Where a line must not break: around the sign in ``ε = {epsilon}``, ``±`` and ``→``."""
_CODE = re.compile("`([^`]+)`")
"""A command in a sentence of the JSON."""
_UNBROKEN = 16
"""Names up to this length stay on one line, with their hyphens."""


_PLURALS = {"en": PluralRule({"one": "i = 1 and v = 0"}), "zh": PluralRule({})}
"""As Babel's locales have them, which would be read whole."""


@cache
def _read_sentences() -> dict[str, dict[str, Any]]:
    """Read the sentences: by key, then by language; a count by its plural form too."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    sentences: dict[str, dict[str, Any]] = {}
    for file in files(__package__).joinpath("sentences").iterdir():
        sentences |= yaml.load(file.read_text("utf-8"), loader)  # noqa: S506  # a safe one
    return sentences


def _glue_sign(sign: re.Match[str]) -> str:
    return f"\N{NO-BREAK SPACE}{sign[1] or sign[2]}\N{NO-BREAK SPACE}"


def has_sentence(key: str) -> bool:
    """Whether there is a sentence of this key."""
    return key in _read_sentences()


def names_in_sentence(key: str) -> list[str]:
    """List the names of the figures in a sentence."""
    texts = _read_sentences()[key]
    pieces = string.Formatter().parse(texts.get("en", texts["zh"]))
    return [name for _, name, _, _ in pieces if name is not None]


class Speaker:
    """Turn what is said into markup of one language.

    Parameters
    ----------
    language : {"en", "zh"}
        Which.
    """

    def __init__(self, language: Language) -> None:
        self.language = check_choice("language", language, Language)
        sentences = {key: x[language] for key, x in _read_sentences().items() if language in x}
        self.phrases = {
            k: _GLUED.sub(_glue_sign, v) for k, v in sentences.items() if isinstance(v, str)
        }
        self._counts = {k: v for k, v in sentences.items() if isinstance(v, dict)}
        self.zero = language == "zh"

    def __call__(self, thing: Any, **figures: Any) -> Markup:
        """Speak a phrase by its key, or any of the things that can be said."""
        if isinstance(thing, str) and not isinstance(thing, Markup):
            thing = Said(thing, figures)
        return self._speak(thing)

    def counted(self, count: Count) -> str:
        """Write a number with its noun."""
        number = f"{count.value:,}"
        if not count.noun:
            return number
        forms = self._counts[f"count.{count.noun}"]
        return str(forms[_PLURALS[self.language](count.value)]).replace("{n}", number)

    def between(self, ends: Interval) -> str:
        """Write an interval."""
        if ends.is_share:
            low = percent(ends.low, digits=1, sign=False)
            high = percent(ends.high, digits=1)
        else:
            low, high = (decimal(x, leading_zero=self.zero) for x in (ends.low, ends.high))
        is_negative = (ends.low or 0) < 0 or (ends.high or 0) < 0
        return self.phrases["interval.negative" if is_negative else "interval"].format(
            low=low, high=high
        )

    def probability(self, p: P) -> str:
        """Write ``p = .013``."""
        shown = p_value(p.value, leading_zero=self.zero)
        if p.is_bare:
            return shown
        return f"p {shown}" if shown.startswith("<") else f"p = {shown}"

    def money(self, value: float | None) -> str:
        """Write US dollars; below a cent as a bound."""
        if value is None:
            return self.phrases["calls.price.unknown"]
        if 0 < value < 0.01:
            return self.phrases["dollars.less"].format(n="0.01")
        return self.phrases["dollars"].format(n=f"{value:,.2f}")

    def _speak(self, value: Any) -> Markup:
        if isinstance(value, Markup):
            return value
        plain = _PLAIN.get(type(value))
        if plain is not None:
            return Markup.escape(plain(self, value))
        if isinstance(value, str):
            value = Name(value)
        if isinstance(value, Verbatim) and value.otherwise:
            if self.language != "en":
                return self(value.otherwise)
            value = Verbatim(value.text, width=value.width)
        if isinstance(value, Said):
            spoken = {name: self._speak(each) for name, each in value.figures.items()}
            return Markup(self.phrases[value.key]).format(**spoken)  # noqa: S704  # our catalog
        if isinstance(value, Listing):
            return self._speak_listing(value)
        if isinstance(value, Clauses):
            joint = Markup.escape(self.phrases[value.joint])
            return joint.join(self._speak(part) for part in value.parts)
        return _isolate(value, quotes=self.phrases["quotes"])

    def _speak_listing(self, listing: Listing) -> Markup:
        shown = [self._speak(part) for part in listing.parts[: listing.most]]
        hidden = len(listing.parts) - len(shown) + listing.n_hidden
        comma = Markup.escape(self.phrases["list.comma"])
        if hidden:
            return self("list.more", shown=comma.join(shown), n=hidden)
        if len(shown) < 2:  # one is no list
            return comma.join(shown)
        key = "list.or" if listing.either else "list.and"
        return self(key, shown=comma.join(shown[:-1]), last=shown[-1])


_PLAIN: dict[type, Any] = {
    Decimal: lambda speaker, it: decimal(it.value, digits=it.digits, leading_zero=speaker.zero),
    Margin: lambda speaker, it: margin(it.value, leading_zero=speaker.zero),
    P: lambda speaker, it: speaker.probability(it),
    Percent: lambda _speaker, it: percent(it.value, digits=it.digits),
    Count: lambda speaker, it: speaker.counted(it),
    Interval: lambda speaker, it: speaker.between(it),
    int: lambda _speaker, it: f"{it:,}",
    float: lambda speaker, it: decimal(it, leading_zero=speaker.zero),
    NoneType: lambda _speaker, _it: "–",
    Dollars: lambda speaker, it: speaker.money(it.value),
}


@lru_cache(4096)
def _isolate(value: Name | Label | Verbatim | Argument, *, quotes: str) -> Markup:
    """Show text from a file: shortened, escaped, its direction kept to itself."""
    if isinstance(value, Argument):
        return Markup("<bdi>{}</bdi>").format(one_line(value.text, width=value.width))
    if isinstance(value, Verbatim):
        shown = str(escape(one_line(value.text, width=value.width)))
        marked = _CODE.sub(r"<code>\1</code>", shown)
        return Markup(f'<bdi lang="en">{marked}</bdi>')  # noqa: S704  # escaped
    shown = one_line(value.text, width=value.width, both_ends=True)
    if isinstance(value, Name):
        sort = "name short" if len(shown) <= _UNBROKEN else "name"
        return Markup('<bdi class="{}">{}</bdi>').format(sort, shown)
    inner = Markup("<bdi>{}</bdi>").format(shown)
    return Markup('<span class="label">{}{}{}</span>').format(quotes[0], inner, quotes[1])


# Texts --------------------------------------------------------------------------------------------


_UNSEEN = {
    ord(mark): f"\\u{ord(mark):04x}"
    for mark in "\xad\u034f\u061c\u115f\u1160\u180e\u200b\u200e\u200f\u2060\u2061\u2062\u2063"
    "\u2064\u3164\ufeff\uffa0\ufffe\uffff"
}
"""Marks that take no room, by which two names could look the same."""


def one_line(text: str, *, width: int, both_ends: bool = False) -> str:
    """Show text on one line.

    Parameters
    ----------
    text : str
        As it stands in a file.
    width : int
        Most characters.
    both_ends : bool, optional
        Keep the end of a long text as well: names often differ there alone.

    Returns
    -------
    str
        Nothing in it can act, and nothing in it is unseen.
    """
    if not both_ends or len(text) <= width:
        return shorten(text[: width + 1].translate(_UNSEEN), width=width)
    half = (width - 1) // 2
    head = shorten(text[:half].translate(_UNSEEN), width=10 * half)[: width - 1 - half]
    tail = shorten(text[-half:].translate(_UNSEEN), width=10 * half)[-half:]
    return f"{head}…{tail}"
