"""What a page says, as data: words, tables and figures in order; a terminal prints it too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from voirdire.reporting.pages.speech import Said, say

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from voirdire.reporting.pages.items import ItemCard
    from voirdire.reporting.plots import PlotKind

__all__ = [
    "Advice",
    "Block",
    "Cards",
    "Facts",
    "Figure",
    "Part",
    "Quote",
    "Settings",
    "Table",
    "View",
    "Words",
]


@dataclass(frozen=True)
class Words:
    """Sentences: a paragraph, or one a line in a list."""

    sentences: Sequence[Any]
    form: Literal["paragraph", "note", "list", "heading", "references"] = "paragraph"


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: what each cell says, the first of a row being its head.

    `texts` says which columns hold words; `n_rows` counts all rows, also those that are left out,
    which `cut` says.
    """

    form: ClassVar = "table"
    caption: Any
    columns: tuple[str | Said, ...]
    rows: tuple[tuple[Any, ...], ...]
    texts: tuple[bool, ...]
    n_rows: int
    style: str = ""
    label: Any = None
    row_styles: tuple[str, ...] = ()
    cut: str = "table.cut"

    @staticmethod
    def of(
        caption: Any,
        rows: Sequence[Any],
        columns: Mapping[str, Callable[[Any], Any]],
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


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure of the page's result; `which` says what is drawn of several."""

    form: ClassVar = "figure"
    kind: PlotKind
    name: str
    caption: Sequence[Any]
    which: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def of(name: str, kind: PlotKind) -> Figure:
        """Name the figure of a part, with whose name the key of its caption begins."""
        named = f"{name.replace('.', '-')}-figure"
        return Figure(kind=kind, name=named, caption=(f"{name}.figure",))


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


Block: TypeAlias = Words | Table | Figure | Advice | Facts | Settings | Cards | Quote


@dataclass(frozen=True, kw_only=True)
class Part:
    """A fold of the page; open where it changes what the reader should do.

    `name` begins the key of its title. A terminal prints words and tables of the parts that are
    for it; of those for its details, where none are asked for, the words of an open one.
    """

    name: str
    blocks: Sequence[Block]
    title: Said | None = None
    is_open: bool = False
    shown_in: Literal["terminal", "details", "page"] = "terminal"


@dataclass(frozen=True, kw_only=True)
class View:
    """What a page says of a result; the keys of its sentences begin with `name`.

    `cautions` say what to do about each. A terminal prints `brief` in the place of `blocks` where
    it is given, and without details says what there is `more`.
    """

    name: str
    meta: Said
    lead: tuple[Any, ...]
    todo: tuple[Any, ...]
    blocks: tuple[Block, ...]
    brief: tuple[Block, ...] | None = None
    more: Said | None = None
    cautions: tuple[tuple[Any, Any], ...] = ()
    notes: tuple[Any, ...] = ()
    parts: tuple[Part, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    glossary: tuple[str, ...] = ()
