"""Compiling: what is made once, in which order, and how large it may become."""

import itertools
import pickle
from dataclasses import replace
from math import comb

import numpy as np
import pytest

from rubrics.logic.class_oracle import make_rubric
from voirdire.errors import LogicError
from voirdire.rubrics import (
    class_probabilities,
    expression_holds,
    hard_classes,
    load_rubric,
)


def pairs(n_pairs):
    """``(p0 and pN) or (p1 and pN+1) or …``: small if a pair is asked together, 2^N if not."""
    return " or ".join(f"(p{k} and p{k + n_pairs})" for k in range(n_pairs))


def names(n_names):
    return [f"p{k}" for k in range(n_names)]


@pytest.mark.parametrize(
    ("behavior", "n_nodes"), [("hard_refuse", 15), ("soft_refuse", 18), ("comply", 7)]
)
def test_the_safety_rubric_is_small(behavior, n_nodes):
    # One node per proposition that matters, and in hard_refuse one more: `additional_content` is
    # asked after an apology and after none.
    flow = load_rubric("safety").logic.compile_classes(behavior)

    assert len(flow.steps) == n_nodes


def test_a_rubric_is_compiled_once():
    rubric = load_rubric("safety")

    first = rubric.logic.compile_classes("comply")

    assert rubric.logic.compile_classes("comply") is first
    assert load_rubric("safety").logic.compile_classes("comply") is first


def test_a_rubric_that_travels_leaves_its_logic_behind():
    rubric = load_rubric("safety")
    rubric.logic.compile_classes("comply")

    arrived = pickle.loads(pickle.dumps(rubric))

    assert arrived == rubric
    assert "logic" not in vars(arrived)


def test_another_condition_is_another_diagram():
    first = make_rubric("ab", classes={"x": "a", "rest": "otherwise"})
    second = make_rubric("ab", classes={"x": "b", "rest": "otherwise"})

    found = [hard_classes(row, "b", labels=[[True, False]]).item() for row in (first, second)]

    assert found == [0, 1]


def test_propositions_that_belong_together_are_asked_together():
    rubric = make_rubric(names(120), classes={"x": pairs(60), "rest": "otherwise"})

    flow = rubric.logic.compile_classes("b")

    assert len(flow.steps) == 120


@pytest.mark.ci
def test_a_diagram_without_a_good_order_is_refused_in_time():
    # The first condition makes the order that of the numbers, in which pairs stand far apart.
    together = " and ".join(names(60))
    rubric = make_rubric(names(60), classes={"x": together, "y": pairs(30), "rest": "otherwise"})

    with pytest.raises(LogicError, match="more than 20,000 nodes") as caught:
        class_probabilities(rubric, "b", probabilities=np.zeros((1, 60)))

    assert caught.value.where == ("behaviors", "b", "classes")


@pytest.mark.ci
@pytest.mark.parametrize(("n_pairs", "is_small"), [(12, True), (14, False)])
def test_the_number_of_nodes_is_bounded(n_pairs, is_small):
    # Pairs that stand far apart need about 2 · 2^n nodes: 8,192 and 32,768.
    together = " and ".join(names(2 * n_pairs))
    rubric = make_rubric(
        names(2 * n_pairs), classes={"x": together, "y": pairs(n_pairs), "rest": "otherwise"}
    )
    p = np.full((1, 2 * n_pairs), 0.5)

    if is_small:
        values = class_probabilities(rubric, "b", probabilities=p).values
        # None of the pairs is complete: (3/4)^n.
        assert values[0, 2] == pytest.approx(0.75**n_pairs)
    else:
        with pytest.raises(LogicError, match="more than 20,000 nodes"):
            class_probabilities(rubric, "b", probabilities=p)


def test_counts_of_sixty_propositions_stay_small():
    words = ("required", "desired", "undesired", "unacceptable", "illogical", "disallowed")
    demands = {name: words[k % 6] for k, name in enumerate(names(60))}
    conditions = {
        f"c{k}": f"count({a} unmet) == {k} and (count({b}) >= 3 or count({c} met) != 4)"
        for k, (a, b, c) in enumerate(
            zip(words, words[1:] + words[:1], words[2:] + words[:2], strict=True)
        )
    }
    rubric = make_rubric(names(60), demands=demands, classes=conditions | {"rest": "otherwise"})
    p = np.random.default_rng(2).random((200, 60))

    values = class_probabilities(rubric, "b", probabilities=p).values

    assert np.abs(values.sum(axis=1) - 1).max() <= 1e-12


@pytest.mark.ci
def test_a_count_of_many_is_the_binomial():
    # 200 propositions of probability 1/2: P(at least 100) = 1/2 + C(200, 100) / 2^201.
    rubric = make_rubric(
        names(200),
        demands=dict.fromkeys(names(200), "required"),
        classes={"most": "count(required) >= 100", "rest": "otherwise"},
    )

    values = class_probabilities(rubric, "b", probabilities=np.full((3, 200), 0.5)).values

    assert values[:, 0] == pytest.approx(0.5 + comb(200, 100) / 2**201, abs=1e-13)


def test_a_waiting_node_is_never_overwritten():
    # Eight nodes wait at once: which of 2^3 ways was taken decides which of eight is asked.
    selectors, asked = names(3), [f"q{k}" for k in range(8)]
    rows = [
        " and ".join(
            [s if bit else f"not {s}" for s, bit in zip(selectors, bits, strict=True)] + [asked[k]]
        )
        for k, bits in enumerate(itertools.product((0, 1), repeat=3))
    ]
    rubric = make_rubric(
        [*selectors, *asked],
        classes={"x": " or ".join(f"({row})" for row in rows), "rest": "otherwise"},
    )
    p = np.random.default_rng(3).random((100, 11))

    values = class_probabilities(rubric, "b", probabilities=p).values

    ways = np.stack(
        [
            np.prod([p[:, i] if bit else 1 - p[:, i] for i, bit in enumerate(bits)], axis=0)
            for bits in itertools.product((0, 1), repeat=3)
        ]
    )
    assert values[:, 0] == pytest.approx((ways * p[:, 3:].T).sum(axis=0))


def test_one_expression_means_the_demands_of_each_behavior():
    made = make_rubric("ab", demands={"a": "required"}, classes={"rest": "otherwise"})
    other = replace(made.behaviors[0], id="c", demands={"b": made.behaviors[0].demands["a"]})
    rubric = replace(made, behaviors=(*made.behaviors, other))

    found = [
        expression_holds(rubric, "any(required)", labels=[[True, False]], behavior=name).item()
        for name in ("b", "c", "b")
    ]

    assert found == [1, 0, 1]
