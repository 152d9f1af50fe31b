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
        places = ("method", "results", "references")
        return tuple(read(place, *rows, **keys) for place in places)

    return paper


def test_the_plain_examination(paper_of, make_row):
    method, results, references = paper_of(make_row())

    assert method == (
        "We examined whether gpt may replace a human annotator with the alternative "
        "annotator test (Calderon et al., 2025), for the question label, on 60 items labelled"
        " by 4 annotators. Each annotator with at least 30 items was left out in turn; judge "
        "and annotator were compared by their alignment with the remaining annotators "
        "(accuracy: the share of the others who gave the same label). For each annotator, the"
        " null hypothesis was that the judge’s advantage probability, the share of items on "
        "which it is aligned at least as well, is lower than the annotator’s by ε or more. It"
        " was tested with one-sided paired t-tests, controlling the false discovery rate over"
        " annotators at q = .05 (Benjamini & Yekutieli, 2001); the winning rate ω is the "
        "share of annotators for whom it was rejected. For the outcome, failed calls counted as "
        "lost; a judge passed if its ω by an exact unconditional test was at least .5 and it was "
        "shown closer to the annotators than the best constant answer (one-sided paired t-test "
        "at 5%). The margin was ε = .15 [fixed before the "
        "labels were examined, because …]. The computations were done with voirdire "
        f"{voirdire.__version__}."
    )
    assert results == (
        "The annotators agreed at Krippendorff’s α = .57 (95% interval .54–.59). Its interval is "
        "symmetric in Fisher’s z, with an error from what each item contributes. For gpt, ρ = .91 "
        "(95% interval .89–.93), against .93 for the annotators themselves; ω = .75 at ε = .15 (3 "
        "of 4; passed). Intervals of ρ are bias-corrected and accelerated (BCa) bootstrap "
        "intervals (1,000 resamples of the items), their tails widened as the t distribution is "
        "wider than the normal. Under the same test at ε = .15, a judge that always "
        "answers “no” reached ω = .00, random labels ω = .00, and the majority vote ω = 1.00."
    )
    assert re.findall(r"[A-Z]\w+(?=, [A-Z]\.)", references)[0] == "Calderon"
    assert "Benjamini" in references
    assert "Liang" not in references


@pytest.mark.parametrize(
    ("figures", "settings", "words"),
    [
        ({"method": "exact"}, {}, "an exact unconditional one-sided test on wins, ties and losses"),
        ({"epsilon_mode": "multiplicative"}, {}, "is at most (1 − ε) times the annotator’s"),
        ({}, {"n_clusters": 12}, "standard errors robust to 12 clusters (Liang & Zeger, 1986)"),
        ({}, {"weights": "imbalance"}, "weighted by the inverse frequency of their majority"),
        ({}, {"quality": {"ann-1": 2}}, "Annotators were weighted by their quality"),
        ({}, {"normalize": "rank"}, "numbers were replaced by their ranks"),
        ({}, {"normalize": "zscore"}, "numbers were standardised"),
        ({}, {"gold": True}, "compared with the judge by their alignment with the gold labels"),
        ({"epsilon": 0.0}, {"gold": True}, "a test of superiority over the annotators"),
        ({}, {"expert": "eve"}, "their alignment with the expert eve"),
        ({}, {"min_items": 20}, "Each annotator with at least 20 items"),
    ],
)
def test_variants_are_named(paper_of, make_row, figures, settings, words):
    row = make_row(**figures)
    row["settings"] = row["settings"] | settings

    method, _, references = paper_of(row)

    assert words in method
    assert ("Liang" in references) is ("n_clusters" in settings)


def test_failures_are_said(paper_of, make_row):
    worst = {"n_failures": 1, "winning_rate": 0.5, "advantage_probability": 0.9, "passed": True}

    _, results, _ = paper_of(make_row(worst_case=worst))

    assert "these figures leave 1 failed call out" in results


def test_many_margins_become_a_series(paper_of, make_row):
    rows = [make_row(won=won, epsilon=e) for won, e in ((0, 0), (1, 0.1), (2, 0.2), (4, 0.3))]

    method, results, _ = paper_of(*rows)

    assert "The margin was ε = [0, .1, .2 or .3] [fixed before the labels" in method
    assert "ω = .00, .25, .50 and 1.00 at ε = 0, .1, .2 and .3, passed at .2 and .3." in results


def test_many_judges_are_cut_and_counted(paper_of, make_row):
    rows = [make_row(f"j{place}", advantage_probability=1 - place / 100) for place in range(13)]

    method, results, _ = paper_of(*rows)

    assert "j8, j9 and 3 more may replace" in method
    assert "For j9," in results
    assert "For j10," not in results
    assert "The figures of a further 3 judges are in the supplement." in results


def test_an_alignment_of_ones_own_is_called_that(paper_of, make_row):
    method, _, _ = paper_of(make_row(alignment="mine"))

    assert "mine: a function of the user’s own" in method


@pytest.mark.parametrize("settings", [{"gold": True}, {"expert": "eve"}])
def test_with_a_reference_there_are_no_others(paper_of, make_row, settings):
    method, _, _ = paper_of(make_row(settings=settings))

    assert "accuracy: whether the label equals the reference’s" in method


def test_failed_calls_have_their_own_winning_rate(paper_of, make_row):
    worst = {"n_failures": 9, "winning_rate": 0.25, "advantage_probability": 0.8, "passed": False}

    _, results, _ = paper_of(make_row(won=2, outcome="failed", worst_case=worst))

    assert "ω = .50 at ε = .15 (2 of 4; ω = .25 with failed calls lost; failed)" in results


def test_margins_without_evidence_are_named_in_a_series(paper_of, make_row):
    reason = {"code": "constant_passes", "sentence": "…", "figures": {"label": "no"}}
    rows = [make_row(won=won, epsilon=e) for won, e in ((0, 0), (1, 0.1), (2, 0.2))]
    rows.append(make_row(won=4, epsilon=0.3, outcome="no_evidence", reasons=[reason]))

    _, results, _ = paper_of(*rows)

    assert (
        "passed at .2; no evidence at ε = .3 because a judge that always answers “no” would pass."
    ) in results


def test_a_weighted_share_is_called_that(paper_of, make_row):
    row = make_row(won=1, of=3, winning_rate=0.6, passed=True, outcome="passed")
    row["settings"] = row["settings"] | {"quality": {"ann-1": 3}}

    method, results, _ = paper_of(row)

    assert "the winning rate ω is the share by weight of annotators" in method
    assert "ω = .60 at ε = .15 (passed)" in results


def test_judges_that_left_items_out_are_named(paper_of, make_row, make_question):
    rows = [make_row("gpt"), make_row("llama", n_items=40)]

    method, _, _ = paper_of(*rows, questions=[make_question(n_items=60)])

    assert "on 60 items labelled by 4 annotators. Not every judge answered all" in method
    assert "of them: llama answered 40." in method


def test_the_reason_for_the_margin_is_said_where_it_is_known():
    humans = {name: {i: i % 2 for i in range(60)} for name in ("ann", "bob", "eve")}
    judge = {i: i % 2 for i in range(60)}
    plan = Plan(epsilon=0.15, epsilon_reason="the annotators are <b>skilled</b>.")

    page = html_report(examine(humans=humans, judges=judge, plan=plan))
    chinese = html_report(examine(humans=humans, judges=judge, plan=plan), language="zh")
    without = html_report(examine(humans=humans, judges=judge, plan=Plan(epsilon=0.15)))

    said = "fixed before the labels were examined: the annotators are &lt;b&gt;skilled&lt;/b&gt;."
    assert said in " ".join(re.sub(r"</?bdi[^>]*>", "", page).split())
    assert "the annotators are &lt;b&gt;skilled" in chinese
    assert "because …" in without
