"""Warnings: what each is, whom it concerns, and what to do."""

import pytest

from voirdire.reporting.page.content import Note
from voirdire.reporting.page.noted import advice, noted
from voirdire.reporting.page.sensitivity import warnings_of
from voirdire.reporting.page_frame.dropped import Dropped
from voirdire.stats.results import CAUTION_CODES, REASON_CODES

FIGURES = {
    "annotators": ["eve", "bob"],
    "clustered": False,
    "few": 50,
    "fewest": 31,
    "has_exact": True,
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
    "many_ties": ["eve", "5 more", "93%"],
    "not_judged": ["17", "200 items"],
    "one_sided": ["90", "4", "10"],
    "skewed_labels": ["93%", "“3.0”"],
    "strange_annotators": ["eve", "5 more"],
    "strange_labels": ["“3.0”", "“3”"],
    "undeclared_labels": ["5 labels"],
    "undefined_agreement": ["one label only"],
    "unstable": ["41%"],
    "untestable": ["30 items"],
    "untested_annotators": ["eve", "30 items"],
    "weak_agreement": [".12"],
    "weak_annotators": [".31"],
}


@pytest.mark.parametrize("code", [*CAUTION_CODES, *REASON_CODES])
def test_a_note_is_said_with_its_figures(said, code):
    note = Note(code=code, sentence="THE SENTENCE", figures=FIGURES)

    spoken, chinese = said(noted(note)), said(noted(note), "zh")

    assert "THE SENTENCE" not in spoken + chinese
    for figure in SHOWN.get(code, []):
        assert figure in spoken


@pytest.mark.parametrize("code", sorted(SHOWN))
def test_figures_of_another_version_leave_the_sentence(said, code):
    note = Note(code=code, sentence="the sentence", figures={})

    assert said(noted(note)) == "the sentence"
    assert "sentence" not in said(noted(note), "zh")


def test_an_unknown_code_is_said_as_it_stands(said):
    note = Note(code="from_the_future", sentence="mind the gap")

    assert said(noted(note)) == said(noted(note), "zh") == "mind the gap"
    assert said(advice("from_the_future")) == "See the documentation of voirdire."


def test_a_count_of_names_cannot_exhaust_memory(said):
    note = Note(code="few_items", sentence="", figures=FIGURES | {"n": 10**15})

    assert "999,999,999,999,998 more" in said(noted(note))


def caution(code, **figures):
    return {"code": code, "sentence": "a sentence", "figures": figures}


def test_a_warning_of_all_judges_names_none(make_part, make_row, said):
    rows = [make_row(name, cautions=[caution("no_controls")]) for name in ("a", "b")]

    [warned] = warnings_of(make_part(*rows).main, [])

    assert warned.whom is None
    assert said(warned.what) == (
        "No controls were run, so it is not known whether a judge that always gives the same "
        "answer would pass."
    )
    assert said(warned.todo) == "Run the examination with its controls."


def test_a_warning_of_one_judge_at_one_margin_names_both(make_part, make_row, said):
    unstable = [caution("unstable", stability=0.4)]
    rows = [
        make_row("a", epsilon=0.1, cautions=unstable),
        make_row("a", epsilon=0.2),
        make_row("b", epsilon=0.1, cautions=unstable),
        make_row("b", epsilon=0.2, cautions=unstable),
    ]

    [warned] = warnings_of(make_part(*rows).main, [])

    assert said(warned.whom) == "Concerns b and a (ε = .1)."


def test_figures_that_differ_by_judge_are_left_out(make_part, make_row, said):
    rows = [
        make_row(name, cautions=[caution("failures", n_failures=n, winning_rate=0.5)])
        for name, n in (("a", 1), ("b", 2))
    ]

    [warned] = warnings_of(make_part(*rows).main, [])

    assert said(warned.what).startswith("The judge left calls without an answer")


def test_many_ties_without_an_exact_test_have_another_advice(make_part, make_row, said):
    tied = [caution("many_ties", share=0.6, annotators=["eve"], n=1, has_exact=False)]

    [warned] = warnings_of(make_part(make_row(cautions=tied)).main, [])

    assert said(warned.todo).startswith("The exact test does not apply here")


def test_the_page_notices_what_hangs_on_the_margin(make_part, make_row):
    rows = [
        make_row(won=0, epsilon=0.1, smallest_epsilon=0.195),
        make_row(won=3, epsilon=0.2, smallest_epsilon=0.195),
    ]

    codes = [warned.code for warned in warnings_of(make_part(*rows).main, [])]

    assert codes == ["some_margins", "near_margin"]


def test_a_random_control_that_passes_is_a_warning(make_part, make_row):
    controls = [
        control | {"passed": control["control"] == "random"} for control in make_row()["controls"]
    ]

    [warned] = warnings_of(make_part(make_row(controls=controls)).main, [])

    assert warned.code == "random_passes"


def test_what_was_dropped_is_counted_by_reason(make_part, make_row, said):
    dropped = [Dropped(reason="unknown label")] * 3 + [Dropped(reason="empty")]

    [warned] = warnings_of(make_part(make_row()).main, dropped)

    assert said(warned.what) == (
        "4 labels were set aside and not used: 3 × unknown label and 1 × empty."
    )
