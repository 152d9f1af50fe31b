"""The paragraph for a paper: what was done, in the words of its settings."""

import re

import pytest

import voirdire
from voirdire.reporting import html_report
from voirdire.studies import TestPlan as Plan
from voirdire.studies import examine


@pytest.fixture
def paper_of(read):
    def paper(*rows, **keys):
        return tuple(read(place, *rows, **keys) for place in ("paper", "references"))

    return paper


def test_the_plain_examination(paper_of, make_row):
    paragraph, references = paper_of(make_row())

    assert paragraph == (
        "We examined whether gpt may replace a human annotator with the alternative annotator test "
        "(Calderon et al., 2025), for the question label, on 60 items labelled by 4 annotators "
        "(Krippendorff’s α = .57 (95% interval .54–.59)). The judge and each annotator with at "
        "least 30 items were compared by their alignment with the others (accuracy: the share of "
        "the others who gave the same label). For each annotator we tested (one-sided paired "
        "t-tests) whether the judge’s advantage probability ρ, the share of items on which it is "
        "aligned at least as well, is above the annotator’s less ε, with ε = .15 [fixed before the "
        "labels were examined, because …]. The false discovery rate over annotators was controlled "
        "at q = .05 (Benjamini & Yekutieli, 2001); the winning rate ω is the share of annotators "
        "for whom this was shown. Both leave failed calls out; for the outcome these counted as "
        "lost, and a judge passed if its ω by an exact unconditional test was at least .5 and it "
        "was shown closer to the annotators than the best constant answer (one-sided paired t-test "
        "at 5%). gpt (60 items, 0 failed calls) had ρ = .91 (95% interval .89–.93), against .93 "
        "for the annotators themselves, and ω = .75 at ε = .15 (passed). Intervals of ρ are "
        "bias-corrected and accelerated (BCa) bootstrap intervals (1,000 resamples). Under the "
        "same test at ε = .15, a judge that always answers “no” reached ω = .00, random labels "
        "ω = .00, and the majority vote ω = 1.00. The computations were done with voirdire "
        f"{voirdire.__version__}."
    )
    assert re.findall(r"[A-Z]\w+(?=, [A-Z]\.)", references)[0] == "Calderon"
    assert "Benjamini" in references
    assert "Liang" not in references


@pytest.mark.edges
@pytest.mark.parametrize(
    ("figures", "settings", "words"),
    [
        ({"epsilon_mode": "multiplicative"}, {}, "is above (1 − ε) times the annotator’s"),
        ({}, {"n_clusters": 12}, "standard errors robust to 12 clusters (Liang & Zeger, 1986)"),
        ({}, {"weights": "imbalance"}, "weighted by the inverse frequency of their majority"),
        ({}, {"quality": {"ann-1": 2}}, "annotators weighted by their quality"),
        ({}, {"gold": True}, "compared by their alignment with the gold labels (accuracy: whether"),
        ({}, {"expert": "eve"}, "their alignment with the expert eve (accuracy: whether the label"),
        ({}, {"min_items": 20}, "each annotator with at least 20 items"),
    ],
)
def test_variants_are_named(paper_of, make_row, figures, settings, words):
    row = make_row(**figures)
    row["settings"] = row["settings"] | settings

    paragraph, references = paper_of(row)

    assert words in paragraph
    assert ("Liang" in references) is ("n_clusters" in settings)


def test_every_judge_has_its_items_failures_and_margins(paper_of, make_row):
    worst = {"n_failures": 1, "winning_rate": 0.5, "advantage_probability": 0.9, "passed": True}
    rows = [make_row(won=won, epsilon=e) for won, e in ((0, 0), (1, 0.1), (4, 0.3))]

    paragraph, _ = paper_of(*rows, make_row("llama", n_items=40, worst_case=worst))

    assert "ω = .00 at ε = 0 (" in paragraph
    assert "and ω = 1.00 at ε = .3 (passed); llama (40 items, 1 failed call) had" in paragraph


def test_many_judges_are_cut_and_counted(paper_of, make_row):
    rows = [make_row(f"j{place}", advantage_probability=1 - place / 100) for place in range(13)]

    paragraph, _ = paper_of(*rows)

    assert "j8, j9 and 3 more may replace" in paragraph
    assert "j9 (" in paragraph
    assert "j10 (" not in paragraph


def test_an_alignment_of_ones_own_is_called_that(paper_of, make_row):
    paragraph, _ = paper_of(make_row(alignment="mine"))

    assert "mine: a function of the user’s own" in paragraph


def test_the_reason_for_the_margin_is_said_where_it_is_known():
    humans = {name: {i: i % 2 for i in range(60)} for name in ("ann", "bob", "eve")}
    judge = {i: i % 2 for i in range(60)}
    plan = Plan(epsilon=0.15, epsilon_reason="the annotators are <b>skilled</b>.")

    page = html_report(examine(humans=humans, judges=judge, plan=plan))
    chinese = html_report(examine(humans=humans, judges=judge, plan=plan), language="zh")
    without = html_report(examine(humans=humans, judges=judge, plan=Plan(epsilon=0.15)))

    said = "labels were examined, because the annotators are &lt;b&gt;skilled&lt;/b&gt;."
    assert said in " ".join(re.sub(r"</?bdi[^>]*>", "", page).split())
    assert "the annotators are &lt;b&gt;skilled" in chinese
    assert "because …" in without
