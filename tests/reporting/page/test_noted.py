"""Warnings: what each is, whom it concerns, and what to do."""

import re

import pytest
from markupsafe import Markup

from voirdire.reporting import html_report

FIGURES = {
    "annotators": ["eve", "bob"],
    "clustered": False,
    "few": 50,
    "fewest": 31,
    "human_label": "3",
    "label": "3.0",
    "low": 0.12,
    "min_items": 30,
    "n": 7,
    "n_annotators": 2,
    "n_clusters": 12,
    "n_failures": 4,
    "n_items": 200,
    "n_labels": 5,
    "n_resamples": 1000,
    "n_unjudged": 17,
    "needed": 10,
    "one": 90,
    "other": 4,
    "alpha": 0.31,
    "reason": "one label only",
    "share": 0.93,
    "stability": 0.41,
    "n_needed": 71,
    "n_shown": 3,
    "n_within": 1,
    "constant": "3.0",
    "constant_passes": True,
    "epsilon": 0.15,
    "advantage_probability": 0.72,
    "constant_advantage": 0.61,
    "p_value": 0.037,
    "winning_rate": 0.25,
    "winning_rate_bh": 0.75,
}
SHOWN = {
    "constant_passes": ["“3.0”"],
    "correction": [".25", ".75"],
    "failures": ["4 failed calls", ".25"],
    "few_annotators": ["2 annotators"],
    "few_clusters": ["12 clusters"],
    "few_items": ["eve", "bob", "5 more", "31 items", "50"],
    "like_constant": [".25", "“3.0”", ".72", ".61", "p = .037"],
    "many_ties": ["eve", "5 more", "93%"],
    "missed": [".15", "3 of 2 annotators", "for 1", "“3.0”"],
    "not_judged": ["17", "200 items"],
    "not_shown": [".15", "3 of 2 annotators", "for 1", "“3.0”"],
    "one_sided": ["90", "4", "10"],
    "shown": [".15", "3 of 2 annotators", "“3.0”", ".72", ".61", "p = .037"],
    "skewed_labels": ["93%", "“3.0”"],
    "strange_annotators": ["eve", "5 more"],
    "strange_labels": ["“3.0”", "“3”"],
    "undeclared_labels": ["5 labels"],
    "unpassable": ["200 items", ".15", "71"],
    "undefined_agreement": ["one label only"],
    "unstable": ["41%"],
    "untestable": ["30 items"],
    "untested_annotators": ["eve", "30 items"],
    "weak_agreement": [".12"],
    "weak_annotators": [".31"],
}


"""Figures of each warning that a reader must find in it."""
CODES = (*SHOWN, "no_p_values")


@pytest.fixture
def read_warnings(read, make_row):
    """Read the warnings of a page about a judge with these cautions."""

    def read_of(*cautions, language="en"):
        return read("warnings", make_row(cautions=list(cautions)), language=language)

    return read_of


def caution(code, **figures):
    return {"code": code, "sentence": "THE SENTENCE", "figures": figures}


def test_every_warning_is_said_with_its_figures(read_warnings, make_row, make_content):
    notes = [caution(code, **FIGURES) for code in CODES]
    page = html_report(make_content(make_row(cautions=notes)))

    spoken, chinese = read_warnings(*notes), read_warnings(*notes, language="zh")

    assert "THE SENTENCE" not in spoken + chinese
    said = [Markup(each).striptags() for each in re.findall(r"<dt>(.*?)</dt>", page, re.DOTALL)]
    said = [each.replace("\N{NO-BREAK SPACE}", " ") for each in said]
    assert spoken.count("What to do:") == len(CODES)
    for code, figures in SHOWN.items():
        assert any(all(figure in one for figure in figures) for one in said), code


def test_figures_of_another_version_leave_the_sentence(read_warnings):
    notes = [caution(code) for code in SHOWN]

    assert read_warnings(*notes).count("THE SENTENCE") == len(SHOWN)
    assert "SENTENCE" not in read_warnings(*notes, language="zh")


def test_an_unknown_code_is_said_as_it_stands(read_warnings):
    note = {"code": "from_the_future", "sentence": "mind the gap"}

    assert read_warnings(note) == ("mind the gap. What to do: See the documentation of voirdire.")
    assert read_warnings(note, language="zh").startswith("mind the gap")


def test_a_count_of_names_cannot_exhaust_memory(read_warnings):
    spoken = read_warnings(caution("few_items", **(FIGURES | {"n": 10**15})))

    assert "999,999,999,999,998 more" in spoken


def test_a_warning_of_all_judges_names_none(read, make_row):
    few = caution("few_annotators", n_annotators=2)
    rows = [make_row(name, cautions=[few]) for name in ("a", "b")]

    assert read("warnings", *rows) == (
        "Only 2 annotators could be tested; with fewer than three the winning rate says little. "
        "What to do: Have at least three people label the items; five are better."
    )


@pytest.mark.ci
def test_a_warning_of_one_judge_at_one_margin_names_both(read, make_row):
    unstable = [caution("unstable", stability=0.4)]
    rows = [
        make_row("a", epsilon=0.1, cautions=unstable),
        make_row("a", epsilon=0.2),
        make_row("b", epsilon=0.1, cautions=unstable),
        make_row("b", epsilon=0.2, cautions=unstable),
    ]

    assert "Concerns b and a (ε = .1)." in read("warnings", *rows)


def test_figures_that_differ_by_judge_are_left_out(read, make_row):
    rows = [
        make_row(name, cautions=[caution("failures", n_failures=n, winning_rate=0.5)])
        for name, n in (("a", 1), ("b", 2))
    ]

    spoken = read("warnings", *rows)

    assert spoken.startswith("The judge left calls without an answer")
    assert spoken.count("What to do:") == 1


def test_the_page_notices_what_hangs_on_the_margin(read, make_row):
    rows = [
        make_row(won=0, epsilon=0.1, smallest_epsilon=0.195),
        make_row(won=3, epsilon=0.2, smallest_epsilon=0.195),
    ]

    first, second = read("warnings", *rows).split("What to do:")[:2]

    assert "The outcome depends on ε" in first
    assert "The judge passes at ε = .2 but would not have passed below" in second


def test_a_random_control_that_passes_is_a_warning(read, make_row):
    controls = [
        control | {"passed": control["control"] == "random"} for control in make_row()["controls"]
    ]

    spoken = read("warnings", make_row(controls=controls))

    assert "A judge that answers at random would pass" in spoken
    assert spoken.count("What to do:") == 1


def test_what_was_dropped_is_counted_by_reason(read, make_row):
    reasons = ["unknown label"] * 3 + ["empty"]
    dropped = [{"reason": reason, "source": "labels.csv"} for reason in reasons]

    assert read("warnings", make_row(), dropped=dropped).startswith(
        "Labels were set aside and not used: 3 × unknown label and empty."
    )
