"""A power simulation on a terminal and as JSON."""

import io
import math

import pytest
from rich.console import Console

from voirdire.reporting import ResultTables
from voirdire.stats import Caution, PowerResult, PowerRow


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
        Console(file=file, width=width, highlight=False).print(ResultTables(result))
        return file.getvalue()

    return show


def lines_of(text):
    return [line.rstrip() for line in text.splitlines()]


def grid_of(text):
    """Give the words of the rows below the heads of the margins."""
    lines = lines_of(text)
    start = next(place for place, line in enumerate(lines) if line.startswith("Annotators "))
    return [line.split() for line in lines[start + 2 : lines.index("", start) - 1]]


def test_sizes_stand_down_and_margins_across(made, shown):
    text = shown(made())

    assert "noise .30 of annotators (κ .49), .10 of the judge (κ .63)" in text
    assert "Probability that the outcome is passed. ✓ marks 80% or more." in text
    assert "Annotators  Items  Labels  ε = .1  ε = .2" in text
    # 50 * .1 / 12 = .4166 is rounded down where .8 is missed; 100 * .1 / 12 = .8333 reaches it
    assert grid_of(text) == [
        ["3", "20", "60", "–", "–"],
        ["3", "50", "150", ".41", ".83", "✓"],
        ["3", "100", "300", ".83", "✓", "1.00", "✓"],
    ]


def test_what_misses_never_looks_as_if_it_did_not(made, shown):
    # 955 * .01 / 12 = .7958, which rounds to the .8 that is wanted
    nearly = made(epsilons=(0.01,), sizes=(955,), wanted=0.8)

    text = shown(nearly)

    assert grid_of(text) == [["3", "955", "2,865", ".79"]]


def test_notes_say_what_the_figures_rest_on(made, shown):
    text = shown(made())

    assert "1,000 simulated studies of each size" in text
    assert "The outcome goes by the exact test, with additive ε and seed 7." in text
    assert "Standard errors of the power are at most .012." in " ".join(text.split())
    assert "A dash in place of a power: fewer than 30 items, so that nobody is tested" in text


def test_a_pilot_says_whose_labels_it_has(made, shown):
    result = made((3, 6))
    hostile = "[red]judge\x1b[31m\n" + "x" * 200
    pilot = {
        "judge": hostile,
        "pilot_items": 50,
        "pilot_annotators": 3,
        "pilot_clusters": 12,
        "alignment": "accuracy",
    }
    settings = result.settings | pilot
    text = shown(
        made((3, 6), settings=settings, cautions=(Caution(code="small", sentence="it is small"),))
    )

    assert "The pilot is [red]judge\\x1b[31m⏎" in text
    assert "\x1b" not in text
    assert "beside 3 annotators on 50 items, compared by accuracy" in " ".join(text.split())
    assert "The pilot’s items come from 12 clusters." in text
    assert "note: it is small" in text
