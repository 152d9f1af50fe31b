"""The paired test of two judges: that of scipy, and that of plain loops where data are sparse."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as t_distribution
from scipy.stats import ttest_rel
from statsmodels.stats.multitest import multipletests

from alt_test_oracle import alt_test_oracle, imbalance_weights
from voirdire import stats
from voirdire.errors import InputError
from voirdire.records import as_plain
from voirdire.stats import compare_judges

FIGURES = ("advantage_a", "advantage_b", "difference", "low", "high", "p_value")


def labels(seed, *, n_items=80, n_annotators=3, n_judges=2, missing=0.0, gone=0.0, n_labels=3):
    """Judges of falling skill, and annotators."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_labels, n_items)

    def answers(skill):
        return np.where(rng.random(n_items) < skill, truth, rng.integers(0, n_labels, n_items))

    humans = np.stack([answers(0.7) for _ in range(n_annotators)], axis=1)
    judges = np.stack([answers(0.8 - 0.1 * k) for k in range(n_judges)], axis=1)
    humans[rng.random(humans.shape) < missing] = -1
    judges[rng.random(judges.shape) < gone] = -1
    return judges, humans


def wins(judge, humans, *, gold=None, expert=None, quality=None):
    """W^f in plain loops, nan where nothing is compared, shape (n_items, n_annotators)."""
    n_items, n_annotators = humans.shape
    result = np.full(humans.shape, np.nan)
    for i in range(n_items):
        truth = gold[i] if gold is not None else None if expert is None else humans[i, expert]
        for j in range(n_annotators):
            if humans[i, j] < 0 or judge[i] < 0 or j == expert:
                continue
            if truth is None:
                others = [k for k in range(n_annotators) if k != j and humans[i, k] >= 0]
                panel = [(humans[i, k], 1.0 if quality is None else quality[k]) for k in others]
            else:
                panel = [] if truth < 0 else [(truth, 1.0)]
            if panel:
                ahead = sum(mass for label, mass in panel if label == judge[i])
                behind = sum(mass for label, mass in panel if label == humans[i, j])
                result[i, j] = float(ahead >= behind - 1e-12)
    return result


def oracle(judges, humans, *, min_items=30, clusters=None, weighted=False, level=0.95, **options):
    """ρ of both judges, their difference, its interval and p-value, in plain loops."""
    first, second = (wins(judges[:, k], humans, **options) for k in range(2))
    both = ~np.isnan(first) & ~np.isnan(second)
    tested = [j for j in range(humans.shape[1]) if both[:, j].sum() >= min_items]
    scores, contributions = ([], []), {}
    for j in tested:
        items = np.flatnonzero(both[:, j])
        panels = [[int(x) for x in np.delete(humans[i], j) if x >= 0] for i in items]
        pi = np.array(imbalance_weights(panels)) if weighted else np.ones(len(items))
        gap = first[items, j] - second[items, j]
        mean = float((pi * gap).sum() / pi.sum())
        for part, won in zip(scores, (first, second), strict=True):
            part.append(float((pi * won[items, j]).sum() / pi.sum()))
        for i, weight, value in zip(items, pi, gap, strict=True):
            unit = i if clusters is None else clusters[i]
            share = weight * (value - mean) / pi.sum() / len(tested)
            contributions[unit] = contributions.get(unit, 0.0) + share
    a, b = (float(np.mean(part)) for part in scores)
    g = len(contributions)
    error = math.sqrt(g / (g - 1) * sum(value**2 for value in contributions.values()))
    if error < 1e-12:
        return None
    half = t_distribution.ppf((1 + level) / 2, g - 1) * error
    p_value = 2 * t_distribution.sf(abs(a - b) / error, g - 1)
    return (a, b, a - b, a - b - half, a - b + half, p_value), int(both[:, tested].any(1).sum())


def assert_is(pair, expected):
    figures, n_items = expected
    assert [getattr(pair, name) for name in FIGURES] == pytest.approx(figures, abs=1e-10)
    assert pair.n_items == n_items
    assert pair.reason is None


# Against others ----------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1), st.sampled_from((0.8, 0.95, 0.99)))
def test_on_complete_labels_it_is_the_paired_t_test_of_scipy(seed, level):
    judges, humans = labels(seed)
    shares = [wins(judges[:, k], humans).mean(axis=1) for k in range(2)]
    expected = ttest_rel(*shares)
    low, high = expected.confidence_interval(level)

    [pair] = compare_judges(judges, humans, confidence_level=level)

    assert pair.p_value == pytest.approx(expected.pvalue, abs=1e-12)
    assert (pair.low, pair.high) == pytest.approx((low, high), abs=1e-12)
    assert pair.difference == pytest.approx(np.mean(shares[0]) - np.mean(shares[1]), abs=1e-12)
    assert pair.confidence_level == level


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from((0.1, 0.4)),
    st.sampled_from((0.0, 0.3)),
    st.sampled_from(("items", "clusters", "quality", "expert", "gold", "weights", "both")),
)
def test_sparse_labels_and_variants_are_those_of_plain_loops(seed, missing, gone, variant):
    judges, humans = labels(seed, missing=missing, gone=gone, n_annotators=4)
    rng = np.random.default_rng(seed)
    options, ours = {}, {}
    if variant in ("clusters", "both"):
        options["clusters"] = ours["clusters"] = rng.integers(0, 20, len(humans))
    if variant == "quality":
        options["quality"] = ours["quality"] = np.array([0.3, 1.0, 0.5, 2.0])
    if variant == "expert":
        options["expert"] = ours["expert"] = 2
    if variant == "gold":
        options["gold"] = ours["gold"] = rng.integers(-1, 3, len(humans))
    if variant in ("weights", "both"):
        options["weighted"], ours["weights"] = True, "imbalance"

    [pair] = compare_judges(judges, humans, min_items=10, **ours)

    expected = oracle(judges, humans, min_items=10, **options)
    if expected is None:
        assert pair.reason in (
            "the judges have the same outcome on every item",
            "all items are alike",
        )
    else:
        assert_is(pair, expected)


def test_an_annotator_with_few_items_in_common_is_left_out():
    judges, humans = labels(1, n_annotators=4)
    humans[20:, 3] = -1

    [pair] = compare_judges(judges, humans)

    assert_is(pair, oracle(judges, humans))
    [others] = compare_judges(judges, humans[:, :3])
    assert pair.n_items == others.n_items == 80


def test_advantages_are_those_of_the_test_on_the_common_items():
    judges, humans = labels(2, gone=0.2)
    common = (judges >= 0).all(axis=1)

    [pair] = compare_judges(judges, humans)

    results = stats.alt_test(judges[common], humans[common])
    expected = [result.advantage_probability for result in results]
    assert [pair.advantage_a, pair.advantage_b] == pytest.approx(expected)
    assert pair.n_items == np.count_nonzero(common)


@pytest.mark.parametrize("alignment", ["neg_rmse", "jaccard", "hamming"])
def test_any_alignment_can_be_compared(alignment):
    judges, humans = labels(3, n_labels=4)
    sets = [(), ("a",), ("b",), ("a", "b")]
    membership = np.array([[False, False], [True, False], [False, True], [True, True]])
    options = {} if alignment == "neg_rmse" else {"label_sets": membership}

    def written(column):
        values = column.tolist()
        return dict(enumerate(values if alignment == "neg_rmse" else [sets[k] for k in values]))

    [pair] = compare_judges(judges, humans, alignment=alignment, **options)

    people = {f"h{j}": written(column) for j, column in enumerate(humans.T)}
    universe = None if alignment == "neg_rmse" else ("a", "b")
    for k, advantage in enumerate((pair.advantage_a, pair.advantage_b)):
        result = alt_test_oracle(
            written(judges[:, k]), people, alignment=alignment, labels=universe
        )
        assert advantage == pytest.approx(result["advantage_probability"])
    assert pair.alignment == alignment


def test_clusters_by_hand():
    # One annotator against gold labels: W is whether the judge is right where the annotator is,
    # and 1 elsewhere. Differences 1 1 0 0 | 0 0 | -1 0, mean 1/8; cluster sums of (d - 1/8)/8 are
    # (2 - 4/8)/8 = 12/64, -2/64 and (-1 - 2/8)/8 = -10/64; squares sum to 248/4096, times 3/2.
    gold = np.ones(8, dtype=int)
    first = np.array([1, 1, 1, 1, 1, 1, 0, 1])
    second = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    clusters = np.array([5, 5, 5, 5, 2, 2, 9, 9])

    [pair] = compare_judges(
        np.stack([first, second], axis=1),
        gold[:, np.newaxis],
        gold=gold,
        clusters=clusters,
        min_items=2,
        confidence_level=0.5,  # at .95 three clusters leave all of [-1, 1]
    )

    error = math.sqrt(3 / 2 * 248) / 64
    assert pair.difference == 1 / 8
    assert pair.p_value == pytest.approx(2 * t_distribution.sf(1 / 8 / error, 2))
    assert pair.high - pair.low == pytest.approx(2 * t_distribution.ppf(0.75, 2) * error)


@pytest.mark.edges
@pytest.mark.parametrize("seed", [4, 5, 6])
def test_all_pairs_come_in_order_and_are_adjusted_together(seed):
    judges, humans = labels(seed, n_judges=4)
    judges[:, 3] = judges[:, 1]  # a pair without a p-value

    pairs = compare_judges(judges, humans, names=["w", "x", "y", "z"])

    order = [pair.judge_a + pair.judge_b for pair in pairs]
    assert order == ["wx", "wy", "wz", "xy", "xz", "yz"]
    p_values = np.array([pair.p_value for pair in pairs])
    known = ~np.isnan(p_values)
    assert known.tolist() == [True, True, True, True, False, True]
    np.testing.assert_allclose(
        [pair.p_adjusted for pair in np.array(pairs)[known]],
        multipletests(p_values[known], method="holm")[1],
    )
    [alone] = compare_judges(judges[:, [0, 2]], humans)
    for name in (*FIGURES, "n_items"):
        assert getattr(alone, name) == getattr(pairs[1], name)
    assert alone.p_adjusted == alone.p_value


# What counts ------------------------------------------------------------------------------------


def test_failures_are_left_out():
    judges, humans = labels(10)
    failed = np.random.default_rng(10).random(judges.shape) < 0.2

    [flagged] = compare_judges(judges, humans, failed=failed)
    [missing] = compare_judges(np.where(failed, -1, judges), humans)

    assert flagged == missing


@pytest.mark.parametrize("setting", ["epsilon", "family", "foo"])
def test_what_does_not_enter_is_refused(setting):
    judges, humans = labels(11)

    with pytest.raises(InputError, match=f"`{setting}` must be a setting of `compare_judges`"):
        compare_judges(judges, humans, **{setting: 0.3})


# Undefined ---------------------------------------------------------------------------------------


def test_identical_judges_have_no_p_value_and_no_difference():
    judges, humans = labels(12)

    [pair] = compare_judges(judges[:, [0, 0]], humans)

    assert pair.difference == 0
    assert pair.advantage_a == pair.advantage_b > 0.5
    assert np.isnan([pair.low, pair.high, pair.p_value, pair.p_adjusted]).all()
    assert pair.reason == "the judges have the same outcome on every item"


def test_a_judge_that_is_better_on_every_item_leaves_no_variance():
    humans = np.ones((40, 3), dtype=int)
    judges = np.stack([humans[:, 0], 0 * humans[:, 0]], axis=1)

    [pair] = compare_judges(judges, humans)

    assert (pair.advantage_a, pair.advantage_b, pair.difference) == (1, 0, 1)
    assert (pair.p_value, pair.p_adjusted) == (0, 0)  # as the test of one judge has it
    assert math.isnan(pair.low)
    assert pair.reason == "all items are alike: the interval is undefined"


def test_judges_who_share_no_item_cannot_be_compared():
    judges, humans = labels(13)
    judges[:40, 0] = judges[40:, 1] = -1

    [pair] = compare_judges(judges, humans)

    assert pair.n_items == 0
    assert np.isnan([getattr(pair, name) for name in (*FIGURES, "p_adjusted")]).all()
    assert pair.reason == "no annotator has 30 items to compare"


def test_one_cluster_has_no_error():
    judges, humans = labels(14)

    [pair] = compare_judges(judges, humans, clusters=np.zeros(80, dtype=int))

    assert pair.advantage_a > pair.advantage_b
    assert math.isnan(pair.p_value)
    assert pair.reason == "a standard error needs two items, or two clusters"


def test_one_judge_has_no_pair():
    judges, humans = labels(15)

    assert compare_judges(judges[:, 0], humans) == []


# The record --------------------------------------------------------------------------------------


def test_the_record_has_the_names_of_the_json():
    judges, humans = labels(16)

    [pair] = compare_judges(judges, humans, names=["ä", "<b>"])

    assert list(as_plain(pair)) == [
        "judge_a",
        "judge_b",
        "alignment",
        "advantage_a",
        "advantage_b",
        "difference",
        "low",
        "high",
        "p_value",
        "p_adjusted",
        "confidence_level",
        "n_items",
        "reason",
    ]
    assert (pair.judge_a, pair.judge_b, pair.alignment) == ("ä", "<b>", "accuracy")
    assert replace(pair) == pair


def test_a_callable_is_called_by_its_name():
    judges, humans = labels(17)

    def same(a, b):
        return (np.asarray(a) == np.asarray(b)).astype(float)

    [pair] = compare_judges(judges, humans, alignment=same, values=["x", "y", "z"])

    [words] = compare_judges(judges, humans)
    assert as_plain(replace(pair, alignment="accuracy")) == pytest.approx(as_plain(words))
    assert pair.alignment == "same"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"confidence_level": 95}, "`confidence_level` must be in the interval"),
        ({"names": ["one"]}, "`names` must name all 2 judges, each once, got 1 names"),
        (
            {"names": ["one", "two", "three"]},
            "`names` must name all 2 judges, each once, got 3 names",
        ),
        ({"min_items": 1}, "`min_items` must be"),
        ({"clusters": [1, 2]}, "`clusters` must have the shape"),
    ],
)
def test_a_wrong_argument_is_an_input_error(options, message):
    judges, humans = labels(18)

    with pytest.raises(InputError, match=message):
        compare_judges(judges, humans, **options)
