"""Results that are no examination on a terminal: what their page says, without its folds."""

from __future__ import annotations

from io import StringIO
from textwrap import indent, wrap
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid
from rich.text import Text

from voirdire.reporting.layout import rows
from voirdire.reporting.pages.speech import Argument, Name, Said, Speaker
from voirdire.reporting.pages.view import Advice, Cards, Part, Table, Track, View, Words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from rich.console import ConsoleOptions, RenderableType

    from voirdire.reporting.pages.items import ItemCard
    from voirdire.reporting.pages.view import Block

_LEAST_HEAD = 8
_MOST_CAUTIONS = 3


class TerminalSpeaker(Speaker):
    """Says what a page says, with the ends of intervals in brackets."""

    def __init__(self) -> None:
        super().__init__("en")
        self.phrases["cell.figure"] = "{value} ({ends})"  # a page writes the ends smaller


class ResultTables:
    """A result laid out for `rich`: print it with `rich.print` or a `Console`.

    The same sentences and figures as on its page. A narrow terminal folds them; a command stays on
    one line.

    Parameters
    ----------
    result : GoldExamination, RateReport, RewardExamination, JudgingSummary, View or other
        Whatever `rows` takes, or what it returns.
    details : bool, optional
        Whether to print every figure.
    """

    def __init__(self, result: Any, *, details: bool = False) -> None:
        self._view = result if isinstance(result, View) else rows(result)
        self._details, self._speaker = details, TerminalSpeaker()

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield sentences and tables in the order of the page; what to do comes last."""
        view = self._view
        yield Text(self._words(view.meta), style="bold")
        yield from self._lines(view.lead)
        yield ""
        yield from self._blocks(view.blocks if view.brief is None else view.brief)
        for part in view.parts:
            yield from self._part(part)
        cautions = view.cautions if self._details else view.cautions[:_MOST_CAUTIONS]
        notes = [*(note for note, _ in cautions), *view.notes]
        if notes or view.todo or view.more is not None:
            yield ""
        yield from self._lines(notes, before="note: ")
        if view.more is not None and not self._details:
            yield Text(self._words(view.more), style="dim")
        yield from self._lines(view.todo[:1], before=f"{self._words('next.title')} ")
        for said in view.todo[1:]:
            if isinstance(said, Said) and said.key == "command":
                yield Text(f"  {self._words(said)}", no_wrap=True, overflow="ignore")
            else:
                yield Text(self._words(said))

    def __str__(self) -> str:
        """Write it without colours, at most 100 columns wide."""
        text = StringIO()
        console = Console(file=text, width=100, highlight=False, markup=False, emoji=False)
        console.print(self, crop=False)
        return text.getvalue().rstrip()

    def _part(self, part: Part) -> Iterator[RenderableType]:
        """Lay out a part under its title, where it says anything here."""
        blocks: Iterable[Block] = part.blocks
        if part.shown_in == "page" or (part.shown_in == "details" and not self._details):
            kept = part.is_open and part.shown_in == "details"
            blocks = [x for x in blocks if kept and isinstance(x, Words)]
        if lines := [*self._blocks(blocks)]:
            yield Text(f"\n{self._words(part.title or f'{part.name}.title')}", style="bold")
            yield from lines

    def _blocks(self, blocks: Iterable[Block]) -> Iterator[RenderableType]:
        """Lay out words, tables, notes and texts; figures are for a page."""
        for block in blocks:
            if isinstance(block, Part):
                yield from self._part(block)
            elif isinstance(block, Table):
                yield from self._table(block)
            elif isinstance(block, Advice):
                yield from self._lines((note for note, _ in block.rows), before="note: ")
            elif isinstance(block, Cards):
                for card in block.cards:
                    yield from self._card(card)
            elif isinstance(block, Words) and block.form == "list":
                yield from self._lines(block.sentences, before="  ")
            elif isinstance(block, Words) and block.sentences:
                style = {"heading": "bold", "note": "dim"}.get(block.form, "")
                before = "\n" if block.form == "heading" else ""
                said = Text(before + " ".join(map(self._words, block.sentences)), style=style)
                figures = [
                    x for each in block.sentences for x in getattr(each, "figures", {}).values()
                ]
                if any(isinstance(x, Argument) for x in figures):  # a path stays whole
                    said.no_wrap, said.overflow = True, "ignore"
                yield said

    def _words(self, thing: Any) -> str:
        """Say something as plain text on one line; names in it were made harmless."""
        return "" if thing is None else self._speaker(thing).striptags()

    def _lines(self, things: Iterable[Any], *, before: str = "") -> Iterator[Text]:
        for thing in things:
            yield Text(f"{before}{self._words(thing)}")

    def _card(self, card: ItemCard) -> Iterator[RenderableType]:
        """Lay out an item; nothing in its texts begins at the edge."""
        yield Text(": ".join(map(self._words, (Name(card.title), *card.summary))))
        for who, what, why in card.rows:
            said = " ".join(filter(None, map(self._words, (what, why))))
            yield Text(f"  {self._words(who)}: {said}")
        for text in card.texts:
            whole = indent(text.shown, "    | ", lambda _: True)
            yield Text(whole, no_wrap=True, overflow="ignore")

    def _table(self, table: Table) -> Iterator[RenderableType]:
        """Lay out a table; a word that is the same in all of its rows is no column."""
        if not table.rows:
            return
        written = [place for place, cells in enumerate(zip(*table.rows, strict=True))
                   if not any(isinstance(cell, Track) for cell in cells)]  # fmt: skip
        rows = [[self._words(row[place]) for place in written] for row in table.rows]
        heads = [self._words(table.columns[place]) for place in written]
        columns = list(zip(*rows, strict=True))
        words = [place for place, of in enumerate(written) if table.texts[of]]
        alike = [place for place in words if len({*columns[place]}) == 1]
        alike = alike[1:] if len(alike) == len(words) else alike  # something names the rows
        kept = [place for place in range(len(heads)) if place not in alike]
        for place in alike:
            yield Text(f"{heads[place]}: {rows[0][place]}")
        grid = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
        for place in kept:  # a heading that is wider than its column breaks between words
            longest = max(map(cell_len, (*heads[place].split(), *columns[place])))
            head = "\n".join(wrap(heads[place], max(_LEAST_HEAD, longest)))
            grid.add_column(head, justify="left" if place in words else "right", overflow="fold")
        for row in rows:
            grid.add_row(*(escape(row[place]) for place in kept))
        yield grid
        for said in (table.caption, table.cut_note):
            if said is not None:
                yield Text(self._words(said), style="dim")
