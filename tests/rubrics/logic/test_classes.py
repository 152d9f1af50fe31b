"""Class probabilities and hard classes against enumeration, closed forms and plain rules."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrics.logic import logic_strategies
from rubrics.logic.class_oracle import (
    DEFAULT_CLASSES,
    assignments,
    default_class,
    default_probabilities,
    demand,
    enumerate_outcomes,
    holds,
    make_rubric,
)
from voirdire.errors import InputError, LogicError
from voirdire.rubrics import class_probabilities, hard_classes, load_rubric

ONE_OF = {"comply": ("fully_complies", "partially_complies", "requests_information")}


def first_class(conditions, named, demands):
    """Give a function from a truth assignment to the index of the first class that holds."""

    def outcome(truth):
        met = (holds(row, truth, demands=demands, named=named) for row in conditions)
        return next((k for k, value in enumerate(met) if value), len(conditions))

    return outcome


# Exact probabilities --------------------------------------------------------------------------


@given(logic_strategies.drawn_rubrics(), st.data())
def test_exact_probabilities_are_sums_over_all_assignments(drawn, data):
    rubric, conditions, named = drawn
    names = rubric.propositions
    chances = {name: data.draw(logic_strategies.chances) for name in names}
    outcome = first_class(conditions, named, rubric.behavior("b").demands)
    expected = enumerate_outcomes(names, chances, outcome, len(conditions) + 1)

    found = class_probabilities(rubric, "b", probabilities=[[float(chances[n]) for n in names]])

    assert found.values[0] == pytest.approx([float(row) for row in expected], abs=1e-14)
    assert found.values.sum() == pytest.approx(1, abs=1e-12)
    assert found.normaliser.tolist() == [1]
    assert found.classes == tuple(row.name for row in rubric.behavior("b").classes)


@given(logic_strategies.drawn_rubrics())
def test_where_a_judge_is_sure_the_probabilities_are_the_hard_classes(drawn):
    rubric, conditions, named = drawn
    outcome = first_class(conditions, named, rubric.behavior("b").demands)
    truths = list(assignments(rubric.propositions))
    corners = np.array([list(truth.values()) for truth in truths])

    values = class_probabilities(rubric, "b", probabilities=corners.astype(float)).values
    hard = hard_classes(rubric, "b", labels=corners)

    assert hard.tolist() == [outcome(truth) for truth in truths]
    assert (values == np.eye(values.shape[1])[hard]).all()


@pytest.mark.parametrize("behavior", ["hard_refuse", "soft_refuse", "comply"])
def test_the_safety_rubric_has_its_closed_form(behavior):
    rubric = load_rubric("safety")
    demands = rubric.behavior(behavior).demands
    p = np.random.default_rng(5).beta(0.4, 0.4, (500, 21))

    found = class_probabilities(rubric, behavior, probabilities=p)

    for row, values in zip(p, found.values, strict=True):
        chances = dict(zip(rubric.propositions, row, strict=True))
        one_of = ONE_OF.get(behavior, ())
        expected = default_probabilities(chances, demands, one_of=one_of)
        assert values == pytest.approx(expected, abs=1e-14)
    assert np.abs(found.values.sum(axis=1) - 1).max() <= 1e-12


def test_small_probabilities_keep_their_digits():
    # 1 - (1 - 1e-12)^2 is not 2e-12 to more than four digits; (1 - p) and p at a node are exact.
    names = ["a", "b"]
    rubric = make_rubric(names, classes={"both": "a and b", "rest": "otherwise"})
    p = [1e-12, 1e-9]

    values = class_probabilities(rubric, "b", probabilities=[p]).values[0]

    assert values[0] == pytest.approx(float(Fraction(p[0]) * Fraction(p[1])), rel=1e-15, abs=0)


def test_many_items_are_the_same_as_one_at_a_time():
    rubric = load_rubric("safety")
    p = np.random.default_rng(6).random((20_011, 21))
    rows = [0, 4_095, 4_096, 8_192, 19_999, 20_010]

    together = class_probabilities(rubric, "soft_refuse", probabilities=p).values
    alone = [class_probabilities(rubric, "soft_refuse", probabilities=p[k : k + 1]) for k in rows]

    assert (together[rows] == np.concatenate([row.values for row in alone])).all()
    assert np.abs(together.sum(axis=1) - 1).max() <= 1e-12


def test_no_items_have_no_classes():
    rubric = load_rubric("safety")

    found = class_probabilities(rubric, "comply", probabilities=np.empty((0, 21)))

    assert found.values.shape == (0, 5)
    assert hard_classes(rubric, "comply", labels=np.empty((0, 21))).shape == (0,)


def test_a_class_may_hold_always():
    rubric = make_rubric(["a"], classes={"all": "true", "rest": "otherwise"})

    found = class_probabilities(rubric, "b", probabilities=[[0.3], [np.nan]])

    assert found.values.tolist() == [[1, 0], [1, 0]]
    assert hard_classes(rubric, "b", labels=[[None], [True]]).tolist() == [0, 0]


# The default classes --------------------------------------------------------------------------


@given(st.data())
def test_default_classes_partition_every_assignment(data):
    names = data.draw(logic_strategies.propositions(most=8))
    table = data.draw(logic_strategies.demand_tables(names))
    rubric = make_rubric(names, demands=table, classes=DEFAULT_CLASSES)
    demands = {name: demand(words) for name, words in table.items()}
    truths = list(assignments(names))
    corners = np.array([list(truth.values()) for truth in truths])

    hard = hard_classes(rubric, "b", labels=corners)
    values = class_probabilities(rubric, "b", probabilities=corners).values

    expected = [default_class(truth, demands) for truth in truths]
    assert [list(DEFAULT_CLASSES)[k] for k in hard] == expected
    assert (values.sum(axis=1) == 1).all()
    assert ((values == 0) | (values == 1)).all()


@pytest.mark.parametrize(
    ("behavior", "n_that_matter"), [("hard_refuse", 14), ("soft_refuse", 18), ("comply", 7)]
)
def test_the_classes_of_the_safety_rubric_partition_all_assignments(behavior, n_that_matter):
    rubric = load_rubric("safety")
    demands = rubric.behavior(behavior).demands
    one_of = ONE_OF.get(behavior, ())
    matter = [name for name, row in demands.items() if row.word != "allowed"]
    matter += [name for name in one_of if name not in matter]
    bits = np.arange(2 ** len(matter))
    truth = {name: (bits >> k) & 1 == 1 for k, name in enumerate(matter)}

    hard = hard_classes(
        rubric, behavior, labels=np.column_stack(list(truth.values())), propositions=matter
    )

    assert len(matter) == n_that_matter
    assert hard.tolist() == by_the_table(truth, demands, one_of).tolist()


def by_the_table(truth, demands, one_of):
    """The design's five sentences on arrays, the last one first."""
    missed = {name: truth[name] != row.demanded for name, row in demands.items() if name in truth}

    def some(word, *, core=False):
        chosen = [missed[n] for n, r in demands.items() if r.word == word and (r.core or not core)]
        return np.sum(chosen, axis=0, dtype=int) if chosen else np.zeros_like(bits, dtype=int)

    bits = next(iter(truth.values()))
    result = np.full(len(bits), 4)
    result[some("required") + some("desired") + some("undesired") > 0] = 3
    unacceptable = (some("required", core=True) > 0) | (some("required") >= 2)
    unacceptable |= some("unacceptable") > 0
    if one_of:
        unacceptable |= ~np.logical_or.reduce([truth[name] for name in one_of])
    result[unacceptable] = 2
    result[some("illogical") > 0] = 1
    result[some("disallowed") > 0] = 0
    return result


# What is missing ------------------------------------------------------------------------------


def test_a_nan_that_matters_makes_the_item_nan():
    rubric = load_rubric("safety")
    p = np.full((22, 21), 0.25)
    p[range(21), range(21)] = np.nan

    found = class_probabilities(rubric, "hard_refuse", probabilities=p)

    demands = rubric.behavior("hard_refuse").demands
    matters = [n in demands and demands[n].word != "allowed" for n in rubric.propositions]
    assert np.isnan(found.values).all(axis=1).tolist() == [*matters, False]
    assert np.isnan(found.values).any(axis=1).tolist() == [*matters, False]
    assert np.isnan(found.normaliser).tolist() == [*matters, False]
    assert sum(matters) == 14


def test_a_nan_matters_even_where_something_else_decides():
    rubric = make_rubric("ab", classes={"bad": "a", "poor": "b", "good": "otherwise"})

    found = class_probabilities(rubric, "b", probabilities=[[1.0, np.nan], [np.nan, 1.0]])

    assert np.isnan(found.values).all()


@given(logic_strategies.drawn_rubrics(), st.data())
def test_a_missing_label_leaves_open_only_what_it_can_change(drawn, data):
    rubric, conditions, named = drawn
    names = rubric.propositions
    labels = [data.draw(st.sampled_from((0.0, 1.0, np.nan))) for _ in names]
    outcome = first_class(conditions, named, rubric.behavior("b").demands)
    possible = {
        outcome(truth)
        for truth in assignments(names)
        if all(np.isnan(s) or truth[n] == s for n, s in zip(names, labels, strict=True))
    }

    (found,) = hard_classes(rubric, "b", labels=[labels]).tolist()

    assert found == (possible.pop() if len(possible) == 1 else -1)


@pytest.mark.parametrize(
    "labels",
    [
        np.array([[True, False], [False, False]]),
        np.array([[1, 0], [0, 0]], dtype=np.int8),
        np.array([[1.0, 0.0], [0.0, 0.0]], dtype=np.float32),
        [[True, False], [False, False]],
        np.array([[True, False], [False, False]], dtype=object),
    ],
    ids=["bool", "int", "float", "lists", "object"],
)
def test_labels_come_in_many_types(labels):
    rubric = make_rubric("ab", classes={"a": "a and not b", "rest": "otherwise"})

    assert hard_classes(rubric, "b", labels=labels).tolist() == [0, 1]


def test_missing_labels_come_in_many_types():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    rubric = make_rubric("ab", classes={"a": "a and not b", "rest": "otherwise"})
    rows = {"a": [True, None, False], "b": [False, False, None]}
    frame = pandas.DataFrame({k: pandas.array(v, dtype="boolean") for k, v in rows.items()})

    for labels in (frame, frame.to_numpy(dtype=object), polars.DataFrame(rows).to_numpy()):
        assert hard_classes(rubric, "b", labels=labels).tolist() == [0, -1, 1]


# Columns --------------------------------------------------------------------------------------


def test_columns_may_stand_in_any_order_among_others():
    rubric = make_rubric("abc", classes={"x": "a and not c", "rest": "otherwise"})
    by_name = {"other": 0.9, "c": 0.25, "a": 0.5}

    found = class_probabilities(
        rubric, "b", probabilities=[list(by_name.values())], propositions=list(by_name)
    )

    assert found.values.tolist() == [[0.375, 0.625]]


@pytest.mark.parametrize(
    ("probabilities", "message"),
    [
        ([[0.1, 1.5]], "`probabilities` must be in \\[0, 1\\] or nan, got 1.5 for 'b' in row 0"),
        ([[0.1, 0.1], [-0.1, np.nan]], "got -0.1 for 'a' in row 1"),
        ([[0.1, np.inf]], "got inf for 'b' in row 0"),
        ([0.1, 0.2], "numbers of shape \\(n_items, 2\\), .* of shape \\(2,\\)"),
        ([[0.1]], "numbers of shape \\(n_items, 2\\), .* of shape \\(1, 1\\)"),
        ([["x", "y"]], "must be numbers .* got <U1"),
        ([[object(), 1]], "must hold numbers, truth values or None, got"),
        ([["1", None]], "must hold numbers, truth values or None, got '1'"),
        ([[1j, 0]], "must be numbers .* got complex128"),
    ],
)
def test_what_is_no_probability_is_refused(probabilities, message):
    rubric = make_rubric("ab", classes={"x": "a", "rest": "otherwise"})

    with pytest.raises(InputError, match=message):
        class_probabilities(rubric, "b", probabilities=probabilities)


def test_a_wrong_probability_is_found_in_a_late_row():
    rubric = load_rubric("safety")
    p = np.full((10_000, 21), 0.5)
    p[9_000, 20] = 1.0001

    with pytest.raises(InputError, match=r"got 1\.0001 for 'gentle_encouragement' in row 9000"):
        class_probabilities(rubric, "comply", probabilities=p)


@pytest.mark.parametrize("label", [2, 0.5, -1, np.inf])
def test_what_is_no_label_is_refused(label):
    rubric = make_rubric("ab", classes={"x": "a", "rest": "otherwise"})

    with pytest.raises(
        InputError, match=r"`labels` must be true, false or missing, got .* for 'b'"
    ):
        hard_classes(rubric, "b", labels=[[1, 0], [0, label]])


def test_a_needed_column_must_be_there():
    rubric = make_rubric(["apology", "rude"], classes={"x": "apology", "rest": "otherwise"})

    with pytest.raises(InputError, match=r"got none called 'apology'\. Did you mean `apolgy`"):
        hard_classes(rubric, "b", labels=[[True, True]], propositions=["apolgy", "rude"])


def test_a_column_that_is_not_needed_may_be_away():
    rubric = make_rubric("ab", classes={"x": "a", "rest": "otherwise"})

    assert hard_classes(rubric, "b", labels=[[True]], propositions=["a"]).tolist() == [0]


def test_columns_have_different_names():
    rubric = make_rubric("ab", classes={"x": "a", "rest": "otherwise"})

    with pytest.raises(InputError, match="`propositions` must be different, got 'a' twice"):
        hard_classes(rubric, "b", labels=[[True, False]], propositions=["a", "a"])


# What a rubric cannot mean --------------------------------------------------------------------


def test_classes_that_leave_a_case_open_have_no_exact_probabilities():
    rubric = make_rubric("abc", classes={"x": "a and not b", "y": "not a or c"})

    with pytest.raises(LogicError, match="none that holds where a is true, b is true, c is false"):
        class_probabilities(rubric, "b", probabilities=[[0.5, 0.5, 0.5]])


def test_classes_that_cover_every_case_need_no_otherwise():
    rubric = make_rubric("ab", classes={"x": "a and b", "y": "not a", "z": "not b"})

    values = class_probabilities(rubric, "b", probabilities=[[0.5, 0.25]]).values

    assert values.tolist() == [[0.125, 0.5, 0.375]]


def test_an_unknown_behavior_or_rule_is_refused():
    rubric = make_rubric("ab", classes={"x": "a", "rest": "otherwise"})

    with pytest.raises(InputError, match="`behavior` must be in rubric 'made'"):
        class_probabilities(rubric, "c", probabilities=[[0.5, 0.5]])
    with pytest.raises(InputError, match="`rule` must be one of 'exact', 'product', got 'sum'"):
        class_probabilities(rubric, "b", probabilities=[[0.5, 0.5]], rule="sum")
