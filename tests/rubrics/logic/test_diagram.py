"""Decision diagrams: shared, reduced, bounded."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.rubrics.logic.diagram import FALSE, TRUE, Budget, BudgetSpentError, Diagram


def new_diagram(n_variables, *, n_leaves=2, n_steps=100_000):
    return Diagram(n_variables=n_variables, n_leaves=n_leaves, budget=Budget(n_steps))


def end_of(diagram, root, states):
    """Walk from the root by the given states; the order of questions must be that of variables."""
    asked = -1
    while root >= diagram.n_leaves:
        variable = diagram.variable[root]
        assert variable > asked
        asked = variable
        root = diagram.high[root] if states[variable] else diagram.low[root]
    return root


def all_states(n_variables):
    return list(itertools.product((False, True), repeat=n_variables))


@given(st.lists(st.booleans(), min_size=8, max_size=8), st.permutations(range(8)))
def test_functions_that_are_equal_are_one_node(table, order):
    # The same truth table as a disjunction of its cases, in two orders of the cases.
    diagram = new_diagram(3)
    states = all_states(3)
    variables = [diagram.node(k, FALSE, TRUE) for k in range(3)]

    def case(row):
        parts = [v if s else diagram.negation(v) for v, s in zip(variables, row, strict=True)]
        return diagram.conjunction(parts)

    cases = [case(row) if table[k] else FALSE for k, row in enumerate(states)]
    roots = [diagram.disjunction(cases), diagram.disjunction([cases[k] for k in order])]

    assert roots[0] == roots[1]
    assert [end_of(diagram, roots[0], row) for row in states] == table


def test_a_question_that_changes_nothing_is_not_asked():
    diagram = new_diagram(2)
    a, b = (diagram.node(k, FALSE, TRUE) for k in range(2))

    same = diagram.choose(a, b, b)
    excluded_middle = diagram.disjunction([a, diagram.negation(a)])

    assert same == b
    assert excluded_middle == TRUE


@pytest.mark.parametrize("n_wanted", [0, 1, 2, 4, 6])
def test_a_count_has_one_node_per_variable_and_count(n_wanted):
    diagram = new_diagram(6)
    literals = [(k, k % 2 == 0) for k in range(6)]

    root = diagram.counted(literals, lambda count: count == n_wanted)

    for states in all_states(6):
        count = sum(state == wanted for state, (_, wanted) in zip(states, literals, strict=True))
        assert end_of(diagram, root, states) == (count == n_wanted)
    assert len(diagram.reachable(root)) <= 6 * 7 // 2


def test_counting_two_hundred_does_not_explode():
    diagram = new_diagram(200)

    root = diagram.counted([(k, True) for k in range(200)], lambda count: count >= 100)

    # 100 × 101: every node has seen k variables, at most 99 of them true and at most 100 false.
    assert len(diagram.reachable(root)) == 10_100


def test_choosing_leaves_makes_classes():
    diagram = new_diagram(2, n_leaves=4)
    a, b = (diagram.node(k, FALSE, TRUE) for k in range(2))

    root = diagram.choose(a, 3, diagram.choose(b, 2, 0))

    assert [end_of(diagram, root, row) for row in all_states(2)] == [0, 2, 3, 3]


def test_the_budget_ends_the_work():
    # Pairs asked in the worst order: 2^12 nodes are needed, and 2,000 allowed.
    diagram = new_diagram(24, n_steps=2_000)
    nodes = [diagram.node(k, FALSE, TRUE) for k in range(24)]
    pairs = [diagram.conjunction([nodes[k], nodes[k + 12]]) for k in range(12)]

    with pytest.raises(BudgetSpentError):
        diagram.disjunction(pairs)


def test_nodes_come_after_everything_that_leads_to_them():
    diagram = new_diagram(5)
    root = diagram.counted([(k, True) for k in range(5)], lambda count: count in {1, 4})

    nodes = diagram.reachable(root)

    place = {node: k for k, node in enumerate(nodes)}
    for node in nodes:
        for child in (diagram.low[node], diagram.high[node]):
            assert place.get(child, math.inf) > place[node]
    assert nodes[0] == root


def test_the_way_to_a_leaf_is_the_shortest():
    diagram = new_diagram(3, n_leaves=3)
    a, b, c = (diagram.node(k, FALSE, TRUE) for k in range(3))
    # Leaf 2 at a false, b true, c true; and at a true, b false.
    root = diagram.choose(
        a, diagram.choose(b, 0, 2), diagram.choose(diagram.conjunction([b, c]), 2, 1)
    )

    assert diagram.way_to(2, root) == {0: True, 1: False}
    assert diagram.way_to(2, 0) is None
    assert diagram.way_to(2, 2) == {}
