"""Krippendorff's alpha against the krippendorff package and the plain-loop oracle."""

import itertools
import math
import warnings

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from alt_test_oracle import jaccard_distance, krippendorff_oracle
from strategies import sparse_humans
from voirdire import DegenerateDataWarning, InputError, krippendorff_alpha

LEVELS = ("nominal", "ordinal", "interval", "ratio")


@st.composite
def sparse_matrices(draw):
    """Numbers 0 to 5 (or tenths) of some raters, nan where missing, items in rows."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (draw(st.integers(2, 25)), draw(st.integers(2, 6)))
    truth = rng.integers(0, draw(st.integers(2, 6)), (shape[0], 1))
    noise = rng.integers(0, 6, shape)
    labels = np.where(rng.random(shape) < draw(st.sampled_from((0.1, 0.5, 1.0))), noise, truth)
    labels = labels / draw(st.sampled_from((1.0, 10.0)))
    labels[rng.random(shape) < draw(st.sampled_from((0.0, 0.2, 0.6)))] = np.nan
    return labels


def quietly(labels, **options):
    """α where an undefined one is no surprise."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        return krippendorff_alpha(labels, **options)


def as_codes(labels):
    return np.where(np.isnan(labels), -1, np.nan_to_num(labels * 10)).astype(int)


@given(sparse_matrices(), st.sampled_from(LEVELS))
def test_alpha_is_that_of_the_krippendorff_package(labels, level):
    kept = labels[(~np.isnan(labels)).sum(axis=1) >= 2]

    result = quietly(as_codes(labels) if level == "nominal" else labels, level=level)

    assert result.n_items == len(kept)
    assert result.n_labels == np.count_nonzero(~np.isnan(kept))
    if len(np.unique(kept[~np.isnan(kept)])) < 2:
        assert math.isnan(result.alpha)
        assert result.reason is not None
        return
    expected = krippendorff.alpha(reliability_data=kept.T, level_of_measurement=level)
    assert result.alpha == pytest.approx(expected, abs=1e-9)


@given(sparse_humans("multilabel", items=(3, 25)))
def test_alpha_of_sets_is_that_of_the_oracle(study):
    sets = sorted(
        {
            frozenset(x)
            for answers in study.humans.values()
            for x in answers.values()
            if x is not None
        },
        key=sorted,
    )
    code = {labels: number for number, labels in enumerate(sets)}
    membership = np.array([[label in labels for label in study.labels] for labels in sets])
    matrix = np.array(
        [
            [
                -1 if answers.get(item) is None else code[frozenset(answers[item])]
                for answers in study.humans.values()
            ]
            for item in study.items
        ]
    )
    units = [
        {name: answers[item] for name, answers in study.humans.items() if item in answers}
        for item in study.items
    ]

    result = quietly(matrix, level="sets", label_sets=membership)

    expected = krippendorff_oracle(units, jaccard_distance)
    assert result.alpha == pytest.approx(expected, abs=1e-9, nan_ok=True)


@given(st.integers(0, 2**32 - 1), st.sampled_from((5, 63, 64, 65, 130)))
def test_alpha_of_wide_sets_is_that_of_the_oracle(seed, n_labels):
    rng = np.random.default_rng(seed)
    membership = rng.random((12, n_labels)) < rng.random((12, 1)) ** 2
    membership[0] = False
    codes = rng.integers(-1, 12, (20, 3))
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in membership]
    units = [{k: sets[code] for k, code in enumerate(row) if code >= 0} for row in codes.tolist()]

    result = quietly(codes, level="sets", label_sets=membership)

    assert result.alpha == pytest.approx(krippendorff_oracle(units, jaccard_distance), abs=1e-9)


def test_alpha_by_hand():
    labels = [[1, 1, -1], [1, 2, -1], [2, -1, -1], [2, 2, -1]]

    result = krippendorff_alpha(labels)

    # Pairable: 1 1 | 1 2 | 2 2; D_o = 2/6, D_e = 18/30, alpha = 1 - (1/3) / (3/5) = 4/9.
    assert result.alpha == pytest.approx(4 / 9)
    assert (result.n_items, result.n_labels, result.n_clusters) == (3, 6, 3)


def test_the_interval_follows_from_what_each_item_and_pseudo_item_moves():
    rng = np.random.default_rng(5)
    truth = rng.choice(3, (60, 1), p=[0.8, 0.15, 0.05])
    labels = np.where(rng.random((60, 4)) < 0.3, rng.integers(0, 3, (60, 4)), truth)
    labels[rng.random((60, 4)) < 0.1] = -1

    result = krippendorff_alpha(labels, confidence_level=0.9)

    # One item more on which two raters agree, split over the labels, and one on which they do not.
    pairs = list(itertools.product(range(3), repeat=2))
    share = np.array([1 / 3 if a == b else 1 / 6 for a, b in pairs])
    labels = np.concatenate([labels, [[a, b, -1, -1] for a, b in pairs]])
    m = (labels >= 0).sum(axis=1)
    counts = np.stack([(labels == c).sum(axis=1) for c in range(3)], axis=1) * (m >= 2)[:, None]

    def disagreements(weights):
        apart = (m**2 - (counts**2).sum(axis=1)) / np.maximum(m - 1, 1)
        totals = (weights[:, None] * counts).sum(axis=0)
        n = totals.sum()
        return np.array(
            [(weights * apart)[m >= 2].sum() / n, (n**2 - (totals**2).sum()) / (n * (n - 1))]
        )

    weights = np.append(np.ones(60), share)
    observed, expected = disagreements(weights)
    centre, moved = 1 - observed / expected, []
    for i in np.flatnonzero(m >= 2):
        step = 1e-6 * weights[i] * (np.arange(69) == i)
        up, down = np.log(disagreements(weights + step)), np.log(disagreements(weights - step))
        by_observed, by_expected = (up - down) / 2e-6
        change = (1 - centre) * (by_expected - by_observed) / math.sqrt(1 - by_expected)
        moved.append(change / (1 if i < 60 else math.sqrt(share[i - 60])))
    moved, n = np.array(moved), result.n_items
    spread = (moved**2).sum() - moved.sum() ** 2 / n
    # Satterthwaite: the variance is uncertain by its kurtosis, less what goes with the estimate.
    excess = n * (moved**4).sum() / spread**2 - 1 - n * (moved**3).sum() ** 2 / spread**3
    half = stats.t.ppf(0.95, min(n - 1, 2 * n / excess)) * math.sqrt(n / (n - 1) * spread)
    ends = np.tanh(math.atanh(centre) + np.array([-1, 1]) * half / (1 - centre**2))
    assert (result.low, result.high) == pytest.approx(ends, abs=1e-6)


def test_the_interval_is_nearly_that_of_the_jackknife():
    rng = np.random.default_rng(2)
    truth = rng.choice(2, (200, 1), p=[0.7, 0.3])
    labels = np.where(rng.random((200, 3)) < 0.2, rng.integers(0, 2, (200, 3)), truth)

    result = krippendorff_alpha(labels, confidence_level=0.68)

    without = [krippendorff_alpha(np.delete(labels, i, axis=0)).alpha for i in range(200)]
    half = stats.t.ppf(0.84, 199) * np.std(without) * 199 / math.sqrt(199)
    width = math.atanh(result.high) - math.atanh(result.low)
    assert width == pytest.approx(2 * half / (1 - result.alpha**2), rel=0.02)


@given(sparse_matrices(), st.sampled_from(("nominal", "ordinal", "interval")))
def test_raters_items_and_names_of_labels_are_irrelevant(labels, level):
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    shuffled = labels[rows][:, columns]
    # Irrelevant are names to "nominal", what keeps the order to "ordinal", a line to "interval".
    renamed = {
        "nominal": np.array([3, 5, 0, 1, 4, 2])[(as_codes(labels) // 10)]
        if (as_codes(labels) % 10 == 0).all()
        else as_codes(labels),
        "ordinal": np.exp(labels),
        "interval": 7 - 3 * labels,
    }[level]
    if level == "nominal":
        renamed = np.where(np.isnan(labels), -1, renamed)
        labels, shuffled = as_codes(labels), as_codes(shuffled)

    plain, moved, changed = (quietly(x, level=level) for x in (labels, shuffled, renamed))

    for name in ("alpha", "low", "high"):
        expected = pytest.approx(getattr(plain, name), abs=1e-7, rel=1e-7, nan_ok=True)
        assert getattr(moved, name) == expected
        assert getattr(changed, name) == expected


def test_perfect_agreement_is_one():
    few, many = (krippendorff_alpha([[0, 0], [1, 1], [2, 2]] * n) for n in (1, 100))

    assert (few.alpha, few.high, many.alpha, many.high) == (1, 1, 1, 1)
    assert few.low < 0.5 < 0.95 < many.low


def test_copies_in_a_cluster_do_not_narrow_the_interval():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, (40, 1))
    labels = np.where(rng.random((40, 3)) < 0.3, 1 - truth, truth)

    once = krippendorff_alpha(labels)
    copies = np.repeat(labels, 5, axis=0)
    naive = krippendorff_alpha(copies)
    clustered = krippendorff_alpha(copies, clusters=np.repeat(np.arange(40), 5))

    width = once.high - once.low
    assert clustered.high - clustered.low == pytest.approx(width, rel=0.05)
    assert naive.high - naive.low < 0.6 * width


def test_one_cluster_has_no_interval():
    with pytest.warns(DegenerateDataWarning, match="the interval of α is undefined"):
        result = krippendorff_alpha([[0, 0], [1, 1], [0, 1]], clusters=["a", "a", "a"])

    assert math.isnan(result.low)
    assert math.isnan(result.high)
    assert not math.isnan(result.alpha)


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([[0, -1], [-1, 1]], "no item has two labels"),
        ([[1, 1], [1, 1]], "all labels are equal"),
        (np.zeros((0, 3), dtype=int), "no item has two labels"),
        (np.zeros((3, 1), dtype=int), "no item has two labels"),
    ],
)
def test_undefined_is_nan_with_a_warning(labels, reason):
    with pytest.warns(DegenerateDataWarning, match=f"α is undefined: {reason}"):
        result = krippendorff_alpha(labels)

    assert math.isnan(result.alpha)
    assert math.isnan(result.low)
    assert result.reason == reason


@pytest.mark.edges
@pytest.mark.parametrize("level", ["ordinal", "interval", "ratio"])
@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 1e-9, 1e9 + 0.1])
@pytest.mark.parametrize("n_items", [2, 3, 7, 50])
def test_one_number_only_is_undefined_whatever_the_rounding(level, value, n_items):
    with pytest.warns(DegenerateDataWarning, match="all labels are equal"):
        result = krippendorff_alpha(np.full((n_items, 3), value), level=level)

    assert math.isnan(result.alpha)


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        ([1, 2], {}, "`labels` must have the shape"),
        ([[0.5, 1.0]], {}, "`labels` must be integer codes, -1 where missing"),
        ([[0, 1]], {"level": "sets"}, "`label_sets` must be given"),
        ([[0, 1]], {"level": "cardinal"}, "`level` must be one of"),
        ([[0, 1]], {"clusters": [1, 2]}, "`clusters` must have the shape"),
        ([[0, 1]], {"confidence_level": 95}, "`confidence_level` must be in the interval"),
    ],
)
def test_a_wrong_argument_is_an_input_error(labels, options, message):
    with pytest.raises(InputError, match=message):
        krippendorff_alpha(labels, **options)


@pytest.mark.parametrize(
    ("labels", "options"),
    [
        ([[0, -2], [1, 1]], {}),
        ([[1.0, -1.0], [2.0, 3.0]], {"level": "ratio"}),
        ([[1.0, math.inf], [2.0, 3.0]], {"level": "interval"}),
        ([[1, 2], [0, 0]], {"level": "sets", "label_sets": np.eye(2, dtype=bool)}),
    ],
)
def test_labels_outside_their_level_are_an_input_error(labels, options):
    with pytest.raises(InputError, match="must"):
        krippendorff_alpha(labels, **options)


@pytest.mark.slow
def test_many_distinct_labels_build_no_square_table(peak_memory):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 10_000, (10_000, 3))

    nominal = peak_memory(lambda: krippendorff_alpha(codes))
    ordinal = peak_memory(lambda: krippendorff_alpha(codes.astype(float), level="ordinal"))
    ratio = peak_memory(lambda: krippendorff_alpha(codes.astype(float), level="ratio"))

    # A table of 10,000 x 10,000 floats has 800 MB.
    assert nominal < 20e6
    assert ordinal < 20e6
    assert ratio < 150e6


@pytest.mark.slow
def test_ten_thousand_labels_in_sets_build_no_square_table(peak_memory):
    from voirdire.stats import LabelSets

    positions = [[k, (k * 7) % 10_000] for k in range(10_000)]
    sets = LabelSets.from_positions(positions, n_labels=10_000)
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(10_000)[:, np.newaxis], 3, axis=1)
    codes[:, 2] = rng.integers(0, 10_000, 10_000)

    peak = peak_memory(lambda: krippendorff_alpha(codes, level="sets", label_sets=sets))

    assert peak < 250e6
