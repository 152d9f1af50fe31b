"""Tables in narrow terminals: every figure is there, whole, and no line is too long."""

import io
import re
from collections import Counter

import pytest
from rich.cells import cell_len
from rich.console import Console

from rewards.fitting.fit_cases import labelled_case
from rewards.fitting.test_fit import fit
from voirdire.reporting import RewardFitTables

FIGURE = re.compile(r"-?[\d,]*\.?\d+%?")


def printed(thing, *, width):
    file = io.StringIO()
    Console(file=file, width=width, highlight=False, markup=False).print(thing)
    return file.getvalue()


def figures(text):
    return Counter(FIGURE.findall(text))


def widest(text):
    return max(cell_len(line.rstrip()) for line in text.splitlines())


@pytest.fixture(scope="module")
def found():
    return fit(labelled_case(2, n_prompts=25, base=True), n_resamples=50, l2=None)


@pytest.mark.parametrize("width", [24, 40, 60, 79])
def test_a_fit_keeps_its_figures(found, width):
    text = printed(RewardFitTables(found), width=width)

    head = "95% interval"  # stacked rows repeat it
    whole = printed(RewardFitTables(found), width=200)
    assert figures(text.replace(head, "")) == figures(whole.replace(head, ""))
    assert "…" not in text
    assert widest(text) <= width
