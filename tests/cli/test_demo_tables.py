"""What the demonstration prints about the local judge."""

import math
import re
from collections import Counter
from dataclasses import replace

import pytest

import voirdire
from voirdire.cli.demo_steps import JudgedResponses
from voirdire.cli.demo_tables import print_judged_responses
from voirdire.judging import ClassSummary, JudgingSummary, QuestionSummary
from voirdire.studies import Examination

CLASSES = ("disallowed", "illogical", "unacceptable", "less_good", "ideal")


def examined(question, truth, answers):
    humans = {name: dict(enumerate(truth)) for name in ("ann", "bob", "eve")}
    found = voirdire.alt_test(dict(enumerate(answers)), humans, kind="boolean", weights="imbalance")
    return replace(found, question=question)


@pytest.fixture
def judged():
    half, rare = [True, False] * 30, [True] * 5 + [False] * 55
    results = {
        "apology": (half, half),
        "judgement": (half, [False] * 60),
        "encourage_professional_help": (rare, rare),
    }
    questions = [
        QuestionSummary(
            question=name,
            share_true=sum(answers) / 60,
            mean_probability=0.5,
            n_failed=0,
            trusted=name != "judgement",
        )
        for name, (_, answers) in results.items()
    ]
    classes = [
        ClassSummary(
            behavior=behavior,
            completion_class=name,
            share=math.nan if behavior == "comply" else 0.2 * (name == "ideal"),
            mean_probability=0.1,
            n_items=0 if behavior == "comply" else 60,
        )
        for behavior in ("hard_refuse", "comply")
        for name in CLASSES
    ]
    summary = JudgingSummary(
        output="v.parquet",
        layout="long",
        judge="local",
        source="classifier",
        rubric="safety",
        rubric_version="1.0",
        rubric_hash="sha256:0",
        fingerprint="sha256:0",
        threshold=0.5,
        judged="final_answer",
        n_items=60,
        questions=tuple(questions),
        classes=tuple(classes),
    )
    found = tuple(examined(name, *labels) for name, labels in results.items())
    return JudgedResponses(
        summary=summary,
        examination=Examination(results=found),
        n_true={name: sum(truth) for name, (truth, _) in results.items()},
    )


def printed(judged, capsys, monkeypatch, width):
    """Print to a terminal of some width; give the lines with single spaces."""
    monkeypatch.setenv("COLUMNS", str(width))
    print_judged_responses(judged)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    return [" ".join(line.split()) for line in lines]


def test_a_wide_table_has_the_reason_and_the_rate_of_the_annotators(judged, capsys, monkeypatch):
    lines = printed(judged, capsys, monkeypatch, 100)

    assert "apology 30 30 1.00 1.00 1.00 ✓ passed" in lines
    assert "judgement * 30 0 0.00 0.50 1.00 ✗ failed" in lines
    assert "encourage_professional_help 5 5 1.00 1.00 1.00 ✓ passed" in lines


def test_a_narrow_table_leaves_them_out_and_fits(judged, capsys, monkeypatch):
    lines = printed(judged, capsys, monkeypatch, 80)

    assert "apology 30 30 1.00 1.00 ✓ passed" in lines
    assert "encourage_professional_help 5 5 1.00 1.00 ✓ passed" in lines
    assert "ρ human" not in " ".join(lines)


@pytest.mark.parametrize("width", [40, 60, 79])
def test_no_figure_is_cut_in_a_terminal_that_is_narrower(judged, capsys, monkeypatch, width):
    narrow = " ".join(printed(judged, capsys, monkeypatch, width))

    usual = " ".join(printed(judged, capsys, monkeypatch, 80))
    figure = re.compile(r"-?\d[\d.]*%?")
    assert "…" not in narrow
    assert Counter(figure.findall(narrow)) == Counter(figure.findall(usual))


def test_classes_go_from_the_best_to_the_worst_and_unknown_ones_are_dashes(
    judged, capsys, monkeypatch
):
    lines = printed(judged, capsys, monkeypatch, 100)

    assert "behavior " + " ".join(reversed(CLASSES)) in lines
    assert "hard_refuse 20% (0.10)" + " 0% (0.10)" * 4 in lines
    assert "comply" + " –" * 5 in lines


def test_what_the_card_warns_of_is_named_below(judged, capsys, monkeypatch):
    lines = printed(judged, capsys, monkeypatch, 100)

    assert lines[-1] == "* By its own card the judge should not be trusted on: judgement."


def test_a_judge_that_may_be_trusted_has_no_star(judged, capsys, monkeypatch):
    questions = tuple(replace(row, trusted=True) for row in judged.summary.questions)
    judged = replace(judged, summary=replace(judged.summary, questions=questions))

    lines = printed(judged, capsys, monkeypatch, 100)

    assert not any("*" in line for line in lines)
