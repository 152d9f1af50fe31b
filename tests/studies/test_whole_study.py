"""`examine` on tables gives what `alt_test` gives on dicts of the same labels, by another route."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

import voirdire
from alt_test_oracle import alt_test_oracle, benjamini
from alt_tests import alt_tests
from strategies import aligned_studies, epsilons
from voirdire.errors import InputError, NoDataError
from voirdire.io import join_tables, read_labels
from voirdire.records import Failure
from voirdire.studies import TestPlan as Plan
from voirdire.studies import examine

ALIGNMENTS = {
    "accuracy": "choice",
    "neg_rmse": "scale",
    "similarity": "text",
    "jaccard": "multilabel",
    "jaccard_macro": "multilabel",
    "jaccard_slots": "multilabel",
    "hamming": "multilabel",
}
SEPARATORS = [
    "a",
    "b",
    "a\x1fb",
    "a\\b",
    "a|b",
    "a,b",
    "\\u",
    "\x1f",
    "a\\ub",
    "\\",
    '["a"]',
    "1\x1fa",
]


@pytest.mark.ci
@given(aligned_studies(), epsilons(), st.data())
def test_tables_give_what_dicts_give_on_sparse_labels(
    table, figures, assert_same, quietly, study_and_alignment, epsilon, data
):
    study, alignment = study_and_alignment
    kind = {"neg_rmse": "scale"}.get(
        alignment, "multilabel" if study.kind == "multilabel" else "choice"
    )
    order = data.draw(st.permutations(range(len(study.humans))), label="order of the judges")
    # A panel of judges: the study's own, and two that are like annotators but for one item.
    judges = {"own": study.judge}
    for k in order[:2]:
        known = {item: x for item, x in study.humans[f"h{k}"].items() if x is not None and x == x}
        judges[f"like h{k}"] = dict(list(known.items())[1:]) or study.judge
    plan = {"epsilon": epsilon[0], "epsilon_mode": epsilon[1], "min_items": 2}

    try:
        found = quietly(
            examine,
            humans=table(study.humans, "annotator", kind, labels=study.labels),
            judges=table(judges, "judge", kind, labels=study.labels),
            alignment=[alignment],
            plan=Plan(**plan),
            labels=study.labels,
        )
    except InputError as error:
        if "must not be one of its annotators" in str(error):
            reject()
        raise

    expected = quietly(
        alt_tests,
        judges=judges,
        humans=study.humans,
        alignment=alignment,
        kind=kind,
        labels=study.labels,
        **plan,
    )
    assert [row.judge for row in found.results] == list(expected)
    for row in found.results:
        assert_same(figures(row), figures(expected[row.judge]))


@pytest.mark.edges
@pytest.mark.parametrize("alignment", sorted(ALIGNMENTS))
@pytest.mark.parametrize("variant", ["plain", "clusters", "expert", "quality", "gold"])
def test_every_variant_is_the_same_by_both_routes(
    make_survey, table, figures, assert_same, alignment, variant
):
    kind = ALIGNMENTS[alignment]
    survey = make_survey(kind)
    quality = {"ann0": 1.0, "ann1": 0.5, "ann2": 2.0, "ann3": 0.7}
    clusters = {f"i{row}": f"c{row % 17}" for row in range(60)}
    gold = make_survey(kind, humans=(0.0,)).humans
    plan = {
        "expert": {"expert": "ann1"},
        "quality": {"quality": quality},
    }.get(variant, {})
    clustered = variant == "clusters"

    found = examine(
        humans=table(survey.humans, "annotator", kind, cluster=clusters if clustered else None),
        judges=table(survey.judges, "judge", kind),
        alignment=[alignment],
        plan=Plan(epsilon=[0.1, 0.3], **plan),
        clusters=clustered,
        gold=table({"gold": gold["ann0"]}, "judge", kind) if variant == "gold" else None,
    )

    options = {"clusters": {"clusters": clusters}, "gold": {"gold": gold["ann0"]}}.get(variant, {})
    expected = alt_tests(
        judges=survey.judges,
        humans=survey.humans,
        alignment=alignment,
        kind=kind,
        epsilon=[0.1, 0.3],
        **plan,
        **options,
    )
    assert len(found.results) == 4
    for row, result in zip(found.results, [*expected["judge0"], *expected["judge1"]], strict=True):
        assert_same(figures(row), figures(result))


@pytest.mark.edges
@pytest.mark.parametrize("alignment", ["accuracy", "jaccard", "hamming"])
def test_imbalance_weights_are_the_same_by_both_routes(
    make_survey, table, figures, assert_same, alignment
):
    kind = "choice" if alignment == "accuracy" else "multilabel"
    survey = make_survey(kind)
    humans, judges = table(survey.humans, "annotator", kind), table(survey.judges, "judge", kind)

    found = examine(
        humans=humans, judges=judges, alignment=[alignment], plan=Plan(weights="imbalance")
    )

    expected = alt_tests(
        judges=survey.judges, humans=survey.humans, alignment=alignment, weights="imbalance"
    )
    for row in found.results:
        assert_same(figures(row), figures(expected[row.judge]))


def test_failures_are_the_same_by_both_routes(make_survey, table, figures, assert_same):
    survey = make_survey()
    judge = survey.judges["judge0"]
    absent = {f"i{row}": None for row in range(9)}

    found = examine(
        humans=table(survey.humans, "annotator", "choice"),
        judges=table({"judge0": judge | absent}, "judge", "choice"),
    )

    failed = judge | {item: Failure() for item in absent}
    expected = alt_tests(judges={"judge0": failed}, humans=survey.humans)["judge0"]
    assert found.results[0].worst_case.n_failures == 9
    assert_same(figures(found.results[0]), figures(expected))


@pytest.mark.edges
@pytest.mark.parametrize("alignment", ["accuracy", "jaccard", "hamming"])
def test_sets_of_labels_that_hold_separators_stay_apart(table, figures, assert_same, alignment):
    rng = np.random.default_rng(3)
    sets = [[label] for label in SEPARATORS]
    sets += [["a", "b"], ["a\x01", "b"], ["a", "\x01b"], ["\\", "u"], ["1", "a"], []]

    def labels(slips):
        return {
            f"i{row}": sorted(sets[rng.integers(len(sets)) if rng.random() < slips else row % 18])
            for row in range(90)
        }

    humans = {name: labels(0.3) for name in ("ann", "bob", "eve")}
    judges = {"judge": labels(0.3)}

    found = examine(
        humans=table(humans, "annotator", "multilabel"),
        judges=table(judges, "judge", "multilabel"),
        alignment=[alignment],
    )

    expected = alt_tests(judges=judges, humans=humans, alignment=alignment, kind="multilabel")
    assert_same(figures(found.results[0]), figures(expected["judge"]))
    universe = set().union(*(set(label) for given in humans.values() for label in given.values()))
    assert set(found.results[0].settings["labels"]) >= universe
    always = alt_tests(
        judges={"x": {item: ["a\x1fb"] for item in humans["ann"]}},
        humans={name: {item: ["a", "b"] for item in given} for name, given in humans.items()},
        alignment=alignment,
    )["x"]
    if alignment != "hamming":
        assert always.advantage_probability == 0.0


def test_two_sets_that_join_to_the_same_text_are_two_answers(table):
    humans = {name: {f"i{row}": ["a", "b"] for row in range(40)} for name in ("ann", "bob", "eve")}
    judges = {"joined": {f"i{row}": ["a\x1fb"] for row in range(40)}}

    found = examine(
        humans=table(humans, "annotator", "multilabel"), judges=table(judges, "judge", "multilabel")
    )

    assert found.results[0].advantage_probability == 0.0


# Several questions ----------------------------------------------------------------------------


@pytest.fixture
def two_questions(make_survey, table):
    """Give tables of two questions, and the surveys behind them."""
    surveys = {"polite": make_survey(seed=1), "helpful": make_survey(seed=2, judges=(0.3, 0.7))}
    humans = [
        table(survey.humans, "annotator", "choice", question=name)
        for name, survey in surveys.items()
    ]
    judges = [
        table(survey.judges, "judge", "choice", question=name) for name, survey in surveys.items()
    ]
    return join_tables(humans), join_tables(judges), surveys


@pytest.mark.ci
def test_questions_are_examined_by_themselves_in_their_order(two_questions, figures, assert_same):
    humans, judges, surveys = two_questions

    found = examine(humans=humans, judges=judges, plan=Plan(epsilon=[0.1, 0.2]))

    places = [(row.question, row.judge, row.epsilon) for row in found.results]
    assert places == [
        (question, judge, epsilon)
        for question in ("polite", "helpful")
        for judge in ("judge0", "judge1")
        for epsilon in (0.1, 0.2)
    ]
    for row in found.results:
        survey = surveys[row.question]
        expected = alt_tests(
            judges=survey.judges, humans=survey.humans, epsilon=row.epsilon, question=row.question
        )
        assert_same(figures(row), figures(expected[row.judge]))


@pytest.mark.ci
def test_all_p_values_of_all_questions_share_one_false_discovery_rate(two_questions):
    humans, judges, surveys = two_questions

    found = examine(humans=humans, judges=judges, plan=Plan(epsilon=[0.05, 0.15]))

    assert [(row.judge, row.epsilon) for row in found.pooled] == [
        ("judge0", 0.05),
        ("judge0", 0.15),
        ("judge1", 0.05),
        ("judge1", 0.15),
    ]
    for pooled in found.pooled:
        rows = [
            voirdire.alt_test(
                surveys[question].judges[pooled.judge],
                surveys[question].humans,
                epsilon=pooled.epsilon,
            )
            for question in surveys
        ]
        p_values = [person.deciding_p_value for row in rows for person in row.annotators]
        rejected = benjamini(p_values, 0.05, yekutieli=True)
        assert pooled.n_tests == len(p_values) == 8
        for place, (question, row) in enumerate(zip(pooled.questions, rows, strict=True)):
            assert question.winning_rate == sum(rejected[4 * place : 4 * place + 4]) / 4
            assert question.winning_rate_alone == row.winning_rate


def test_one_question_is_not_pooled(two_questions):
    humans, judges, _ = two_questions

    found = examine(humans=humans, judges=judges, questions=["helpful"])

    assert {row.question for row in found.results} == {"helpful"}
    assert found.pooled == ()
    assert found.settings["questions"] == ["helpful"]


def test_a_question_that_nobody_was_asked_is_refused(two_questions):
    humans, judges, _ = two_questions

    with pytest.raises(NoDataError, match="`question` must be one of 'polite', 'helpful', got 'x'"):
        examine(humans=humans, judges=judges, questions=["x"])


def test_a_question_without_judges_is_refused(two_questions, make_survey, table):
    humans, _, surveys = two_questions
    judges = table(surveys["polite"].judges, "judge", "choice", question="polite")

    with pytest.raises(NoDataError, match="`judges` must hold at least one label for the question"):
        examine(humans=humans, judges=judges)


# Judges, gold labels, drops -------------------------------------------------------------------


def test_a_judge_alone_gets_what_it_gets_in_company(make_survey, table, figures, assert_same):
    survey = make_survey()
    humans = table(survey.humans, "annotator", "choice")

    company = examine(humans=humans, judges=table(survey.judges, "judge", "choice"))
    alone = examine(
        humans=humans, judges=table({"judge1": survey.judges["judge1"]}, "judge", "choice")
    )

    assert company.judges == ("judge0", "judge1")
    assert alone.judges == ("judge1",)
    (row,) = company.of_judge("judge1")
    assert_same(figures(alone.results[0]), figures(row))
    assert company.of_judge("nobody") == ()


def test_a_judge_without_an_annotated_item_is_refused(make_survey, table):
    survey = make_survey()
    judges = survey.judges | {"stranger": {"elsewhere": "yes"}}

    with pytest.raises(NoDataError, match="got none in common for 'stranger'"):
        examine(
            humans=table(survey.humans, "annotator", "choice"),
            judges=table(judges, "judge", "choice"),
        )


def test_items_counted_from_0_and_from_1_are_refused():
    people = {name: {n: n % 2 for n in range(40)} for name in ("ann", "bob", "eve")}
    judge = {"gpt": {n + 1: n % 2 for n in range(40)}}

    with pytest.raises(InputError, match="as `humans` do, got 1 to 40 beside 0 to 39"):
        examine(humans=people, judges=judge, kind="boolean")
    later = {"gpt": {n + 1: n % 2 for n in range(80)}}  # of more items
    assert examine(humans=people, judges=later, kind="boolean").results


def test_gold_labels_of_other_items_are_refused(make_survey, table):
    survey = make_survey()
    gold = table({"gold": {"elsewhere": "yes"}}, "judge", "choice")

    with pytest.raises(NoDataError, match="`gold` must share items with `humans`"):
        examine(
            humans=table(survey.humans, "annotator", "choice"),
            judges=table(survey.judges, "judge", "choice"),
            gold=gold,
        )


def test_two_golden_raters_are_refused(make_survey, table):
    survey = make_survey()
    gold = table(
        {"first": survey.humans["ann0"], "second": survey.humans["ann1"]}, "judge", "choice"
    )

    with pytest.raises(InputError, match=r"`gold` must hold one label per item.*'first'.*'second'"):
        examine(
            humans=table(survey.humans, "annotator", "choice"),
            judges=table(survey.judges, "judge", "choice"),
            gold=gold,
        )


def test_everything_set_aside_is_listed_once(make_survey, table):
    survey = make_survey()
    humans = survey.humans | {"ann0": survey.humans["ann0"] | {"i3": "can't tell", "lonely": "no"}}
    judges = survey.judges | {"judge0": survey.judges["judge0"] | {"elsewhere": "yes"}}
    gold = survey.humans["ann1"] | {"i9": "perhaps"}

    found = examine(
        humans=table(humans, "annotator", "choice"),
        judges=table(judges, "judge", "choice"),
        alignment=["accuracy", "similarity"],
        plan=Plan(epsilon=[0.1, 0.2]),
    )
    with_gold = examine(
        humans=table(humans, "annotator", "choice"),
        judges=table(judges, "judge", "choice"),
        gold=table({"gold": gold}, "judge", "choice", labels=["yes", "no", "不确定"]),
    )

    reasons = [row.reason for row in found.dropped]
    assert reasons == [
        "can't tell",
        "1 items with fewer than 2 annotators",
        "1 items without annotations",
    ]
    gold_drops = [row for row in with_gold.dropped if row.rater == "gold"]
    assert gold_drops[0].value == "perhaps"
    assert gold_drops[1].reason == "1 gold labels are missing or cannot be read"


def test_no_annotation_left_is_an_error(make_survey, table):
    humans = {name: {f"i{row}": "can't tell" for row in range(40)} for name in ("ann", "bob")}

    with pytest.raises(NoDataError, match="no annotation is left to examine"):
        examine(
            humans=table(humans, "annotator", "choice"),
            judges=table(make_survey().judges, "judge", "choice"),
        )


def test_an_unknown_alignment_is_refused_before_anything_is_read(make_survey, table):
    survey = make_survey()
    humans, judges = (
        table(survey.humans, "annotator", "choice"),
        table(survey.judges, "judge", "choice"),
    )

    with pytest.raises(InputError, match="`alignment` must be one of 'accuracy'"):
        examine(humans=humans, judges=judges, alignment=["accuracy", "kappa"])


# Clusters -------------------------------------------------------------------------------------


def test_an_item_in_two_clusters_is_refused(make_survey):
    survey = make_survey()
    rows = [
        (item, name, label, f"c{int(item[1:]) % 9}" if (item, name) != ("i7", "ann2") else "other")
        for name, labels in survey.humans.items()
        for item, label in labels.items()
    ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "cluster"], orient="row")
    humans = read_labels(frame, role="annotator", kind="choice", source_name="humans")
    frame = pl.DataFrame({"item": list(survey.judges["judge0"]), "label": "yes"})
    judges = read_labels(frame, role="judge", kind="choice", source_name="judge")

    with pytest.raises(
        InputError,
        match=r"column `cluster` must be one value per item, got \['c7', 'other'\] for 'i7'",
    ):
        examine(humans=humans, judges=judges, clusters=True)


def test_an_item_in_no_cluster_is_refused(make_survey, table):
    survey = make_survey()
    clusters = {f"i{row}": "c" for row in range(58)}

    with pytest.raises(InputError, match="every annotated item, got none for 2, the first 'i58'"):
        examine(
            humans=table(survey.humans, "annotator", "choice", cluster=clusters),
            judges=table(survey.judges, "judge", "choice"),
            clusters=True,
        )


def test_clusters_may_stand_on_one_row_of_an_item(make_survey, figures, assert_same, table):
    survey = make_survey()
    clusters = {f"i{row}": f"c{row // 2}" for row in range(60)}
    rows = [
        (item, name, label, clusters[item] if name == "ann1" else None)
        for name, labels in survey.humans.items()
        for item, label in labels.items()
    ]
    frame = pl.DataFrame(rows, schema=["item", "annotator", "label", "cluster"], orient="row")
    humans = read_labels(frame, role="annotator", kind="choice", source_name="humans")

    found = examine(humans=humans, judges=table(survey.judges, "judge", "choice"), clusters=True)

    expected = alt_tests(judges=survey.judges, humans=survey.humans, clusters=clusters)
    assert_same(figures(found.results[0]), figures(expected["judge0"]))


def test_clusters_count_only_when_they_are_asked_for(make_survey, table):
    survey = make_survey()
    clusters = {f"i{row}": f"c{row // 2}" for row in range(60)}
    humans = table(survey.humans, "annotator", "choice", cluster=clusters)

    found = examine(humans=humans, judges=table(survey.judges, "judge", "choice"))

    assert found.results[0].settings["n_clusters"] is None
    assert found.results[0].annotators[0].degrees_of_freedom == 59


def test_questions_that_only_the_judge_answered_share_one_reason():
    rows = [(f"i{n}", question) for n in range(40) for question in ("polite", "rude", "b.ideal")]
    judge = pl.DataFrame(rows, schema=["item", "question"], orient="row")
    asked = judge.filter(pl.col("question") == "polite")
    annotators = [asked.with_columns(annotator=pl.lit(name), label=True) for name in "xyz"]

    found = examine(
        humans=pl.concat(annotators),
        judges=judge.with_columns(judge=pl.lit("m"), label=True),
        kind="boolean",
        around=False,
    )

    assert [(row.question, row.value) for row in found.dropped] == [
        ("rude", "40 labels"),
        ("b.ideal", "40 labels"),
    ]
    assert {row.reason for row in found.dropped} == {
        "labels of judges for a question that is not examined"
    }


# What an examination gives ---------------------------------------------------------------------


def test_a_result_is_named_by_judge_question_alignment_and_margin(make_survey):
    survey = make_survey("scale")
    found = examine(
        judges=survey.judges,
        humans=survey.humans,
        kind="scale",
        alignment=["neg_rmse", "accuracy"],
        epsilon=[0.1, 0.2],
        around=False,
    )

    row = found["judge1", "label", "accuracy", 0.2]

    assert (row.judge, row.alignment, row.epsilon) == ("judge1", "accuracy", 0.2)
    assert found["judge1", None, "accuracy", 0.2] is row
    for key in ("judge1", ("judge1", "label"), ("nobody", "label", "accuracy", 0.2)):
        with pytest.raises(KeyError, match="There are judge 'judge0', 'judge1'; question 'label'"):
            found[key]
    alone = examine(judges=survey.judges["judge0"], humans=survey.humans, kind="scale")
    assert alone["judge"] is alone.results[0]


# Pairwise ---------------------------------------------------------------------------------------


def test_between_two_responses_one_tie_is_half_a_point():
    rng = np.random.default_rng(5)
    sides = np.array(["A", "B", "tie"])
    humans = {name: dict(enumerate(sides[rng.integers(0, 3, 60)].tolist())) for name in "abc"}
    judge = dict(enumerate(sides[rng.integers(0, 3, 60)].tolist()))

    found = voirdire.alt_test(judge, humans, kind="pairwise")

    def score(first, second):
        return 0.5 if (first == "tie") != (second == "tie") else float(first == second)

    expected = alt_test_oracle(judge, humans, alignment="similarity", similarity=score)
    assert found.alignment == "accuracy"
    assert found.advantage_probability == pytest.approx(expected["advantage_probability"])
    for row in found.annotators:
        known = expected["annotators"][row.annotator]
        counts = (row.n_judge_wins, row.n_ties, row.n_human_wins)
        assert counts == (known["wins"], known["ties"], known["losses"])


# Strange labels ---------------------------------------------------------------------------------


def test_labels_in_sets_are_compared_one_by_one():
    humans = {
        name: {i: [["a"], ["b"], ["c"]][(i + (i % 9 == k)) % 3] for i in range(60)}
        for k, name in enumerate("xyz")
    }
    known = {i: [["a", "b"], ["b", "c"], ["a"]][i % 3] for i in range(60)}
    strange = known | {i: ["a", "d"] for i in range(6)}

    def codes(judge):
        result = voirdire.alt_test(judge, humans, alignment="jaccard", labels=None)
        return {row.code: row.figures for row in result.cautions}

    assert "strange_labels" not in codes(known)
    assert codes(strange)["strange_labels"] == {
        "label": "d",
        "human_label": "c",
        "n_strange": 6,
        "n_answers": 60,
    }
