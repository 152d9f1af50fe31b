"""The diagnosis of one question: names, levels, slices, and its JSON."""

import io
import json
import math
import warnings

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import studies
from voirdire import alt_test
from voirdire.errors import DegenerateDataWarning
from voirdire.io import read_metadata
from voirdire.records import as_plain
from voirdire.reporting import to_json
from voirdire.studies import TestPlan as Plan
from voirdire.studies import examine

ALIGNMENTS = {
    "choice": "accuracy",
    "boolean": "accuracy",
    "scale": "neg_rmse",
    "multilabel": "jaccard",
    "text": "similarity",
}


def examined(humans, judges, *, kind="choice", metadata=None, **settings):
    """Examine with one alignment; figures that small studies do not have are of no concern."""
    if metadata is not None:
        metadata = read_metadata(metadata)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return examine(
            humans=humans,
            judges=judges,
            **{"kind": kind, "alignment": ALIGNMENTS[kind], "metadata": metadata} | settings,
        )


def diagnosed(humans, judges, **settings):
    [question] = examined(humans, judges, **settings).questions
    return question.diagnosis


def halves(n_items):
    return pl.DataFrame(
        {"item": [f"i{n}" for n in range(n_items)], "half": [n % 2 for n in range(n_items)]}
    )


@pytest.fixture(scope="module")
def choice(make_survey):
    return make_survey(n_items=200, seed=3)


@pytest.fixture(scope="module")
def found(choice):
    return diagnosed(choice.humans, choice.judges)


def test_annotators_and_judges_have_their_names(found):
    assert [row.annotator for row in found.annotators] == ["ann0", "ann1", "ann2", "ann3"]
    assert [row.judge for row in found.judges] == ["judge0", "judge1"]


def test_a_careless_annotator_is_named(make_survey):
    survey = make_survey(n_items=300, humans=(0.1, 0.1, 0.1, 1.0), seed=1)

    rows = diagnosed(survey.humans, survey.judges).annotators
    assert [row.annotator for row in rows if row.outlier] == ["ann3"]


@pytest.mark.edges
@pytest.mark.parametrize("kind", ["choice", "boolean", "scale", "multilabel"])
def test_every_kind_has_a_diagnosis_that_json_can_hold(make_survey, kind):
    survey = make_survey(kind, n_items=120)

    found = examined(survey.humans, survey.judges, kind=kind, metadata=halves(120))

    [question] = json.loads(to_json(found))["questions"]
    shown = question["diagnosis"]
    assert set(shown) == {"annotators", "judges", "slices_skipped", "n_items_unknown"}
    judge = shown["judges"][0]
    assert set(judge) == {
        "judge", "panel", "slices", "reason",
    }  # fmt: skip
    assert [row["value"] for row in judge["slices"]] == ["0", "1"]


def test_labels_given_equally_often_come_in_alphabetical_order():
    words = [f"w{n:02}" for n in range(20)]
    labels = {f"i{n}": words[::-1] for n in range(5)}

    [question] = examined(
        dict.fromkeys("abc", labels), {"mine": labels}, kind="multilabel"
    ).questions

    assert [row.label for row in question.labels] == words


def test_free_text_has_slices_only(make_survey):
    survey = make_survey("text", n_items=40)

    found = diagnosed(survey.humans, survey.judges, kind="text", metadata=halves(40))

    assert found.annotators == ()
    assert found.judges[0].panel is None
    assert found.judges[0].reason == "labels are free text, which does not repeat"
    assert len(found.judges[0].slices) == 2


# Slices ---------------------------------------------------------------------------------------


def test_a_planted_bad_slice_is_found_and_the_others_are_not(make_survey):
    survey = make_survey(n_items=400, humans=(0.1,) * 4, judges=(0.1, 0.1), seed=2)
    bad = survey.judges["judge0"] | {f"i{number}": "odd" for number in range(0, 400, 5)}
    text = "id,source,length\n" + "".join(
        f"i{n},{['chat', 'web', 'web', 'book', 'book'][n % 5]},{n * 7 % 400}\n" for n in range(400)
    )

    found = diagnosed(
        survey.humans,
        survey.judges | {"judge0": bad},
        metadata=read_metadata(io.BytesIO(text.encode()), format="csv"),
    )

    worse = {
        judge.judge: [(row.column, row.value) for row in judge.slices if row.worse]
        for judge in found.judges
    }
    assert worse == {"judge0": [("source", "chat")], "judge1": []}
    assert len(found.judges[0].slices) == 3 + 4


def test_gaps_by_hand():
    humans = ["001", "01-", "110", "0--"]  # the labels of annotators a, b, c of four items
    judges = ["01-0", "1000"]
    items = {f"t{n}": n % 4 for n in range(40)}  # ten of each
    people = {
        name: {item: humans[n][k] for item, n in items.items() if humans[n][k] != "-"}
        for k, name in enumerate("abc")
    }
    machines = {
        f"j{k}": {item: row[n] for item, n in items.items() if row[n] != "-"}
        for k, row in enumerate(judges)
    }
    metadata = pl.DataFrame({"item": list(items), "n": [str(n) for n in items.values()]})
    people["c"]["alone"] = "0"  # nobody is compared there, and so c is not the second judge

    first, second = diagnosed(people, machines, metadata=metadata).judges

    # Item 0, label 0: 1/2 beside a's and b's 1/2, 1 beside c's 0. Label 1: ties.
    # Item 1: the judge beats whom it differs from, 1 against 0, and ties with the other.
    # Item 2, label 0: 1/2 beside 1/2 twice, 0 beside c's 0. The other judge failed there.
    # Item 3 has one label, so that nobody is compared on it.
    assert {row.value: row.gap for row in first.slices} == pytest.approx({"0": 1 / 3, "1": 0.5})
    assert {row.value: row.gap for row in second.slices} == pytest.approx(
        {"0": 0, "1": 0.5, "2": 0}, abs=1e-12
    )


@pytest.mark.edges
@pytest.mark.parametrize("variant", ["plain", "quality", "expert", "gold"])
def test_the_gaps_of_slices_add_up_to_the_examination(make_survey, variant):
    survey = make_survey(n_items=300, humans=(0.4,) * 4, judges=(0.3, 0.5), seed=5)
    settings = {
        "plain": {},
        "quality": {"plan": Plan(quality={"ann0": 1, "ann1": 2, "ann2": 0.5, "ann3": 3})},
        "expert": {"plan": Plan(expert="ann2")},
        "gold": {"gold": {"gold": make_survey(n_items=300, seed=6).humans["ann0"]}},
    }[variant]

    found = examined(survey.humans, survey.judges, metadata=halves(300), **settings)

    for result, judge in zip(found.results, found.questions[0].diagnosis.judges, strict=True):
        rows = result.annotators
        ahead = sum(row.n_judge_wins - row.n_human_wins for row in rows)
        total = sum(row.gap * row.n_items for row in judge.slices)
        assert total / 300 == pytest.approx(ahead / sum(row.n_items for row in rows))
        assert len(rows) == (3 if variant == "expert" else 4)


def cut(values, *, strangers=0):
    """Cut a study by a column: each value is that of ten items, since smaller slices hide."""
    items = [f"t{n}-{k}" for n in range(len(values)) for k in range(10)]
    others = [f"s{n}" for n in range(strangers)]
    labels = dict.fromkeys([*items, *others], "x")
    metadata = pl.DataFrame(
        {"item": items, "x": [value for value in values for _ in range(10)]}, strict=False
    )
    return diagnosed(dict.fromkeys("abc", labels), {"mine": labels}, metadata=metadata)


def sizes(found):
    return {row.value: row.n_items for row in found.judges[0].slices}


@pytest.mark.edges
@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["web", None, "chat", "web"], {"chat": 10, "web": 20}),
        ([True, False, None, True], {"false": 10, "true": 20}),
        ([3, 1.5, None, 3, 10, 2], {"1.5": 10, "2": 10, "3": 20, "10": 10}),
        ([*range(1, 9), None], {"1 to 2": 20, "3 to 4": 20, "5 to 6": 20, "7 to 8": 20}),
        ([0] * 6 + [1, 2, 3, 4, 5, 6], {"0": 60, "1 to 3": 30, "4 to 6": 30}),
        ([1, 2, 3, 4] + [8] * 9, {"1 to 4": 40, "8": 90}),
        ([1] * 9 + [2, 3, 4, 8], {"1": 90, "2": 10, "3 to 8": 30}),
    ],
)
def test_a_column_cuts_the_items_by_value_and_many_numbers_into_quarters(values, expected):
    found = cut(values)

    assert sizes(found) == expected
    assert list(sizes(found)) == list(expected)
    assert found.slices_skipped == ()


@pytest.mark.edges
@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["a"] * 5, "one value only"),
        ([None] * 5, "no value for any item"),
        ([7.0] * 5, "one value only"),
        ([f"v{n}" for n in range(21)], "21 distinct values, more than 20"),
    ],
)
def test_columns_that_cut_nothing_are_skipped_with_their_reason(values, reason):
    found = cut(values)

    assert found.judges[0].slices == ()
    assert as_plain(found.slices_skipped) == [{"column": "x", "reason": reason}]


def test_twenty_hostile_values_are_themselves():
    evil = ["\x1b[2J", "<b>", "^.*$", "a\nb", "\u202e", "null", "None", "", *map(str, range(13))]

    assert sizes(cut(evil)) == {value: 10 for value in evil if value.strip()}


def test_items_that_the_metadata_do_not_name_are_counted_and_in_no_slice():
    found = cut(["web", "chat"], strangers=7)

    assert found.n_items_unknown == 7
    assert sizes(found) == {"chat": 10, "web": 10}


def test_columns_without_slices_are_listed(choice):
    items = [f"i{n}" for n in range(150)]
    metadata = pl.DataFrame(
        {"item": [*items, "stranger"], "a": ["x"] * 151, "b": [1, 2] * 75 + [9]}
    )

    found = diagnosed(choice.humans, choice.judges, metadata=metadata)

    assert [(row.column, row.reason) for row in found.slices_skipped] == [("a", "one value only")]
    assert found.n_items_unknown == 50
    assert sizes(found) == {"1": 75, "2": 75}


@pytest.mark.ci
def test_clusters_widen_the_intervals(make_survey, table):
    survey = make_survey(n_items=200)
    people, machines = (
        table(raters, role, "choice", cluster={f"i{n}": str(n // 20) for n in range(200)})
        for raters, role in ((survey.humans, "annotator"), (survey.judges, "judge"))
    )
    metadata = pl.DataFrame(
        {"item": [f"i{n}" for n in range(200)], "x": [n // 20 % 2 for n in range(200)]}
    )

    alone, together = (
        diagnosed(people, machines, metadata=metadata, clusters=clustered).judges[1].slices[0]
        for clustered in (False, True)
    )

    assert alone.difference == pytest.approx(together.difference)
    assert alone.low != together.low


def test_imbalance_weights_leave_the_gaps_alone(make_survey):
    survey = make_survey(n_items=100)

    gaps = [
        diagnosed(survey.humans, survey.judges, plan=plan, metadata=halves(100)).judges[1].slices
        for plan in (Plan(), Plan(weights="imbalance"))
    ]

    assert gaps[0] == gaps[1]


# The whole ------------------------------------------------------------------------------------


def test_failures_take_part_in_nothing(make_survey):
    survey = make_survey(n_items=60)
    judge = dict.fromkeys(survey.judges["judge0"]) | {"i0": "yes"}

    [found] = diagnosed(survey.humans, {"mine": judge}).judges

    assert found.panel.n_unanimous + found.panel.n_split == 1


@pytest.mark.ci
@given(study=studies(annotators=(2, 6), items=(3, 40)), n_values=st.integers(1, 4))
def test_any_study_has_a_diagnosis(study, n_values):
    metadata = pl.DataFrame(
        {"item": study.items, "x": [f"<{n % n_values}>" for n in range(len(study.items))]}
    )

    kind = study.kind if study.kind in ALIGNMENTS else "scale"

    found = diagnosed(study.humans, {"mine": study.judge}, kind=kind, metadata=metadata)

    [judge] = found.judges
    panel = judge.panel
    split = (
        panel.n_split_with_majority
        + panel.n_split_with_tied
        + panel.n_split_with_minority
        + panel.n_split_with_nobody
    )
    assert split == panel.n_split
    for row in found.annotators:
        assert math.isnan(row.p_value) == (row.reason is not None)
    for row in judge.slices:
        assert math.isnan(row.p_value) == (row.reason is not None)
        assert not row.worse or row.p_adjusted <= 0.05


def test_hostile_names_come_through_unchanged():
    evil = "\u202e<script>alert(1)</script>\n\x1b[2J"
    items = [f"{evil}{n}" for n in range(30)]
    humans = {f"{evil}{k}": dict.fromkeys(items, evil) for k in range(3)}
    metadata = pl.DataFrame({"item": items, evil: [evil, "*", "^.*$"] * 10})

    found = as_plain(diagnosed(humans, {evil: dict.fromkeys(items, "no")}, metadata=metadata))

    [judge] = found["judges"]
    assert {row["column"] for row in judge["slices"]} == {evil}
    assert {row["value"] for row in judge["slices"]} == {evil, "*", "^.*$"}


def test_the_test_itself_is_left_alone(make_survey):
    survey = make_survey()

    found = examined(survey.humans, survey.judges, metadata=halves(60))

    for result in found.results:
        alone = alt_test(survey.judges[result.judge], survey.humans, kind="choice")
        assert alone.annotators == result.annotators
        assert alone.winning_rate == result.winning_rate
