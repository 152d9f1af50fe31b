"""Ranking problems to solve, and other ways to solve them: HiGHS and scipy, from the definition."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import LinearConstraint, linprog, minimize
from scipy.sparse import csr_array, eye_array, hstack


@dataclass(frozen=True, kw_only=True)
class RankingProblem:
    """Pairs of items by their rows of features, and what is asked of their weights."""

    features: np.ndarray
    better: np.ndarray
    worse: np.ndarray
    gap: np.ndarray
    l2: float
    signs: tuple

    @property
    def weight(self):
        n_pairs = self.better.size
        return np.full(n_pairs, 1 / n_pairs)

    @property
    def lower(self):
        return np.array([0.0 if sign in (1, None) else -np.inf for sign in self.signs])

    @property
    def upper(self):
        return np.array([0.0 if sign in (-1, None) else np.inf for sign in self.signs])


def random_problem(seed, *, n_items=30, n_pairs=60, n_features=5, l2=0.0, signs=None, flip=0.3):
    """Pairs that a hidden score orders, but for a share that is the other way around."""
    rng = np.random.default_rng(seed)
    features = rng.random((n_items, n_features))
    score = features @ rng.normal(size=n_features)
    pairs = rng.integers(0, n_items, (n_pairs, 2))
    pairs[:, 1] = (pairs[:, 0] + 1 + pairs[:, 1] % (n_items - 1)) % n_items
    is_turned = (score[pairs[:, 0]] < score[pairs[:, 1]]) ^ (rng.random(n_pairs) < flip)
    pairs = np.where(is_turned[:, None], pairs[:, ::-1], pairs)
    return problem_of(features, pairs, gap=1 + rng.normal(size=n_pairs), l2=l2, signs=signs)


def problem_of(features, pairs, *, gap=1.0, l2=0.0, signs=None):
    """A problem with `signs` of 1 (at least 0), -1 (at most 0), 0 (free) or None (held at 0)."""
    features = np.asarray(features, float)
    pairs = np.asarray(pairs, np.int64).reshape(-1, 2)
    n_pairs, n_features = len(pairs), features.shape[1]
    return RankingProblem(
        features=features,
        better=pairs[:, 0].copy(),
        worse=pairs[:, 1].copy(),
        gap=np.broadcast_to(np.asarray(gap, float), n_pairs).copy(),
        l2=l2,
        signs=(0,) * n_features if signs is None else tuple(signs),
    )


def objective_by_hand(problem, weights):
    """The definition, pair by pair."""
    total = 0.0
    for k in range(problem.better.size):
        row = problem.features[problem.better[k]] - problem.features[problem.worse[k]]
        short = problem.gap[k] - row @ weights
        total += problem.weight[k] * max(0.0, short)
    return total + problem.l2 / 2 * weights @ weights


def rows(problem):
    return problem.features[problem.better] - problem.features[problem.worse]


def linear_optimum(problem):
    """Optimum of the hinge without λ, by HiGHS on the linear program as it is written."""
    n_pairs, n_features = problem.better.size, problem.features.shape[1]
    matrix = hstack([csr_array(-rows(problem)), -eye_array(n_pairs)], format="csr")
    bounds = [
        *zip(problem.lower, problem.upper, strict=True),
        *[(0, np.inf)] * n_pairs,
    ]
    cost = np.concatenate([np.zeros(n_features), problem.weight])
    found = linprog(cost, A_ub=matrix, b_ub=-problem.gap, bounds=bounds, method="highs")
    assert found.status == 0, found.message
    return found.fun


def dual_optimum(problem):
    """A lower bound of the hinge with λ: the dual's box, climbed by L-BFGS-B.

    It may stop early, by machine: it is started again where it stopped, until it gains nothing.
    """
    differences = rows(problem)

    def falling(forces):
        push = differences.T @ forces
        w = np.clip(push / problem.l2, problem.lower, problem.upper)
        return problem.l2 / 2 * w @ w - forces @ problem.gap, differences @ w - problem.gap

    forces, value = problem.weight / 2, np.inf
    for _ in range(50):
        found = minimize(
            falling,
            forces,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0, most) for most in problem.weight],
            options={"maxiter": 50_000, "maxfun": 200_000, "ftol": 1e-16, "gtol": 1e-12},
        )
        if found.fun >= value - 1e-14:
            break
        forces, value = found.x, found.fun
    return -min(found.fun, value)


def shortest_optimum(problem):
    """Weights of least norm among the optima without λ, as a quadratic program for SLSQP."""
    least, differences = linear_optimum(problem), rows(problem)
    n_pairs, n_features = differences.shape
    cost = np.concatenate([np.zeros(n_features), problem.weight])
    constraints = [
        LinearConstraint(np.hstack([differences, np.eye(n_pairs)]), problem.gap, np.inf),
        LinearConstraint(cost[None], -np.inf, least + 1e-12),
    ]
    found = minimize(
        lambda x: x[:n_features] @ x[:n_features],
        np.concatenate([np.zeros(n_features), np.maximum(problem.gap, 0)]),
        jac=lambda x: np.concatenate([2 * x[:n_features], np.zeros(n_pairs)]),
        bounds=[*zip(problem.lower, problem.upper, strict=True), *[(0, np.inf)] * n_pairs],
        constraints=constraints,
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-15},
    )
    return found.x[:n_features]


def is_separable_by_highs(problem):
    """Whether all pairs can be ranked right: the largest sum of min(1, Dw) is their number."""
    differences = rows(problem)
    n_pairs, n_features = differences.shape
    cost = np.concatenate([np.zeros(n_features), -np.ones(n_pairs)])
    matrix = hstack([csr_array(-differences), eye_array(n_pairs)], format="csr")
    bounds = [*zip(problem.lower, problem.upper, strict=True), *[(0, 1)] * n_pairs]
    found = linprog(cost, A_ub=matrix, b_ub=np.zeros(n_pairs), bounds=bounds, method="highs")
    return round(-found.fun) == n_pairs
