"""Examinations of judges and annotators with any names, and how they are shown."""

import io
import warnings

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from voirdire.errors import DegenerateDataWarning
from voirdire.io import read_labels
from voirdire.reporting import ResultTables
from voirdire.studies import TestPlan as Plan
from voirdire.studies import examine


@pytest.fixture(scope="session")
def make_examination():
    """Examine judges that slip on their share of the items, under any names and labels."""

    def make(
        judges=None,
        *,
        annotators=("ann", "bob", "eve", "kim"),
        labels=("no", "yes"),
        questions=("polite",),
        n_items=60,
        failures=0,
        **plan,
    ):
        rng = np.random.default_rng(0)
        judges = {"good": 0.05, "fair": 0.3, "poor": 0.9} if judges is None else judges
        truth = rng.integers(len(labels), size=n_items)

        def rows(slips):
            wrong = (truth + 1) % len(labels)
            codes = np.where(rng.random(n_items) < slips, wrong, truth)
            return [(f"i{item}", labels[code]) for item, code in enumerate(codes)]

        def table(raters, role):
            found = [
                (*row, name, question)
                for question in questions
                for name, slips in raters.items()
                for row in rows(slips)
            ]
            columns = ["item", "label", role, "question"]
            frame = pl.DataFrame(found, schema=columns, orient="row")
            if role == "judge":
                lost = pl.col("item").is_in([f"i{row}" for row in range(failures)])
                frame = frame.with_columns(label=pl.when(~lost).then("label"))
            return read_labels(frame, role=role, kind="choice", source_name=f"{role}s")

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DegenerateDataWarning)
            humans = table(dict.fromkeys(annotators, 0.15), "annotator")
            return examine(humans=humans, judges=table(judges, "judge"), plan=Plan(**plan))

    return make


@pytest.fixture(scope="session")
def shown():
    """Print something as it is on a terminal of some width, or where there is none."""

    def show(thing, *, width=120, details=False, terminal=False):
        file = io.StringIO()
        console = Console(
            file=file,
            width=width,
            highlight=False,
            force_terminal=terminal,
            color_system="truecolor" if terminal else None,
        )
        if not hasattr(thing, "plain"):
            thing = ResultTables(thing, details=details)
        console.print(thing)
        return file.getvalue()

    return show
