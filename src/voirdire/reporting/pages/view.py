"""What a page says, as data: words, tables and figures in order; a terminal prints it too."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from markupsafe import Markup

from voirdire.reporting.pages.speech import (
    Argument,
    Clauses,
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
    say,
    say_estimate,
    say_rate,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from voirdire.reporting.pages.items import ItemCard


@dataclass(frozen=True)
class Words:
    """Sentences: a paragraph, or one a line in a list."""

    sentences: Sequence[Any]
    form: Literal["paragraph", "note", "list", "heading", "quote"] = "paragraph"


@dataclass(frozen=True, kw_only=True)
class Track:
    """A cell that a page draws on the scale of its column, and a terminal leaves out.

    Parameters
    ----------
    value : float, optional
        A large dot.
    low, high : float, optional
        A line behind it, such as its interval.
    reference : float, optional
        A bar, such as what people reach.
    dots : tuple of (float, bool), optional
        Small dots, filled or hollow, such as one an annotator.
    state : str, optional
        Colour and shape: "passed", "close", "failed", "no_evidence" or "".
    """

    value: float = math.nan
    low: float = math.nan
    high: float = math.nan
    reference: float = math.nan
    dots: tuple[tuple[float, bool], ...] = ()
    state: str = ""

    @property
    def figures(self) -> list[float]:
        """Every number that must be on the scale."""
        dots = (place for place, _ in self.dots)
        return [x for x in (self.value, self.low, self.high, self.reference, *dots) if x == x]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: what each cell says, the first of a row being its head.

    `n_rows` counts all rows, also those that are left out. `levels` are lines across the tracks,
    such as 0 and −ε, each with its word.
    """

    form: ClassVar = "table"
    name: str = "table"
    caption: Any
    columns: tuple[str | Said, ...]
    rows: tuple[tuple[Any, ...], ...]
    n_rows: int
    label: Any = None
    levels: tuple[tuple[float, Any], ...] = ()

    @staticmethod
    def of(
        caption: Any,
        rows: Sequence[Any],
        columns: Sequence[Column],
        *,
        most: int = 200,
        **look: Any,
    ) -> Table:
        """Say every column of the first rows.

        A column is what stands under a name or a way in each row, as ``"worst_case.n_failures"``,
        whose last word is its head; or a pair of a head and that, or a function of the row.
        """
        pairs = [(x.rpartition(".")[2], x) if isinstance(x, str) else x for x in columns]
        heads = (f"column.{x}" if isinstance(x, str) and "." not in x else x for x, _ in pairs)
        return Table(
            caption=caption,
            columns=tuple(heads),
            rows=tuple(tuple(_say_cell(row, how) for _, how in pairs) for row in rows[:most]),
            n_rows=len(rows),
            **look,
        )

    @cached_property
    def texts(self) -> list[bool]:
        """Which columns hold words."""
        cells = zip(*self.rows, strict=True) if self.rows else [()] * len(self.columns)
        return [any(map(_is_word, each)) for each in cells]

    @property
    def cut_note(self) -> Said | None:
        """How many rows are left out, where some are."""
        n = len(self.rows)
        return say("table.cut", shown=n, n=self.n_rows) if n < self.n_rows else None


Column: TypeAlias = str | tuple[Any, "str | Callable[[Any], Any]"]

_AS: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("p_value", "p_adjusted", "adjusted_p_value", "deciding_p_value"), P.bare),
    **dict.fromkeys(("tie_share", "share_best", "share_above_median"), Percent),
    **dict.fromkeys(("departs_from_split", "judge_opposes_others"), Percent),
    **dict.fromkeys(("rate", "human", "naive", "own_rate", "others_rate", "flip_rate"), say_rate),
    **dict.fromkeys(("error_rate", "error_rate_base"), say_rate),
    **dict.fromkeys(("error_rate_fitted", "error_rate_without"), Share),
    **dict.fromkeys(("same_order_share", "best_changed_share"), Share),
    **dict.fromkeys(("advantage_judge", "advantage_human"), partial(Decimal, digits=3)),
    "human_opposes_others": Percent,
    "epsilon": Margin,
}
"""How figures are said that are no decimals of two digits, by their names."""


def _say_cell(row: Any, how: str | Callable[[Any], Any]) -> Any:
    """Read what a cell holds, and say it by its kind: text is a name."""
    value = row if isinstance(how, str) else how(row)
    for name in how.split(".") if isinstance(how, str) else ():
        value = value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)
    say_it = _AS.get(how.rpartition(".")[2]) if isinstance(how, str) else None
    if value is None:
        return Decimal(None)
    if say_it is not None:
        return say_it(value)
    if isinstance(value, bool):
        return say("yes" if value else "no")
    if isinstance(value, str) and not isinstance(value, Markup):
        return Name(value, 40)
    if isinstance(value, float):
        return Decimal(value)
    is_estimate = hasattr(value, "low") and not isinstance(value, Track | Interval)
    return say_estimate(value) if is_estimate else value


def _is_word(cell: Any) -> bool:
    if isinstance(cell, Said):
        return not cell.key.startswith("cell.")
    return isinstance(cell, Name | Label | Verbatim | Argument | Listing | Clauses | Markup)


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line of a chart: points from left to right, each with the ends of its interval or nan.

    `states` are the marks of the points as of a `Track`; dots have no line.
    """

    name: Any
    points: tuple[tuple[float, float], ...]
    ends: tuple[tuple[float, float], ...] = ()
    states: tuple[str, ...] = ()
    is_dots: bool = False


@dataclass(frozen=True, kw_only=True)
class Lines:
    """Lines on one plane; `levels` are lines across it; `is_square` also draws x = y."""

    form: ClassVar = "lines"
    name: str
    caption: Any
    series: tuple[Series, ...]
    x_title: Any
    y_title: Any
    y_scale: tuple[float, float] | None = None
    x_ticks: tuple[float, ...] | None = None
    levels: tuple[tuple[float, Any], ...] = ()
    is_square: bool = False


@dataclass(frozen=True, kw_only=True)
class Scatter:
    """ρ of a judge (x) against that of each annotator (y), with the regions that ε makes.

    A point is (x, y, whether the judge wins, name). Right of x = y the judge is at least as good;
    between it and the margin it is worse by less than ε.
    """

    form: ClassVar = "scatter"
    name: str
    title: Any
    caption: Any
    points: tuple[tuple[float, float, bool, Any], ...]
    epsilon: float
    is_multiplicative: bool = False


@dataclass(frozen=True)
class Advice:
    """What a reader should know, each with what to do about it, where there is something."""

    form: ClassVar = "advice"
    rows: Sequence[tuple[Any, Any]]


@dataclass(frozen=True)
class Cards:
    """Items with their texts."""

    form: ClassVar = "cards"
    cards: Sequence[ItemCard]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A fold of the page, also within another; open where it changes what the reader should do.

    `name` begins the key of its title. A terminal prints words and tables of the parts that are
    for it; of those for its details, where none are asked for, the words of an open one.
    """

    form: ClassVar = "part"
    name: str
    blocks: Sequence[Block]
    title: Said | None = None
    is_open: bool = False
    shown_in: Literal["terminal", "details", "page"] = "terminal"


Block: TypeAlias = Words | Table | Lines | Scatter | Advice | Cards | Part


@dataclass(frozen=True, kw_only=True)
class View:
    """What is said of a result: the rows of its page, terminal and figures, each laid out once.

    Attributes
    ----------
    name : str
        Of the result; the key of its title begins with it.
    meta, lead, todo : Said
        What was looked at; what was found; what to do next.
    notice : tuple of Said
        What must be known before anything else, such as that the data are simulated.
    blocks : tuple of Block
        What is always shown.
    brief : tuple of Block, optional
        What a terminal prints in their place.
    more : Said, optional
        What a terminal without details says there is.
    cautions : tuple of (Said, Said or None)
        What a reader should know, each with what to do about it.
    notes : tuple of Said
        What weakens the figures.
    parts : tuple of Part
        Folds.
    settings : mapping
        As they were given.
    glossary : tuple of str
        Words that are explained.
    chapters : tuple of View
        Other results on the same page.
    """

    name: str
    meta: Any
    lead: tuple[Any, ...] = ()
    todo: tuple[Any, ...] = ()
    blocks: tuple[Block, ...]
    notice: tuple[Any, ...] = ()
    brief: tuple[Block, ...] | None = None
    more: Said | None = None
    cautions: tuple[tuple[Any, Any], ...] = ()
    notes: tuple[Any, ...] = ()
    parts: tuple[Part, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    glossary: tuple[str, ...] = ()
    chapters: tuple[View, ...] = ()

    def all_blocks(self) -> Iterator[Block]:
        """Go through its blocks, those within others too, and those of its chapters."""
        inner = [
            *self.blocks,
            *self.parts,
            *(x for each in self.chapters for x in each.all_blocks()),
        ]
        while inner:
            yield (block := inner.pop(0))
            inner[:0] = block.blocks if isinstance(block, Part) else ()
