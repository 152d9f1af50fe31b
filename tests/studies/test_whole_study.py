"""`examine` on tables gives what `alt_test` gives on dicts of the same labels, by another route."""

import numpy as np
import polars as pl
import pytest

import voirdire
from alt_test_oracle import alt_test_oracle, benjamini
from alt_tests import alt_tests
from voirdire.errors import InputError, NoDataError
from voirdire.io import join_tables, read_labels
from voirdire.studies import TestPlan as Plan
from voirdire.studies import examine

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


@pytest.mark.edges
@pytest.mark.parametrize(
    ("alignment", "kind"),
    [("accuracy", "choice"), ("neg_rmse", "scale"), ("jaccard", "multilabel")],
)
@pytest.mark.parametrize("variant", ["clusters", "gold"])
def test_clusters_and_gold_in_tables_are_those_of_dicts(
    make_survey, table, figures, assert_same, alignment, kind, variant
):
    survey, gold = make_survey(kind), make_survey(kind, humans=(0.0,)).humans["ann0"]
    clusters = {f"i{row}": f"c{row % 17}" for row in range(60)}
    is_gold = variant == "gold"

    found = examine(
        humans=table(survey.humans, "annotator", kind, cluster=None if is_gold else clusters),
        judges=table(survey.judges, "judge", kind),
        alignment=[alignment],
        epsilon=[0.1, 0.3],
        clusters=not is_gold,
        gold=table({"gold": gold}, "judge", kind) if is_gold else None,
    )

    expected = alt_tests(
        judges=survey.judges,
        humans=survey.humans,
        alignment=alignment,
        kind=kind,
        epsilon=[0.1, 0.3],
        **({"gold": gold} if is_gold else {"clusters": clusters}),
    )
    for row, result in zip(found.results, [*expected["judge0"], *expected["judge1"]], strict=True):
        assert_same(figures(row), figures(result))


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
