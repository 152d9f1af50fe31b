"""Classifiers against scikit-learn, and their folding into plain weights."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from voirdire.judging.local.domains import Domains, domain_products
from voirdire.judging.local.features import describe_many
from voirdire.judging.local.linear_weights import fold_classifiers, quantise
from voirdire.judging.local.ngrams import N_COLUMNS
from voirdire.judging.local.recipes import RECIPES, feature_products
from voirdire.judging.local.solver import fit_classifiers
from voirdire.judging.local.training_set import TrainingSet, is_chinese
from voirdire.records import Item


def problem(seed=0, n=80, d=6):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    y = (x[:, :2] + rng.normal(size=(n, 2)) > 0.3).astype(float)
    return x, y, rng.uniform(0.5, 2, size=n)


@pytest.mark.parametrize("c", [0.1, 1.0, 10.0])
def test_scores_are_those_of_scikit_learn(c):
    x, y, weights = problem()

    fitted = fit_classifiers(x @ x.T, y, weights=weights, c=c)

    for question in range(2):
        model = LogisticRegression(C=c, tol=1e-10, max_iter=10_000)
        model.fit(x, y[:, question], sample_weight=weights)
        found = fitted.scores(x @ x.T)[:, question]
        assert np.abs(found - model.decision_function(x)).max() < 0.02


def test_a_missing_label_is_a_missing_item():
    x, y, weights = problem()
    y[:30, 0] = np.nan

    both = fit_classifiers(x @ x.T, y, weights=weights, c=1)
    rest = fit_classifiers(x[30:] @ x[30:].T, y[30:], weights=weights[30:], c=1)

    assert both.scores(x @ x.T)[:, 0] == pytest.approx(rest.scores(x @ x[30:].T)[:, 0], abs=0.03)
    assert np.abs(both.shares[:30, 0]).max() < 1e-2


def test_a_soft_label_is_an_item_of_either_label_with_shared_weight():
    x, y, weights = problem()
    soft = np.where(y[:, :1] > 0, 0.8, 0.3)
    doubled = np.vstack([x, x])
    hard = np.vstack([np.ones_like(soft), np.zeros_like(soft)])
    shared = np.concatenate([weights * soft[:, 0], weights * (1 - soft[:, 0])])

    fitted = fit_classifiers(x @ x.T, soft, weights=weights, c=1)
    split = fit_classifiers(doubled @ doubled.T, hard, weights=shared, c=1)

    assert fitted.scores(x @ x.T) == pytest.approx(split.scores(x @ doubled.T), abs=0.03)


TEXTS = [
    "I'm sorry, I can't help.", "Here you are: one, two.", "抱歉，我不能帮你。", "好的，如下。",
    "We regret this very much.", "Sure, first do this.", "对不起，不行。", "当然可以，首先打开。",
]  # fmt: skip


def training_set():
    items = [Item(id=str(i), response=text) for i, text in enumerate(TEXTS * 3)]
    features = describe_many(items)
    n = len(items)
    return TrainingSet(
        features=features,
        targets=np.array([[1.0, 0.0], [0.0, 1.0]] * (n // 2)),
        weights=np.linspace(0.5, 1, n),
        groups=np.arange(n),
        domains=Domains(chinese=is_chinese(features), home=np.arange(n) % 3 > 0),
        sets=np.array(["all"] * n),
        calibrates=np.ones(n, dtype=np.bool_),
    )


@pytest.mark.parametrize("name", sorted(RECIPES))
def test_folded_weights_give_the_scores_of_the_inner_products(name):
    training, recipe = training_set(), RECIPES[name]
    products = feature_products(training.features, training.features)
    fitted = fit_classifiers(
        domain_products(products, recipe, left=training.domains, right=training.domains),
        training.targets,
        weights=training.weights,
        c=recipe.c,
    )
    judged = training.domains.at_home()

    weights = fold_classifiers(fitted, training, recipe=recipe, domains=training.domains)

    expected = fitted.scores(domain_products(products, recipe, left=judged, right=training.domains))
    features = training.features
    language = is_chinese(features).astype(int)
    found = features.ngrams @ weights.ngrams + weights.intercepts[language]
    found += np.stack(
        [cues @ weights.cues[z] for cues, z in zip(features.cues, language, strict=True)]
    )
    assert found == pytest.approx(expected, abs=1e-4)


def test_rounding_to_a_byte_moves_a_weight_by_half_a_step_at_most():
    rng = np.random.default_rng(0)
    training = training_set()
    fitted = fit_classifiers(np.eye(24), training.targets, weights=training.weights, c=1)
    recipe = RECIPES["all"]
    weights = fold_classifiers(fitted, training, recipe=recipe, domains=training.domains)

    kept = rng.random(N_COLUMNS) < 0.9
    rounded = quantise(weights, kept=kept)

    table = rounded.table()
    assert (np.abs(table - weights.ngrams)[kept] <= 0.51 * rounded.scales).all()
    assert not table[~kept].any()
    assert (np.diff(rounded.columns) > 0).all()
