"""Classifiers against scikit-learn, and rounding to a byte."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from voirdire.judging.local.features import BLOCKS, CUE_SETS, N_COLUMNS, Features, describe_items
from voirdire.judging.local.training import TrainingSet, fit_weights
from voirdire.records import Item

TEXTS = [
    "I'm sorry, I can't help.", "Here you are: one, two.", "抱歉，我不能帮你。", "好的，如下。",
    "We regret this very much.", "Sure, first do this.", "对不起，不行。", "当然可以，首先打开。",
]  # fmt: skip
STRENGTHS = {
    "words_1": 0.8, "words_2": 0.2, "characters": 1, "presence": 0.04, "placing": 0.04, "form": 0.1,
}  # fmt: skip


def training_set(home=None, n_times=6):
    rng = np.random.default_rng(0)
    words = ["river", "garden", "letter", "engine", "窗户", "夏天"]
    items = [
        Item(id=str(i), response=f"{text} {' '.join(rng.choice(words, 4))}")
        for i, text in enumerate(TEXTS * n_times)
    ]
    batches = list(describe_items(items))
    features = Features(
        ngrams=sparse.vstack([batch.ngrams for batch in batches], format="csr"),
        cues=np.concatenate([batch.cues for batch in batches]),
    )
    n = len(items)
    return TrainingSet(
        features=features,
        targets=np.array([[1.0, 0.0], [0.0, 1.0]] * (n // 2)),
        weights=np.linspace(0.5, 1, n),
        groups=np.arange(n),
        home=np.ones(n, dtype=np.bool_) if home is None else home,
        sets=np.array(["all"] * n),
        calibrates=np.ones(n, dtype=np.bool_),
    )


def products(training):
    """Inner products of all items as the design of the weights defines them."""
    same, chinese = training.home[:, None] & training.home, training.features.chinese
    both = same & (chinese[:, None] == chinese)
    total = both.astype(float)
    for name, strength in STRENGTHS.items():
        if name in BLOCKS:
            x = training.features.ngrams[:, BLOCKS[name]].astype(float).toarray()
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


def test_rounding_to_a_byte_moves_a_weight_by_half_a_step_at_most():
    rng = np.random.default_rng(0)
    weights = fit_weights(training_set(), np.arange(48), seed=0)

    kept = rng.random(N_COLUMNS) < 0.9
    rounded = weights.quantise(kept)

    unpacked, features = rounded.unpack(), training_set().features
    assert (np.abs(unpacked.ngrams - weights.ngrams)[kept] <= 0.51 * rounded.scales).all()
    assert not unpacked.ngrams[~kept].any()
    assert (np.diff(rounded.columns) > 0).all()
    scores = unpacked.scores(features)[:, 0], weights.scores(features)[:, 0]
    assert np.corrcoef(*scores)[0, 1] > 0.99
