"""A power simulation on a terminal and as JSON."""

import io
import json
import math
import re
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from voirdire.reporting import PowerTables, power_to_json
from voirdire.stats import PowerResult, PowerRow


@pytest.fixture
def made():
    """Make a result whose power grows with items and falls with annotators."""

    def make(annotators=(3,), epsilons=(0.1, 0.2), sizes=(20, 50, 100), *, wanted=0.8, **changed):
        rows = [
            PowerRow(
                n_items=n,
                n_annotators=m,
                epsilon=epsilon,
                power=0.0 if n < 30 else min(1.0, n * epsilon / (4 * m)),
                standard_error=0.012,
                winning_rate_power=0.0 if n < 30 else min(1.0, 0.03 + n * epsilon / (4 * m)),
                winning_rate=math.nan if n < 30 else 0.5,
                n_simulations=1_000,
                route="assumptions",
                label_share=1.0,
                n_labels=n * m,
                reason="no items" if n < 30 else None,
            )
            for m in annotators
            for n in sizes
            for epsilon in epsilons
        ]
        settings = {
            "n_categories": 2,
            "prevalences": None,
            "epsilon_mode": "additive",
            "method": "t",
            "n_simulations": 1_000,
            "min_items": 30,
            "seed": 7,
        }
        plain = {
            "rows": rows,
            "wanted_power": wanted,
            "human_kappa": 0.49,
            "judge_kappa": 0.63,
            "human_noise": 0.3,
            "judge_noise": 0.1,
            "settings": settings,
        }
        return PowerResult.of(**plain | changed)

    return make


@pytest.fixture
def shown():
    """Print a result as it is where there is no terminal."""

    def show(result, *, width=120):
        file = io.StringIO()
        Console(file=file, width=width, highlight=False).print(PowerTables(result))
        return file.getvalue()

    return show


def lines_of(text):
    return [line.rstrip() for line in text.splitlines()]


def test_sizes_stand_down_and_margins_across(made, shown):
    lines = lines_of(shown(made()))

    assert lines[0] == "Probability that the outcome is a pass; ✓ from .8 on"
    assert lines[1].startswith("assumed: noise 0.3 of annotators (kappa 0.49), 0.1 of the judge")
    assert [line.split() for line in lines[4:6]] == [
        ["annotators", "3"],
        ["items", "ε", ".1", "ε", ".2"],
    ]
    # 50 * .1 / 12 = .4166 is rounded down where .8 is missed; 100 * .1 / 12 = .8333 reaches it
    assert [line.split() for line in lines[7:10]] == [
        ["20", "–", "–"],
        ["50", ".41", ".83", "✓"],
        ["100", ".83", "✓", "1.00", "✓"],
    ]


def test_the_smallest_plans_are_sentences(made, shown):
    text = shown(made((3, 5), sizes=(50, 100)))

    assert "At ε = .1 the smallest plan is 100 items by 3 annotators, 300 labels." in text
    assert "At ε = .2 the smallest plan is 50 items by 3 annotators, 150 labels." in text


def test_a_power_that_is_not_reached_is_said(made, shown):
    text = shown(made(epsilons=(0.05,), sizes=(50, 100), wanted=0.5))

    assert "At ε = .05 no plan reaches .5: 100 items by 3 annotators have .41." in text


def test_what_misses_never_looks_as_if_it_did_not(made, shown):
    # 955 * .01 / 12 = .7958, which rounds to the .8 that is wanted
    nearly = made(epsilons=(0.01,), sizes=(955,), wanted=0.8)

    text = shown(nearly)

    assert [line.split() for line in lines_of(text)].count(["955", ".79"]) == 1


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_tables_fit_the_width(made, shown, width):
    result = made((3, 4, 5, 10, 20), (0.05, 0.1, 0.15, 0.2), (50, 12_345))

    text = shown(result, width=width)

    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width
    assert "…" not in text
    for m in (3, 4, 5, 10, 20):
        assert re.search(rf"annotators.*\b{m}\b", text)
    n_columns = text.count("ε .1 ") + len(re.findall(r"ε \.1$", text, flags=re.MULTILINE))
    assert n_columns == 5


def test_notes_say_what_the_figures_rest_on(made, shown):
    text = shown(made())

    assert (
        "additive ε, t-test, 1,000 simulated studies, seed 7: standard errors up to .012." in text
    )
    assert "–: fewer than 30 items, so that nobody is tested: never passed." in text
    assert "ω alone reaches .5 up to .03 more often" in text


def test_a_pilot_says_which_rows_are_drawn_from_it(made, shown):
    result = made((3, 6))
    rows = [
        replace(row, route="resampling" if row.n_annotators == 3 else "noise_model")
        for row in result.rows
    ]
    hostile = "[red]judge\x1b[31m\n" + "x" * 200
    pilot = {
        "judge": hostile,
        "pilot_items": 50,
        "pilot_annotators": 3,
        "pilot_clusters": 12,
        "alignment": "accuracy",
        "method": "exact",
    }
    settings = result.settings | pilot
    text = shown(made((3, 6), rows=rows, settings=settings, cautions=("it is small",)))

    assert "pilot of [red]judge\\x1b[31m⏎" in text
    assert "\x1b" not in text
    assert "50 items in 12 clusters" in text
    assert "With 3 annotators: drawn from the pilot's labels." in text
    assert "With 6 annotators: simulated from noise fitted to the pilot." in text
    assert "Note: it is small." in text
    assert "exact test" in text


def test_json_holds_every_figure_and_undefined_ones_as_null(made):
    def refuse(word):
        raise AssertionError(word)

    result = made(human_kappa=math.nan)

    found = json.loads(power_to_json(result), parse_constant=refuse)

    assert found["human_kappa"] is None
    assert found["rows"][0]["winning_rate"] is None
    assert found["rows"][-1]["power"] == 1.0
    assert found["smallest_plans"][0]["n_items"] == 100
    assert found["settings"]["seed"] == 7
