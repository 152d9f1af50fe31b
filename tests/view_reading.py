"""What a view says, as plain words: sentences, and tables as rows by the keys of columns."""

import io

from rich.console import Console

from voirdire.reporting.pages.speech import Speaker
from voirdire.reporting.pages.view import Part, Table, Track


class Reading:
    """A view in one language."""

    def __init__(self, view, language="en"):
        self.view, self.speaker = view, Speaker(language)

    def say(self, thing):
        """Say one thing; a track stays as it is."""
        if thing is None or isinstance(thing, Track):
            return thing
        return self.speaker(thing).striptags().replace("\N{NO-BREAK SPACE}", " ")

    @property
    def blocks(self):
        """Every block, those within parts and quotes too."""
        return [*self.view.all_blocks()]

    @property
    def tables(self):
        """Each table as a list of rows: by the key of a column what its cell says."""
        return [
            [
                {getattr(key, "key", key): self.say(cell)
                 for key, cell in zip(table.columns, row, strict=True)}
                for row in table.rows
            ]
            for table in self.blocks
            if isinstance(table, Table)
        ]  # fmt: skip

    def table(self, key):
        """Give the first table that has this column."""
        return next(table for table in self.tables if table and key in table[0])

    def part(self, name):
        """Give a part by its name; None where there is none."""
        return next((x for x in self.blocks if isinstance(x, Part) and x.name == name), None)

    @property
    def lead(self):
        """What was found, in one line."""
        return " ".join(map(self.say, self.view.lead))

    @property
    def todo(self):
        """What to do next, a sentence or command each."""
        return [*map(self.say, self.view.todo)]

    @property
    def notes(self):
        """Cautions, then what weakens the figures."""
        return [*map(self.say, (*(note for note, _ in self.view.cautions), *self.view.notes))]

    @property
    def words(self):
        """The words of paragraphs and lists."""
        return " ".join(
            self.say(said) for block in self.blocks for said in getattr(block, "sentences", ())
        )


def printed(tables, *, width=80):
    """Print as a pipe of some width gets it."""
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False, markup=False, emoji=False)
    console.print(tables, crop=False)
    return file.getvalue()
