"""Macro F1 of a judge against each person's label, as HealthBench's meta-evaluation has it."""

import math

import numpy as np
import pytest
from sklearn.metrics import f1_score

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats import pairwise_f1


def drawn(rng, *, n_prompts=40, n_each=6, n_people=4):
    """Draw criteria of prompts, people who miss some of them, and a judge."""
    n = n_prompts * n_each
    truth = rng.random(n) < 0.6
    people = np.where(rng.random((n, n_people)) < 0.8, truth[:, None], ~truth[:, None]).astype(int)
    people[rng.random(people.shape) < 0.3] = -1
    judge = np.where(rng.random(n) < 0.75, truth, ~truth).astype(int)
    judge[rng.random(n) < 0.1] = -1
    return judge, people, np.repeat(np.arange(n_prompts), n_each)


def pairs_of(judge, people):
    """List the pairs one by one, as the authors' loop does."""
    rows = [
        (own, label)
        for own, labels in zip(judge, people, strict=True)
        for label in labels
        if own >= 0 and label >= 0
    ]
    return np.array(rows).T


def test_it_is_scikit_learns_macro_f1_over_all_pairs():
    judge, people, clusters = drawn(np.random.default_rng(0))
    own, labels = pairs_of(judge, people)
    others = [(j, k) for j in range(4) for k in range(4) if j != k]
    theirs = np.hstack([pairs_of(people[:, j], people[:, [k]]) for j, k in others])

    found = pairwise_f1(judge, people, clusters=clusters)

    assert found.value == pytest.approx(f1_score(labels, own, average="macro"))
    assert found.people == pytest.approx(f1_score(theirs[0], theirs[1], average="macro"))
    assert (found.n_pairs, found.n_units) == (own.size, 40)


def test_the_error_is_the_jackknifes():
    judge, people, clusters = drawn(np.random.default_rng(1), n_prompts=200)
    left_out = [pairwise_f1(judge[clusters != k], people[clusters != k]).value for k in range(200)]
    error = np.sqrt(199 / 200 * ((np.array(left_out) - np.mean(left_out)) ** 2).sum())

    found = pairwise_f1(judge, people, clusters=clusters)

    assert (found.high - found.low) / (2 * 1.972) == pytest.approx(error, rel=0.03)


def test_what_is_undefined_is_nan_and_shapes_must_fit():
    with pytest.warns(DegenerateDataWarning, match="one of the two answers never occurs"):
        found = pairwise_f1([1, 1], [[1, 1], [1, 1]])
    assert math.isnan(found.value)
    with pytest.warns(DegenerateDataWarning, match="fewer than two units"):
        assert math.isnan(pairwise_f1([1, 0], [[1], [1]], clusters=[0, 0]).low)
    with pytest.raises(InputError, match="a row for each of the judge's 2 answers"):
        pairwise_f1([1, 0], [[1, 0]])
