"""κ of a judge with the vote of all annotators."""

import math

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from voirdire.stats import measure_panel


def vote_kappa(humans, judge, **settings):
    result = measure_panel(humans, judge, level="nominal", **settings)
    [row] = [
        row for row in result.judges[0].coefficients if row.coefficient == "panel_majority_kappa"
    ]
    return row


def labels(seed, *, n_items=300, n_annotators=3, share=0.3, missing=0.0):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n_items) < share).astype(int)
    noisy = rng.random((n_items, n_annotators + 1)) < 0.3
    drawn = (rng.random((n_items, n_annotators + 1)) < share).astype(int)
    found = np.where(noisy, drawn, truth[:, None])
    humans, judge = found[:, :-1], found[:, -1]
    return np.where(rng.random(humans.shape) < missing, -1, humans), judge


def test_without_ties_it_is_scikit_learns_with_the_majority():
    humans, judge = labels(0)

    result = vote_kappa(humans, judge)

    majority = (humans.sum(axis=1) >= 2).astype(int)
    assert result.estimate == pytest.approx(cohen_kappa_score(judge, majority))
    assert result.low < result.estimate < result.high
    assert result.n_items == 300


def test_labels_that_tie_share_the_vote():
    # items: {0,1} tie, {0,0}, {1,1}, {1,1}; the judge says 0 0 1 0
    humans, judge = [[0, 1], [0, 0], [1, 1], [1, 1]], [0, 0, 1, 0]

    result = vote_kappa(humans, judge)

    # p_o = (1/2 + 1 + 1 + 0)/4 = 5/8; votes .375/.625, judge .75/.25: p_e = 7/16
    assert result.estimate == pytest.approx((5 / 8 - 7 / 16) / (1 - 7 / 16))


@pytest.mark.ci
def test_the_interval_is_that_of_a_jackknife():
    humans, judge = labels(1, n_items=120, missing=0.2)
    known = (humans >= 0).any(axis=1)
    humans, judge = humans[known], judge[known]

    result = vote_kappa(humans, judge)

    left_out = np.array(
        [
            vote_kappa(np.delete(humans, i, axis=0), np.delete(judge, i)).estimate
            for i in range(len(judge))
        ]
    )
    n = len(judge)
    error = math.sqrt((n - 1) / n * ((left_out - left_out.mean()) ** 2).sum())
    z = np.arctanh([result.low, result.high])
    half = (z[1] - z[0]) / 2 * (1 - result.estimate**2)
    assert half == pytest.approx(1.98 * error, rel=0.06)


def test_clusters_widen_it():
    humans, judge = labels(2)
    copies = np.repeat(np.arange(300), 3)

    alone = vote_kappa(humans, judge)
    copied = vote_kappa(humans[copies], judge[copies], clusters=copies)

    assert copied.estimate == pytest.approx(alone.estimate)
    assert copied.low == pytest.approx(alone.low, abs=0.005)
    assert copied.n_clusters == 300


@pytest.mark.parametrize(
    ("humans", "judge", "reason"),
    [
        ([[1, 1], [1, 1]], [1, 1], "all labels are equal"),
        ([[1, 0], [-1, -1]], [-1, 1], "no items in common"),
    ],
)
def test_where_there_is_none_it_says_why(humans, judge, reason):
    result = vote_kappa(humans, judge)

    assert math.isnan(result.estimate)
    assert reason in result.reason


def test_labels_may_be_many():
    # Item i has the labels 2i and 2i + 1, and the judge says i: it hits half of the first vote.
    result = vote_kappa(np.arange(160).reshape(80, 2), np.arange(80))

    # p_o = 1/160; each of the judge's 80 labels has 1/160 of the votes: p_e = 1/160 too
    assert result.estimate == pytest.approx(0, abs=1e-12)


def test_numbers_have_no_vote():
    result = measure_panel([[1.0, 2.0], [3.0, 3.0]], [1.0, 3.0], level="interval")

    assert "no majority vote" in result.judges[0].coefficients[-1].reason


def test_published_kappa_of_gpt_4o_with_the_framing_majority(shared_dir):
    import json

    folder = shared_dir / "data" / "alttest" / "framing"
    people = json.loads((folder / "human_annotations.json").read_text())
    judges = json.loads((folder / "llm_annotations.json").read_text())
    items = sorted({item for given in people.values() for item in given})
    words = sorted({x for given in [*people.values(), *judges.values()] for x in given.values()})
    code = {word: place for place, word in enumerate(words)}
    columns = [[code.get(given.get(item), -1) for item in items] for given in people.values()]
    judge = [code[judges["gpt-4o"][item]] for item in items]

    assert vote_kappa(np.array(columns).T, judge).estimate == pytest.approx(0.58, abs=0.005)
