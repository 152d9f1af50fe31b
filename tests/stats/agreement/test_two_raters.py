"""Cohen's kappa against scikit-learn, statsmodels and values derived by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import cohens_kappa

from agreement_oracle import jaccard, kappa_oracle
from voirdire import DegenerateDataWarning, InputError
from voirdire.records import as_plain
from voirdire.stats import cohen_kappa

pytestmark = pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")


@st.composite
def two_columns(draw, n_labels=(2, 6)):
    """Codes of two raters, -1 where missing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = draw(st.integers(2, 40)), draw(st.integers(*n_labels))
    truth = rng.integers(0, k, (n, 1))
    labels = np.where(rng.random((n, 2)) < draw(st.sampled_from((0.1, 0.5, 1))), -2, truth)
    labels = np.where(labels == -2, rng.integers(0, k, (n, 2)), labels)
    labels[rng.random((n, 2)) < draw(st.sampled_from((0.0, 0.3)))] = -1
    return labels


def common(labels):
    return labels[(labels >= 0).all(axis=1)]


@given(two_columns(), st.sampled_from((None, "linear", "quadratic")))
def test_kappa_is_that_of_scikit_learn(labels, weights):
    result = cohen_kappa(*labels.T, weights=weights)

    kept = common(labels)
    assert result.n_items == len(kept)
    if len(np.unique(kept)) < 2:
        assert math.isnan(result.estimate)
        return
    # scikit-learn weights positions in the list of labels: all codes are listed.
    expected = cohen_kappa_score(*kept.T, weights=weights, labels=np.arange(6))
    assert result.estimate == pytest.approx(expected, abs=1e-12)


@given(two_columns(), st.sampled_from((0.1, 1.0, 1e-9, 1e200)))
def test_kappa_of_numbers_is_that_of_their_codes(labels, unit):
    numbers = np.where(labels < 0, np.nan, labels * unit + unit)

    by_number = cohen_kappa(*numbers.T, weights="quadratic")
    by_code = cohen_kappa(*labels.T, weights="quadratic")

    assert by_number.estimate == pytest.approx(by_code.estimate, abs=1e-9, nan_ok=True)
    assert by_number.low == pytest.approx(by_code.low, abs=1e-9, nan_ok=True)


def test_quadratic_kappa_of_continuous_numbers_follows_from_moments():
    rng = np.random.default_rng(3)
    x = rng.normal(2, 1, 500)
    y = 0.3 + 0.8 * x + rng.normal(0, 0.5, 500)

    result = cohen_kappa(x, y, weights="quadratic")

    # Lin's concordance correlation coefficient.
    expected = 2 * np.cov(x, y, ddof=0)[0, 1] / (x.var() + y.var() + (x.mean() - y.mean()) ** 2)
    assert result.estimate == pytest.approx(expected, abs=1e-12)


def fishers_error(result, n_units):
    """The standard error behind an interval of 68%, which hardly needs degrees of freedom."""
    width = math.atanh(result.high) - math.atanh(result.low)
    return width / 2 / student.ppf(0.84, n_units - 1) * (1 - result.estimate**2)


@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
def test_the_standard_error_of_many_items_is_that_of_statsmodels(weights):
    rng = np.random.default_rng(0)
    n = 20_000
    truth = rng.integers(0, 4, (n, 1))
    labels = np.where(rng.random((n, 2)) < 0.3, rng.integers(0, 4, (n, 2)), truth)
    table = np.zeros((4, 4))
    np.add.at(table, tuple(labels.T), 1)

    result = cohen_kappa(*labels.T, weights=weights, confidence_level=0.68)

    expected = cohens_kappa(table, wt=weights)
    assert result.estimate == pytest.approx(expected.kappa)
    assert fishers_error(result, n) == pytest.approx(expected.std_kappa, rel=1e-3)


@pytest.mark.edges
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize("share", [0.3, 0.5])
def test_the_standard_error_is_nearly_that_of_the_jackknife(weights, share):
    rng = np.random.default_rng(1)
    truth = rng.binomial(3, share, (200, 1))
    labels = np.where(rng.random((200, 2)) < 0.3, rng.binomial(3, share, (200, 2)), truth)

    result = cohen_kappa(*labels.T, weights=weights, confidence_level=0.68)

    without = [
        cohen_kappa(*np.delete(labels, i, axis=0).T, weights=weights).estimate for i in range(200)
    ]
    expected = np.std(without) * 199 / math.sqrt(199)
    assert fishers_error(result, 200) == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("table", [(27, 0, 1, 2), (28, 1, 1, 0), (20, 3, 5, 22), (29, 0, 0, 1)])
def test_the_interval_is_that_of_a_table_with_half_an_item_more_in_each_cell(table):
    first, second = np.repeat([[0, 0, 1, 1], [0, 1, 0, 1]], table, axis=1)

    result = cohen_kappa(first, second)

    def disagreements(cells):
        no, more, less, yes = cells / cells.sum()
        return np.array([more + less, (no + more) * (more + yes) + (less + yes) * (no + less)])

    cells, n = np.array(table) + 0.5, sum(table)
    observed, expected = disagreements(cells)
    kappa, moved = 1 - observed / expected, []
    for cell in range(4):
        step = 1e-5 * (np.arange(4) == cell)
        change = np.log(disagreements(cells + step)) - np.log(disagreements(cells - step))
        moved.append(change / 2e-5)
    by_observed, by_expected = np.array(moved).T
    of_items = (1 - kappa) * (by_expected - by_observed) / np.sqrt(1 - by_expected)
    # of a pseudo-item: its weight goes in by the root, and raters have no order
    pseudo, reach = (np.where([0, 1, 1, 0], x[1:3].mean(), x) for x in (by_observed, by_expected))
    of_pseudo = math.sqrt(0.5) * (1 - kappa) * (reach - pseudo) / np.sqrt(1 - reach / 2)
    changes = np.concatenate([np.repeat(of_items, table), of_pseudo])
    spread = (changes**2).sum() - changes.sum() ** 2 / n
    excess = n * (changes**4).sum() / spread**2 - 1 - n * (changes**3).sum() ** 2 / spread**3
    half = student.ppf(0.975, min(n - 1, 2 * n / max(excess, 1e-12)))
    half *= math.sqrt(n / (n - 1) * spread) / (1 - kappa**2)
    low, high = np.tanh(math.atanh(kappa) + np.array([-half, half]))
    ends = min(low, result.estimate), max(high, result.estimate)
    assert (result.low, result.high) == pytest.approx(ends, abs=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from((3, 9, 70)))
def test_kappa_of_sets_is_that_of_the_loop(seed, n_labels):
    rng = np.random.default_rng(seed)
    membership = rng.random((7, n_labels)) < 0.4
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in membership]
    codes = rng.integers(-1, 7, (25, 2))

    result = cohen_kappa(*codes.T, weights="jaccard", label_sets=membership)

    rows = [(sets[a], sets[b], 1) for a, b in common(codes).tolist()]
    assert result.estimate == pytest.approx(kappa_oracle(rows, jaccard), abs=1e-12, nan_ok=True)


def test_many_sets_are_compared_without_their_table():
    rng = np.random.default_rng(1)
    membership = np.eye(2_100, dtype=bool)
    membership[:, 0] |= rng.random(2_100) < 0.2
    codes = rng.permutation(2_100)
    second = np.where(rng.random(2_100) < 0.5, codes, rng.permutation(2_100))
    few = cohen_kappa(codes[:300], second[:300], weights="jaccard", label_sets=membership)

    many = cohen_kappa(codes, second, weights="jaccard", label_sets=membership)

    assert 0 < few.estimate < 1
    assert many.estimate == pytest.approx(few.estimate, abs=0.1)
    assert many.low < many.estimate < many.high


def test_kappa_by_hand():
    first = [0] * 25 + [1] * 25
    second = [0] * 20 + [1] * 5 + [0] * 10 + [1] * 15

    result = cohen_kappa(first, second)

    # p_o = 35/50; p_e = 25/50 * 30/50 + 25/50 * 20/50 = 1/2; kappa = (.7 - .5) / .5 = 2/5.
    assert result.estimate == pytest.approx(2 / 5)
    assert (result.coefficient, result.weights) == ("cohen_kappa", None)
    assert (result.n_items, result.n_raters, result.n_clusters) == (50, 2, 50)
    assert as_plain(result)["estimate"] == result.estimate


def test_linear_kappa_by_hand():
    result = cohen_kappa([0, 1, 2, 2], [0, 2, 2, 0], weights="linear")

    # Differences 0 1 0 2: D_o = 3/4. Each label of the first against 0 2 2 0: 4 in all, be it 0
    # (0 + 2 + 2 + 0), 1 (four times 1) or 2 (2 + 0 + 0 + 2): D_e = 16/16; kappa = 1 - 3/4.
    assert result.estimate == pytest.approx(1 / 4)


@given(two_columns(), st.sampled_from((None, "quadratic")))
def test_raters_items_and_labels_have_no_order(labels, weights):
    rng = np.random.default_rng(0)
    renamed = (
        np.append(rng.permutation(6), -1) if weights is None else np.append(5 - np.arange(6), -1)
    )
    clusters = np.arange(len(labels)) // 2
    shuffle = rng.permutation(len(labels))

    result = cohen_kappa(*labels.T, weights=weights, clusters=clusters)
    other = cohen_kappa(
        renamed[labels[shuffle, 1]],
        renamed[labels[shuffle, 0]],
        weights=weights,
        clusters=clusters[shuffle],
    )

    assert other.estimate == pytest.approx(result.estimate, abs=1e-12, nan_ok=True)
    assert other.low == pytest.approx(result.low, abs=1e-9, nan_ok=True)
    assert other.high == pytest.approx(result.high, abs=1e-9, nan_ok=True)


def test_perfect_agreement_is_one():
    result = cohen_kappa([0, 1, 2, 0], [0, 1, 2, 0])

    assert (result.estimate, result.high) == (1, 1)
    assert result.low < 0.5  # of four items


def test_copies_in_a_cluster_do_not_narrow_the_interval():
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, (40, 2))
    copies = np.repeat(labels, 5, axis=0)

    once = cohen_kappa(*labels.T)
    clustered = cohen_kappa(*copies.T, clusters=np.repeat(np.arange(40), 5))

    assert (clustered.low, clustered.high) == pytest.approx((once.low, once.high))
    assert clustered.n_clusters == 40


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([0, -1], [-1, 1], "κ is undefined: no items in common"),
        ([], [], "κ is undefined: no items in common"),
        ([1, 1, 0], [1, 1, -1], "κ is undefined: all labels are equal"),
        ([1], [0], "the interval of κ is undefined: an interval needs at least two items"),
    ],
)
def test_undefined_is_nan_with_one_warning(first, second, reason):
    with pytest.warns(DegenerateDataWarning, match=reason) as caught:
        result = cohen_kappa(np.array(first, dtype=int), np.array(second, dtype=int))

    assert len(caught) == 1
    assert math.isnan(result.low)
    assert result.reason in str(caught[0].message)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([0, 1], [0]), {}, "`first`, `second` must be of the same shape"),
        (([0.5, 1], [1, 0]), {}, "`labels` must be integer codes, -1 where missing, got"),
        (([0, -2], [1, 0]), {}, "`labels` must be codes from 0, -1 where missing, got -2"),
        (([0, math.inf], [1, 0]), {"weights": "linear"}, "`labels` must be finite numbers"),
        ((["a", "b"], ["a", "b"]), {"weights": "linear"}, "or numbers with nan, got <U1"),
        (([0, 1], [1, 0]), {"weights": "cubic"}, "`weights` must be one of"),
        (([0, 1], [1, 0]), {"weights": "jaccard"}, "`label_sets` must be given"),
        (([0, 1], [1, 0]), {"label_sets": np.eye(2, dtype=bool)}, "`label_sets` must be None"),
        (
            ([0, 2], [1, 0]),
            {"weights": "jaccard", "label_sets": np.eye(2, dtype=bool)},
            "`label_sets` must hold a set for every code, got 2 for code 2",
        ),
        (([0, 1], [1, 0]), {"clusters": [1]}, "`clusters` must have the shape"),
        (([0, 1], [1, 0]), {"confidence_level": 95}, "`confidence_level` must be in"),
    ],
)
def test_a_wrong_argument_is_an_input_error(arguments, options, message):
    with pytest.raises(InputError, match=message):
        cohen_kappa(*arguments, **options)
