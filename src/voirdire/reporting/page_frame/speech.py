"""What the page says, as plain data: a `Said` names a phrase of the catalog and its figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "Clauses",
    "Count",
    "Decimal",
    "Interval",
    "Label",
    "Listing",
    "Margin",
    "Name",
    "P",
    "Percent",
    "Said",
    "Share",
    "Verbatim",
    "say",
]

_NAME_WIDTH = 60


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
class Share:
    """A share in per cent, with one decimal."""

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
    """Several things; after `most` of them only their number, and that of `n_hidden` others.

    `either` says that they are alternatives: "or" instead of "and".
    """

    parts: tuple[Any, ...]
    most: int = 8
    n_hidden: int = 0
    either: bool = False


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
