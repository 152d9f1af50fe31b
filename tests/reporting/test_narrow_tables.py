"""Tables in narrow terminals: every figure is there, whole, and no line is too long."""

import io
import re
from collections import Counter
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from made_results import made_gold, made_rates
from rewards.fitting.fit_cases import labelled_case
from rewards.fitting.test_fit import fit
from voirdire.reporting import PowerTables, RewardFitTables

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


@pytest.mark.edges
@pytest.mark.parametrize("width", [24, 40, 60, 79])
def test_a_fit_keeps_its_figures(found, width):
    text = printed(RewardFitTables(found), width=width)

    head = "95% interval"  # stacked rows repeat it
    whole = printed(RewardFitTables(found), width=200)
    assert figures(text.replace(head, "")) == figures(whole.replace(head, ""))
    assert "…" not in text
    assert widest(text) <= width


def test_the_figures_of_a_few_judges_stand_side_by_side_where_they_do_not_fit_in_rows():
    lines = printed(PowerTables(made_gold()), width=80).splitlines()

    head = next(line for line in lines if "apologises  " in line)
    assert head.split() == ["Question", "apologises", "refuses"]
    assert any(line.startswith("Sensitivity ") for line in lines)


def test_the_figures_of_many_judges_stay_in_rows():
    found = made_gold()
    rows = tuple(
        replace(row, judge=judge) for judge in ("one", "two", "three") for row in found.results
    )

    lines = printed(PowerTables(replace(found, results=rows)), width=80).splitlines()

    assert sum(line.startswith(("apologises  ", "refuses  ")) for line in lines) == 6
    assert widest("\n".join(lines)) <= 80


def test_rates_of_two_questions_and_two_groups_stay_in_rows():
    found = made_rates()
    rows = tuple(
        replace(row, question=name) for name in ("polite", "fair") for row in found.results
    )

    lines = printed(PowerTables(replace(found, results=rows)), width=80).splitlines()

    assert sum(line.startswith(("polite ", "fair ")) and "%" in line for line in lines) == 2 * 3 + 2
