"""Fits of realistic comparisons, against other solvers and the published fitter."""

import warnings

import numpy as np
import pytest

from ranking_oracle import (
    RankingProblem,
    dual_optimum,
    linear_optimum,
    logistic_optimum,
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
from voirdire.rewards import FitSettings, fit_reward
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


def problem_of(made, *, l2, loss="hinge"):
    """The same problem, with pairs from plain loops."""
    better, worse = made.pairs().T
    return RankingProblem(
        features=made.features,
        better=better,
        worse=worse,
        gap=made.gap(better, worse),
        l2=l2,
        signs=(0,) * made.features.shape[1],
        loss=loss,
    )


@pytest.mark.parametrize("behavior", BEHAVIORS)
@pytest.mark.parametrize("seed", range(4))
def test_the_optimum_is_that_of_other_solvers(seed, behavior):
    made = realistic_comparisons(seed, behavior, n_prompts=40)

    free, held = fit(made, l2=0.0)[1], fit(made, l2=0.01)[1]
    smooth = fit(made, l2=0.001, loss="logistic")[1]

    assert free.objective == pytest.approx(linear_optimum(problem_of(made, l2=0.0)), rel=1e-6)
    assert held.objective == pytest.approx(dual_optimum(problem_of(made, l2=0.01)), rel=1e-6)
    best = logistic_optimum(problem_of(made, l2=0.001, loss="logistic"))
    assert smooth.objective == pytest.approx(best, rel=1e-6)
    for row in (free, held, smooth):
        assert row.objective - row.bound <= 1e-6 * max(1.0, row.objective)


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
