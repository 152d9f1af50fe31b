"""Raw agreement, Fleiss' kappa and Gwet's coefficients against irrCAC and published tables."""

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from agreement_oracle import jaccard
from voirdire import DegenerateDataWarning, InputError
from voirdire.stats import fleiss_kappa, gwet_ac, raw_agreement

pytestmark = pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")

# Fleiss 1971, table 1: 30 patients, each diagnosed by 6 psychiatrists, 5 diagnoses.
DIAGNOSES = """
444444 222555 233335 555555 222444 113333 333355 113334 114444 555555
144444 124444 222333 144444 224445 333335 111455 111112 224444 133555
555555 244444 224555 114444 144445 222224 111155 224444 133333 555555
"""


@st.composite
def sparse_matrices(draw, missing=(0.0, 0.3, 0.6)):
    """Codes of several raters, -1 where missing, items in rows, each with a label or more."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, raters, k = draw(st.integers(3, 30)), draw(st.integers(2, 7)), draw(st.integers(2, 5))
    truth = rng.integers(0, k, (n, 1))
    noisy = rng.random((n, raters)) < draw(st.sampled_from((0.1, 0.5, 1.0)))
    labels = np.where(noisy, rng.integers(0, k, (n, raters)), truth)
    labels[rng.random((n, raters)) < draw(st.sampled_from(missing))] = -1
    labels[:2, :2] = np.maximum(labels[:2, :2], 0)
    return labels


def irrcac(labels, method, weights="identity", categories=None):
    from irrCAC.raw import CAC

    frame = pd.DataFrame(np.where(labels < 0, np.nan, labels.astype(float)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = {None: "identity", "linear": "linear", "quadratic": "quadratic"}
        cac = CAC(frame, weights=names.get(weights, weights), categories=categories)
        return getattr(cac, method)()["est"]


@pytest.mark.ci
@given(sparse_matrices(), st.sampled_from((None, "linear", "quadratic")))
def test_coefficients_are_those_of_irrcac(labels, weights):
    if len(np.unique(labels[labels >= 0])) < 2:
        return

    raw, fleiss, gwet = (
        measure(labels, weights=weights) for measure in (raw_agreement, fleiss_kappa, gwet_ac)
    )

    expected = irrcac(labels, "fleiss", weights), irrcac(labels, "gwet", weights)
    assert raw.estimate == pytest.approx(expected[0]["pa"], abs=6e-6)
    assert fleiss.estimate == pytest.approx(expected[0]["coefficient_value"], abs=6e-6)
    assert gwet.estimate == pytest.approx(expected[1]["coefficient_value"], abs=6e-6)


@pytest.mark.edges
@pytest.mark.parametrize("weights", [None, "linear", "quadratic"])
@pytest.mark.parametrize(("measure", "method"), [(fleiss_kappa, "fleiss"), (gwet_ac, "gwet")])
def test_standard_errors_of_many_items_are_those_of_irrcac(measure, method, weights):
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, (3_000, 1))
    labels = np.where(rng.random((3_000, 3)) < 0.3, rng.integers(0, 4, (3_000, 3)), truth)
    labels[rng.random(labels.shape) < 0.2] = -1
    labels = labels[(labels >= 0).sum(axis=1) >= 2]

    result, expected = measure(labels, weights=weights), irrcac(labels, method, weights)

    half = (math.atanh(result.high) - math.atanh(result.low)) / 2
    error = half / student.ppf(0.975, len(labels) - 1) * (1 - result.estimate**2)
    assert error == pytest.approx(expected["se"], rel=3e-3)


@given(sparse_matrices(), st.sampled_from((None, "quadratic")))
def test_declared_categories_count(labels, weights):
    expected = irrcac(labels, "gwet", weights, categories=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0])

    result = gwet_ac(labels, weights=weights, categories=range(6))

    assert result.estimate == pytest.approx(expected["coefficient_value"], abs=6e-6)


def test_fleiss_kappa_of_his_own_table():
    labels = [[int(diagnosis) for diagnosis in patient] for patient in DIAGNOSES.split()]

    result = fleiss_kappa(labels)

    # Published: mean agreement .5556, by chance .2199, kappa .430.
    assert raw_agreement(labels).estimate == pytest.approx(0.5556, abs=5e-5)
    assert result.estimate == pytest.approx(0.430, abs=5e-4)
    assert (result.n_items, result.n_raters) == (30, 6)


def test_coefficients_by_hand():
    labels = [[0, 0, -1], [0, 1, -1], [1, 1, 1], [-1, 0, -1]]

    raw, fleiss, gwet = raw_agreement(labels), fleiss_kappa(labels), gwet_ac(labels)

    # p_a = (1 + 0 + 1) / 3 = 2/3; shares of label 0: 1, 1/2, 0, 1 (one label counts): 5/8.
    # Fleiss: p_e = (25 + 9) / 64 = 17/32, (2/3 - 17/32) / (15/32) = 13/45.
    # Gwet: p_e = 2 * 5/8 * 3/8 = 15/32, (2/3 - 15/32) / (17/32) = 19/51.
    assert raw.estimate == pytest.approx(2 / 3)
    assert fleiss.estimate == pytest.approx(13 / 45)
    assert gwet.estimate == pytest.approx(19 / 51)
    assert (raw.n_items, raw.n_raters, raw.n_clusters) == (3, 3, 3)


def test_gwet_coefficient_withstands_the_paradox_of_kappa():
    labels = np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [118, 5, 2, 0], axis=0)

    result = gwet_ac(labels)

    # Gwet's example: p_a = 118/125, share of label 1 = 7/250; p_e = 2 * 7/250 * 243/250.
    chance = 2 * 7 / 250 * 243 / 250
    assert result.estimate == pytest.approx((118 / 125 - chance) / (1 - chance))
    assert fleiss_kappa(labels).estimate < 0 < 0.9 < result.estimate


@given(st.integers(0, 2**32 - 1))
def test_sets_agree_by_their_jaccard_index(seed):
    rng = np.random.default_rng(seed)
    membership = rng.random((6, 5)) < 0.4
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in membership]
    codes = rng.integers(-1, 6, (20, 3))
    codes[0] = [0, 1, 2]

    options = {"weights": "jaccard", "label_sets": membership}
    raw, gwet = raw_agreement(codes, **options), gwet_ac(codes, **options)

    items = [[sets[c] for c in row if c >= 0] for row in codes.tolist()]
    pairs = [[jaccard(a, b) for i, a in enumerate(x) for b in x[i + 1 :]] for x in items]
    agreement = np.mean([np.mean(x) for x in pairs if x])
    categories = sorted({s for x in items for s in x}, key=sorted)
    share = np.array([np.mean([x.count(s) / len(x) for x in items if x]) for s in categories])
    q = len(categories)
    total = sum(jaccard(a, b) for a in categories for b in categories)
    assert raw.estimate == pytest.approx(agreement)
    if q > 1:
        chance = total / (q * (q - 1)) * (share * (1 - share)).sum()
        assert gwet.estimate == pytest.approx((agreement - chance) / (1 - chance))


@given(sparse_matrices())
def test_raters_items_and_labels_have_no_order(labels):
    rng = np.random.default_rng(0)
    renamed = np.append(rng.permutation(5), -1)
    other = renamed[labels][rng.permutation(len(labels))][:, rng.permutation(labels.shape[1])]

    for measure in (raw_agreement, fleiss_kappa, gwet_ac):
        a, b = measure(labels), measure(other)

        figures = (b.estimate, b.low, b.high)
        assert figures == pytest.approx(
            (a.estimate, a.low, a.high), rel=1e-9, abs=1e-9, nan_ok=True
        )


@pytest.mark.parametrize("measure", [raw_agreement, fleiss_kappa, gwet_ac])
def test_perfect_agreement_is_one(measure):
    result = measure([[0, 0, -1], [1, 1, 1], [2, -1, 2]])

    assert (result.estimate, result.high) == (1, 1)
    if measure is raw_agreement:
        assert result.low == pytest.approx(0.025 ** (1 / result.n_items))
    elif measure is fleiss_kappa:
        assert result.low < 0.5
    else:  # of 7 labels 2, 3 and 2 are equal: chance agrees on (1 - 17/49) / 2 = 16/49 of pairs
        assert result.low == pytest.approx(1 - (1 - 0.025 ** (1 / 3)) * 49 / 33)


@pytest.mark.parametrize("measure", [raw_agreement, fleiss_kappa, gwet_ac])
def test_intervals_stay_within_their_limits(measure):
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 20):
        result = measure(rng.integers(0, 2, (n, 3)))

        least = 0 if measure is raw_agreement else -1
        if not math.isnan(result.low):
            assert least <= result.low <= result.estimate <= result.high <= 1


def test_a_crowd_is_measured_as_its_dense_form():
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 3, (60, 3))
    crowd = np.full((60, 50), -1)
    seats = np.argsort(rng.random((60, 50)), axis=1)[:, :3]
    np.put_along_axis(crowd, seats, dense, axis=1)

    for measure in (raw_agreement, fleiss_kappa, gwet_ac):
        a, b = measure(dense), measure(crowd)

        assert (b.estimate, b.low, b.high) == pytest.approx((a.estimate, a.low, a.high))
        assert (a.n_raters, b.n_raters) == (3, 50)


def test_one_cluster_has_no_interval():
    with pytest.warns(DegenerateDataWarning, match="the interval of Fleiss' κ is undefined"):
        result = fleiss_kappa([[0, 0], [1, 1], [0, 1]], clusters=["a", "a", "a"])

    assert math.isnan(result.low)
    assert not math.isnan(result.estimate)


@pytest.mark.parametrize(
    ("measure", "labels", "reason"),
    [
        (raw_agreement, [[0, -1], [-1, 1]], "no item has two labels"),
        (fleiss_kappa, [[0, -1], [-1, 1]], "no item has two labels"),
        (gwet_ac, np.zeros((0, 2), dtype=int), "no item has two labels"),
        (fleiss_kappa, np.zeros((3, 0), dtype=int), "no item has two labels"),
        (fleiss_kappa, [[1, 1], [1, 1]], "all labels are equal"),
        (gwet_ac, [[1, 1], [1, 1]], "there are fewer than two categories"),
    ],
)
def test_undefined_is_nan_with_one_warning(measure, labels, reason):
    with pytest.warns(DegenerateDataWarning, match=f"is undefined: {reason}") as caught:
        result = measure(labels)

    assert len(caught) == 1
    assert math.isnan(result.estimate)
    assert math.isnan(result.low)


def test_one_label_of_two_declared_agrees_fully():
    assert gwet_ac([[1, 1], [1, 1]], categories=[0, 1]).estimate == 1


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ([0], "`categories` must hold every label, got none for 1"),
        ("ab", "`categories` must be a sequence of codes or numbers, got 'ab'"),
    ],
)
def test_categories_hold_every_label(categories, message):
    with pytest.raises(InputError, match=message):
        gwet_ac([[0, 1]], categories=categories)


def test_labels_have_two_dimensions():
    with pytest.raises(InputError, match=r"`labels` must have the shape \(n_items, n_raters\)"):
        raw_agreement([0, 1])
