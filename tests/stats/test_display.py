"""Results as they print in a terminal and show in a notebook."""

from html.parser import HTMLParser

import numpy as np
import pytest

import voirdire
from voirdire.stats import Names, alt_test

HOSTILE = ["<script>alert(1)</script>", "\x1b[31mred", "\u202eabc", "x" * 10**6, "a\nb"]


@pytest.fixture
def run():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 80)
    humans = np.where(rng.random((80, 3)) < 0.93, truth[:, None], 1 - truth[:, None])

    def run(judge="mine", annotators=("ann", "bob", "eve"), **settings):
        names = Names(judges=[judge], annotators=annotators, question="polite")
        return alt_test(truth, humans, names=names, **settings)[0]

    return run


class Cells(HTMLParser):
    def __init__(self, page):
        super().__init__()
        self.tags, self.text = [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        assert not attrs
        self.tags.append(tag)

    def handle_data(self, data):
        self.text.append(data)


def test_a_result_prints_its_outcome_and_its_figures(run):
    result = run(n_resamples=200)

    text = str(result)

    assert "mine passed: shown within ε = .2 for 3 of 3 annotators (ω = 1.00)." in text
    ends = (result.uncertainty.advantage_low, result.uncertainty.advantage_high)
    figures = [result.advantage_probability, *ends, result.human_advantage]
    shown = [f"{x:.2f}".removeprefix("0") for x in figures]
    assert f"{shown[0]} ({shown[1]}–{shown[2]})" in text
    assert text.splitlines()[0].endswith("on 80 items")
    assert "\x1b" not in text


def test_without_resamples_nothing_is_said_of_intervals(run):
    assert "–" not in str(run())


def test_several_judges_and_powers_print_as_the_commands_do(run):
    humans = {
        name: {i: "yes" if i == place else "no" for i in range(40)}
        for place, name in enumerate("abc")
    }
    examination = voirdire.examine(judges={"one": dict.fromkeys(range(40), "no")}, humans=humans)
    plan = voirdire.power(human_noise=0.3, judge_noise=0.2, n_items=[60, 100], n_simulations=50)

    assert examination.results[0].outcome == "no_evidence"
    assert "? no evidence" in str(examination)
    for row in plan.rows:
        assert f"{row.power:.2f}".removeprefix("0") in str(plan)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_are_inert_and_short_in_both(run, hostile):
    result = run(hostile, (hostile, "bob", "eve"))

    text, page = str(result), Cells(result._repr_html_())

    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 2_000
    assert page.tags == ["pre"]
    assert "".join(page.text) == text


def test_failures_are_said_with_what_they_cost(run):
    text = str(run(failed=np.arange(80) < 30))

    assert "Failed calls decide: without its 30 failed calls ω is" in text


@pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")
def test_undefined_figures_are_dashes(run):
    row = next(x for x in str(run(min_items=500)).splitlines() if x.startswith("mine"))

    assert row.split() == ["mine", "–", "–", "–", "80"]
