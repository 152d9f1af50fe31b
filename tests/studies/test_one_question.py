"""`voirdire.alt_test`: what it takes, what it gives, what it refuses."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import voirdire
from alt_test_oracle import alt_test_oracle
from alt_tests import alt_tests
from strategies import aligned_studies, epsilons, item_clusters, qualities
from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.records import Dropped, Failure

ALIGNMENT = {
    "choice": "accuracy",
    "boolean": "accuracy",
    "scale": "neg_rmse",
    "multilabel": "jaccard",
    "text": "similarity",
}
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}


def long_frame(make, rows, role):
    items, raters, labels = map(list, zip(*rows, strict=True))
    return make({"item": items, role: raters, "label": labels})


def wide_frame(make, raters):
    items = list(dict.fromkeys(item for given in raters.values() for item in given))
    columns = {name: [labels.get(item) for item in items] for name, labels in raters.items()}
    return make({"item": items, **columns})


def assert_is_the_oracles(result, expected):
    for found, name in ((result.t_test, "winning_rate"), (result, "advantage_probability")):
        assert getattr(found, name) == pytest.approx(expected[name], abs=1e-12, nan_ok=True)
    assert [row.annotator for row in result.annotators] == list(expected["annotators"])
    assert set(result.untested) == set(expected["untested"])
    for row, found in zip(result.annotators, expected["annotators"].values(), strict=True):
        outcomes = (row.n_judge_wins, row.n_ties, row.n_human_wins)
        assert row.n_items == found["n_items"]
        assert outcomes == (found["wins"], found["ties"], found["losses"])
        assert row.p_value == pytest.approx(found["p_value"], abs=1e-9, nan_ok=True)
        assert (row.rejected, row.rejected_bh) == (found["rejected"], found["rejected_bh"])


# What it gives --------------------------------------------------------------------------------


@given(aligned_studies(), epsilons(), st.data())
def test_dicts_of_every_kind_give_what_the_plain_loops_give(
    quietly, study_and_alignment, epsilon, data
):
    study, alignment = study_and_alignment
    variants = {
        "plain": {},
        "quality": {"quality": data.draw(qualities(study))},
        "clusters": {"clusters": data.draw(item_clusters(study))},
        "expert": {"expert": "h0"},
        "gold": {"gold": study.judge},
    }
    options = variants[data.draw(st.sampled_from(sorted(variants)))]
    options |= {"alignment": alignment, "epsilon": epsilon[0], "epsilon_mode": epsilon[1]}
    options |= {"labels": study.labels, "min_items": 2}

    kind = {"continuous": "scale"}.get(study.kind, study.kind)
    assume(study.judge not in study.humans.values())
    result = quietly(voirdire.alt_test, study.judge, study.humans, kind=kind, **options)

    assert_is_the_oracles(result, alt_test_oracle(study.judge, study.humans, **options))


@pytest.mark.edges
@pytest.mark.parametrize("kind", sorted(ALIGNMENT))
@pytest.mark.parametrize("shape", ["long", "wide"])
@pytest.mark.parametrize("library", sorted(MAKERS))
def test_frames_give_what_dicts_give(
    make_survey, rows_of, figures, assert_same, library, shape, kind
):
    survey, make = make_survey(kind), MAKERS[library]
    if shape == "long":
        humans = long_frame(make, rows_of(survey.humans), "annotator")
        judges = long_frame(make, rows_of(survey.judges), "judge")
    else:
        humans, judges = wide_frame(make, survey.humans), wide_frame(make, survey.judges)
    declared = {"alignment": ALIGNMENT[kind], "kind": kind}

    found = alt_tests(judges=judges, humans=humans, **declared)

    expected = alt_tests(judges=survey.judges, humans=survey.humans, **declared)
    assert list(found) == ["judge0", "judge1"]
    for name, result in expected.items():
        assert_same(figures(found[name]), figures(result))


@pytest.mark.parametrize("library", sorted(MAKERS))
def test_gaps_in_a_frame_are_gaps_in_a_dict(make_survey, figures, assert_same, library):
    survey = make_survey("scale")
    humans = {
        name: {item: label for item, label in labels.items() if int(item[1:]) % 7 != number}
        for number, (name, labels) in enumerate(survey.humans.items())
    }
    judge = {item: label for item, label in survey.judges["judge0"].items() if item != "i5"}
    items = long_frame(MAKERS[library], [(i, "judge", x) for i, x in judge.items()], "judge")

    found = voirdire.alt_test(items, wide_frame(MAKERS[library], humans), alignment="neg_rmse")

    expected = voirdire.alt_test(judge, humans, alignment="neg_rmse")
    assert_same(figures(found), figures(expected))
    assert "1 of 60 annotated items were not judged" in found.warnings


def test_one_epsilon_gives_a_result_and_several_are_examined_in_their_order(make_survey):
    survey = make_survey()
    judge = survey.judges["judge0"]

    one = voirdire.alt_test(judge, survey.humans, epsilon=0.1)

    assert isinstance(one, voirdire.AltTestResult)
    assert isinstance(voirdire.alt_test(judge, survey.humans, epsilon=np.float64(0.1)), type(one))
    for several in ([0.3, 0.0, 0.1], (0.3, 0.0, 0.1), np.array([0.3, 0.0, 0.1])):
        results = alt_tests(judges={"judge": judge}, humans=survey.humans, epsilon=several)["judge"]
        assert [result.epsilon for result in results] == [0.3, 0.0, 0.1]
        assert results[2] == one
        with pytest.raises(InputError, match="must be one number, got 3"):
            voirdire.alt_test(judge, survey.humans, epsilon=several)


def test_several_judges_come_back_by_name(make_survey):
    survey = make_survey()

    one = alt_tests(judges=survey.judges, humans=survey.humans)
    several = alt_tests(judges=survey.judges, humans=survey.humans, epsilon=[0.1, 0.2])

    assert list(one) == list(several) == ["judge0", "judge1"]
    for name, labels in survey.judges.items():
        alone = voirdire.alt_test(labels, survey.humans)
        assert one[name].judge == name
        assert alone.judge == "judge"
        assert one[name].annotators == alone.annotators
        assert several[name][1] == one[name]
    assert list(alt_tests(judges={"x": labels}, humans=survey.humans)) == ["x"]


def test_nothing_that_is_given_is_changed(make_survey):
    survey, again = make_survey("multilabel"), make_survey("multilabel")

    alt_tests(judges=survey.judges, humans=survey.humans, alignment="hamming")

    assert survey == again


# Superiority ----------------------------------------------------------------------------------


def test_outperforming_humans_is_the_test_against_gold_at_epsilon_0(make_survey):
    survey = make_survey(n_items=300)
    gold = make_survey(n_items=300, humans=(0.0,)).humans["ann0"]

    result = voirdire.outperforms_humans(gold, survey.humans, gold=gold)

    assert result.epsilon == 0.0
    assert result.outcome == "passed"
    assert result.settings["gold"] is True
    assert result == voirdire.alt_test(gold, survey.humans, gold=gold, epsilon=0.0)
    # The gold labels alone are the others: the judge is right always, ann0 on its own share.
    right = np.mean([survey.humans["ann0"][item] == label for item, label in gold.items()])
    assert result.annotators[0].advantage_judge == 1.0
    assert result.annotators[0].advantage_human == pytest.approx(right)


def test_the_margin_of_superiority_is_not_for_choosing(make_survey):
    survey = make_survey()
    gold = survey.judges["judge0"]

    with pytest.raises(InputError, match=r"`epsilon` must be left out: it is 0 here, got 0\.1"):
        voirdire.outperforms_humans(gold, survey.humans, gold=gold, epsilon=0.1)


def test_gold_labels_count_where_they_are(make_survey):
    survey = make_survey()
    gold = dict(list(survey.humans["ann0"].items())[:40])

    result = voirdire.alt_test(survey.judges["judge0"], survey.humans, gold=gold)

    assert {row.n_items for row in result.annotators} == {40}


# Kinds and labels -----------------------------------------------------------------------------


def test_numbers_as_choices_are_texts_and_as_a_scale_numbers():
    humans = {name: {i: i % 2 for i in range(40)} for name in "abc"}
    judge = {i: str(i % 2) for i in range(40)}

    assert voirdire.alt_test(judge, humans, kind="choice").advantage_probability == 1.0
    assert voirdire.alt_test(judge, humans, kind="scale").advantage_probability == 1.0
    assert voirdire.alt_test(judge, humans, kind="boolean").advantage_probability == 1.0
    assert voirdire.alt_test(judge, humans, alignment="neg_rmse").advantage_probability == 1.0


def test_truth_values_are_read_in_many_words():
    truths = ["yes", "NO", "true", "F", "1", "0", "是", "否", " true ", "False"]
    humans = {name: {i: truths[i % 10] for i in range(40)} for name in "abc"}
    judge = {i: (i % 2 == 0) for i in range(40)}

    result = voirdire.alt_test(judge, humans, kind="boolean")

    assert result.advantage_probability == 1.0
    assert result.controls[0].label in ("true", "false")


def test_zero_and_one_alone_are_truth_values():
    humans = {name: {i: i % 2 for i in range(40)} for name in "abc"}
    judge = {i: bool(i % 2) for i in range(40)}

    assert voirdire.alt_test(judge, humans).advantage_probability == 1.0


def test_labels_outside_the_universe_are_listed_and_a_judges_are_failures(make_survey):
    survey = make_survey()
    humans = survey.humans | {"ann0": survey.humans["ann0"] | {"i0": "perhaps"}}
    judge = survey.judges["judge0"] | {"i1": "perhaps"}

    result = voirdire.alt_test(judge, humans, labels=["yes", "no", "不确定"])

    assert result.settings["labels"] == ["yes", "no", "不确定"]
    assert result.settings["labels_declared"] is True
    assert result.worst_case.n_failures == 1
    reason = "unknown label: must be one of 'yes', 'no', '不确定', got 'perhaps'"
    assert result.dropped == (
        Dropped(
            reason=reason,
            source="humans",
            item="i0",
            rater="ann0",
            question="label",
            value="perhaps",
        ),
        Dropped(
            reason=reason,
            source="judges",
            item="i1",
            rater="judge",
            question="label",
            value="perhaps",
        ),
    )


def test_the_declared_universe_widens_hamming_and_silences_its_caution(make_survey):
    survey = make_survey("multilabel")
    judge = survey.judges["judge0"]

    union = voirdire.alt_test(judge, survey.humans, alignment="hamming")
    declared = voirdire.alt_test(
        judge, survey.humans, alignment="hamming", labels=["hate", "insult", "自伤", "sexual"]
    )

    assert [caution.code for caution in union.cautions].count("undeclared_labels") == 1
    assert "undeclared_labels" not in [caution.code for caution in declared.cautions]
    assert union.settings["labels"] == ["hate", "insult", "自伤"]
    assert declared.settings["labels"] == ["hate", "insult", "自伤", "sexual"]
    expected = alt_test_oracle(
        judge,
        survey.humans,
        alignment="hamming",
        labels=["hate", "insult", "自伤", "sexual"],
    )
    assert_is_the_oracles(declared, expected)


def test_cannot_tell_is_missing_unless_it_is_a_declared_label():
    humans = {name: {i: ["yes", "no", "Can’t tell"][i % 3] for i in range(90)} for name in "abc"}
    judge = {i: ["yes", "no"][i % 2] for i in range(90)}

    undeclared = voirdire.alt_test(judge, humans)
    declared = voirdire.alt_test(judge, humans, labels=["yes", "no", "Can’t tell"])

    assert {row.n_items for row in undeclared.annotators} == {60}
    assert {row.n_items for row in declared.annotators} == {90}
    assert sum(row.reason == "can't tell" for row in undeclared.dropped) == 90


def test_a_users_function_scores_pairs_of_labels():
    def same_initial(first, second):
        return np.array([a[0] == b[0] for a, b in zip(first, second, strict=True)], float)

    humans = {name: {i: f"{'xy'[i % 2]}{name}" for i in range(40)} for name in "abc"}
    judge = {i: f"{'xy'[i % 2]}!" for i in range(40)}

    result = voirdire.alt_test(judge, humans, alignment=same_initial)

    assert result.alignment == "same_initial"
    assert result.advantage_probability == 1.0
    assert voirdire.alt_test(judge, humans).advantage_probability == 1.0  # all tie at 0


# Variants -------------------------------------------------------------------------------------


def test_clusters_make_errors_robust_and_may_be_any_names(make_survey):
    survey = make_survey()
    numbers = {f"i{row}": row // 3 for row in range(60)}
    names = {item: f"thread {number}" for item, number in numbers.items()}

    by_number = voirdire.alt_test(survey.judges["judge0"], survey.humans, clusters=numbers)
    by_name = voirdire.alt_test(survey.judges["judge0"], survey.humans, clusters=names)

    assert by_number == by_name
    assert by_number.settings["n_clusters"] == 20
    assert {row.degrees_of_freedom for row in by_number.annotators} == {19.0}
    for row in by_number.annotators:
        assert row.exact_p_value >= row.p_value


@pytest.mark.parametrize(
    ("changed", "first"),
    [({f"i{row}": None for row in (58, 59)}, "i58"), ({"i7": None, "i20": math.nan}, "i")],
)
def test_a_cluster_for_every_item_is_needed(make_survey, changed, first):
    survey = make_survey()
    clusters = {f"i{row}": row // 3 for row in range(60)} | changed
    message = f"every annotated item, got none for 2, the first '{first}"

    absent = {item: unit for item, unit in clusters.items() if item not in changed}
    for units in (clusters, absent):
        with pytest.raises(InputError, match=message):
            voirdire.alt_test(survey.judges["judge0"], survey.humans, clusters=units)


def test_quality_weighs_the_winning_rate(make_survey):
    survey = make_survey(judges=(0.25,))
    quality = {"ann0": 1.0, "ann1": 2.0, "ann2": 3.0, "ann3": 4.0}

    result = voirdire.alt_test(survey.judges["judge0"], survey.humans, quality=quality)

    won = sum(quality[row.annotator] for row in result.annotators if row.shown)
    assert result.winning_rate == pytest.approx(won / 10)
    assert 0 < won < 10
    assert result.settings["quality"] == quality


@pytest.mark.parametrize(
    ("quality", "message"),
    [
        ({"ann0": 1.0}, r"`quality` must name every annotator, got no weight for 'ann1'"),
        ({"ann0": 0, "ann1": 1, "ann2": 1, "ann3": 1}, "`quality` must hold one positive number"),
        ({"ann0": -1, "ann1": 1, "ann2": 1, "ann3": 1}, "`quality` must hold one positive number"),
        (
            {"ann0": math.nan, "ann1": 1, "ann2": 1, "ann3": 1},
            "`quality` must hold one positive number",
        ),
    ],
)
def test_a_quality_that_is_missing_or_not_positive_is_refused(make_survey, quality, message):
    survey = make_survey()

    with pytest.raises(InputError, match=message):
        voirdire.alt_test(survey.judges["judge0"], survey.humans, quality=quality)


def test_an_expert_stands_for_the_others_and_is_not_tested(make_survey):
    survey = make_survey()

    result = voirdire.alt_test(survey.judges["judge0"], survey.humans, expert="ann2")

    assert [row.annotator for row in result.annotators] == ["ann0", "ann1", "ann3"]
    assert result.settings["expert"] == "ann2"


def test_an_unknown_expert_is_refused_with_the_known_names(make_survey):
    survey = make_survey()

    with pytest.raises(
        InputError, match=r"`expert` must be one of the annotators 'ann0', 'ann1', .* got 'zoe'"
    ):
        voirdire.alt_test(survey.judges["judge0"], survey.humans, expert="zoe")


def test_the_seed_draws_the_random_control_and_the_resamples_and_nothing_else(make_survey, figures):
    survey = make_survey()
    judge = survey.judges["judge0"]

    first, again, other = (voirdire.alt_test(judge, survey.humans, seed=seed) for seed in (1, 1, 2))

    assert first == again
    assert first.uncertainty != other.uncertainty
    drawn = {"settings": None, "uncertainty": None}
    assert figures(first) | drawn == figures(other) | drawn
    assert [row for row in first.controls if row.control == "random"] != [
        row for row in other.controls if row.control == "random"
    ]


# What was set aside ---------------------------------------------------------------------------


def test_failures_and_missing_answers_of_a_judge_are_lost_in_the_worst_case(make_survey):
    survey = make_survey(judges=(0.0,))
    judge = survey.judges["judge0"]
    failed = judge | {f"i{row}": Failure(reason="timeout") for row in range(20)}
    failed |= {"i20": None, "i21": "", "i22": "can't tell", "i23": math.nan}

    result = voirdire.alt_test(failed, survey.humans)

    whole = voirdire.alt_test(judge, survey.humans)
    assert result.worst_case.n_failures == 24
    assert {row.n_items for row in result.annotators} == {36}
    assert result.worst_case.advantage_probability <= whole.advantage_probability * 36 / 60 + 1e-12
    assert result.worst_case.winning_rate_answered == 1
    assert (result.winning_rate, result.passed) == (0, False)
    assert result.outcome == "failed"
    assert "failures" in [caution.code for caution in result.cautions]
    assert result.dropped == ()


def test_items_that_only_one_side_knows_are_listed(make_survey):
    survey = make_survey()
    judge = survey.judges["judge0"] | {"elsewhere": "yes", "nowhere": "no"}
    del judge["i3"]

    result = voirdire.alt_test(judge, survey.humans)

    assert [row.reason for row in result.dropped] == ["2 items without annotations"]
    assert result.dropped[0].rater == "judge"
    assert "1 of 60 annotated items were not judged" in result.warnings


def test_an_item_without_a_usable_annotation_is_not_an_annotated_item(make_survey):
    survey = make_survey()
    humans = survey.humans | {"ann0": survey.humans["ann0"] | {"empty": None}}

    result = voirdire.alt_test(survey.judges["judge0"], humans)

    assert "not_judged" not in [caution.code for caution in result.cautions]
    assert [row.reason for row in result.dropped] == ["missing label"]


def test_another_judges_drops_are_not_this_judges(make_survey):
    survey = make_survey()
    judges = survey.judges | {"judge1": survey.judges["judge1"] | {"elsewhere": "yes"}}

    results = alt_tests(judges=judges, humans=survey.humans)

    assert results["judge0"].dropped == ()
    assert [row.rater for row in results["judge1"].dropped] == ["judge1"]


def test_items_with_too_few_annotators_are_listed(make_survey):
    survey = make_survey()
    humans = survey.humans | {"ann0": survey.humans["ann0"] | {"lonely": "yes"}}

    result = voirdire.alt_test(survey.judges["judge0"] | {"lonely": "no"}, humans)

    assert [row.reason for row in result.dropped] == ["1 items with fewer than 2 annotators"]


def test_without_enough_items_nothing_is_proved(make_survey):
    survey = make_survey(n_items=20)

    with pytest.warns(DegenerateDataWarning, match="no annotator has 30 items to compare"):
        result = voirdire.alt_test(survey.judges["judge0"], survey.humans)

    assert math.isnan(result.winning_rate)
    assert not result.passed
    assert result.outcome == "no_evidence"
    assert result.untested == ("ann0", "ann1", "ann2", "ann3")


def test_fewer_than_three_annotators_are_cautioned_about(make_survey):
    survey = make_survey(humans=(0.1, 0.2))

    result = voirdire.alt_test(survey.judges["judge0"], survey.humans)

    assert "few_annotators" in [caution.code for caution in result.cautions]
    assert result.warnings == tuple(caution.sentence for caution in result.cautions)


# What it refuses ------------------------------------------------------------------------------


def test_a_mapping_of_mappings_is_not_one_judge(make_survey):
    survey = make_survey()

    with pytest.raises(InputError, match="got a mapping of mappings"):
        voirdire.alt_test(survey.judges, survey.humans)


def test_a_frame_of_several_judges_is_not_one_judge(make_survey, rows_of):
    survey = make_survey()
    frame = long_frame(pl.DataFrame, rows_of(survey.judges), "judge")

    with pytest.raises(InputError, match=r"one judge's labels, got 'judge0', 'judge1'"):
        voirdire.alt_test(frame, survey.humans, kind="choice")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 1}, r"`epsilon` must be in the interval \[0, 1\), got 1\. Write 95% as 0\.95"),
        ({"epsilon": -0.1}, r"`epsilon` must be in the interval \[0, 1\), got -0\.1"),
        ({"epsilon": math.nan}, "`epsilon` must be a number, got 'nan'"),
        ({"epsilon": "0.2"}, r"`epsilon` must be a number, got '0\.2'"),
        ({"epsilon": []}, "`epsilon` must hold at least one number"),
        ({"epsilon_mode": "ratio"}, "`epsilon_mode` must be one of 'additive', 'multiplicative'"),
        ({"alignment": "kappa"}, "`alignment` must be one of 'accuracy'.* got 'kappa'"),
        ({"kind": "likert"}, "`kind` must be one of 'boolean'.* got 'likert'"),
        ({"weights": "balanced"}, "`weights` must be one of 'imbalance', got 'balanced'"),
        ({"labels": "abc"}, "`labels` must be a sequence of at least one label, got 'abc'"),
        ({"min_items": 1}, "`min_items` must be a whole number of at least 2, got 1"),
        ({"min_annotators": 1}, "`min_annotators` must be a whole number of at least 2, got 1"),
        ({"false_discovery_rate": 5}, r"`false_discovery_rate` must be in the interval \(0, 1\)"),
        ({"seed": -1}, "`seed` must be a whole number of at least 0, got -1"),
        ({"gold": {"elsewhere": "yes"}}, "`gold` must share items with `humans`"),
    ],
)
def test_a_setting_that_breaks_its_rule_is_named(make_survey, settings, message):
    survey = make_survey()

    with pytest.raises(InputError, match=message):
        voirdire.alt_test(survey.judges["judge0"], survey.humans, **settings)


def test_an_expert_and_gold_labels_exclude_each_other(make_survey):
    survey = make_survey()
    judge = survey.judges["judge0"]

    with pytest.raises(InputError, match="`gold` must be None when `expert` is given, got both"):
        voirdire.alt_test(judge, survey.humans, expert="ann0", gold=judge)


# Hostile labels -------------------------------------------------------------------------------


def test_labels_pass_through_whatever_they_hold():
    labels = [
        "<script>alert(1)</script>",
        "[red]x[/]",
        "\x1b[31m",
        "a\nb",
        "שלום",
        "中文",
        "x" * 10**6,
    ]
    humans = {name: {i: labels[i % 7] for i in range(70)} for name in ("<b>", "[/]", "\x1b[0m")}
    judge = {i: labels[i % 7] for i in range(70)}

    result = voirdire.alt_test(judge, humans, labels=labels)

    assert result.advantage_probability == 1.0
    assert [row.annotator for row in result.annotators] == ["\x1b[0m", "<b>", "[/]"]
    assert result.settings["labels"] == labels
    assert len(repr(result)) < 1000


@pytest.mark.ci
def test_ten_thousand_labels_need_no_table_of_their_pairs():
    humans = {name: {i: f"label {i}" for i in range(10_000)} for name in "abc"}
    judge = {i: f"label {i}" for i in range(10_000)}

    result = voirdire.alt_test(judge, humans)

    assert result.advantage_probability == 1.0
    assert result.outcome == "passed"
