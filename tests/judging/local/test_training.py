"""Classifiers against scikit-learn, soft and missing labels, and rounding to a byte."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from voirdire.judging.local.cues import CUE_SETS, CUES
from voirdire.judging.local.features import (
    BLOCKS,
    N_COLUMNS,
    describe_many,
    find_block_columns,
    is_chinese,
)
from voirdire.judging.local.training import TrainingSet, fit_weights, score_held_out
from voirdire.judging.local.weights import quantise
from voirdire.records import Item

TEXTS = [
    "I'm sorry, I can't help.", "Here you are: one, two.", "抱歉，我不能帮你。", "好的，如下。",
    "We regret this very much.", "Sure, first do this.", "对不起，不行。", "当然可以，首先打开。",
]  # fmt: skip
STRENGTHS = {
    "words_1": 0.8, "words_2": 0.2, "characters": 1, "presence": 0.04, "placing": 0.04, "form": 0.1,
}  # fmt: skip


def training_set(home=None, targets=None, n_times=6):
    rng = np.random.default_rng(0)
    words = ["river", "garden", "letter", "engine", "窗户", "夏天"]
    items = [
        Item(id=str(i), response=f"{text} {' '.join(rng.choice(words, 4))}")
        for i, text in enumerate(TEXTS * n_times)
    ]
    features = describe_many(items)
    n = len(items)
    return TrainingSet(
        features=features,
        targets=np.array([[1.0, 0.0], [0.0, 1.0]] * (n // 2)) if targets is None else targets,
        weights=np.linspace(0.5, 1, n),
        groups=np.arange(n),
        chinese=is_chinese(features),
        home=np.ones(n, dtype=np.bool_) if home is None else home,
        sets=np.array(["all"] * n),
        calibrates=np.ones(n, dtype=np.bool_),
    )


def products(training):
    """Inner products of all items as the design of the weights defines them."""
    same = training.home[:, None] & training.home
    both = same & (training.chinese[:, None] == training.chinese)
    total = both.astype(float)
    for name, strength in STRENGTHS.items():
        if name in BLOCKS:
            x = training.features.ngrams[:, find_block_columns(name)].astype(float).toarray()
            shared = same
        else:
            x, shared = training.features.cues[:, CUE_SETS[name]], both
        total += strength / np.sqrt(2) * (x @ x.T) * (1 + shared)
    return total


@pytest.mark.parametrize("informs", [0, 3])
def test_scores_are_those_of_a_kernel_machine(informs):
    home = np.ones(96, dtype=bool) if not informs else np.arange(96) % informs > 0
    training = training_set(home, n_times=12)
    values, vectors = np.linalg.eigh(products(training))
    x = vectors * np.sqrt(np.maximum(values, 0))

    found = fit_weights(training, np.arange(96), seed=0).scores(training.features)

    model = LogisticRegression(C=10, tol=1e-8, max_iter=10_000)
    model.fit(x, training.targets[:, 0] > 0, sample_weight=training.weights)
    expected = model.decision_function(x)
    assert found[home, 0] == pytest.approx(expected[home], abs=0.25)
    assert np.corrcoef(found[home, 0], expected[home])[0, 1] > 0.999


def test_a_missing_label_is_a_missing_item():
    training = training_set()
    targets = training.targets.copy()
    targets[:8, 0] = np.nan
    lacking = training_set(targets=targets)

    with_nan = fit_weights(lacking, np.arange(48), seed=0)
    without = fit_weights(training, np.arange(8, 48), seed=0)

    expected = without.scores(training.features)[:, 0]
    assert with_nan.scores(training.features)[:, 0] == pytest.approx(expected, abs=0.1)


def test_a_soft_label_is_an_item_of_either_label_with_shared_weight():
    targets = np.tile([[0.8, 0.0], [0.3, 1.0]], (24, 1))
    scores = fit_weights(training_set(targets=targets), np.arange(48), seed=0).scores(
        training_set().features
    )
    p = 1 / (1 + np.exp(-scores[:, 0]))
    assert p[::2].mean() == pytest.approx(0.8, abs=0.05)
    assert p[1::2].mean() == pytest.approx(0.3, abs=0.05)


def test_held_out_scores_have_not_seen_the_labels_of_their_group():
    training = training_set()
    other = training.targets.copy()
    other[0] = 1 - other[0]

    scores = score_held_out(training, n_folds=4, seed=0)
    flipped = score_held_out(training_set(targets=other), n_folds=4, seed=0)

    assert flipped[0] == pytest.approx(scores[0])
    assert (flipped != scores).any(axis=1).sum() >= 24


def test_rounding_to_a_byte_moves_a_weight_by_half_a_step_at_most():
    rng = np.random.default_rng(0)
    weights = fit_weights(training_set(), np.arange(48), seed=0)

    kept = rng.random(N_COLUMNS) < 0.9
    rounded = quantise(weights, kept=kept)

    table = rounded.table()
    assert (np.abs(table - weights.ngrams)[kept] <= 0.51 * rounded.scales).all()
    assert not table[~kept].any()
    assert (np.diff(rounded.columns) > 0).all()
    assert rounded.cues.shape == (2, len(CUES), 2)
    scores = rounded.scores(training_set().features, table)
    assert sparse.issparse(training_set().features.ngrams)
    assert np.corrcoef(scores[:, 0], weights.scores(training_set().features)[:, 0])[0, 1] > 0.99
