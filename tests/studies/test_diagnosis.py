"""The diagnosis of one question: names, levels, slices, and its JSON."""

import io
import json
import math
from collections import Counter

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import studies
from voirdire import alt_test
from voirdire.errors import InputError
from voirdire.io import read_metadata
from voirdire.stats import alt_test as arrays_test
from voirdire.studies import TestPlan as Plan
from voirdire.studies import diagnose
from voirdire.studies.certificate import without_nan
from voirdire.studies.examination import make_reader
from voirdire.studies.from_mappings import matrix_from_mappings

ALIGNMENTS = {
    "choice": "accuracy",
    "boolean": "accuracy",
    "scale": "neg_rmse",
    "multilabel": "jaccard",
}


def matrix_of(humans, judges, *, alignment="accuracy", kind=None, clusters=None):
    return matrix_from_mappings(
        judges,
        humans,
        reader=make_reader(alignment, kind=kind, labels=None),
        numeric=alignment == "neg_rmse",
        gold=None,
        clusters=clusters,
    )


@pytest.fixture(scope="module")
def choice(make_survey):
    survey = make_survey(n_items=200, seed=3)
    return matrix_of(survey.humans, survey.judges)


def test_names_and_order_are_those_of_the_matrix(choice):
    found = diagnose(choice)

    assert [row.annotator for row in found.annotators] == list(choice.annotators)
    assert [row.judge for row in found.judges] == list(choice.judges)


def test_a_careless_annotator_is_named(make_survey):
    survey = make_survey(n_items=300, humans=(0.1, 0.1, 0.1, 1.0), seed=1)

    found = diagnose(matrix_of(survey.humans, survey.judges))

    assert found.outliers == ("ann3",)


def test_opposed_items_are_named_with_both_labels(choice):
    found = diagnose(choice).judges[1]

    assert found.panel.n_opposed == len(found.opposed) > 0
    for row in found.opposed:
        item = choice.items.index(row.item)
        assert {choice.categories[code] for code in choice.humans[item]} == {row.panel_label}
        assert choice.categories[choice.answers[item, 1]] == row.judge_label
        assert row.n_annotators == 4


@pytest.mark.parametrize("kind", ["choice", "boolean", "scale", "multilabel"])
def test_every_kind_has_a_diagnosis_that_json_can_hold(make_survey, kind):
    survey = make_survey(kind, n_items=120)
    matrix = matrix_of(survey.humans, survey.judges, alignment=ALIGNMENTS[kind], kind=kind)
    metadata = pl.DataFrame({"item": matrix.items, "half": [n % 2 for n in range(120)]})

    found = diagnose(matrix, alignment=ALIGNMENTS[kind], kind=kind, metadata=metadata)

    shown = json.loads(json.dumps(without_nan(found.as_dict()), allow_nan=False))
    assert set(shown) == {"annotators", "judges", "slices_skipped", "n_items_unknown"}
    judge = shown["judges"][0]
    assert set(judge) == {
        "judge", "panel", "opposed", "n_opposed", "confusion", "slices", "reason",
    }  # fmt: skip
    assert judge["n_opposed"] == judge["panel"]["n_opposed"]
    assert [row["value"] for row in judge["slices"]] == ["0", "1"]
    assert (judge["confusion"]["per_label"] is None) == (kind != "multilabel")
    assert judge["confusion"]["n_pairs"] > 0


def test_the_confusion_of_words_is_counted_from_the_labels(choice):
    [table, _] = [judge.confusion for judge in diagnose(choice).judges]

    pairs = Counter(
        (choice.categories[h], choice.categories[f])
        for row, f in zip(choice.humans.tolist(), choice.answers[:, 0].tolist(), strict=True)
        for h in row
    )
    assert table.counts == tuple(tuple(pairs[h, f] for f in table.labels) for h in table.labels)
    assert table.n_pairs == 800


def test_the_confusion_of_a_scale_is_in_order(make_survey):
    survey = make_survey("scale")

    found = diagnose(matrix_of(survey.humans, survey.judges, alignment="neg_rmse"))

    table = found.judges[0].confusion
    assert (table.labels, table.binning) == (("1", "2", "3", "4", "5"), "values")


def test_many_numbers_are_confused_by_fifths():
    rng = np.random.default_rng(1)
    humans = {name: {f"t{n}": x for n, x in enumerate(rng.normal(size=50))} for name in "abc"}
    judges = {"mine": {f"t{n}": x for n, x in enumerate(rng.normal(size=50))}}

    table = diagnose(matrix_of(humans, judges, alignment="neg_rmse")).judges[0].confusion

    assert table.binning == "quantiles"
    assert len(table.labels) == 5
    assert table.labels[0].startswith("up to ")
    assert table.labels[4].startswith("over ")
    assert sum(map(sum, table.counts)) == 150


def test_labels_of_sets_have_their_names(make_survey):
    survey = make_survey("multilabel")
    matrix = matrix_of(survey.humans, survey.judges, alignment="jaccard", kind="multilabel")

    table = diagnose(matrix, alignment="jaccard").judges[0].confusion

    assert {row.label for row in table.per_label} == {"hate", "insult", "自伤"}
    for row in table.per_label:
        both = sum(
            row.label in matrix.categories[h] and row.label in matrix.categories[f]
            for labels, f in zip(matrix.humans, matrix.answers[:, 0], strict=True)
            for h in labels
        )
        assert row.both == both
        assert row.both + row.judge_only + row.human_only + row.neither == table.n_pairs


def test_free_text_has_slices_only(make_survey):
    survey = make_survey("text", n_items=40)
    matrix = matrix_of(survey.humans, survey.judges, alignment="similarity")
    metadata = pl.DataFrame({"item": matrix.items, "half": [n % 2 for n in range(40)]})

    found = diagnose(matrix, alignment="similarity", metadata=metadata)

    assert found.annotators == ()
    assert found.judges[0].panel is None
    assert found.judges[0].confusion is None
    assert found.judges[0].reason == "labels are free text, which nobody repeats"
    assert len(found.judges[0].slices) == 2
    assert diagnose(matrix, alignment="accuracy", kind="text").judges[0].panel is None
    assert diagnose(matrix, alignment="accuracy", kind="choice").judges[0].panel is not None


def test_an_alignment_of_ones_own_tells_words_from_texts(make_survey):
    def same(first, second):
        return np.array([a == b for a, b in zip(first, second, strict=True)], float)

    words = make_survey()
    items = [f"t{number}" for number in range(20)]
    texts = {name: {item: f"{name} on {item}" for item in items} for name in "abc"}

    of_words = diagnose(matrix_of(words.humans, words.judges), alignment=same)
    of_texts = diagnose(matrix_of(texts, {"mine": texts["a"]}), alignment=same)

    assert of_words.judges[0].panel is not None
    assert of_texts.judges[0].panel is None


def test_a_planted_bad_slice_is_found_and_the_others_are_not(make_survey):
    survey = make_survey(n_items=400, humans=(0.1,) * 4, judges=(0.1, 0.1), seed=2)
    bad = dict(survey.judges["judge0"])
    for number in range(0, 400, 5):
        bad[f"i{number}"] = "?"
    matrix = matrix_of(survey.humans, {"judge0": bad, "judge1": survey.judges["judge1"]})
    text = "id,source,length\n" + "".join(
        f"i{n},{['chat', 'web', 'web', 'book', 'book'][n % 5]},{n * 7 % 400}\n" for n in range(400)
    )

    found = diagnose(matrix, metadata=read_metadata(io.BytesIO(text.encode()), format="csv"))

    worse = {
        judge.judge: [(row.column, row.value) for row in judge.slices if row.worse]
        for judge in found.judges
    }
    assert worse == {"judge0": [("source", "chat")], "judge1": []}
    assert len(found.judges[0].slices) == 3 + 4


def test_the_gaps_of_slices_add_up_to_the_examination(choice):
    metadata = pl.DataFrame({"item": choice.items, "x": ["a", "b"] * 100})

    first, second = diagnose(choice, metadata=metadata).judges[0].slices

    [result] = arrays_test(choice.answers[:, :1], choice.humans)
    wins, losses, n = (
        sum(getattr(row, name) for row in result.annotators)
        for name in ("n_judge_wins", "n_human_wins", "n_items")
    )
    total = first.gap * first.n_items + second.gap * second.n_items
    assert total / 200 == pytest.approx((wins - losses) / n)


def test_columns_are_chosen_and_skipped_ones_are_listed(choice):
    metadata = pl.DataFrame(
        {"item": [*choice.items[:150], "stranger"], "a": ["x"] * 151, "b": [1, 2] * 75 + [1]}
    )

    found = diagnose(choice, metadata=metadata)

    assert [(row.column, row.reason) for row in found.slices_skipped] == [("a", "one value only")]
    assert found.n_items_unknown == 50
    assert diagnose(choice, metadata=metadata, columns=["b"]).slices_skipped == ()
    with pytest.raises(InputError, match="column `c` must exist"):
        diagnose(choice, metadata=metadata, columns=["c"])


def test_clusters_widen_the_intervals(make_survey):
    survey = make_survey(n_items=200)
    groups = {f"i{n}": n // 20 for n in range(200)}
    plain = matrix_of(survey.humans, survey.judges)
    grouped = matrix_of(survey.humans, survey.judges, clusters=groups)
    metadata = pl.DataFrame({"item": plain.items, "x": [n // 20 % 2 for n in range(200)]})

    alone, together = (diagnose(m, metadata=metadata).judges[1].slices[0] for m in (plain, grouped))

    assert alone.difference == pytest.approx(together.difference)
    assert alone.low != together.low


def test_the_plan_says_who_stands_for_the_others(make_survey):
    survey = make_survey(n_items=100)
    matrix = matrix_of(survey.humans, survey.judges)
    metadata = pl.DataFrame({"item": matrix.items, "x": [n % 2 for n in range(100)]})
    plans = [
        Plan(),
        Plan(expert="ann0"),
        Plan(quality={"ann0": 1, "ann1": 1, "ann2": 1, "ann3": 9}),
        Plan(weights="imbalance"),
    ]

    gaps = [
        diagnose(matrix, plan=plan, metadata=metadata).judges[1].slices[0].gap for plan in plans
    ]

    assert len(set(gaps[:3])) == 3
    assert gaps[3] == gaps[0]


def test_failures_take_part_in_nothing(make_survey):
    survey = make_survey(n_items=60)
    judge = dict.fromkeys(survey.judges["judge0"]) | {"i0": "yes"}

    [found] = diagnose(matrix_of(survey.humans, {"mine": judge})).judges

    assert found.panel.n_unanimous + found.panel.n_split == 1
    assert found.confusion.n_pairs == 4


@given(study=studies(annotators=(2, 6), items=(3, 40)), n_values=st.integers(1, 4))
def test_any_study_has_a_diagnosis(study, n_values):
    alignment = {"choice": "accuracy", "multilabel": "jaccard"}.get(study.kind, "neg_rmse")
    matrix = matrix_of(study.humans, {"mine": study.judge}, alignment=alignment)
    metadata = pl.DataFrame(
        {"item": study.items, "x": [f"<{n % n_values}>" for n in range(len(study.items))]}
    )

    found = diagnose(matrix, alignment=alignment, metadata=metadata)

    json.dumps(without_nan(found.as_dict()), allow_nan=False)
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
    if study.kind != "multilabel":
        assert sum(map(sum, judge.confusion.counts)) == judge.confusion.n_pairs


def test_hostile_names_come_through_unchanged():
    evil = "\u202e<script>alert(1)</script>\n\x1b[2J"
    items = [f"{evil}{n}" for n in range(30)]
    humans = {f"{evil}{k}": dict.fromkeys(items, evil) for k in range(3)}
    matrix = matrix_of(humans, {evil: dict.fromkeys(items, "no")})
    metadata = pl.DataFrame({"item": items, evil: [evil, "*", "^.*$"] * 10})

    found = diagnose(matrix, metadata=metadata).as_dict()

    [judge] = found["judges"]
    assert judge["opposed"][0] == {
        "item": items[0],
        "panel_label": evil,
        "judge_label": "no",
        "n_annotators": 3,
    }
    assert {row["column"] for row in judge["slices"]} == {evil}
    assert {row["value"] for row in judge["slices"]} == {evil, "*", "^.*$"}
    assert set(judge["confusion"]["labels"]) == {evil, "no"}


def test_the_test_itself_is_left_alone(make_survey):
    survey = make_survey()
    before = alt_test(judges=survey.judges, humans=survey.humans)
    matrix = matrix_of(survey.humans, survey.judges)
    humans = matrix.humans.copy()

    diagnose(matrix)

    np.testing.assert_array_equal(matrix.humans, humans)
    assert alt_test(judges=survey.judges, humans=survey.humans) == before
