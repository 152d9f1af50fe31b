"""The bound holds for any forces, not just for those that a solver ends with."""

from dataclasses import replace

import numpy as np
import pytest

from ranking_oracle import (
    dual_optimum,
    linear_optimum,
    logistic_optimum,
    objective_by_hand,
    random_problem,
    rows,
)
from voirdire.rewards.solving.certificate import bound_of, objective_of, residual_force
from voirdire.rewards.solving.interior_point import HingeBlock, InteriorPoint
from voirdire.rewards.solving.linear import smallest_linear
from voirdire.rewards.solving.prepared import prepared

SIGNS = [1, -1, 0, 1, 0]


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize("seed", range(5))
def test_random_forces_bound_random_weights(seed, loss):
    rng = np.random.default_rng(seed)
    problem = random_problem(seed, l2=0.3, signs=SIGNS, loss=loss)
    ready = prepared(problem)

    best = dual_optimum(problem) if loss == "hinge" else logistic_optimum(problem)
    for _ in range(50):
        forces = ready.weight * rng.random(ready.weight.size) ** rng.integers(1, 9)
        weights = ready.weights(rng.normal(size=ready.reduced.n_features))

        bound = bound_of(ready, forces, weights=weights, loss=loss)

        assert bound <= best + 1e-9
        assert objective_of(ready, weights, loss=loss) >= best - 1e-9


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_objective_is_its_definition(loss):
    problem = random_problem(1, l2=0.3, signs=SIGNS, loss=loss)
    ready = prepared(problem)
    own = ready.weights(np.random.default_rng(0).normal(size=5))

    given = ready.given_weights(own)

    assert (given >= problem.lower).all()
    assert (given <= problem.upper).all()
    assert objective_of(ready, own, loss=loss) == pytest.approx(objective_by_hand(problem, given))


def test_forces_that_do_not_hold_each_other_prove_nothing_without_l2():
    ready = prepared(random_problem(2))

    bound = bound_of(ready, ready.weight / 2, weights=np.zeros(5), loss="hinge")

    assert bound == 0.0


@pytest.mark.parametrize("signs", [None, SIGNS])
def test_the_forces_of_the_linear_program_hold_each_other_to_rounding(signs):
    problem = random_problem(3, n_items=300, n_pairs=3000, signs=signs)
    ready = prepared(problem)

    point = smallest_linear(ready)

    live = problem.weight > 0
    push = rows(problem)[live].T @ point.forces
    is_free = np.isinf(problem.lower) & np.isinf(problem.upper)
    assert np.abs(push[is_free]).max() < 1e-15
    # Against a lower bound nothing may push upwards, against an upper one nothing downwards.
    assert (push[problem.lower == 0] < 1e-15).all()
    assert (push[problem.upper == 0] > -1e-15).all()
    assert np.abs(residual_force(ready, point.forces)).max() < 1e-15
    assert (point.forces >= 0).all()
    assert (point.forces <= ready.weight).all()
    assert point.forces @ ready.gap == pytest.approx(linear_optimum(problem), abs=1e-9)


def test_every_step_ends_inside_the_bounds_and_nearer_to_the_optimum():
    problem = replace(random_problem(4, n_pairs=200, l2=0.01, signs=SIGNS))
    ready = prepared(problem)
    block = HingeBlock(
        columns=ready.reduced.columns(slice(None)),
        gap=ready.gap,
        weight=ready.weight,
        l2=ready.l2,
        edges=ready.edges,
        edge_weight=float(ready.weight.mean()),
    )
    losses = []

    for goal in (1.0, 1e-2, 1e-4, 1e-8):
        point = InteriorPoint(block, start=np.zeros(5), width=1.0)
        point.run(goal)
        weights = ready.weights(point.y)
        losses.append(objective_of(ready, weights, loss="hinge"))
        assert (point.shares >= 0).all()
        assert (point.shares <= 1).all()
        assert (point.z > 0).all()

    best = dual_optimum(problem)
    assert losses[-1] == pytest.approx(best, abs=1e-7)
    assert losses[1] <= best + 1e-2
    assert losses[2] <= best + 1e-4
