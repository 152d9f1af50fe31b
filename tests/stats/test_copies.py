"""Rows that stand for several items, against the same rows repeated."""

import math

import numpy as np
import pytest
from scipy import stats as scipy_stats

from voirdire.errors import InputError
from voirdire.records import as_plain
from voirdire.stats import LabelSets, alt_test

SETS = LabelSets.from_positions([[], [0], [1], [0, 1]], n_labels=2)


def draw(*, n_labels=3, n_items=200, n_annotators=4, missing=0.15, seed=0):
    """Draw labels of people and of two judges, with gaps and failures."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_labels, n_items)

    def labels(n_raters, lost):
        own = np.where(
            rng.random((n_items, n_raters)) < 0.8,
            truth[:, np.newaxis],
            rng.integers(0, n_labels, (n_items, n_raters)),
        )
        return np.where(rng.random(own.shape) < lost, -1, own)

    humans, judges = labels(n_annotators, missing), labels(2, 0.05)
    failed = rng.random(judges.shape) < 0.05
    kept = (humans >= 0).any(axis=1)
    return humans[kept], np.where(failed, -1, judges)[kept], failed[kept]


def figures(results):
    """List the numbers and words of results, without the random control."""
    flat = {}

    def walk(value, place):
        if isinstance(value, dict):
            for key, each in value.items():
                walk(each, (*place, key))
        elif isinstance(value, list):
            for number, each in enumerate(value):
                walk(each, (*place, number))
        else:
            flat[place] = value

    for number, result in enumerate(results):
        plain = as_plain(result)
        plain["controls"] = [x for x in plain["controls"] if x["control"] != "random"]
        walk(plain, (number,))
    return flat


def assert_same(counted, whole):
    ours, theirs = figures(counted), figures(whole)
    assert ours.keys() == theirs.keys()
    for place, value in ours.items():
        other = theirs[place]
        if isinstance(value, float) and isinstance(other, float):
            both_nan = math.isnan(value) and math.isnan(other)
            assert both_nan or abs(value - other) <= 1e-12, place
        else:
            assert value == other, place


@pytest.mark.filterwarnings("ignore::voirdire.errors.DegenerateDataWarning")
@pytest.mark.parametrize(
    ("alignment", "given", "settings"),
    [
        ("accuracy", {}, {"n_resamples": 100}),
        ("accuracy", {}, {"weights": "imbalance", "epsilon_mode": "multiplicative"}),
        ("accuracy", {"clustered": True}, {"n_resamples": 100}),
        ("accuracy", {"clustered": True}, {"weights": "imbalance", "family": "judges"}),
        ("accuracy", {"n_annotators": 20, "missing": 0.85, "n_items": 60}, {}),  # a crowd
        ("neg_rmse", {"n_labels": 5, "n_annotators": 3}, {}),
        ("jaccard", {"n_labels": 4, "n_annotators": 3}, {}),
    ],
)
def test_figures_of_counted_items_are_those_of_the_items(alignment, given, settings):
    clustered = given.pop("clustered", False) if given else False
    humans, judges, failed = (np.tile(x, (2, 1)) for x in draw(**given))
    clusters = np.arange(len(humans)) // 3 % 40 if clustered else np.zeros(len(humans), int)
    rows = np.concatenate([humans, judges, failed, clusters[:, np.newaxis]], axis=1)
    first, copies = np.unique(rows, axis=0, return_index=True, return_counts=True)[1:]
    if alignment == "neg_rmse":
        humans, judges = (np.where(x < 0, np.nan, x) for x in (humans, judges))
    more = settings | {"alignment": alignment, "epsilon": [0.1, 0.2]}
    more |= {"label_sets": SETS} if alignment == "jaccard" else {}

    def units(chosen):
        return {"failed": failed[chosen]} | ({"clusters": clusters[chosen]} if clustered else {})

    whole = alt_test(judges, humans, **units(slice(None)), **more)
    counted = alt_test(judges[first], humans[first], copies=copies, **units(first), **more)

    assert copies.min() > 1 or clustered
    assert_same(counted, whole)


def test_copies_are_whole_numbers_from_one():
    with pytest.raises(InputError, match="`copies` must be whole numbers from 1"):
        alt_test([0, 1], [[0, 1], [1, 1]], copies=[1, 0])


def test_beyond_a_million_items_the_interval_is_computed_and_nothing_is_drawn():
    # two annotators who always agree; the judge is with them on 3 of 4 items: ρ = 3/4
    humans, judge = [[0, 0], [0, 0]], [0, 1]
    n = 1_200_000

    [result] = alt_test(judge, humans, copies=[3 * n // 4, n // 4], n_resamples=1_000)

    # the delta method on the logit scale: the error of log(ρ / (1 - ρ)) is 1 / sqrt(n ρ (1 - ρ))
    half = scipy_stats.norm.ppf(0.975) / math.sqrt(n * 0.75 * 0.25)
    expected = 1 / (1 + math.exp(-(math.log(3) - half))), 1 / (1 + math.exp(-(math.log(3) + half)))
    found = result.uncertainty
    assert (found.advantage_low, found.advantage_high) == pytest.approx(expected, abs=1e-7)
    assert (found.human_advantage_low, found.human_advantage_high) == (
        pytest.approx(0.025 ** (1 / n)),
        1.0,
    )
    assert math.isnan(found.stability)
    assert found.n_resamples == 0
    assert "nothing is drawn anew" in found.reason


def test_computed_intervals_of_clusters_are_wider():
    rng = np.random.default_rng(0)
    sure = rng.random((200, 1)) < 0.5
    humans = np.zeros((400, 3), int)
    judge = np.where(rng.random((200, 2)) < np.where(sure, 0.95, 0.55), 0, 1).ravel()
    copies, clusters = np.full(400, 4_000), np.arange(400) // 2

    [alone] = alt_test(judge, humans, copies=copies, n_resamples=100)
    [grouped] = alt_test(judge, humans, copies=copies, clusters=clusters, n_resamples=100)

    widths = [x.uncertainty.advantage_high - x.uncertainty.advantage_low for x in (alone, grouped)]
    # 4,000 equal items of a row count as one: the error is larger by about the root of 4,000
    assert 40 < widths[1] / widths[0] < 120
    assert (alone.uncertainty.n_units, grouped.uncertainty.n_units) == (1_600_000, 200)
