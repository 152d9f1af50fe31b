"""The verdict sentences, against expectations written by hand."""

import pytest

from voirdire.reporting.page.verdicts import judge_verdict


@pytest.fixture
def verdict_of(make_part):
    def verdict(*rows, **keys):
        return judge_verdict(make_part(*rows, **keys).main.judges[0])

    return verdict


def test_a_pass_at_one_margin(verdict_of, make_row, said):
    verdict = verdict_of(make_row())

    assert verdict.state == "passed"
    assert said(verdict.sentence) == (
        "gpt may stand in for one of the annotators on label: at a margin of ε = .15 it is at "
        "least as close to the others as 3 of the 4 annotators left out (ω = .75, ρ = .91, "
        "interval .89–.93)."
    )
    assert said(verdict.sentence, "zh") == (
        "gpt 可以代替其中一名标注员（问题 label）：在允许差距 ε = 0.15 之下，与其余标注员的接近程度"
        "不逊于 4 名标注员中的 3 名（ω = 0.75，ρ = 0.91，区间 0.89–0.93）。"
    )
    assert verdict.more == ()


def test_all_annotators_won_are_counted_as_all(verdict_of, make_row, said):
    assert "as all 4 annotators left out" in said(verdict_of(make_row(won=4)).sentence)


def test_a_failure_says_that_half_are_needed(verdict_of, make_row, said):
    verdict = verdict_of(make_row(won=1))

    assert verdict.state == "failed"
    assert said(verdict.sentence) == (
        "gpt has not been shown fit to stand in for an annotator on label: at a margin of ε = .15 "
        "it is at least as close to the others as 1 of the 4 annotators left out (ω = .25, "
        "ρ = .91, interval .89–.93); half of them are needed."
    )


def test_a_failure_at_every_margin_names_the_widest(verdict_of, make_row, said):
    rows = [make_row(won=0, epsilon=0.1), make_row(won=1, epsilon=0.2, smallest_epsilon=0.234)]

    verdict = verdict_of(*[row | {"smallest_epsilon": 0.234} for row in rows])

    assert "at any margin examined: even at a margin of ε = .2" in said(verdict.sentence)
    assert said(verdict.more) == "The smallest margin at which it passes: ε = .234."


def test_without_an_interval_the_figure_stands_alone(verdict_of, make_row, said):
    sentence = said(verdict_of(make_row(uncertainty=None)).sentence)

    assert "(ω = .75, ρ = .91)." in sentence


def test_with_several_margins_it_is_said_from_which_on_it_passes(verdict_of, make_row, said):
    rows = [
        make_row(won=won, epsilon=epsilon, smallest_epsilon=0.13)
        for won, epsilon in ((0, 0.05), (1, 0.1), (3, 0.15), (4, 0.2))
    ]

    verdict = verdict_of(*rows)

    assert verdict.state == "depends"
    assert said(verdict.short) == "from ε = .15"
    assert said(verdict.sentence).startswith(
        "gpt may stand in for one of the annotators on label if a margin of ε = .15 or more was "
        "accepted beforehand: at a margin of ε = .15"
    )
    assert said(verdict.more) == (
        "At ε = .05 and .1 it has not been shown fit (ω = .25 at .1; half is needed). "
        "The smallest margin at which it passes: ε = .13."
    )


def test_passing_only_between_two_margins_lists_them(verdict_of, make_row, said):
    reason = {
        "code": "constant_passes",
        "sentence": "a judge that always answers 'no' passes too",
        "figures": {"label": "no"},
    }
    rows = [
        make_row(won=1, epsilon=0.1),
        make_row(won=3, epsilon=0.2),
        make_row(won=4, epsilon=0.3, outcome="no_evidence", reasons=[reason]),
    ]

    verdict = verdict_of(*rows)

    assert said(verdict.short) == "at ε = .2"
    assert said(verdict.more[-1]) == (
        "At ε = .3 these labels are no evidence: a judge that always answers “no” passes too."
    )


def test_no_evidence_says_why_and_what_to_do(verdict_of, make_row, said):
    reasons = [
        {
            "code": "one_sided",
            "sentence": "…",
            "figures": {"one": 55, "other": 5, "needed": 10},
        },
        {"code": "weak_agreement", "sentence": "…", "figures": {"low": 0.12, "needed": 0.2}},
    ]

    verdict = verdict_of(make_row(outcome="no_evidence", reasons=reasons))

    assert verdict.state == "no_evidence"
    assert said(verdict.sentence) == (
        "No evidence about gpt on label: by majority the annotators put 55 items on one side and "
        "5 on the other, and 10 on each are needed; agreement among the annotators may be as "
        "low as α = .12, and its lower bound must exceed .2. These labels could not tell a good "
        "judge from a useless one."
    )
    assert said(verdict.more[0]) == (
        "Annotate more items with the rare label, at least ten on each side."
    )


def test_a_reason_without_a_code_is_said_as_it_stands(verdict_of, make_row, said):
    row = make_row(outcome="no_evidence", outcome_reasons=["the moon was full"])
    del row["reasons"]

    verdict = verdict_of(row)

    assert "No evidence about gpt on label: the moon was full." in said(verdict.sentence)
    assert said(verdict.more) == "See the documentation of voirdire."


def test_failed_calls_that_turn_the_outcome_are_said(verdict_of, make_row, said):
    worst = {"n_failures": 9, "winning_rate": 0.25, "advantage_probability": 0.8, "passed": False}

    verdict = verdict_of(make_row(won=2, outcome="failed", worst_case=worst))

    assert said(verdict.more) == (
        "It left 9 failed calls: without them ω = .50, with them counted as lost ω = .25, and the "
        "outcome goes by the latter."
    )


def test_without_a_margin_the_judge_must_be_closer(verdict_of, make_row, said):
    sentence = said(verdict_of(make_row(epsilon=0.0)).sentence)

    assert "with no margin at all it is closer to the others than 3 of the 4" in sentence


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gold": True}, "at least as close to the gold labels as"),
        ({"expert": "eve"}, "at least as close to the expert eve as"),
    ],
)
def test_a_reference_is_named_instead_of_the_others(verdict_of, make_row, said, settings, words):
    assert words in said(verdict_of(make_row(settings=settings)).sentence)


def test_a_multiplicative_margin_is_said_to_be_a_share(verdict_of, make_row, said):
    sentence = said(verdict_of(make_row(epsilon_mode="multiplicative")).sentence)

    assert "taken as a share of each annotator’s own advantage" in sentence


def test_nobody_tested_is_said(verdict_of, make_row, said):
    row = make_row(of=0, won=0, outcome="failed", advantage_probability=None, uncertainty=None)

    assert "no annotator could be tested" in said(verdict_of(row).sentence)


def test_judges_stand_in_the_order_of_their_advantage(make_part, make_row):
    rows = [
        make_row("low", advantage_probability=0.5),
        make_row("none", advantage_probability=None),
        make_row("high", advantage_probability=0.9),
    ]

    assert [judge.judge for judge in make_part(*rows).main.judges] == ["high", "low", "none"]


def test_the_first_alignment_is_the_main_one(make_part, make_row):
    part = make_part(make_row(alignment="hamming"), make_row(alignment="accuracy"))

    assert part.main.alignment == "hamming"
    assert [family.alignment for family in part.others] == ["accuracy"]
