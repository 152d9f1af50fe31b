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


def test_a_result_prints_its_outcome_its_figures_and_every_annotator(run):
    result = run(n_resamples=200)

    lines = str(result).splitlines()

    assert lines[0] == "mine on polite (accuracy, additive ε = 0.2): ✓ passed"
    assert "ω = 1.00 (3 of 3 annotators)" in lines[1]
    low, high = result.uncertainty.advantage_low, result.uncertainty.advantage_high
    advantage = f"ρ = {result.advantage_probability:.2f}"
    assert f"{advantage} (95% interval {low:.2f} to {high:.2f})" in lines[1]
    assert f"ω ≥ .5 from ε = {result.smallest_epsilon:g}" in lines[1]
    for line, person in zip(lines[4:7], result.annotators, strict=True):
        assert line.split()[:3] == [
            person.annotator,
            str(person.n_items),
            f"{person.advantage_judge:.2f}",
        ]


def test_without_resamples_nothing_is_said_of_intervals(run):
    text = str(run())

    assert "interval" not in text
    assert "passes from" not in text


def test_reasons_and_cautions_are_said():
    judge = dict.fromkeys(range(40), "no")
    humans = {
        name: {i: "yes" if i == place else "no" for i in range(40)}
        for place, name in enumerate("abc")
    }

    result = voirdire.alt_test(judge, humans)

    assert result.outcome == "no_evidence"
    text = str(result)
    assert result.because.sentence in text
    assert all(f"note: {sentence}" in text for sentence in result.warnings)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_names_are_inert_and_short_in_both(run, hostile):
    result = run(hostile, (hostile, "bob", "eve"))

    text, page = str(result), Cells(result._repr_html_())

    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len(text) < 2_000
    assert set(page.tags) <= {
        "div",
        "p",
        "strong",
        "br",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "ul",
        "li",
    }
    assert len("".join(page.text)) < 2_000


def test_a_notebook_shows_what_a_terminal_prints(run):
    result = run(n_resamples=100)

    shown = Cells(result._repr_html_()).text

    for word in ("ann", "bob", "eve", "yes", f"{result.annotators[0].deciding_p_value:.2g}"):
        assert word in shown
    assert str(result).splitlines()[0] in shown


def test_the_table_of_annotators_is_aligned(run):
    text = str(run(annotators=("ann", "a longer name", "e")))

    head, *rows = text.splitlines()[3:7]
    start = head.index("items")
    assert all(row[start - 2 : start] == "  " and row[start].isdigit() for row in rows)


def test_failures_are_said_with_what_they_cost(run):
    failed = np.arange(80) < 30

    text = str(run(failed=failed))

    assert "with 30 failures lost" in text


@pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")
def test_undefined_figures_are_dashes(run):
    text = str(run(min_items=500))

    assert "ω = – (0 of 0 annotators)" in text
    assert "ρ = –" in text
