"""Examinations of every kind, and what is said of them."""

import re

import numpy as np
import polars as pl
import pytest
from markupsafe import Markup

import voirdire
from view_reading import Reading
from voirdire.reporting import html_page


def words(markup):
    """Take the markup away, and the spaces that only keep a line together."""
    apart = re.sub(
        r"(?=<(?:span class=\"(?:chip|at)|td|th|li|p|h\d|dt|dd|caption|summary))", " ", markup
    )
    return " ".join(Markup(apart).striptags().replace("\N{NO-BREAK SPACE}", " ").split())


@pytest.fixture(scope="session")
def say():
    """Say something of a view in plain words."""

    def spoken(thing, language="en"):
        return Reading(None, language).say(thing).strip()

    return spoken


@pytest.fixture(scope="session")
def rows_of(say):
    """Read a table as dictionaries by the keys of its columns."""

    def read(table):
        heads = [column if isinstance(column, str) else say(column) for column in table.columns]
        return [dict(zip(heads, row, strict=True)) for row in table.rows]

    return read


@pytest.fixture(scope="session")
def full():
    """Examine two judges at two margins and under two alignments, with all that stands around."""
    rng = np.random.default_rng(3)
    labels = np.array(["no", "yes"])
    truth = rng.integers(2, size=60)

    def noisy(share):
        codes = np.where(rng.random(60) < share, 1 - truth, truth)
        return {f"i{n}": [labels[code]] for n, code in enumerate(codes)}

    items = [f"i{n}" for n in range(60)]
    metadata = pl.DataFrame({
        "item": items,
        "prompt": [f"Prompt of {item}" for item in items],
        "lang": ["en" if n % 2 else "zh" for n in range(60)],
    })  # fmt: skip
    humans = {f"ann-{n}": noisy(0.12) for n in range(4)}
    humans["late"] = dict(list(noisy(0.1).items())[:12])
    return voirdire.examine(
        humans=humans,
        judges={"gpt": noisy(0.05), "llama": noisy(0.5)},
        kind="multilabel",
        alignment=["jaccard", "hamming"],
        epsilon=[0.1, 0.2],
        metadata=metadata,
    )


@pytest.fixture(scope="session")
def page_text():
    """Render a page and give its words."""

    def render(content, **options):
        page = html_page(content, **options)
        return words(re.sub(r"<(style|svg|script)\b.*?</\1>", " ", page, flags=re.DOTALL))

    return render
