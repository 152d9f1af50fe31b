"""Variance components against the analysis of variance of statsmodels, and by simulation."""

import numpy as np
import pandas as pd
import pytest

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats import variance_components


def crossed(n_items, n_annotators, n_runs=1):
    codes = np.indices((n_items, n_annotators, n_runs)).reshape(3, -1)
    return dict(zip(("item", "annotator", "run"), codes, strict=True))


def draw(rng, facets, deviations):
    """Scores with a normal effect for each level of each set of facets, and noise under ()."""
    scores = np.zeros(len(facets["item"]))
    for names, deviation in deviations.items():
        columns = np.stack([facets[name] for name in names] or [np.arange(len(scores))], axis=1)
        cell = np.unique(columns, axis=0, return_inverse=True)[1].reshape(-1)
        scores += rng.normal(0, deviation, cell.max() + 1)[cell]
    return scores


def variances(found):
    return {row.facets: row.variance for row in found.components}


@pytest.mark.ci
def test_a_balanced_design_gives_the_analysis_of_variance():
    from statsmodels.api import stats
    from statsmodels.formula.api import ols

    rng = np.random.default_rng(3)
    facets = crossed(9, 4)
    facets.pop("run")
    scores = draw(rng, facets, {("item",): 2.0, ("annotator",): 1.5, (): 0.5})
    frame = pd.DataFrame(facets | {"score": scores})

    table = stats.anova_lm(ols("score ~ C(item) + C(annotator)", frame).fit())
    squares = table["mean_sq"]
    noise = squares["Residual"]
    # expected mean squares: item = noise + 4 σ²_item, annotator = noise + 9 σ²_annotator
    by_hand = {
        ("item",): (squares["C(item)"] - noise) / 4,
        ("annotator",): (squares["C(annotator)"] - noise) / 9,
        ("item", "annotator"): noise,
    }

    found = variance_components(scores, facets)
    assert variances(found) == pytest.approx(by_hand)
    error = by_hand["item",] / 9 + by_hand["annotator",] / 4 + noise / 36
    assert found.standard_error == pytest.approx(error**0.5)
    assert found.mean == pytest.approx(scores.mean())


@pytest.mark.ci
def test_missing_scores_leave_the_estimates_unbiased():
    rng = np.random.default_rng(0)
    facets = crossed(14, 6, 2)
    facets.pop("run")
    deviations = {("item",): 1.0, ("annotator",): 1.0, ("item", "annotator"): 1.0, (): 1.0}
    rows = []
    for _ in range(800):
        scores = draw(rng, facets, deviations)
        scores[rng.random(len(scores)) < 0.3] = np.nan
        rows.append(list(variances(variance_components(scores, facets)).values()))

    means, errors = np.mean(rows, axis=0), np.std(rows, axis=0) / len(rows) ** 0.5
    assert (np.abs(means - 1) < 3 * errors + 0.01).all()  # estimates below 0 are cut


@pytest.mark.ci
def test_the_standard_error_is_that_of_the_mean_over_new_studies():
    rng = np.random.default_rng(1)
    facets = crossed(20, 5, 2)
    deviations = {("item",): 0.5, ("annotator",): 0.4, ("run",): 0.3, ("item", "annotator"): 0.5}
    found = [variance_components(draw(rng, facets, deviations), facets) for _ in range(600)]

    spread = np.var([each.mean for each in found])
    predicted = np.mean([each.standard_error**2 for each in found])
    assert predicted == pytest.approx(spread, rel=0.2)  # the variance of 600 is known to .06


def test_runs_that_belong_to_one_item_are_nested_in_it():
    facets = crossed(30, 1, 4)
    nested = {"item": facets["item"], "run": facets["item"] * 4 + facets["run"]}
    rng = np.random.default_rng(2)

    found = variance_components(draw(rng, facets, {("item",): 1.0, (): 1.0}), nested)

    assert [row.facets for row in found.components] == [("item",), ("item", "run")]
    assert {size.facet: size.n_levels for size in found.sizes} == {"item": 30.0, "run": 4.0}


def test_the_number_that_halves_the_error_does_so():
    facets = crossed(200, 3)
    facets.pop("run")
    scores = draw(np.random.default_rng(4), facets, {("annotator",): 1.0, (): 0.5})
    found = variance_components(scores, facets)
    sizes = {size.facet: size for size in found.sizes}

    assert sizes["item"].n_to_halve is None
    enough = sizes["annotator"].n_to_halve
    assert enough == 13  # a little more than four times as many: items add a little
    assert found.predict_error(annotator=enough) <= found.standard_error / 2
    assert found.predict_error(annotator=enough - 1) > found.standard_error / 2
    assert found.predict_error() == pytest.approx(found.standard_error)
    # four times as many of both leave a fourth of the single facets' share, less of the rest
    assert found.predict_error(annotator=12, item=800) < found.standard_error / 2


def test_the_order_of_scores_and_the_names_of_levels_do_not_matter():
    rng = np.random.default_rng(5)
    facets = crossed(8, 3, 2)
    scores = draw(rng, facets, {("item",): 1.0, (): 1.0})
    order = rng.permutation(len(scores))
    renamed = {
        name: [f"{name} {-level}" for level in codes[order]] for name, codes in facets.items()
    }

    found = variance_components(scores, facets)

    assert variances(variance_components(scores[order], renamed)) == pytest.approx(variances(found))


def test_scores_that_never_vary_have_no_shares():
    facets = crossed(4, 3)
    facets.pop("run")

    with pytest.warns(DegenerateDataWarning, match="scores do not vary"):
        found = variance_components(np.ones(12), facets)

    assert found.standard_error == 0
    assert found.reason == "scores do not vary"
    assert all(np.isnan(row.share) for row in found.components)
    assert [size.n_to_halve for size in found.sizes] == [None, None]
    assert found.predict_error(item=8) == 0


def test_one_level_cannot_be_examined():
    with pytest.raises(InputError, match="at least two levels each, got 1 for 'prompt'"):
        variance_components([1, 2], {"item": [0, 1], "prompt": [0, 0]})


def test_effects_that_are_never_apart_are_refused():
    # three scores have three sums of squares and products, too few for four effects
    facets = {"item": [0, 0, 1], "annotator": [0, 1, 0], "run": [1, 0, 0]}
    with pytest.raises(InputError, match="do not tell all effects apart"):
        variance_components([1, 2, 4], facets)


@pytest.mark.parametrize(
    ("scores", "facets", "message"),
    [
        ([[1, 2]], {"item": [0, 1]}, r"shape \(n_scores,\)"),
        ([1, np.inf], {"item": [0, 1]}, "finite numbers"),
        ([1, 2], {}, "1 to 5 facets, got 0"),
        ([1, 2], {"item": [0]}, r"shape of `scores` \(2,\), got \(1,\) for 'item'"),
    ],
)
def test_what_is_no_design_is_refused(scores, facets, message):
    with pytest.raises(InputError, match=message):
        variance_components(scores, facets)


@pytest.mark.parametrize(("name", "number"), [("prompt", 3), ("item", 0)])
def test_an_error_is_predicted_for_known_facets_only(name, number):
    found = variance_components([1.0, 2.0, 4.0], {"item": [0, 1, 2]})
    with pytest.raises(InputError, match=f"`{name}` must be a positive number of one of item"):
        found.predict_error(**{name: number})
