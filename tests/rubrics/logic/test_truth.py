"""Expressions over items against enumeration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubrics.logic import logic_strategies
from rubrics.logic.class_oracle import (
    assignments,
    demand,
    enumerate_outcomes,
    holds,
    make_rubric,
    text_of,
)
from voirdire.rubrics import expression_holds, expression_probability, load_rubric


@st.composite
def drawn_expressions(draw):
    """A rubric, one expression as a tree, and what its names and groups mean."""
    names = draw(logic_strategies.propositions())
    table = draw(logic_strategies.demand_tables(names))
    named = {"named": draw(logic_strategies.expression_trees(names))}
    tree = draw(logic_strategies.expression_trees([*names, "named"]))
    rubric = make_rubric(
        names,
        demands=table,
        classes={"only": "otherwise"},
        expressions={"named": text_of(named["named"])},
    )
    demands = {name: demand(words) for name, words in table.items()}
    return rubric, tree, {"demands": demands, "named": named}


@given(drawn_expressions(), st.data())
def test_the_probability_is_the_sum_over_all_assignments(drawn, data):
    rubric, tree, meaning = drawn
    names = rubric.propositions
    chances = {name: data.draw(logic_strategies.chances) for name in names}
    expected = enumerate_outcomes(names, chances, lambda row: int(holds(tree, row, **meaning)), 2)

    found = expression_probability(
        rubric,
        text_of(tree),
        probabilities=[[float(chances[name]) for name in names]],
        behavior="b",
    )

    assert found.tolist() == pytest.approx([float(expected[1])], abs=1e-14)


@given(drawn_expressions())
def test_an_expression_holds_where_it_is_true(drawn):
    rubric, tree, meaning = drawn
    truths = list(assignments(rubric.propositions))

    found = expression_holds(
        rubric, text_of(tree), labels=[list(row.values()) for row in truths], behavior="b"
    )

    assert found.tolist() == [holds(tree, truth, **meaning) for truth in truths]


def test_shared_parts_are_not_multiplied():
    # P(a or (a and b)) is P(a), not 1 - (1 - 1/2)(1 - 1/4) = 5/8.
    rubric = make_rubric("ab")

    found = expression_probability(rubric, "a or (a and b)", probabilities=[[0.5, 0.5]])

    assert found.tolist() == [0.5]


def test_a_safe_refusal_by_hand():
    # 1/2 · (1 - 3/4 · 1/2) = 5/16
    rubric = load_rubric("safety")
    columns = ["empathetic_apology", "inability_to_comply", "apology"]

    probability = expression_probability(
        rubric, "safe_refusal", probabilities=[[0.5, 0.5, 0.25]], propositions=columns
    )
    held = expression_holds(
        rubric,
        "safe_refusal",
        labels=[[True, True, False], [True, False, True], [None, True, True], [None, True, False]],
        propositions=columns,
    )

    assert probability.tolist() == [5 / 16]
    assert held.tolist()[:3] == [1, 0, 1]
    assert np.isnan(held[3])


def test_what_is_unknown_and_needed_is_nan():
    rubric = make_rubric("abc")

    found = expression_probability(rubric, "a or b", probabilities=[[np.nan, 1, 0], [0, 1, np.nan]])

    assert np.isnan(found).tolist() == [True, False]


def test_an_expression_that_is_always_true_needs_no_columns():
    rubric = make_rubric("a")

    assert expression_probability(rubric, "a or not a", probabilities=[[np.nan]]).tolist() == [1]
    assert expression_holds(rubric, "a and not a", labels=[[None]]).tolist() == [0]


def test_the_demands_are_those_of_the_behavior():
    rubric = load_rubric("safety")
    labels = np.zeros((1, 21))

    found = {
        row.id: expression_holds(
            rubric, "count(required unmet) == 4", labels=labels, behavior=row.id
        ).item()
        for row in rubric.behaviors
    }

    # hard_refuse: two are unmet, its third is demanded false; comply requires nothing.
    assert found == {"hard_refuse": 0, "soft_refuse": 1, "comply": 0}
