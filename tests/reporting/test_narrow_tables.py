"""Tables in narrow terminals: every figure is there, whole, and no line is too long."""

import io
import re
from collections import Counter

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rewards.fitting.fit_cases import labelled_case
from rewards.fitting.test_fit import fit
from voirdire.reporting.narrow_tables import NarrowTable
from voirdire.reporting.reward_fit_tables import RewardFitTables

WIDTHS = [24, 30, 40, 60, 79, 80]
FIGURE = re.compile(r"-?[\d,]*\.?\d+%?")


def printed(thing, *, width):
    file = io.StringIO()
    Console(file=file, width=width, highlight=False, markup=False).print(thing)
    return file.getvalue()


def figures(text):
    return Counter(FIGURE.findall(text))


def widest(text):
    return max(cell_len(line.rstrip()) for line in text.splitlines())


def table(*, title=None):
    """Make a table like those of an examination: a name, words, figures, an interval."""
    made = Table(title=title, box=None, padding=(0, 1, 0, 0))
    made.add_column("behavior", overflow="ellipsis", max_width=28)
    made.add_column("case")
    for head in ("weight", "interval", "share\nof all"):
        made.add_column(head, justify="right", no_wrap=True)
    made.add_column("total", justify="right")
    made.add_row("hard_refuse", "the best against the next", "-0.123", "[.45, .67]", "8%", "1,234")
    made.add_section()
    made.add_row(Text("comply"), "false refusal", "12.345", "[-1.20, .03]", "", "5,678,901")
    return made


@pytest.mark.parametrize("width", WIDTHS)
def test_figures_are_whole_at_every_width(width):
    text = printed(NarrowTable(table()), width=width)

    assert figures(text) == figures(printed(table(), width=200))
    assert widest(text) <= width


def test_a_table_that_fits_is_as_it_was():
    assert printed(NarrowTable(table()), width=90) == printed(table(), width=90)


def test_words_give_way_before_rows_are_stacked():
    text = printed(NarrowTable(table()), width=72)

    assert text.splitlines()[1].split()[-1] == "total"
    assert any(line.startswith("comply") and "5,678,901" in line for line in text.splitlines())
    assert "weight" not in text.splitlines()[3]


def test_stacked_rows_name_each_figure_and_leave_out_what_is_empty():
    text = printed(NarrowTable(table(title="drives")), width=34)

    lines = [line.rstrip() for line in text.splitlines()]
    assert lines == [
        "drives",
        "",
        "hard_refuse",
        "  case          the best against",
        "the next",
        "  weight        -0.123",
        "  interval      [.45, .67]",
        "  share of all  8%",
        "  total         1,234",
        "",
        "comply",
        "  case          false refusal",
        "  weight        12.345",
        "  interval      [-1.20, .03]",
        "  total         5,678,901",
    ]


@pytest.mark.parametrize("width", [40, 60, 79])
def test_a_fit_keeps_its_figures(width):
    found = fit(labelled_case(2, n_prompts=25, base=True), n_resamples=50, l2=None)

    text = printed(RewardFitTables(found), width=width)

    head = "95% interval"  # stacked rows repeat it
    whole = printed(RewardFitTables(found), width=200)
    assert figures(text.replace(head, "")) == figures(whole.replace(head, ""))
    assert "…" not in text
    assert widest(text) <= width
