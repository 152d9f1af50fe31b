"""Tables become the arrays that dicts become, without Python loops over rows."""

import numpy as np
import polars as pl
import pytest

from voirdire.errors import NoDataError
from voirdire.io import table_from_frame
from voirdire.studies.examination import make_reader
from voirdire.studies.from_mappings import matrix_from_mappings
from voirdire.studies.from_tables import matrix_from_tables

SETS = [["a"], ["a", "b"], [], ["a\x1fb"], ["\\u"], ["a|b", "c,d"]]


def named(matrix, codes):
    if not matrix.categories:
        return codes.tolist()
    return [[None if c < 0 else matrix.categories[c] for c in row] for row in codes.tolist()]


@pytest.mark.parametrize("kind", ["choice", "scale", "multilabel", "text"])
def test_a_table_gives_the_matrix_that_dicts_give(make_survey, table, kind):
    survey = make_survey(kind)
    humans = survey.humans | {"ann0": dict(list(survey.humans["ann0"].items())[7:])}
    judges = survey.judges | {"judge1": dict(list(survey.judges["judge1"].items())[:50])}
    alignment = {"scale": "neg_rmse", "multilabel": "hamming"}.get(kind, "accuracy")
    numeric = kind == "scale"

    found = matrix_from_tables(
        table(judges, "judge", kind),
        table(humans, "annotator", kind),
        question="label",
        numeric=numeric,
    )

    reader = make_reader(alignment, kind=kind, labels=None)
    expected = matrix_from_mappings(judges, humans, reader=reader, numeric=numeric)
    order = [found.items.index(item) for item in expected.items]
    assert sorted(order) == list(range(60))
    for name in ("annotators", "judges", "declared", "n_unjudged"):
        assert getattr(found, name) == getattr(expected, name), name
    assert named(found, found.humans[order]) == named(expected, expected.humans) or numeric
    assert named(found, found.answers[order]) == named(expected, expected.answers) or numeric
    np.testing.assert_array_equal(found.failed[order], expected.failed)
    if numeric:
        np.testing.assert_array_equal(found.humans[order], expected.humans)
        np.testing.assert_array_equal(found.answers[order], expected.answers)
    if kind == "multilabel":
        assert found.universe == expected.universe == ("hate", "insult", "自伤")


def test_sets_with_separators_get_their_own_codes(table):
    humans = {"ann": {f"i{row}": label for row, label in enumerate(SETS)}}

    matrix = matrix_from_tables(
        table(humans, "judge", "multilabel"),
        table(humans, "annotator", "multilabel"),
        question="label",
        numeric=False,
    )

    assert len(set(matrix.humans[:, 0].tolist())) == len(SETS)
    assert [matrix.categories[code] for code in matrix.humans[:, 0]] == [
        frozenset(label) for label in SETS
    ]
    np.testing.assert_array_equal(matrix.humans, matrix.answers)


def test_declared_labels_are_the_universe_in_their_order(table):
    humans = {"ann": {"i0": ["b"], "i1": ["a"]}}

    matrix = matrix_from_tables(
        table(humans, "judge", "multilabel"),
        table(humans, "annotator", "multilabel"),
        question="label",
        numeric=False,
        labels=["c", "b", "a"],
    )

    assert matrix.universe == ("c", "b", "a")
    assert matrix.declared


def test_failed_answers_are_marked(table):
    humans = {"ann": {f"i{row}": "yes" for row in range(4)}}
    judges = {"j": {"i0": "yes", "i1": None, "i2": "can't tell"}}

    matrix = matrix_from_tables(
        table(judges, "judge", "choice"),
        table(humans, "annotator", "choice"),
        question="label",
        numeric=False,
    )

    assert matrix.failed[:, 0].tolist() == [False, True, True, False]
    assert matrix.n_unjudged == {"j": 1}


def test_rows_in_any_order_find_their_place():
    rng = np.random.default_rng(1)
    rows = [(f"i{i}", name, f"{name}{i % 3}") for i in range(30) for name in ("ann", "bob")]
    order = rng.permutation(len(rows))
    frame = pl.DataFrame(
        [rows[k] for k in order], schema=["item", "annotator", "label"], orient="row"
    )
    humans = table_from_frame(frame, role="annotator", kind="choice", source_name="humans")
    judge = pl.DataFrame({"item": [f"i{i}" for i in range(30)], "label": "ann0"})
    judges = table_from_frame(judge, role="judge", kind="choice", source_name="j")

    matrix = matrix_from_tables(judges, humans, question="label", numeric=False)

    found = named(matrix, matrix.humans)
    for place, item in enumerate(matrix.items):
        for column, name in enumerate(matrix.annotators):
            assert found[place][column] == f"{name}{int(item[1:]) % 3}"


def test_an_unknown_question_is_refused(table):
    humans = {"ann": {"i0": "yes"}}

    with pytest.raises(NoDataError, match="no annotation of the question 'x' is left to examine"):
        matrix_from_tables(
            table(humans, "judge", "choice"),
            table(humans, "annotator", "choice"),
            question="x",
            numeric=False,
        )


def test_what_a_judge_says_of_other_items_is_listed_by_judge(table):
    humans = {"ann": {"i0": "yes"}}
    judges = {"j": {"i0": "yes"}, "k": {"i0": "yes", "e1": "no", "e2": "no"}}

    matrix = matrix_from_tables(
        table(judges, "judge", "choice"),
        table(humans, "annotator", "choice"),
        question="label",
        numeric=False,
    )

    (drop,) = matrix.dropped
    assert (drop.rater, drop.reason) == ("k", "2 items that nobody annotated")
    assert (drop.source, drop.question) == ("judges", "label")
