"""A panel and its judges: against loops over pairs, scikit-learn, and the published figures."""

import itertools
import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from agreement_oracle import (
    all_pairs,
    columns,
    jaccard,
    kappa_oracle,
    majority_rows,
    mean_oracle,
    pair_rows,
)
from voirdire import InputError
from voirdire.records import as_plain
from voirdire.stats import fleiss_kappa, gwet_ac, krippendorff_alpha, measure_panel, raw_agreement

pytestmark = pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")

CEILING = ["raw_agreement", "cohen_kappa", "gwet_ac", "majority_agreement", "majority_kappa"]
PANEL = ["raw_agreement", "cohen_kappa", "fleiss_kappa", "krippendorff_alpha", "gwet_ac"]


@st.composite
def panels(draw, n_labels=(1, 5), crowd=(1, 8)):
    """Codes of annotators and two judges, -1 where missing."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, raters = draw(st.integers(1, 25)), draw(st.integers(1, 5))
    k = draw(st.integers(*n_labels))
    truth = rng.integers(0, k, (n, 1))
    noisy = rng.random((n, raters + 2)) < draw(st.sampled_from((0.1, 0.5, 1.0)))
    labels = np.where(noisy, rng.integers(0, k, noisy.shape), truth)
    labels[rng.random(labels.shape) < draw(st.sampled_from((0.0, 0.3, 0.7)))] = -1
    humans, judges = labels[:, :raters], labels[:, raters:]
    wide = np.full((n, raters * draw(st.integers(*crowd))), -1)
    seats = np.argsort(rng.random(wide.shape), axis=1)[:, :raters]
    np.put_along_axis(wide, seats, humans, axis=1)
    return wide, judges


def as_labels(matrix, meaning):
    return [[None if code < 0 else meaning(code) for code in row] for row in matrix.tolist()]


def check_against_loops(result, humans, judges, meaning, agree, categories):
    """Compare every mean of pairs and majorities with plain loops."""
    people, machines = as_labels(humans, meaning), columns(as_labels(judges, meaning))

    def raw(rows):
        return sum(w * agree(a, b) for a, b, w in rows) / sum(w for *_, w in rows)

    def kappa(rows):
        return kappa_oracle(rows, agree)

    def gwet(rows):
        q = len(used)
        if q < 2:
            return math.nan
        total = sum(w for *_, w in rows)
        shares = [sum(w * ((a == c) + (b == c)) for a, b, w in rows) / 2 / total for c in used]
        weights = sum(agree(a, b) for a in used for b in used)
        chance = weights / (q * (q - 1)) * sum(p * (1 - p) for p in shares)
        return (raw(rows) - chance) / (1 - chance)

    targets = [(result.ceiling, None)] + [
        (judge.coefficients[:5], own) for judge, own in zip(result.judges, machines, strict=True)
    ]
    for coefficients, own in targets:
        used = categories(own)
        pairs = (
            all_pairs(people)
            if own is None
            else [pair_rows(own, column) for column in columns(people)]
        )
        votes = [
            majority_rows(people, column if own is None else own, j)
            for j, column in enumerate(columns(people))
        ]
        expected = [
            mean_oracle(pairs, raw),
            mean_oracle(pairs, kappa),
            mean_oracle(pairs, gwet),
            mean_oracle(votes, raw),
            mean_oracle(votes, kappa),
        ]
        figures = [row.estimate for row in coefficients]
        assert figures == pytest.approx(expected, abs=1e-9, nan_ok=True)


def equal(a, b):
    return float(a == b)


@given(panels(n_labels=(1, 40)), st.sampled_from((1, 9, 1_000)))
def test_means_over_pairs_and_majorities_are_those_of_the_loops(panel, spread):
    # Few labels are counted in tables, many in lists; codes far apart are found by sorting.
    humans, judges = (np.where(x < 0, -1, x * spread) for x in panel)

    result = measure_panel(humans, judges, level="nominal")

    def categories(own):
        return {*humans[humans >= 0].tolist(), *(own or ())} - {None}

    check_against_loops(result, humans, judges, int, equal, categories)


@given(panels())
def test_scales_are_compared_with_quadratic_weights(panel):
    humans, judges = panel
    scale = [0.0, 1.0, 2.5, 3.0, 7.0]

    def agree(a, b):
        return 1 - ((a - b) / 7) ** 2

    def as_numbers(codes):
        return np.where(codes < 0, np.nan, np.array(scale)[codes])

    result = measure_panel(
        as_numbers(humans), as_numbers(judges), level="interval", categories=scale
    )

    check_against_loops(result, humans, judges, scale.__getitem__, agree, lambda _: scale)


@given(panels(n_labels=(2, 20)), st.integers(0, 2**32 - 1))
def test_sets_are_compared_with_jaccard_weights(panel, seed):
    humans, judges = panel
    membership = np.random.default_rng(seed).random((20, 6)) < 0.4
    sets = [frozenset(np.flatnonzero(row).tolist()) for row in membership]

    result = measure_panel(humans, judges, level="sets", label_sets=membership)

    def categories(own):
        return {sets[code] for code in humans[humans >= 0].tolist()} | {*(own or ())} - {None}

    check_against_loops(result, humans, judges, sets.__getitem__, jaccard, categories)


@given(panels())
def test_the_panel_has_the_figures_of_the_single_functions(panel):
    humans, judges = panel
    clusters = np.arange(len(humans)) // 2

    result = measure_panel(humans, judges, level="nominal", clusters=clusters)

    assert [row.coefficient for row in result.panel] == PANEL
    assert [row.coefficient for row in result.ceiling] == CEILING
    singles = [measure(humans, clusters=clusters) for measure in (raw_agreement, fleiss_kappa)]
    singles.append(gwet_ac(humans, clusters=clusters))
    assert [as_plain(result.panel[k]) for k in (0, 2, 4)] == [
        pytest.approx(as_plain(single), nan_ok=True) for single in singles
    ]
    alpha = krippendorff_alpha(humans, clusters=clusters)
    assert result.panel[3].estimate == pytest.approx(alpha.alpha, nan_ok=True)
    assert result.panel[3].low == pytest.approx(alpha.low, nan_ok=True)


def brute_force_errors(humans, judges, level):
    """Standard errors of all pairwise figures by the jackknife over items."""
    figures = []
    for i in range(len(humans)):
        part = measure_panel(np.delete(humans, i, 0), np.delete(judges, i, 0), level=level)
        rows = [*part.ceiling, *part.judges[0].coefficients[:5]]
        figures.append([row.estimate for row in rows])
    n = len(figures)
    return np.std(figures, axis=0) * (n - 1) / math.sqrt(n)


@pytest.mark.ci
@pytest.mark.parametrize("spread", [1, 30])
@pytest.mark.parametrize("level", ["nominal", "interval"])
def test_standard_errors_of_means_are_nearly_those_of_the_jackknife(level, spread):
    rng = np.random.default_rng(4)
    truth = rng.binomial(3, 0.3, (120, 1))
    labels = np.where(rng.random((120, 4)) < 0.3, rng.binomial(3, 0.3, (120, 4)), truth) * spread
    labels[rng.random(labels.shape) < 0.15] = -1
    humans, judges = labels[:, :3], labels[:, 3:]

    result = measure_panel(humans, judges, level=level, confidence_level=0.68)

    rows = [*result.ceiling, *result.judges[0].coefficients[:5]]
    # For 119 degrees of freedom the quantile at .84 is .99857.
    half = [(row.high - row.low) / 2 / 0.99857 for row in rows]
    assert half == pytest.approx(brute_force_errors(humans, judges, level), rel=0.04)


@pytest.mark.ci
@given(panels())
def test_the_order_of_raters_and_items_is_irrelevant(panel):
    humans, judges = panel
    rng = np.random.default_rng(0)
    rows, seats = rng.permutation(len(humans)), rng.permutation(humans.shape[1])
    clusters = np.arange(len(humans)) // 3

    result = measure_panel(humans, judges, level="nominal", clusters=clusters)
    other = measure_panel(
        humans[rows][:, seats], judges[rows][:, ::-1], level="nominal", clusters=clusters[rows]
    )

    for a, b in (
        (result.ceiling, other.ceiling),
        (result.panel, other.panel),
        (result.judges[0].coefficients, other.judges[1].coefficients),
    ):
        for x, y in zip(a, b, strict=True):
            figures = (y.estimate, y.low, y.high)
            assert figures == pytest.approx((x.estimate, x.low, x.high), abs=1e-9, nan_ok=True)
            assert (x.n_items, x.n_raters, x.reason) == (y.n_items, y.n_raters, y.reason)


def test_a_majority_that_ties_is_shared():
    humans = [[0, 0, 1], [1, 1, 1]]

    result = measure_panel(humans, [0, 1], level="nominal")

    # Others of the three on item 0: {0, 1}, {0, 1}, {0, 0}; the judge says 0: 1/2, 1/2, 1; the
    # annotators 0, 0, 1: 1/2, 1/2, 0. On item 1 all agree: (2 + 3) / 6 and (1 + 3) / 6.
    assert result.judges[0].coefficients[3].estimate == pytest.approx(5 / 6)
    assert result.ceiling[3].estimate == pytest.approx(4 / 6)


def test_perfect_agreement_is_one_everywhere():
    humans = np.array([[0, 0, 0], [1, 1, 1], [2, -1, 2], [1, 1, 1]])

    result = measure_panel(humans, humans[:, 0], level="nominal")

    rows = [*result.panel, *result.ceiling, *result.judges[0].coefficients]
    assert [(row.estimate, row.high) for row in rows] == [(1, 1)] * len(rows)
    for row in rows:
        if row.coefficient in ("raw_agreement", "majority_agreement"):
            assert row.low == pytest.approx(0.025 ** (1 / row.n_clusters))
        else:  # four items tell little
            assert row.low < 0.5


def test_pairs_without_a_figure_are_left_out_and_counted():
    humans = np.array([[0, 0, -1], [1, 1, -1], [0, 0, 0], [0, 1, 0]])

    result = measure_panel(humans, [-1, -1, -1, -1], level="nominal")

    kappa = result.ceiling[1]
    assert kappa.reason == "1 of 3 pairs are left out: all labels are equal there"
    assert kappa.estimate == pytest.approx(
        (4 * cohen_kappa_score([0, 1, 0, 0], [0, 1, 0, 1]) + 2 * 0) / 6
    )
    assert result.judges[0].coefficients[0].reason == "no items in common"
    assert result.judges[0].coefficients[1].reason == "no items in common"


@pytest.mark.parametrize(
    ("humans", "reasons"),
    [
        ([[1, 1], [1, 1]], [None, "all labels are equal", "there are fewer than two categories"]),
        ([[1], [0]], ["no items in common"] * 3),
        ([[-1, -1], [-1, -1]], ["no items in common"] * 3),
        ([[0, 1]], ["an interval needs at least two items, or two clusters"] * 3),
    ],
)
def test_undefined_figures_say_why(humans, reasons):
    result = measure_panel(humans, np.zeros((len(humans), 0), dtype=int), level="nominal")

    assert [row.reason for row in result.ceiling[:3]] == reasons
    assert result.judges == ()
    for row in result.ceiling:
        assert (row.reason is None) is not math.isnan(row.low)


def test_no_items_at_all_are_no_error():
    result = measure_panel(
        np.zeros((0, 3), dtype=int), np.zeros((0, 1), dtype=int), level="nominal"
    )

    assert {row.reason for row in result.ceiling} == {"no items in common"}
    assert all(math.isnan(row.estimate) for row in [*result.panel, *result.ceiling])


def test_a_continuous_scale_has_no_majority():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(80, 1))

    result = measure_panel(
        truth + rng.normal(size=(80, 3)), truth[:, 0] + rng.normal(size=80), level="interval"
    )

    assert math.isnan(result.ceiling[3].estimate)
    assert result.ceiling[3].reason == "a scale of 320 distinct numbers has no majority"
    assert result.ceiling[1].low < 0.5 < result.ceiling[1].high
    assert result.judges[0].coefficients[1].low < 0.5 < result.judges[0].coefficients[1].high


def test_a_large_crowd_has_all_figures():
    rng = np.random.default_rng(0)
    humans = np.full((400, 150), -1)
    seats = np.argsort(rng.random(humans.shape), axis=1)[:, :4]
    truth = rng.integers(0, 2, (400, 1))
    answers = np.where(rng.random((400, 4)) < 0.2, 1 - truth, truth)
    np.put_along_axis(humans, seats, answers, axis=1)

    result = measure_panel(humans, truth[:, 0], level="nominal")

    assert result.ceiling[0].n_raters == 150
    # 400 items with 6 pairs each, among 150 * 149 / 2 pairs.
    assert "fewer than 10" in result.ceiling[1].reason
    assert math.isnan(result.ceiling[1].estimate)
    assert math.isnan(result.panel[1].estimate)
    assert 0 < result.panel[2].low < result.panel[2].estimate
    assert 0 < result.judges[0].coefficients[1].low < result.judges[0].coefficients[1].high
    pairs = [
        (answers[:, a] == answers[:, b]).mean() for a, b in itertools.combinations(range(4), 2)
    ]
    assert result.ceiling[0].estimate == pytest.approx(np.mean(pairs))
    assert result.judges[0].coefficients[0].estimate == pytest.approx((answers == truth).mean())


def test_figures_have_the_names_of_the_json():
    result = measure_panel([[0, 1], [1, 1]], [[0], [1]], level="nominal", judge_names=["m"])

    figures = as_plain(result)

    assert list(figures) == ["confidence_level", "panel", "ceiling", "judges"]
    assert list(figures["judges"][0]) == ["judge", "coefficients"]
    assert list(figures["panel"][0]) == [
        "coefficient", "weights", "estimate", "low", "high", "confidence_level",
        "n_items", "n_raters", "n_clusters", "reason",
    ]  # fmt: skip
    json.dumps(figures)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": "ordinal"}, "`level` must be one of"),
        ({"judges": [0]}, "`judges` must have one row for each of 2 items"),
        ({"humans": [0, 1]}, "`humans` must have the shape"),
        ({"clusters": [0]}, "`clusters` must have the shape"),
        ({"confidence_level": 1.5}, "`confidence_level` must be in"),
        ({"judge_names": ["a", "b"]}, "`judge_names` must name all 1 of them, got 2 names"),
        (
            {"level": "sets", "label_sets": np.eye(2, dtype=bool), "categories": [0, 1]},
            "`categories` must be None for the weights 'jaccard'",
        ),
    ],
)
def test_a_wrong_argument_is_an_input_error(options, message):
    arguments = {"humans": [[0, 1], [1, 1]], "judges": [0, 1], "level": "nominal"} | options

    with pytest.raises(InputError, match=message):
        measure_panel(arguments.pop("humans"), arguments.pop("judges"), **arguments)


def test_many_distinct_labels_build_no_square_table(peak_memory):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 10_000, (5_000, 4))

    peak = peak_memory(lambda: measure_panel(codes[:, :3], codes[:, 3], level="nominal"))

    # A table of 10,000 x 10,000 floats has 800 MB.
    assert peak < 60e6


def test_the_published_agreement_on_framing_is_reproduced(shared_dir):
    folder = shared_dir / "data/alttest/framing"
    people, machines = (
        json.loads((folder / f"{who}_annotations.json").read_text()) for who in ("human", "llm")
    )
    items = sorted(set().union(*people.values()))
    words = sorted({x for who in (people, machines) for own in who.values() for x in own.values()})

    def as_codes(who):
        return np.array(
            [[words.index(own[i]) if i in own else -1 for own in who.values()] for i in items]
        )

    result = measure_panel(
        as_codes(people), as_codes(machines), level="nominal", judge_names=list(machines)
    )

    # Published: human-human .57. scikit-learn, by pair: .5672 weighted by items, .5658 not.
    pairs = [
        (len(common), cohen_kappa_score(*common.T))
        for a, b in itertools.combinations(as_codes(people).T, 2)
        for common in [np.column_stack([a, b])[(a >= 0) & (b >= 0)]]
    ]
    expected = sum(n * kappa for n, kappa in pairs) / sum(n for n, _ in pairs)
    assert result.ceiling[1].estimate == pytest.approx(expected)
    assert result.ceiling[1].estimate == pytest.approx(0.567, abs=5e-4)
