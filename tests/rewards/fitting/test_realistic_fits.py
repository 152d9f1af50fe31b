"""Fits of realistic comparisons, against other solvers and the published fitter."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from ranking_oracle import (
    RankingProblem,
    dual_optimum,
    linear_optimum,
)
from realistic_comparisons import (
    BEHAVIORS,
    CLASSES,
    MARGINS,
    published_fit,
    realistic_comparisons,
)
from voirdire.errors import UncertifiedWarning
from voirdire.records import Verdicts
from voirdire.rewards import FitSettings, feature_set, fit_reward
from voirdire.rubrics import load_rubric

SAFETY = load_rubric("safety")


def fit(made, **settings):
    """Fit one behavior; give its weights and record."""
    rows = [
        {
            "id": f"c{place}",
            "group": f"p{prompt}",
            "prompt": f"Question {prompt}",
            "response": f"Answer {place}",
            "behavior": made.behavior,
            "label": CLASSES[label],
            "base_reward": base,
            "split": "test" if is_test else "train",
        }
        for place, (prompt, label, base, is_test) in enumerate(
            zip(made.prompts, made.labels, made.base.tolist(), made.is_test, strict=True)
        )
    ]
    judged = Verdicts(
        items=tuple(row["id"] for row in rows),
        questions=SAFETY.propositions,
        probabilities=made.probabilities,
        behaviors=(None,) * len(rows),
        failures={},
        judge="hand",
        fingerprint="sha256:" + "0" * 64,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        found = fit_reward(
            rows,
            rubric=SAFETY,
            verdicts=judged,
            settings=FitSettings(margins=MARGINS, n_resamples=0, **settings),
        )
    return found.model.weight_vector(made.behavior), found.behaviors[0]


def problem_of(made, *, l2):
    """The same problem, with pairs from plain loops."""
    better, worse = made.pairs().T
    return RankingProblem(
        features=made.features,
        better=better,
        worse=worse,
        gap=made.gap(better, worse),
        l2=l2,
        signs=(0,) * made.features.shape[1],
    )


@pytest.mark.edges
@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_other_solvers(seed, behavior):
    made = realistic_comparisons(seed, behavior, n_prompts=40)

    free = fit(made, l2=0.0)[1]
    held = {l2: fit(made, l2=l2)[1] for l2 in (0.01, 0.001, 0.0001)}

    assert free.objective == pytest.approx(linear_optimum(problem_of(made, l2=0.0)), rel=1e-6)
    for l2, row in held.items():
        assert row.objective == pytest.approx(dual_optimum(problem_of(made, l2=l2)), rel=1e-9)
    for row in (free, *held.values()):
        assert row.objective - row.bound <= 1e-6 * max(1.0, row.objective)


@pytest.mark.ci
@pytest.mark.parametrize(("seed", "behavior"), [(101, "soft_refuse"), (102, "comply")])
def test_the_optimum_of_thousands_of_comparisons_is_that_of_another_solver(seed, behavior):
    """Here most comparisons are bundled, as they are not where there are few."""
    made = realistic_comparisons(seed, behavior, n_prompts=150, mean_group=12)
    assert len(made.pairs()) > 6_000

    row = fit(made, l2=0.0001)[1]

    assert row.objective == pytest.approx(dual_optimum(problem_of(made, l2=0.0001)), rel=1e-9)
    assert row.objective - row.bound <= 1e-9


@pytest.mark.ci
@pytest.mark.parametrize("l2", [0.001, 0.0001])
def test_signs_of_the_rubric_hold_over_thousands_of_comparisons(l2):
    made = turned(realistic_comparisons(102, "hard_refuse", n_prompts=120, mean_group=9))
    assert len(made.pairs()) > 2_500

    weights, row = fit(made, l2=l2, signs="rubric")

    rows = rows_of_rubric(made)
    assert (rows @ weights >= 0).all()
    assert row.objective == pytest.approx(best_within(made, rows, l2=l2), rel=1e-6)
    assert row.objective - row.bound <= 1e-6 * max(1.0, row.objective)


@pytest.mark.ci
def test_new_prompts_are_ranked_no_worse_than_by_the_published_fitter():
    """Of twelve data sets; one alone may fall either way, by chance."""
    more = []
    for seed in range(12):
        made = realistic_comparisons(
            100 + seed, BEHAVIORS[seed % 3], n_prompts=150, mean_group=(6, 12)[seed % 2]
        )

        weights, row = fit(made, l2=0.001)

        pairs, test = made.pairs(), made.pairs(is_test=True)
        ours = made.error_rate(test, weights)
        published = published_fit(made.differences(pairs), made.gap(*pairs.T))
        theirs = made.error_rate(test, published)
        assert row.error_rate.value == pytest.approx(ours)
        assert ours <= theirs + 0.01
        more.append(ours - theirs)
    assert np.mean(more) <= 0.0


def test_equal_prompts_weigh_alike_under_any_group_size():
    made = realistic_comparisons(7, "soft_refuse", n_prompts=40, mean_group=9)
    pairs = made.pairs()
    counts = np.bincount(made.prompts[pairs[:, 0]])
    weight = 1 / (counts[made.prompts[pairs[:, 0]]] * np.count_nonzero(counts))

    weights, row = fit(made, l2=0.01, equal_prompts=True)

    short = np.maximum(made.gap(*pairs.T) - made.differences(pairs) @ weights, 0)
    loss = weight @ short + 0.005 * weights @ weights
    assert row.objective == pytest.approx(loss)
    assert row.bound == pytest.approx(loss, abs=1e-6)


# Weights that follow the rubric ------------------------------------------------------------------

STEPS = ((0, 1), (1, 2), (1, 3), (2, 4), (3, 4))
"""Each class, and one that is next below it."""


def turned(made):
    """Call half of the disallowed ones less good, and the other way around, so that order binds."""
    labels = made.labels.copy()
    odd = np.arange(labels.size) % 2 == 0
    labels[odd] = np.array([0, 4, 3, 2, 1])[labels[odd]]
    return replace(made, labels=labels)


def rows_of_rubric(made):
    """Rows whose product with the weights is to be at least 0."""
    rows = np.eye(made.features.shape[1])
    names = feature_set(SAFETY, made.behavior).names
    demands = SAFETY.behavior(made.behavior).demands
    place = {name: names.index(f"{made.behavior}.{name}") for name in CLASSES}
    kept = [rows[place["ideal"]], *(-rows[place[name]] for name in CLASSES[1:])]
    kept += [rows[place[CLASSES[high]]] - rows[place[CLASSES[low]]] for high, low in STEPS]
    for column, name in enumerate(names[:-5]):
        wanted = demands[name].demanded
        kept += [] if wanted is None else [rows[column] if wanted else -rows[column]]
    return np.array(kept)


def best_within(made, rows, *, l2):
    """The optimum within the rows: HiGHS on the linear program, or the dual climbed by L-BFGS-B."""
    pairs = made.pairs()
    differences, gap = made.differences(pairs), made.gap(*pairs.T)
    n_pairs, n_features = differences.shape
    weight = np.full(n_pairs, 1 / n_pairs)
    if l2 == 0:
        short = np.hstack([differences, np.eye(n_pairs)])
        within = np.hstack([rows, np.zeros((len(rows), n_pairs))])
        found = linprog(
            np.append(np.zeros(n_features), weight),
            A_ub=-np.vstack([short, within]),
            b_ub=-np.append(gap, np.zeros(len(rows))),
            bounds=[(None, None)] * n_features + [(0, None)] * n_pairs,
        )
        return found.fun
    every, offset = np.vstack([differences, rows]), np.append(gap, np.zeros(len(rows)))

    def falling(forces):
        w = every.T @ forces / l2
        return l2 / 2 * w @ w - forces @ offset, every @ w - offset

    found = minimize(
        falling,
        np.append(weight / 2, np.zeros(len(rows))),
        jac=True,
        method="L-BFGS-B",
        bounds=[*((0, most) for most in weight), *[(0, None)] * len(rows)],
        options={"maxiter": 50_000, "maxfun": 200_000, "ftol": 1e-16, "gtol": 1e-12},
    )
    return -found.fun


@pytest.mark.edges
@pytest.mark.parametrize("l2", [0.0, 0.01])
@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("seed", range(3))
def test_signs_of_the_rubric_keep_the_classes_in_its_order(seed, behavior, l2):
    made = turned(realistic_comparisons(20 + seed, behavior, n_prompts=40))

    weights, row = fit(made, l2=l2, signs="rubric")

    rows = rows_of_rubric(made)
    assert (rows @ weights >= 0).all()
    assert (rows_of_rubric(made) @ fit(made, l2=l2)[0]).min() < -0.01  # not so by itself
    assert row.objective == pytest.approx(best_within(made, rows, l2=l2), rel=1e-6)
    assert row.objective - row.bound <= 1e-6 * max(1.0, row.objective)
