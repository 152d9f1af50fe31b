"""The verdict sentences, against expectations written by hand."""

import pytest


def test_a_pass_at_one_margin(verdict_of, make_row):
    verdict = verdict_of(make_row())

    assert verdict.state == "passed"
    assert verdict.sentence == (
        "gpt may replace an annotator on label: within a margin of ε = .15 it is shown to be as "
        "close to the others as 3 of the 4 annotators left out (ω = .75, ρ = .91, 95% interval "
        ".89–.93)."
    )
    assert verdict_of(make_row(), language="zh").sentence == (
        "gpt 可以代替标注者（问题 label）：允许差距 ε = 0.15 时，可以证明它与其余标注者"
        "的接近程度不逊于 4 名标注者中的 3 名（ω = 0.75，ρ = 0.91，95% 置信区间 0.89–0.93）。"
    )
    assert verdict.more == ""


def test_a_failure_says_that_half_are_needed(verdict_of, make_row):
    verdict = verdict_of(make_row(won=1))

    assert verdict.state == "failed"
    assert verdict.sentence == (
        "gpt has not been shown fit to replace an annotator on label, at ε = .15: within a margin "
        "of ε = .15 it is shown to be as close to the others as 1 of the 4 annotators left out "
        "(ω = .25, ρ = .91, 95% interval .89–.93)."
    )


def exact(code, *, shown, rate, of=4):
    """Make the reason of an outcome: the exact test shows this many annotators."""
    figures = {"epsilon": 0.15, "winning_rate": rate, "n_shown": shown, "n_annotators": of}
    figures |= {"n_within": of, "constant": "no", "constant_passes": False, "p_value": 0.01}
    figures |= {"advantage_probability": 0.91, "constant_advantage": 0.73}
    return {"code": code, "sentence": "Why.", "figures": figures}


def test_a_judge_that_passes_by_the_t_test_alone_is_told_which_test_decides(verdict_of, make_row):
    row = make_row(won=4, outcome="failed", because=exact("not_shown", shown=1, rate=0.25))

    verdict = verdict_of(row)

    assert verdict.sentence == (
        "gpt has not been shown fit to replace an annotator on label, at ε = .15: at ε = .15, "
        "ω = 1.00 by the "
        "t-test but .25 by the exact test; the outcome goes by the exact test, and half is needed."
    )
    assert "within ε = .15 for 1 of 4 annotators by the exact test, and half are" in verdict.more
    assert "按 t 检验 ω = 1.00，按精确检验则为 0.25" in verdict_of(row, language="zh").sentence


def test_where_both_tests_show_other_annotators_the_reader_is_told(verdict_of, make_row):
    apart = make_row(won=4, because=exact("shown", shown=3, rate=0.75))
    alike = make_row(won=3, because=exact("shown", shown=3, rate=0.75))

    said = "Here ω is by the t-test, and the outcome goes by the exact test."

    assert said in verdict_of(apart).more
    assert said not in verdict_of(alike).more
    assert "3 of 4 annotators by the exact test, and closer" in verdict_of(alike).more


def test_a_failure_at_every_margin_is_said_at_the_widest(verdict_of, make_row):
    verdict = verdict_of(make_row(won=0, epsilon=0.1), make_row(won=1, epsilon=0.2))

    assert "on label, at ε = .1 and .2: within a margin of ε = .2 it is" in verdict.sentence


def test_without_an_interval_the_figure_stands_alone(verdict_of, make_row):
    sentence = verdict_of(make_row(uncertainty=None)).sentence

    assert "(ω = .75, ρ = .91)." in sentence


def test_with_several_margins_it_is_said_from_which_on_it_passes(verdict_of, make_row):
    rows = [
        make_row(won=won, epsilon=epsilon, smallest_epsilon=0.13)
        for won, epsilon in ((0, 0.05), (1, 0.1), (3, 0.15), (4, 0.2))
    ]

    verdict = verdict_of(*rows)

    assert verdict.state == "depends"
    assert verdict.short == "from ε = .15"
    assert verdict.sentence.startswith(
        "gpt may replace an annotator on label if the margin accepted beforehand was ε = .15 or "
        ".2: within a margin of ε = .15"
    )


def test_passing_only_between_two_margins_lists_them(verdict_of, make_row):
    reason = {
        "code": "constant_passes",
        "sentence": "a judge that always answers 'no' passes too",
        "figures": {"label": "no"},
    }
    rows = [
        make_row(won=1, epsilon=0.1),
        make_row(won=3, epsilon=0.2),
        make_row(won=4, epsilon=0.3, outcome="no_evidence", because=reason),
    ]

    verdict = verdict_of(*rows)

    assert verdict.short == "at ε = .2"
    assert verdict.more.endswith(
        "At ε = .3 these labels are no evidence: a judge that always answers “no” would pass."
    )


ONE_SIDED = {"code": "one_sided", "sentence": "…",
             "figures": {"one": 55, "other": 5, "needed": 10}}  # fmt: skip


def test_no_evidence_says_why_and_what_to_do(verdict_of, make_row):
    verdict = verdict_of(make_row(outcome="no_evidence", because=ONE_SIDED))

    assert verdict.state == "no_evidence"
    assert verdict.sentence == (
        "No evidence about gpt on label: by majority the annotators put 55 items on one side and "
        "5 on the other, and 10 on each are needed. These labels could not tell a good judge from "
        "a useless one."
    )
    assert verdict.todo.startswith(
        "Annotate more items with the rare label, at least ten on each side."
    )


def test_failed_calls_that_turn_the_outcome_are_said(verdict_of, make_row):
    worst = {"n_failures": 9, "winning_rate": 0.25, "advantage_probability": 0.8, "passed": False}

    verdict = verdict_of(make_row(won=2, outcome="failed", worst_case=worst))

    assert verdict.sentence == (
        "gpt has not been shown fit to replace an annotator on label, at ε = .15: at ε = .15, with "
        "its 9 failed calls left out ω = .50, counted as lost ω = .25; both must reach half."
    )
    assert verdict.more == ""


def test_without_a_margin_the_judge_must_be_closer(verdict_of, make_row):
    sentence = verdict_of(make_row(epsilon=0.0)).sentence

    assert (
        "with no margin at all it is shown to be closer to the others than 3 of the 4" in sentence
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"gold": True}, "shown to be as close to the gold labels as 3 of the 4 annotators ("),
        ({"expert": "eve"}, "shown to be as close to the expert eve as 3 of the 4 annotators ("),
    ],
)
def test_a_reference_is_named_instead_of_the_others(verdict_of, make_row, settings, words):
    assert words in verdict_of(make_row(settings=settings)).sentence


def test_a_multiplicative_margin_is_said_to_be_a_share(verdict_of, make_row):
    sentence = verdict_of(make_row(epsilon_mode="multiplicative")).sentence

    assert "taken as a share of each annotator’s own advantage" in sentence


def test_nobody_tested_is_said(verdict_of, make_row):
    row = make_row(of=0, won=0, outcome="failed", advantage_probability=None, uncertainty=None)

    assert "no annotator could be tested" in verdict_of(row).sentence


def test_judges_stand_in_the_order_of_their_advantage(verdicts_of, make_row):
    rows = [
        make_row("low", advantage_probability=0.5),
        make_row("none", advantage_probability=None),
        make_row("high", advantage_probability=0.9),
    ]

    names = [verdict.sentence.split()[0] for verdict in verdicts_of(*rows)]
    assert names == ["high", "low", "none"]


def test_the_first_alignment_is_the_main_one(verdict_of, make_row):
    rows = [make_row(alignment="hamming", won=4), make_row(alignment="accuracy", won=1)]

    assert verdict_of(*rows).state == "passed"
    assert verdict_of(*rows[::-1]).state == "failed"


def lost(**figures):
    base = {"n_failures": 14, "winning_rate": 0.25, "advantage_probability": 0.8, "passed": False}
    return base | figures


def test_where_failures_decide_the_widest_margin_says_both_rates(verdict_of, make_row):
    rows = [
        make_row(won=4, epsilon=epsilon, outcome="failed", worst_case=lost())
        for epsilon in (0.1, 0.2)
    ]

    verdict = verdict_of(*rows)

    assert verdict.sentence.endswith(
        "at ε = .1 and .2: at ε = .2, with its 14 failed calls left out ω = 1.00, "
        "counted as lost ω = .25; both must reach half."
    )


def test_failures_that_decide_at_smaller_margins_are_said_there(verdict_of, make_row):
    rows = [
        make_row(won=4, epsilon=0.1, outcome="failed", worst_case=lost()),
        make_row(won=4, epsilon=0.2, worst_case=lost(winning_rate=0.75, passed=True)),
    ]

    assert verdict_of(*rows).more == "With its 14 failed calls counted as lost, ω = .75."


def test_failures_of_a_judge_that_fails_anyway_are_not_even(verdict_of, make_row):
    row = make_row(won=1, worst_case=lost(winning_rate=0.0))

    assert verdict_of(row).more == "With its 14 failed calls counted as lost, ω = .00."
    assert verdict_of(row, language="zh").more == "把它的 14 次失败的调用全部算作输时 ω = 0.00。"


def test_an_outcome_that_hangs_on_the_items_is_called_close(verdict_of, make_row):
    row = make_row(won=2)

    verdict = verdict_of(row | {"uncertainty": row["uncertainty"] | {"stability": 0.43}})

    assert verdict.short == "may replace, close"
    assert verdict.more == (
        "Close: in resamples of these items, ω reaches one half 43% of the time at ε = .15."
    )


def test_of_two_close_margins_the_passing_one_is_said(verdict_of, make_row):
    rows = [
        row | {"uncertainty": row["uncertainty"] | {"stability": stability}}
        for row, stability in ((make_row(won=1, epsilon=0.1), 0.3), (make_row(epsilon=0.2), 0.8))
    ]

    verdict = verdict_of(*rows)

    assert verdict.more.startswith(
        "Close: in resamples of these items, ω reaches one half 80% of the time at ε = .2."
    )
    # with several margins, where a judge begins to pass is no news
    assert "close" not in verdict.short


@pytest.mark.parametrize(("stability", "is_close"), [(0.09, False), (0.1, True), (0.91, False)])
def test_close_starts_at_a_tenth(verdict_of, make_row, stability, is_close):
    row = make_row()

    verdict = verdict_of(row | {"uncertainty": row["uncertainty"] | {"stability": stability}})

    assert ("close" in verdict.short) is is_close


def test_what_the_judge_left_out_is_not_the_labels_fault(verdict_of, make_row, make_question):
    reason = {"code": "untestable", "sentence": "…", "figures": {"min_items": 30}}
    row = make_row(of=0, won=0, n_items=20, outcome="no_evidence", because=reason)

    verdict = verdict_of(row, questions=[make_question(n_items=60)])

    assert verdict.sentence == ("No evidence about gpt on label: it answered only 20 of 60 items.")
    assert verdict.todo.startswith("Judge the remaining items")


def test_a_judge_whose_calls_all_failed_answered_nothing(verdict_of, make_row, make_question):
    reason = {"code": "untestable", "sentence": "…", "figures": {"min_items": 30}}
    row = make_row(of=0, won=0, n_items=0, outcome="no_evidence", because=reason)
    row["worst_case"] = lost(n_failures=60, winning_rate=None)

    verdict = verdict_of(row, questions=[make_question(n_items=60)])

    assert "it answered none of 60 items." in verdict.sentence
    assert verdict.todo.startswith("Find out why these calls failed.")


def test_weighted_annotators_are_not_counted(verdict_of, make_row):
    row = make_row(won=1, of=3, winning_rate=0.6, passed=True, outcome="passed")

    sentence = verdict_of(row | {"settings": {"quality": {"ann-1": 3}}}).sentence

    assert "as annotators who carry .60 of the weight (ω = .60" in sentence


@pytest.mark.ci
def test_alternatives_are_joined_with_or(verdict_of, make_row):
    rows = [make_row(won=won, epsilon=e) for won, e in ((3, 0.1), (1, 0.2), (3, 0.3), (1, 0.4))]

    verdict = verdict_of(*rows)

    assert verdict.short == "at ε = .1 or .3"
    assert "if the margin accepted beforehand was ε = .1 or .3" in verdict.sentence
    assert "0.1 或 0.3" in verdict_of(*rows, language="zh").sentence


def test_a_verdict_says_by_which_of_several_alignments_it_is(page_text, make_content, make_row):
    first, second = make_row(alignment="jaccard"), make_row(alignment="hamming")

    several, alone = page_text(make_content(first, second)), page_text(make_content(first))

    assert "This verdict uses jaccard, the first of the alignments" in several
    assert "the first of the alignments" not in alone
