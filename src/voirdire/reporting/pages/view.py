"""What a page says, as data: words, tables and figures in order; a terminal prints it too."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from voirdire.reporting.pages.speech import Said, say

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from voirdire.reporting.pages.items import ItemCard
    from voirdire.reporting.pages.speech import PageKind

__all__ = [
    "Advice",
    "Block",
    "Cards",
    "Facts",
    "Lines",
    "Part",
    "Quote",
    "Scatter",
    "Series",
    "Settings",
    "Table",
    "Track",
    "View",
    "Words",
    "columns_of",
]


@dataclass(frozen=True)
class Words:
    """Sentences: a paragraph, or one a line in a list."""

    sentences: Sequence[Any]
    form: Literal["paragraph", "note", "list", "heading", "references"] = "paragraph"


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
        Colour and shape: "passed", "close", "failed", "no_evidence", "control" or "".
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

    `texts` says which columns hold words; `n_rows` counts all rows, also those that are left out,
    which `cut` says. `levels` are lines across the tracks, such as 0 and −ε, each with its word.
    """

    form: ClassVar = "table"
    name: str = "table"
    caption: Any
    columns: tuple[str | Said, ...]
    rows: tuple[tuple[Any, ...], ...]
    texts: tuple[bool, ...]
    n_rows: int
    style: str = ""
    label: Any = None
    row_styles: tuple[str, ...] = ()
    levels: tuple[tuple[float, Any], ...] = ()
    cut: str = "table.cut"

    @staticmethod
    def of(
        caption: Any,
        rows: Sequence[Any],
        columns: Mapping[Any, Callable[[Any], Any]],
        *,
        n_texts: int = 1,
        texts: Collection[str] = (),
        most: int = 200,
        row_style: Callable[[Any], str] | None = None,
        **look: Any,
    ) -> Table:
        """Say every column of the first rows; the first `n_texts` and `texts` hold words."""
        shown = rows[:most]
        return Table(
            caption=caption,
            columns=tuple(columns),
            rows=tuple(tuple(cell(row) for cell in columns.values()) for row in shown),
            texts=tuple(place < n_texts or key in texts for place, key in enumerate(columns)),
            n_rows=len(rows),
            row_styles=() if row_style is None else tuple(map(row_style, shown)),
            **look,
        )

    @property
    def cut_note(self) -> Said | None:
        """How many rows are left out, where some are."""
        n = len(self.rows)
        return say(self.cut, shown=n, half=n // 2, n=self.n_rows) if n < self.n_rows else None


def columns_of(
    stem: str, say_it: Callable[[Any], Any], **attributes: str
) -> dict[str, Callable[[Any], Any]]:
    """Make columns that say attributes of a row in one way; the ends of their keys are given."""

    def column(path: str) -> Callable[[Any], Any]:
        read = attrgetter(path)
        return lambda row: say_it(read(row))

    return {f"{stem}.{head}": column(path) for head, path in attributes.items()}


@dataclass(frozen=True, kw_only=True)
class Series:
    """A line of a chart: points from left to right, each with the ends of its interval or nan.

    `states` are the marks of the points as of a `Track`; `style` is "" (a colour by its place),
    "faint", "control" or "dots" (without a line).
    """

    name: Any
    points: tuple[tuple[float, float], ...]
    ends: tuple[tuple[float, float], ...] = ()
    states: tuple[str, ...] = ()
    style: str = ""


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
class Facts:
    """Words with what is to be said of each."""

    form: ClassVar = "facts"
    rows: Sequence[tuple[str, Any]]


@dataclass(frozen=True)
class Settings:
    """Settings as they were given, under a label."""

    form: ClassVar = "settings"
    label: str
    rows: Sequence[tuple[str, str]]
    is_versioned: bool = False


@dataclass(frozen=True)
class Cards:
    """Items with their texts."""

    form: ClassVar = "cards"
    cards: Sequence[ItemCard]


@dataclass(frozen=True)
class Quote:
    """What is to be pasted elsewhere."""

    form: ClassVar = "quote"
    blocks: Sequence[Block]


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


Block: TypeAlias = (
    Words | Table | Lines | Scatter | Advice | Facts | Settings | Cards | Quote | Part
)


@dataclass(frozen=True, kw_only=True)
class View:
    """What is said of a result: the rows of its page, terminal and figures, each laid out once.

    Attributes
    ----------
    name : str
        Of the result; the keys of its title and kicker begin with it.
    catalog : PageKind
        Whose sentences it is said in.
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
    catalog: PageKind = "results"
    title: str = ""
    notice: tuple[Any, ...] = ()
    brief: tuple[Block, ...] | None = None
    more: Said | None = None
    cautions: tuple[tuple[Any, Any], ...] = ()
    notes: tuple[Any, ...] = ()
    parts: tuple[Part, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    glossary: tuple[str, ...] = ()
    chapters: tuple[View, ...] = ()

    @property
    def heading(self) -> str:
        """The key of its title."""
        return self.title or f"{self.name}.title"

    @property
    def kicker(self) -> str:
        """The key of what stands above the title."""
        return f"{self.name}.kicker"

    def all_blocks(self) -> Iterator[Block]:
        """Go through its blocks, those within others too, and those of its chapters."""
        inner = [
            *self.blocks,
            *self.parts,
            *(x for each in self.chapters for x in each.all_blocks()),
        ]
        while inner:
            yield (block := inner.pop(0))
            inner[:0] = block.blocks if isinstance(block, Part | Quote) else ()
