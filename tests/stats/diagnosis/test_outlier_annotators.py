"""Annotators who stand apart: plain loops over pairs, scipy's t-test, and small panels by hand."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from alt_test_oracle import benjamini
from voirdire.errors import InputError
from voirdire.stats import outlier_annotators

MEMBERSHIP = (np.arange(8)[:, np.newaxis] >> np.arange(3)) % 2 == 1


def agree(a, b, level, span):
    if level == "nominal":
        return float(a == b)
    if level == "interval":
        return 1 - (a - b) ** 2 / span**2 if span else 1.0
    first, second = (set(np.flatnonzero(MEMBERSHIP[int(x)])) for x in (a, b))
    return len(first & second) / len(first | second) if first | second else 1.0


def oracle(labels, level, clusters=None, *, min_items):
    """Per annotator: items, agreement, that of the others, and the p-value."""
    known = [[k for k, x in enumerate(row) if x == x and x != -1] for row in labels.tolist()]
    values = [row[k] for row, who in zip(labels.tolist(), known, strict=True) for k in who]
    span = max(values, default=0) - min(values, default=0)
    rows = []
    for j in range(labels.shape[1]):
        own, others, units = [], [], []
        for i, who in enumerate(known):
            if j not in who or len(who) < 3:
                continue
            rest = [labels[i, k] for k in who if k != j]
            own.append(np.mean([agree(labels[i, j], x, level, span) for x in rest]))
            others.append(np.mean([agree(x, y, level, span) for x, y in combinations(rest, 2)]))
            units.append(i if clusters is None else clusters[i])
        d = np.subtract(own, others)
        p = math.nan if len(d) < max(min_items, 1) else t_test(d, units)
        rows.append((len(d), own, others, p))
    return rows


def t_test(d, units):
    names = sorted(set(units))
    if len(names) < 2:
        return math.nan
    sums = np.array(
        [sum(x - d.mean() for x, u in zip(d, units, strict=True) if u == g) for g in names]
    )
    error = math.sqrt(len(names) / (len(names) - 1) * (sums**2).sum()) / len(d)
    if error < 1e-9:
        if np.ptp(d) > 1e-9:
            return math.nan
        return 0.0 if d.mean() < -1e-9 else 1.0
    return float(stats.t.cdf(d.mean() / error, len(names) - 1))


def panel(seed, *, n_items, n_annotators, level, missing):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 8, n_items)[:, np.newaxis]
    noise = rng.random((n_items, n_annotators)) < rng.choice([0.1, 0.4, 0.9], n_annotators)
    codes = np.where(noise, rng.integers(0, 8, noise.shape), truth)
    gone = rng.random(codes.shape) < missing
    return np.where(gone, np.nan, codes - 2.5) if level == "interval" else np.where(gone, -1, codes)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_items=st.integers(1, 30),
    n_annotators=st.integers(1, 9),
    level=st.sampled_from(("nominal", "interval", "sets")),
    missing=st.sampled_from((0.0, 0.2, 0.7)),
    n_clusters=st.sampled_from((None, 1, 2, 8)),
)
def test_the_figures_are_those_of_plain_loops(
    seed, n_items, n_annotators, level, missing, n_clusters
):
    labels = panel(seed, n_items=n_items, n_annotators=n_annotators, level=level, missing=missing)
    clusters = None if n_clusters is None else np.arange(n_items) * 7 % n_clusters

    found = outlier_annotators(
        labels, level=level, label_sets=MEMBERSHIP, clusters=clusters, min_items=3
    )
    expected = oracle(labels, level, clusters, min_items=3)

    for j, (n, own, others, p) in enumerate(expected):
        own_mean, others_mean = (np.mean(x) if n else math.nan for x in (own, others))
        assert found[j].n_items == n
        assert found[j].agreement == pytest.approx(own_mean, nan_ok=True)
        assert found[j].agreement_of_others == pytest.approx(others_mean, nan_ok=True)
        assert found[j].p_value == pytest.approx(p, nan_ok=True, abs=1e-9)
        assert (found[j].reason is None) == (not math.isnan(p))
    rejected = benjamini([p for *_, p in expected if not math.isnan(p)], 0.05, yekutieli=True)
    tested = [j for j, (*_, p) in enumerate(expected) if not math.isnan(p)]
    for j, is_rejected in zip(tested, rejected, strict=True):
        assert found[j].outlier == (is_rejected and found[j].difference <= -0.1)


def test_without_clusters_it_is_the_paired_t_test():
    labels = panel(3, n_items=80, n_annotators=4, level="nominal", missing=0.0)
    equal = labels[:, :, np.newaxis] == labels[:, np.newaxis, :]
    own = equal[:, 0, 1:].mean(axis=1)
    others = (equal[:, 1, 2:].sum(axis=1) + equal[:, 2, 3]) / 3

    found = outlier_annotators(labels)

    expected = stats.ttest_rel(own, others, alternative="less")
    assert found[0].p_value == pytest.approx(expected.pvalue)


def test_a_careless_annotator_is_found_and_nobody_else():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 3, 200)[:, np.newaxis]
    careful = np.where(rng.random((200, 5)) < 0.15, rng.integers(0, 3, (200, 5)), truth)
    labels = np.column_stack([careful, rng.integers(0, 3, 200)])

    found = outlier_annotators(labels)

    assert [row.outlier for row in found] == [False] * 5 + [True]
    assert found[5].difference < -0.3


def test_a_small_shortfall_is_no_outlier_however_sure():
    rng = np.random.default_rng(1)
    truth = np.zeros((20_000, 1), int)
    labels = np.column_stack([truth, truth, truth, rng.random(20_000) < 0.05])

    found = outlier_annotators(labels.astype(int))

    assert found[3].p_value < 1e-6
    assert not any(row.outlier for row in found)


def test_an_annotator_who_is_always_alone_is_an_outlier_without_variance():
    found = outlier_annotators(np.tile([0, 0, 1], (10, 1)))

    # Each of the two others agrees with one of two, and the two they are beside never do.
    assert [row.difference for row in found] == [0.5, 0.5, -1.0]
    assert [row.p_value for row in found] == [1.0, 1.0, 0.0]
    assert [row.outlier for row in found] == [False, False, True]


def test_everyone_alike_has_nobody_apart():
    found = outlier_annotators(np.zeros((30, 4)) + 0.1, level="interval")

    assert [row.agreement for row in found] == [1.0] * 4
    assert [row.p_value for row in found] == [1.0] * 4


ALONE = np.tile([0, 0, 1], (20, 1))
SLIPS = np.where(np.arange(60).reshape(20, 3) % 30 == 2, 1, 0)  # one in each half, of the third


@pytest.mark.parametrize(
    ("labels", "clusters", "reasons"),
    [
        (np.arange(40).reshape(20, 2) % 3, None, ["no item has three labels"] * 2),
        (ALONE[:9], None, ["fewer than 10 items with three labels"] * 3),
        (ALONE, np.zeros(20), ["fewer than two clusters"] * 3),
        # as many slips in both clusters: no variance between them, but within
        (SLIPS, np.arange(20) // 10, ["the clusters leave no variance to test with"] * 3),
    ],
)
def test_who_cannot_be_tested_is_no_outlier_and_it_says_why(labels, clusters, reasons):
    found = outlier_annotators(labels, clusters=clusters)

    assert [row.reason for row in found] == reasons
    assert all(math.isnan(row.p_value) for row in found)
    assert not any(row.outlier for row in found)


def test_the_largest_numbers_do_not_overflow():
    labels = np.tile([-1.7e308, -1.7e308, 1.7e308], (12, 1))

    found = outlier_annotators(labels, level="interval")

    assert [row.agreement for row in found] == [0.5, 0.5, 0.0]


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"level": "ordinal"}, "`level` must be one of"),
        ({"level": "sets"}, "`label_sets` must be given"),
        ({"level": "sets", "label_sets": MEMBERSHIP[:1]}, "a set for every code, got 1"),
        ({"min_items": 1}, "`min_items` must be a whole number of at least 2"),
        ({"least_effect": 0}, "`least_effect` must be in"),
        ({"false_discovery_rate": 5}, "`false_discovery_rate` must be in"),
        ({"clusters": [1, 2]}, "`clusters` must have the shape"),
    ],
)
def test_settings_are_checked(changed, match):
    with pytest.raises(InputError, match=match):
        outlier_annotators(np.array([[0, 1, 1]] * 3), **changed)


def test_a_crowd_is_no_square_of_its_annotators(peak_memory):
    rng = np.random.default_rng(4)
    labels = np.full((2_000, 800), -1, np.int8)
    for row in labels:
        row[rng.choice(800, 5, replace=False)] = rng.integers(0, 3, 5)

    assert peak_memory(lambda: outlier_annotators(labels)) < 40e6
