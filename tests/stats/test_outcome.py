"""When passing means something: the rules behind passed, failed and no evidence."""

import math

import numpy as np
import pytest

from alt_test_oracle import benjamini, outcome_oracle
from alt_tests import alt_tests
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
    assert result.because.code == "shown"
    assert result.because.sentence == (
        "Shown within ε = 0.2 for 3 of 3 annotators by the exact test, and closer to them than "
        f"always 'false' (ρ {result.advantage_probability:.2f} against 0.64, p < 0.001)."
    )


def test_the_constant_has_the_same_figure_in_the_sentence_as_in_the_controls():
    answers = ["no"] * 23 + ["yes"] * 11
    humans = {
        "a": dict(enumerate(answers + ["yes"] * 3 + ["no"] * 3)),
        "b": dict(enumerate(answers + ["no"] * 3 + ["yes"] * 3)),
    }
    judge = dict(enumerate([*answers, "no", "no", "yes", "no", "yes", "yes"]))

    result = alt_test(judge, humans)

    constant = next(row for row in result.controls if row.control == "constant")
    assert f"against {constant.advantage_probability:.2f}, p" in result.because.sentence


def test_a_poor_judge_on_sound_data_fails():
    judge, humans = panel()
    wrong = {item: not label for item, label in judge.items()}

    result = alt_test(wrong, humans)

    assert (result.outcome, result.finding) == ("failed", "worse")
    assert (result.winning_rate, result.n_within, result.n_shown) == (0, 0, 0)
    assert result.because.sentence == (
        "Shown within ε = 0.2 for 0 of 3 annotators by the exact test; half are needed. Its "
        "estimate misses ε for 3 of 3 annotators."
    )


@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize(
    "seeds", [range(0, 120, 12), pytest.param(range(120), marks=pytest.mark.ci)], ids=["ten", "all"]
)
def test_the_outcome_is_that_of_the_rule_in_plain_loops(seeds, mode):
    codes = set()
    for seed in seeds:
        rng = np.random.default_rng(seed)
        n_items, n_annotators = int(rng.integers(6, 17)), int(rng.integers(2, 5))
        truth = rng.choice(3, n_items, p=[[0.8, 0.15, 0.05], [0.4, 0.3, 0.3]][seed % 2])
        noise, its = rng.choice([0.0, 0.1, 0.3]), rng.choice([0.0, 0.2, 0.5, 1.0])

        def rated(share, truth=truth, rng=rng):
            guesses = rng.integers(0, 3, len(truth))
            return dict(
                enumerate(np.where(rng.random(len(truth)) < share, guesses, truth).tolist())
            )

        humans = {f"h{k}": rated(noise) for k in range(n_annotators)}
        judge = rated(its)
        if seed % 5 == 0:
            judge = dict.fromkeys(judge, 0)
        if seed % 7 == 0:
            judge[0] = None
        if judge in humans.values():  # a judge is no annotator
            judge[1] = (judge[1] + 1) % 3
        epsilon = float(rng.choice([0.1, 0.3, 0.5, 0.6]))
        options = {"epsilon": epsilon, "epsilon_mode": mode, "min_items": 5}

        result = alt_test(judge, humans, kind="choice", n_resamples=0, **options)

        expected = outcome_oracle(judge, humans, **options)
        assert (result.outcome, result.because.code) == expected, seed
        codes.add(result.because.code)
    assert len(seeds) == 10 or codes >= {
        "shown",
        "missed",
        "not_shown",
        "like_constant",
        "unpassable",
    }


@pytest.mark.parametrize(("n_won", "outcome"), [(3, "no_evidence"), (5, "passed")])
def test_three_lucky_items_are_no_evidence_and_five_are(n_won, outcome):
    truth = dict(enumerate([True] * 5 + [False] * 115))
    humans = {name: dict(truth) for name in "ab"} | {"c": truth | {119: True}}
    judge = {item: item < n_won for item in truth}

    result = alt_test(judge, humans, kind="boolean")

    # each item won alike: p = 2^-n, .125 and .031; the t-test alone says .04 for three
    assert result.outcome == outcome
    assert result.because.figures["p_value"] == pytest.approx(0.5**n_won)


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

    assert result.passed is False
    assert (result.outcome, result.winning_rate) == ("no_evidence", 1)
    assert result.because.code == "like_constant"
    assert result.because.figures["p_value"] == 1.0
    rho = f"{result.advantage_probability:.2f}"
    assert result.because.sentence == (
        "ω = 1.00 by the exact test, but not shown closer to the annotators than always 'false' "
        f"(ρ {rho} against {rho}, p = 1)."
    )
    constant = next(c for c in result.controls if c.control == "constant")
    assert constant.winning_rate == 1
    assert constant.label == "false"


def test_a_judge_that_finds_the_rare_label_passes_where_always_no_does_not():
    rng = np.random.default_rng(1)
    truth = np.arange(1000) < 100
    humans = {
        name: dict(enumerate(np.where(rng.random(1000) < 0.02, ~truth, truth).tolist()))
        for name in "abc"
    }
    finds = dict(enumerate(truth.tolist()))

    good, constant = (alt_test(judge, humans) for judge in (finds, dict.fromkeys(finds, False)))

    assert (good.outcome, constant.outcome) == ("passed", "no_evidence")


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


def test_thirty_ties_at_a_narrow_margin_could_pass_nobody():
    labels = {i: "ab"[i % 2] for i in range(30)}

    result = alt_test(labels, dict.fromkeys("xyz", labels), epsilon=0.05)

    # The t-test has no variance and says p = 0; of 30 ties the exact p is .95 ** 30 = .21.
    assert result.t_test.passed
    assert result.winning_rate == 0
    assert [row.exact_p_value for row in result.annotators] == pytest.approx([0.95**30] * 3)
    assert result.outcome == "no_evidence"
    # at least ln(.05 / (1 + 1/2 + 1/3)) / ln(.95) = 70.2
    needed = result.because.figures["n_needed"]
    assert 71 <= needed <= 76
    assert result.because.sentence == (
        "With 30 items and ε = 0.05 even the majority vote is not shown within ε; a judge that "
        f"always ties needs {needed}."
    )
    for n_items, outcome in ((needed - 1, "no_evidence"), (needed, "passed")):
        ties = {i: "ab"[i % 2] for i in range(n_items)}
        assert alt_test(ties, dict.fromkeys("xyz", ties), epsilon=0.05).outcome == outcome


def test_with_gold_labels_it_is_they_that_could_not_pass():
    gold = {i: "ab"[i % 2] for i in range(30)}

    result = alt_test(gold, dict.fromkeys("xyz", gold), gold=gold, epsilon=0.05)

    assert result.because.code == "unpassable"
    assert "even a judge that gives the reference labels is not shown" in result.because.sentence


def test_an_estimate_within_the_margin_that_is_not_shown_fails_where_others_could_pass():
    judge, humans = panel(5, n_items=60, noise=0.15)
    weaker = {item: label ^ (item % 3 == 0) for item, label in judge.items()}

    result = alt_test(weaker, humans)

    assert result.outcome == "failed"
    assert result.because.code == "not_shown"
    assert result.because.sentence.endswith(": more items may change this.")


def test_clusters_count_as_units_of_the_exact_test():
    # 60 items in 15 clusters of four that are alike: 15 ties, of which .8 ** 15 = .035.
    labels = {i: "ab"[i // 4 % 2] for i in range(60)}
    clusters = {i: i // 4 for i in range(60)}

    result = alt_test(labels, dict.fromkeys("xyz", labels), clusters=clusters)

    assert [row.exact_p_value for row in result.annotators] == pytest.approx([0.8**15] * 3)
    # the largest of three equal p-values is compared with .05 / (1 + 1/2 + 1/3) = .027
    assert result.outcome == "no_evidence"
    assert result.because.code == "unpassable"


def test_unequal_clusters_count_as_fewer_units():
    # sizes 1, 1, 2, 4, 8, 16, 28: (sum)^2 / sum of squares = 3600 / 1126 = 3.2
    sizes = [1, 1, 2, 4, 8, 16, 28]
    clusters = dict(enumerate(np.repeat(np.arange(7), sizes).tolist()))
    labels = {i: "ab"[i % 2] for i in range(60)}

    result = alt_test(labels, dict.fromkeys("xyz", labels), clusters=clusters)

    assert [row.exact_p_value for row in result.annotators] == pytest.approx([0.8**3] * 3)


def test_weighted_items_count_as_units_with_wins_rounded_down():
    codes = np.repeat([[0, 0, 0], [1, 1, 1], [1, 1, 0]], [30, 9, 1], axis=0)
    judge = np.repeat([0, 1, 1], [30, 9, 1])

    [result] = stats.alt_test(judge, codes, weights="imbalance")

    [plain] = stats.alt_test(judge, codes)
    first = result.annotators[0]
    # items of the rare majority weigh more than three times as much: 40 items are some 29 units
    assert first.exact_p_value > plain.annotators[0].exact_p_value
    assert first.exact_p_value >= first.p_value


@pytest.mark.parametrize(("n_true", "few"), [(9, True), (10, False)])
def test_fewer_than_ten_items_on_a_side_are_a_caution(n_true, few):
    truth = {i: i < n_true for i in range(80)}
    humans = {name: dict(truth) for name in "abc"}

    result = alt_test(truth, humans, epsilon=0.1)
    swapped = alt_test(
        {i: not x for i, x in truth.items()},
        {name: {i: not x for i, x in a.items()} for name, a in humans.items()},
        epsilon=0.1,
    )

    for found in (result, swapped):
        assert ("one_sided" in codes_of(found)) == few
        assert found.outcome == "passed"


@pytest.mark.parametrize(("min_annotators", "sides"), [(2, (7, 14 + 30)), (3, (7, 30))])
def test_sides_are_counted_by_majority_and_ties_are_on_neither(min_annotators, sides):
    kinds = [[0, 0, 1], [1, 1, -1], [0, 1, -1], [1, -1, -1], [-1, -1, -1], [1, 1, 1]]
    humans = np.repeat(kinds, [7, 14, 9, 5, 3, 30], axis=0)

    [result] = stats.alt_test(
        np.ones(len(humans), dtype=int), humans, min_annotators=min_annotators, n_codes=2
    )

    [found] = [row for row in result.cautions if row.code == "one_sided"]
    assert (found.figures["one"], found.figures["other"]) == sides


def test_questions_of_more_labels_have_no_sides():
    truth = {i: "ab"[i < 5] for i in range(60)}
    humans = {name: dict(truth) for name in "xyz"}

    two = alt_test(truth, humans)
    three = alt_test(truth, humans, labels=["a", "b", "c"])

    assert "one_sided" in codes_of(two)
    assert "one_sided" not in codes_of(three)


def test_one_judges_words_do_not_change_anothers_outcome():
    truth = {i: "yes" if i < 5 else "no" for i in range(60)}
    humans = {name: dict(truth) for name in "xyz"}
    other = truth | {59: "maybe"}

    alone = alt_tests(judges={"mine": truth}, humans=humans)["mine"]
    together = alt_tests(judges={"mine": truth, "other": other}, humans=humans)["mine"]

    assert together.outcome == alone.outcome
    assert together.because == alone.because


@pytest.mark.edges
@pytest.mark.parametrize("noise", [0.1, 0.3, 0.35, 0.45])
def test_annotators_who_may_agree_by_chance_are_a_caution(noise):
    judge, humans = panel(3, n_items=100, noise=noise)

    result = alt_test(judge, humans)

    low = result.human_agreement.low
    codes = np.array([[int(humans[name][i]) for name in "abc"] for i in range(100)])
    assert low == pytest.approx(krippendorff_alpha(codes).low)
    assert ("weak_agreement" in codes_of(result)) == (low <= 0.2)


def test_undefined_agreement_is_a_caution_and_one_label_no_evidence():
    humans = {name: dict.fromkeys(range(40), "yes") for name in "abc"}

    result = alt_test(humans["a"], humans)

    assert result.winning_rate == 1
    assert result.because.code == "like_constant"
    assert "undefined_agreement" in codes_of(result)


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
    assert result.because.sentence == (
        "No annotator has 30 items that it and another annotator labelled too."
    )


def test_a_family_of_all_judges_rejects_as_one_list_of_p_values():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 80)
    noisy = lambda share: np.where(rng.random(80) < share, 1 - truth, truth)  # noqa: E731
    humans = np.stack([noisy(0.15) for _ in range(4)], axis=1)
    judges = np.stack([noisy(share) for share in (0.05, 0.15, 0.25, 0.3, 0.5)], axis=1)
    judges[:7, 4] = -1  # one judge was not asked about some items

    results = stats.alt_test(judges, humans, epsilon=[0.1, 0.2], family="judges")

    for number in (0, 1):
        rows = [row for result in results[number::2] for row in result.annotators]
        expected = benjamini([row.p_value for row in rows], 0.05, yekutieli=True)
        assert [row.rejected for row in rows] == expected
    alone = stats.alt_test(judges, humans, epsilon=[0.1, 0.2])
    assert [r.winning_rate for r in results] != [r.winning_rate for r in alone]


def test_the_worst_case_alone_can_fail():
    judge, humans = panel()
    sparse = {item: label if item < 60 else None for item, label in judge.items()}

    result = alt_test(sparse, humans)

    # On the 60 items it answered it wins; with the other 60 lost it cannot.
    assert result.worst_case.winning_rate_answered == 1
    assert result.winning_rate == 0
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
    assert result.because.sentence == "No p-value is defined: a standard error needs two clusters."


def test_few_annotators_are_a_caution():
    judge, humans = panel(names="ab")
    _, enough = panel(names="abc")

    assert "few_annotators" in codes_of(alt_test(judge, humans))
    assert "few_annotators" not in codes_of(alt_test(judge, enough))


def test_many_ties_are_a_caution():
    judge, humans = panel(noise=0.05)

    result = alt_test(judge, humans)

    assert max(row.tie_share for row in result.annotators) > 0.6
    assert "many_ties" in codes_of(result)


def test_untested_annotators_are_named():
    judge, humans = panel()
    humans["rare"] = dict.fromkeys(range(10), True)

    result = alt_test(judge, humans)

    assert result.untested == ("rare",)
    assert any("'rare'" in sentence for sentence in result.warnings)


@pytest.mark.ci
def test_a_result_that_hangs_on_the_correction_says_so():
    said = {"alike": [], "random": []}
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 2, 60)
        flips = rng.random((7, 60)) < 0.2
        people = {f"h{k}": dict(enumerate((truth ^ flips[k]).tolist())) for k in range(6)}
        judges = {"alike": truth ^ flips[6], "random": rng.integers(0, 2, 60)}
        for name, labels in judges.items():
            result = alt_test(dict(enumerate(labels.tolist())), people)

            hangs = (result.winning_rate >= 0.5) != (result.winning_rate_bh >= 0.5)
            said[name].append("correction" in codes_of(result))
            assert said[name][-1] <= hangs
            assert result.winning_rate <= result.winning_rate_bh
    assert 0 < sum(said["alike"]) < 60
    assert not any(said["random"])  # no better than one answer, whatever the correction


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
