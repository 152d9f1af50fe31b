"""The product rule against plain Python; what it cannot say, it refuses."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrics.logic import logic_strategies
from rubrics.logic.class_oracle import make_rubric, text_of
from voirdire.errors import DegenerateDataWarning, LogicError
from voirdire.rubrics import check_logic, class_probabilities, hard_classes


def product_of(tree, chances, named):
    """The rule as its authors state it: parts are multiplied, and a named one's negation is 1 −."""
    match tree:
        case ("name", name):
            return product_of(named[name], chances, named) if name in named else chances[name]
        case ("not", operand):
            return 1 - product_of(operand, chances, named)
        case ("and", *operands):
            result = 1
            for row in operands:
                result *= product_of(row, chances, named)
            return result
    raise AssertionError(tree)


@st.composite
def conjunctions(draw, names):
    states = st.tuples(st.sampled_from(names), st.booleans())
    rows = draw(st.lists(states, min_size=1, max_size=6))
    parts = [("name", n) if plain else ("not", ("name", n)) for n, plain in rows]
    return parts[0] if len(parts) == 1 else ("and", *parts)


@given(st.data())
def test_classes_are_products_of_their_parts(data):
    names = data.draw(logic_strategies.propositions())
    named = {"first": data.draw(conjunctions(names))}
    named["second"] = data.draw(conjunctions([*names, "first"]))
    trees = data.draw(st.lists(conjunctions([*names, *named]), min_size=1, max_size=4))
    chances = {name: data.draw(logic_strategies.chances) for name in names}
    rubric = make_rubric(
        names,
        classes={f"c{k}": text_of(tree) for k, tree in enumerate(trees)},
        expressions={name: text_of(tree) for name, tree in named.items()},
        rule="product",
    )
    raw = [product_of(tree, chances, named) for tree in trees]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        found = class_probabilities(
            rubric, "b", probabilities=[[float(chances[name]) for name in names]]
        )

    assert found.rule == "product"
    assert found.normaliser.tolist() == pytest.approx([float(sum(raw))], abs=1e-14)
    if sum(raw):
        assert found.values[0] == pytest.approx([float(x / sum(raw)) for x in raw], abs=1e-12)
    else:
        assert np.isnan(found.values).all()


def test_the_negation_of_a_conjunction_by_hand():
    # refusal = 1/2 · 1/2 = 1/4. good: 1/4. bad: (1 - 1/4) · 1/2 = 3/8. Sum 5/8.
    rubric = make_rubric(
        "abc",
        classes={"good": "refusal", "bad": "not refusal and c"},
        expressions={"refusal": "a and b"},
        rule="product",
    )

    found = class_probabilities(rubric, "b", probabilities=[[0.5, 0.5, 0.5]])

    assert found.normaliser.tolist() == [5 / 8]
    assert found.values[0] == pytest.approx([2 / 5, 3 / 5])


def test_groups_that_are_conjunctions_are_products():
    # all(required) = 1/2 · (1 - 1/4); not any(undesired) = 7/8 · 7/8; any(illogical) = 1/3, alone.
    demands = {
        "a": "required",
        "c": "required false",
        "u": "undesired",
        "v": "undesired",
        "i": "illogical",
    }
    rubric = make_rubric(
        "acuvi",
        demands=demands,
        classes={
            "good": "all(required) and not any(undesired)",
            "fair": "not (u or v) and all(desired)",
            "bad": "any(illogical)",
            "none": "any(disallowed)",
            "all": "true and not any(disallowed)",
            "never": "not true",
            "half": "not false and a",
        },
        rule="product",
    )

    found = class_probabilities(rubric, "b", probabilities=[[0.5, 0.25, 0.125, 0.125, 1 / 3]])

    raw = [3 / 8 * 49 / 64, 49 / 64, 1 / 3, 0, 1, 0, 1 / 2]
    assert found.normaliser[0] == pytest.approx(sum(raw))
    assert found.values[0] == pytest.approx(np.array(raw) / sum(raw))


@pytest.mark.parametrize(
    ("condition", "shown"),
    [
        ("a or b", "a or b"),
        ("c and (a or not b)", "a or not b"),
        ("not (a and b)", "not \\(a and b\\)"),
        ("any(unacceptable)", "any\\(unacceptable\\)"),
        ("not all(unacceptable)", "not all\\(unacceptable\\)"),
        ("count(unacceptable) >= 1", "count\\(unacceptable\\) >= 1"),
        ("otherwise", "otherwise"),
    ],
)
def test_a_disjunction_is_refused(condition, shown):
    rubric = make_rubric(
        "abc",
        demands={"a": "unacceptable", "b": "unacceptable"},
        classes={"first": "a", "second": condition},
        rule="product",
    )

    with pytest.raises(LogicError, match=f"must be a conjunction, got `{shown}`") as caught:
        class_probabilities(rubric, "b", probabilities=[[0.5, 0.5, 0.5]])
    with pytest.raises(LogicError, match=f"must be a conjunction, got `{shown}`"):
        check_logic(rubric)

    assert caught.value.where == ("behaviors", "b", "classes", "second")


def test_a_disjunction_does_not_hide_in_a_named_expression():
    rubric = make_rubric(
        "abc",
        classes={"good": "outer", "bad": "not outer"},
        expressions={"outer": "c and inner", "inner": "a or b"},
        rule="product",
    )

    with pytest.raises(LogicError, match="`class_rule: exact`") as caught:
        class_probabilities(rubric, "b", probabilities=[[0.5, 0.5, 0.5]])

    assert caught.value.where == ("expressions", "inner")


def test_a_disjunction_that_no_class_needs_is_allowed():
    rubric = make_rubric(
        "ab", classes={"good": "a"}, expressions={"either": "a or b"}, rule="product"
    )

    check_logic(rubric)


def test_where_every_class_is_impossible_nothing_is_known():
    rubric = make_rubric("ab", classes={"x": "a and b", "y": "a and not b"}, rule="product")

    with pytest.warns(DegenerateDataWarning, match=r"0 for 2 of 3 items \(the first in row 1"):
        found = class_probabilities(rubric, "b", probabilities=[[1, 1], [0, 1], [0, 0.5]])

    assert found.values[0].tolist() == [1, 0]
    assert np.isnan(found.values[1:]).all()
    assert found.normaliser.tolist() == [1, 0, 0]


def test_a_nan_that_matters_makes_the_item_nan():
    rubric = make_rubric("abc", classes={"x": "a", "y": "not a and b"}, rule="product")

    found = class_probabilities(rubric, "b", probabilities=[[0.5, np.nan, 0.5], [0.5, 0.5, np.nan]])

    assert np.isnan(found.values).tolist() == [[True, True], [False, False]]
    assert np.isnan(found.normaliser).tolist() == [True, False]


def test_the_rule_may_be_chosen_for_one_call():
    # a ∧ b, a ∧ ¬b, ¬a: both rules agree where classes share nothing but whole propositions.
    rubric = make_rubric("ab", classes={"x": "a and b", "y": "a and not b", "z": "not a"})
    p = np.random.default_rng(0).random((50, 2))

    exact = class_probabilities(rubric, "b", probabilities=p)
    product = class_probabilities(rubric, "b", probabilities=p, rule="product")

    assert (exact.rule, product.rule) == ("exact", "product")
    assert product.values == pytest.approx(exact.values)
    assert product.normaliser == pytest.approx(np.ones(50))


def test_hard_classes_need_not_be_exhaustive():
    rubric = make_rubric("ab", classes={"x": "a and b", "y": "a and not b"}, rule="product")

    check_logic(rubric)

    labels = [[True, True], [True, False], [False, True], [None, True], [False, None]]
    assert hard_classes(rubric, "b", labels=labels).tolist() == [0, 1, -1, -1, -1]


def test_many_items_are_the_same_as_one_at_a_time():
    rubric = make_rubric("ab", classes={"x": "a and b", "y": "a and not b"}, rule="product")
    p = np.random.default_rng(1).uniform(0.1, 0.9, (20_001, 2))

    together = class_probabilities(rubric, "b", probabilities=p).values

    for row in (0, 8_192, 20_000):
        alone = class_probabilities(rubric, "b", probabilities=p[row : row + 1]).values
        assert (together[row] == alone[0]).all()
