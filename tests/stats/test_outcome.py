"""When passing means something: the rules behind passed, failed and no evidence."""

import math

import numpy as np
import pytest

from voirdire import (
    DegenerateDataWarning,
    Failure,
    alt_test,
    krippendorff_alpha,
    outperforms_humans,
    stats,
)


def panel(seed=0, *, n_items=120, prevalence=0.5, noise=0.1, names="abc"):
    """Annotators of a yes/no question, and what is true."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_items) < prevalence
    humans = {
        name: dict(enumerate((truth ^ (rng.random(n_items) < noise)).tolist())) for name in names
    }
    return dict(enumerate(truth.tolist())), humans


def codes_of(result):
    return {caution.code for caution in result.cautions}


def test_a_good_judge_on_sound_data_passes():
    judge, humans = panel()

    result = alt_test(judge, humans)

    assert result.passed
    assert result.outcome == "passed"
    assert result.outcome_reasons == ()


def test_a_poor_judge_on_sound_data_fails():
    judge, humans = panel()
    wrong = {item: not label for item, label in judge.items()}

    result = alt_test(wrong, humans)

    assert not result.passed
    assert result.outcome == "failed"
    assert result.winning_rate == 0


def test_always_no_at_a_prevalence_of_three_percent_is_no_evidence():
    rng = np.random.default_rng(1)
    # 30 of 1000 items are true, and annotators find most of them: agreement is good.
    truth = np.arange(1000) < 30
    humans = {
        name: dict(enumerate(np.where(rng.random(1000) < 0.02, ~truth, truth).tolist()))
        for name in "abc"
    }
    judge = dict.fromkeys(range(1000), False)

    result = alt_test(judge, humans)

    assert result.passed is True
    assert result.outcome == "no_evidence"
    assert result.outcome_reasons == ("a judge that always answers 'false' passes too",)
    constant = next(c for c in result.controls if c.control == "constant")
    assert constant.passed
    assert constant.label == "false"


def test_imbalance_weights_stop_a_constant_judge():
    rng = np.random.default_rng(1)
    truth = np.arange(1000) < 30
    humans = {
        name: dict(enumerate(np.where(rng.random(1000) < 0.005, ~truth, truth).tolist()))
        for name in "abc"
    }
    judge = dict.fromkeys(range(1000), False)

    result = alt_test(judge, humans, weights="imbalance")

    assert not result.passed
    assert result.outcome == "failed"


@pytest.mark.parametrize(("n_true", "reasons"), [(9, 1), (10, 0)])
def test_ten_items_are_needed_on_either_side(n_true, reasons):
    truth = {i: i < n_true for i in range(60)}
    humans = {name: dict(truth) for name in "abc"}

    result = alt_test(truth, humans, epsilon=0.05)
    swapped = alt_test(
        {i: not x for i, x in truth.items()},
        {name: {i: not x for i, x in a.items()} for name, a in humans.items()},
        epsilon=0.05,
    )

    for found in (result, swapped):
        about_sides = [reason for reason in found.outcome_reasons if "on each are needed" in reason]
        assert len(about_sides) == reasons
        assert found.outcome == ("no_evidence" if reasons else "passed")


@pytest.mark.parametrize(("min_annotators", "sides"), [(2, (7, 14 + 30)), (3, (7, 30))])
def test_sides_are_counted_by_majority_and_ties_are_on_neither(min_annotators, sides):
    kinds = [[0, 0, 1], [1, 1, -1], [0, 1, -1], [1, -1, -1], [-1, -1, -1], [1, 1, 1]]
    humans = np.repeat(kinds, [7, 14, 9, 5, 3, 30], axis=0)

    [result] = stats.alt_test(
        np.ones(len(humans), dtype=int), humans, min_annotators=min_annotators, n_codes=2
    )

    [reason] = [reason for reason in result.reasons if reason.code == "one_sided"]
    assert (reason.figures["one"], reason.figures["other"]) == sides


def test_questions_of_more_labels_have_no_sides():
    truth = {i: "ab"[i < 5] for i in range(60)}
    humans = {name: dict(truth) for name in "xyz"}

    two = alt_test(truth, humans, epsilon=0.05)
    three = alt_test(truth, humans, epsilon=0.05, labels=["a", "b", "c"])

    assert two.outcome == "no_evidence"
    assert three.outcome == "passed"


def test_a_stray_word_of_the_judge_is_no_third_side():
    truth = {i: "yes" if i < 5 else "no" for i in range(60)}
    humans = {name: dict(truth) for name in "xyz"}

    plain = alt_test(truth, humans, epsilon=0.05)
    stray = alt_test(truth | {59: "maybe"}, humans, epsilon=0.05)

    assert plain.outcome == "no_evidence"
    assert stray.outcome == "no_evidence"


def test_one_judges_words_do_not_change_anothers_outcome():
    truth = {i: "yes" if i < 5 else "no" for i in range(60)}
    humans = {name: dict(truth) for name in "xyz"}
    other = truth | {59: "maybe"}

    alone = alt_test(judges={"mine": truth}, humans=humans, epsilon=0.05)["mine"]
    together = alt_test(judges={"mine": truth, "other": other}, humans=humans, epsilon=0.05)["mine"]

    assert together.outcome == alone.outcome
    assert together.outcome_reasons == alone.outcome_reasons


@pytest.mark.parametrize("noise", [0.1, 0.3, 0.35, 0.45])
def test_annotators_who_agree_by_chance_are_no_evidence(noise):
    judge, humans = panel(3, n_items=100, noise=noise)

    result = alt_test(judge, humans)

    low = result.human_agreement.low
    codes = np.array([[int(humans[name][i]) for name in "abc"] for i in range(100)])
    assert low == pytest.approx(krippendorff_alpha(codes).low)
    assert (result.outcome == "no_evidence") == (low <= 0.2)
    assert any("α" in reason for reason in result.outcome_reasons) == (low <= 0.2)


def test_undefined_agreement_is_no_evidence():
    humans = {name: dict.fromkeys(range(40), "yes") for name in "abc"}

    result = alt_test(humans["a"], humans, controls=False)

    assert result.passed
    assert result.outcome == "no_evidence"
    assert any("all labels are equal" in reason for reason in result.outcome_reasons)


def test_nobody_tested_is_no_evidence_and_a_warning():
    judge, humans = panel(n_items=20)

    with pytest.warns(DegenerateDataWarning, match="no annotator has 30 items"):
        result = alt_test(judge, humans)

    assert math.isnan(result.winning_rate)
    assert math.isnan(result.advantage_probability)
    assert result.passed is False
    assert result.outcome == "no_evidence"
    assert result.annotators == ()
    assert set(result.untested) == {"a", "b", "c"}
    assert "no annotator has 30 items to compare" in result.outcome_reasons


def test_the_worst_case_alone_can_fail():
    judge, humans = panel()
    sparse = {item: label if item < 60 else None for item, label in judge.items()}

    result = alt_test(sparse, humans)

    # The main figures rest on 60 items; with the other 60 lost the judge cannot win.
    assert result.passed
    assert not result.worst_case.passed
    assert result.outcome == "failed"
    assert result.worst_case.n_failures == 60
    assert "failures" in codes_of(result)


def test_few_failures_do_not_turn_a_pass():
    judge, humans = panel()

    result = alt_test(judge | {0: None, 1: Failure(reason="timeout")}, humans)

    assert result.worst_case.n_failures == 2
    assert result.outcome == "passed"


def test_with_gold_labels_weak_annotators_are_no_obstacle():
    gold, humans = panel(n_items=200, noise=0.4)

    result = outperforms_humans(gold, humans, gold=gold)

    assert result.human_agreement.low <= 0.2
    assert result.outcome == "passed"


def test_one_cluster_has_no_p_value_and_so_no_evidence():
    gold, humans = panel(n_items=200, noise=0.4)
    one = dict.fromkeys(gold, "all of one source")

    result = alt_test(gold, humans, gold=gold, clusters=one)

    assert all(math.isnan(row.p_value) for row in result.annotators)
    assert result.outcome == "no_evidence"
    assert result.outcome_reasons == ("no p-value is defined: a standard error needs two clusters",)


def test_reasons_come_together():
    # Five of 60 items are true, and all are of one cluster: neither test nor α has an error.
    rng = np.random.default_rng(0)
    truth = np.arange(60) < 5
    humans = {name: dict(enumerate((truth ^ (rng.random(60) < 0.08)).tolist())) for name in "abc"}

    result = alt_test(dict.fromkeys(range(60), False), humans, clusters=dict.fromkeys(range(60), 1))

    codes = [reason.code for reason in result.reasons]
    assert result.outcome == "no_evidence"
    assert codes == ["no_p_values", "one_sided", "undefined_agreement"]
    assert result.outcome_reasons == tuple(reason.sentence for reason in result.reasons)


def test_few_annotators_are_a_caution():
    judge, humans = panel(names="ab")
    _, enough = panel(names="abc")

    assert "few_annotators" in codes_of(alt_test(judge, humans))
    assert "few_annotators" not in codes_of(alt_test(judge, enough))


def test_many_ties_are_a_caution_of_the_t_test_alone():
    judge, humans = panel(noise=0.05)

    t, exact = (alt_test(judge, humans, method=method) for method in ("t", "exact"))

    assert max(row.tie_share for row in t.annotators) > 0.6
    assert "many_ties" in codes_of(t)
    assert "many_ties" not in codes_of(exact)


def test_untested_annotators_are_named():
    judge, humans = panel()
    humans["rare"] = dict.fromkeys(range(10), True)

    result = alt_test(judge, humans)

    assert result.untested == ("rare",)
    assert any("'rare'" in sentence for sentence in result.warnings)


def test_a_result_that_hangs_on_the_correction_says_so():
    apart = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        humans = {f"h{k}": dict(enumerate(rng.integers(0, 2, 60).tolist())) for k in range(6)}
        judge = dict(enumerate(rng.integers(0, 2, 60).tolist()))
        result = alt_test(judge, humans, controls=False)

        apart.append((result.winning_rate >= 0.5) != (result.winning_rate_bh >= 0.5))
        assert ("correction" in codes_of(result)) == apart[-1]
        assert result.winning_rate <= result.winning_rate_bh
    assert 0 < sum(apart) < 60


def test_weak_annotators_are_a_caution():
    judge, humans = panel(noise=0.3)

    result = alt_test(judge, humans)

    assert result.human_agreement.alpha < 0.4
    assert "weak_annotators" in codes_of(result)


def test_long_lists_of_names_are_cut():
    judge, humans = panel()
    rare = {str(k): dict.fromkeys(range(10), True) for k in range(9)}

    few = alt_test(judge, humans | {name: rare[name] for name in "01234"})
    many = alt_test(judge, humans | rare)

    assert any(s.endswith("each: '0', '1', '2', '3', '4'") for s in few.warnings)
    assert any("each: '0', '1', '2', '3', '4' and 4 more" in s for s in many.warnings)
