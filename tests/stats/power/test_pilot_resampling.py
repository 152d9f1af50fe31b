"""Studies drawn from a pilot's labels: plain loops, and whole clusters."""

import math
import random

import numpy as np
import polars as pl
import pytest

import power_oracle as oracle
from voirdire import stats
from voirdire.io import read_labels
from voirdire.studies import power_from_pilot


def pilot_labels(seed=0, *, n_items=60, n_annotators=4):
    """A judge and annotators who slip now and then on a question with three answers."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, (n_items, 1))
    slips = rng.random((n_items, n_annotators + 1)) < 0.25
    labels = np.where(slips, rng.integers(0, 3, slips.shape), truth)
    return labels[:, 0], labels[:, 1:]


def tables_of(judge, humans, clusters=None):
    """The same as tables of words; a label below 0 is missing."""

    def table(columns, role):
        items, raters = (grid.ravel() for grid in np.indices(columns.shape))
        codes = columns.ravel()
        rows = {
            "item": [f"i{item:04}" for item in items],
            role: [f"{role}{rater}" for rater in raters],
            "label": ["abc"[code] if code >= 0 else None for code in codes],
        }
        if clusters is not None:
            rows["cluster"] = [f"c{clusters[item]:04}" for item in items]
        return read_labels(pl.DataFrame(rows), role=role, kind="choice", source_name=role)

    return table(humans, "annotator"), table(judge[:, np.newaxis], "judge")


@pytest.mark.ci
@pytest.mark.parametrize(("n_annotators", "mode"), [(2, "additive"), (4, "multiplicative")])
def test_resampling_agrees_with_brute_force(n_annotators, mode):
    judge, humans = pilot_labels()

    result = power_from_pilot(
        *tables_of(judge, humans),
        n_items=[30, 45],
        n_annotators=n_annotators,
        epsilon=[0.1, 0.2],
        epsilon_mode=mode,
        n_simulations=2_000,
    )

    powers = []
    for row in result.rows:
        expected = oracle.resampled_power(
            random.Random(1),
            humans.T.tolist(),
            judge.tolist(),
            row.epsilon,
            n_items=row.n_items,
            n_annotators=n_annotators,
            n_studies=100,
            mode=mode,
        )
        # both shares are estimates: 3.5 standard errors of their difference
        spread = math.sqrt(max(expected * (1 - expected), 0.02) * (1 / 100 + 1 / 2_000))
        assert row.winning_rate_power == pytest.approx(expected, abs=3.5 * spread)
        assert row.power <= row.winning_rate_power + 0.05
        powers.append(row.winning_rate_power)
    assert max(powers) - min(powers) > 0.2


@pytest.mark.ci
@pytest.mark.parametrize("copies", [2, 3])
def test_copies_of_items_in_their_clusters_are_the_pilot_itself(copies):
    judge, humans = pilot_labels()
    plan = {"n_annotators": [2, 4], "epsilon": [0.1, 0.2], "n_simulations": 1_500}
    clusters = np.repeat(np.random.default_rng(1).permutation(60), copies)
    tables = tables_of(np.repeat(judge, copies), np.repeat(humans, copies, axis=0), clusters)

    single = power_from_pilot(*tables_of(judge, humans), n_items=[20, 45], min_items=20, **plan)
    clustered = power_from_pilot(
        *tables, n_items=[20 * copies, 45 * copies], min_items=20 * copies, clustered=True, **plan
    )

    for one, many in zip(single.rows, clustered.rows, strict=True):
        assert many.n_items == copies * one.n_items
        assert many.power == pytest.approx(one.power, abs=3.5 * math.sqrt(0.5 / 1_500))
        assert many.winning_rate == pytest.approx(one.winning_rate, abs=0.06)


@pytest.mark.ci
def test_clusters_that_are_cut_short_still_count():
    # Clusters of three items are drawn whole: of 10 items the last cluster holds one.
    judge, humans = pilot_labels()
    clusters = np.arange(60) // 3
    plan = {"n_annotators": 4, "epsilon": [0.05, 0.1, 0.2, 0.3], "min_items": 10}
    rng, n_studies = np.random.default_rng(0), 250

    result = power_from_pilot(
        *tables_of(judge, humans, clusters),
        n_items=[31],
        clustered=True,
        n_simulations=1_500,
        **plan,
    )

    passed, won = np.zeros(4), np.zeros(4)
    for _ in range(n_studies):
        drawn = rng.integers(0, 20, 11)
        items = (3 * drawn[:, np.newaxis] + np.arange(3)).ravel()[:31]
        results = stats.alt_test(
            judge[items],
            humans[items],
            clusters=np.repeat(np.arange(11), 3)[:31],
            epsilon=plan["epsilon"],
            min_items=10,
        )
        passed += [each.outcome == "passed" for each in results]
        won += [each.t_test.passed for each in results]
    for name, shares in (("power", passed), ("winning_rate_power", won)):
        for row, share in zip(result.rows, shares / n_studies, strict=True):
            spread = math.sqrt(max(share * (1 - share), 0.02) * (1 / n_studies + 1 / 1_500))
            assert getattr(row, name) == pytest.approx(share, abs=3.5 * spread)
    assert 0 < passed[-1] <= won[-1]


@pytest.mark.ci
def test_gaps_are_drawn_as_they_are():
    judge, humans = pilot_labels(n_items=400)
    humans[np.arange(400)[:, np.newaxis] % 4 == np.arange(4)] = -1

    result = power_from_pilot(
        *tables_of(judge, humans), n_items=[40, 60], n_annotators=4, epsilon=0.2
    )

    # An annotator labels three quarters of the items: 30 of 40 at least half of the time.
    few, enough = result.rows
    assert few.label_share == enough.label_share == 0.75
    assert (few.n_labels, enough.n_labels) == (120, 180)
    assert 0 < few.power < enough.power


@pytest.mark.ci
def test_simulated_studies_have_as_many_gaps_and_failures_as_the_pilot():
    rng = np.random.default_rng(2)
    judge, humans = pilot_labels(n_items=800)
    plan = {"n_items": [30, 60, 120], "n_annotators": 5, "epsilon": 0.15, "n_simulations": 500}
    gaps = np.where(rng.random(humans.shape) < 0.3, -1, humans)
    failures = np.where(rng.random(judge.shape) < 0.4, -1, judge)

    whole, thinned, failing = (
        power_from_pilot(*tables_of(*labels), **plan).rows
        for labels in ((judge, humans), (judge, gaps), (failures, humans))
    )

    # 30 items with every third missing are fewer than 30 for everyone, and 60 are about 42.
    assert [row.route for row in thinned] == ["noise_model"] * 3
    assert thinned[0].power <= 0.01
    assert failing[0].power <= 0.01
    assert whole[0].power > 0.1
    for more, less in zip(whole[1:], thinned[1:], strict=True):
        assert 0 < less.power < more.power
    share = (gaps[(gaps >= 0).any(axis=1)] >= 0).mean()  # items that nobody labels are left out
    assert thinned[1].label_share == pytest.approx(share)
    assert thinned[1].n_labels == pytest.approx(60 * 5 * share, abs=1)
    # Annotators have to label those items all the same.
    assert failing[1].n_labels == whole[1].n_labels == 300
    assert failing[2].power > 0.2
