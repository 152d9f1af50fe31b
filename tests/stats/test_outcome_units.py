"""Units that can be drawn again: a draw sums to what literal copies of items sum to."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alt_test_oracle import t_test_p
from voirdire import stats
from voirdire.stats import outcome_units
from voirdire.stats.figures import compute_figures
from voirdire.stats.outcome_sums import OutcomeSums, sum_outcomes
from voirdire.stats.outcome_units import UnitCollector
from voirdire.stats.preparation import prepare

FIELDS = ("weights", "squares", "n_units")


@st.composite
def outcome_blocks(draw):
    """Outcomes of some annotators, with weights and clusters, both or neither."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (draw(st.sampled_from((1, 2, 3, 31, 32, 33, 40))), draw(st.integers(1, 60)))
    outcomes = rng.choice([-1, 0, 1, 2], shape, p=rng.dirichlet(np.ones(4))).astype(np.int8)
    weights = np.where(outcomes >= 0, rng.gamma(1, 1, shape), 0.0) if draw(st.booleans()) else None
    clusters = None
    if draw(st.booleans()):
        clusters = np.sort(rng.integers(0, draw(st.integers(1, shape[1])), shape[1]))
    return outcomes, weights, clusters


def collect(outcomes, *, weights=None, clusters=None, cuts=(), **options):
    """Gather the units of blocks that end at the given items."""
    collector = UnitCollector(**options)
    for start, stop in zip((0, *cuts), (*cuts, outcomes.shape[1]), strict=True):
        items = slice(start, stop)
        collector.add(
            outcomes[:, items],
            weights=None if weights is None else weights[:, items],
            clusters=None if clusters is None else clusters[items],
        )
    return collector.units()


def rows_of(units, outcomes, *, weights=None, clusters=None):
    """Find the row of every unit, -1 where nobody meets it, and the items of every unit."""
    number = np.arange(outcomes.shape[1]) if clusters is None else clusters
    items = [np.flatnonzero(number == unit) for unit in np.unique(number)]
    rows = []
    for members in items:
        vector = np.zeros((len(outcomes), 3))
        for item in members:
            for annotator in np.flatnonzero(outcomes[:, item] >= 0):
                mass = 1.0 if weights is None else weights[annotator, item]
                vector[annotator, outcomes[annotator, item]] += mass
        same = np.isclose(units.weights, vector, atol=1e-8).all(axis=(1, 2))
        rows.append(int(same.argmax()) if same.any() else -1)
    return np.array(rows), items


def assert_same(one, two):
    for name in FIELDS:
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), atol=1e-8, err_msg=name)


# Draws are copies ---------------------------------------------------------------------------------


@given(outcome_blocks())
def test_every_unit_once_is_the_sum_of_all(block):
    outcomes, weights, clusters = block

    units = collect(outcomes, weights=weights, clusters=clusters)

    drawn = units.drawn(units.copies[np.newaxis].astype(float))
    whole = sum_outcomes(outcomes, weights=weights, clusters=clusters)
    assert_same(drawn, OutcomeSums.stack([whole]))
    assert drawn.n_items.tolist() == [whole.n_units.tolist()]
    assert units.n_independent == units.copies.sum()


@given(outcome_blocks(), st.integers(0, 2**32 - 1))
def test_a_draw_sums_to_what_copies_of_the_items_sum_to(block, seed):
    outcomes, weights, clusters = block
    units = collect(outcomes, weights=weights, clusters=clusters)
    rows, items = rows_of(units, outcomes, weights=weights, clusters=clusters)
    times = np.random.default_rng(seed).integers(0, 4, len(items))

    drawn = units.drawn(np.bincount(rows[rows >= 0], times[rows >= 0], len(units.copies))[None])

    # Every copy of a cluster is a cluster of its own.
    copies = [members for members, n in zip(items, times, strict=True) for _ in range(n)]
    repeated = np.concatenate([*copies, []]).astype(int)
    expected = sum_outcomes(
        outcomes[:, repeated],
        weights=None if weights is None else weights[:, repeated],
        clusters=None
        if clusters is None
        else np.repeat(np.arange(len(copies)), [len(members) for members in copies]),
    )
    assert_same(drawn, OutcomeSums.stack([expected]))


def labels(seed, *, n_items=60, n_annotators=4, missing=0.2, n_labels=3):
    """A judge and annotators who are often right."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, n_labels, n_items)
    humans = np.where(
        rng.random((n_items, n_annotators)) < 0.6,
        truth[:, np.newaxis],
        rng.integers(0, n_labels, (n_items, n_annotators)),
    )
    humans[rng.random(humans.shape) < missing] = -1
    judge = np.where(rng.random(n_items) < 0.7, truth, rng.integers(0, n_labels, n_items))
    return judge, humans


@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_test_of_a_draw_is_the_test_of_the_repeated_data(seed, lost, clustered, mode):
    judge, humans = labels(seed)
    rng = np.random.default_rng([seed, lost, clustered])
    failed = rng.random(len(judge)) < 0.15 if lost else np.zeros(len(judge), dtype=bool)
    clusters = np.sort(rng.integers(0, 25, len(judge))) if clustered else None
    options = {"epsilon_mode": mode, "min_items": 2, "controls": False}
    prepared = prepare(judge, humans, failed=failed, clusters=clusters, epsilon_mode=mode)
    collector = UnitCollector(lost=lost)
    prepared.comparison.run(prepared.raters, (), [collector])
    units = collector.units()
    block = prepared.comparison.block(prepared.raters)
    outcomes = block.outcomes(prepared.raters.judges[:, 0])
    if lost:
        outcomes = np.concatenate([outcomes, block.outcomes(judge, failed=failed)])
    rows, items = rows_of(units, outcomes, clusters=clusters)
    times = rng.multinomial(len(items), np.full(len(items), 1 / len(items)))

    drawn = units.drawn(np.bincount(rows[rows >= 0], times[rows >= 0], len(units.copies))[None])

    copies = [members for members, n in zip(items, times, strict=True) for _ in range(n)]
    repeated = np.concatenate(copies)
    sizes = [len(members) for members in copies]
    [result] = stats.alt_test(
        judge[repeated],
        humans[repeated],
        failed=failed[repeated],
        clusters=np.repeat(np.arange(len(copies)), sizes) if clustered else None,
        **options,
    )
    settings = replace(prepared.settings, min_items=1)
    figures = compute_figures(drawn.columns(slice(0, 4)), settings)
    for name in ("mean", "standard_error", "degrees_of_freedom"):
        expected = {
            "mean": [row.mean_difference for row in result.annotators],
            "standard_error": [row.standard_error for row in result.annotators],
            "degrees_of_freedom": [row.degrees_of_freedom for row in result.annotators],
        }[name]
        np.testing.assert_allclose(getattr(figures.difference, name)[0, 0], expected)
    np.testing.assert_allclose(
        figures.p_values[0, 0], [row.p_value for row in result.annotators], atol=1e-12
    )
    np.testing.assert_allclose(figures.advantage_probability, result.advantage_probability)
    np.testing.assert_allclose(figures.human_advantage, result.human_advantage)
    assert figures.winning_rate[0, 0] == result.winning_rate
    if lost:
        worst = compute_figures(drawn.columns(slice(4, 8)), settings)
        assert worst.winning_rate[0, 0] == result.worst_case.winning_rate
        np.testing.assert_allclose(
            worst.advantage_probability, result.worst_case.advantage_probability
        )


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_draw_keeps_the_weights_of_imbalance_as_they_were(seed, clustered):
    """Weights belong to the labels that were collected: they are not computed anew per draw."""
    judge, humans = labels(seed, missing=0)
    rng = np.random.default_rng(seed)
    clusters = np.sort(rng.integers(0, 30, len(judge))) if clustered else None
    prepared = prepare(judge, humans, weights="imbalance", clusters=clusters)
    collector = UnitCollector()
    prepared.comparison.run(prepared.raters, (), [collector])
    units = collector.units()
    outcomes = prepared.comparison.block(prepared.raters).outcomes(judge)
    weights = prepared.comparison.weights(outcomes, prepared.raters)
    rows, items = rows_of(units, outcomes, weights=weights, clusters=clusters)
    times = rng.multinomial(len(items), np.full(len(items), 1 / len(items)))

    drawn = units.drawn(np.bincount(rows, times, len(units.copies))[None])
    figures = compute_figures(drawn, replace(prepared.settings, min_items=1))

    copies = [members for members, n in zip(items, times, strict=True) for _ in range(n)]
    repeated = np.concatenate(copies)
    own = np.repeat(np.arange(len(copies)), [len(members) for members in copies])
    for j in range(4):
        difference = outcomes[j, repeated] - 1.0
        pi = weights[j, repeated]
        p_value = t_test_p(difference, 0.2, pi, own.tolist() if clustered else None)
        won = np.average(outcomes[j, repeated] < 2, weights=pi)
        assert figures.p_values[0, 0, j] == pytest.approx(p_value, abs=1e-10)
        assert figures.advantage_judge[0, j] == pytest.approx(won)


# Words -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_annotators", [1, 2, 31, 32, 33, 63, 64, 65, 1_000])
def test_outcomes_survive_packing(n_annotators):
    rng = np.random.default_rng(n_annotators)
    outcomes = rng.integers(-1, 3, (n_annotators, 200)).astype(np.int8)
    outcomes[:, :4] = [-1, 0, 1, 2]  # the emptiest and the fullest word

    words = outcome_units._packed(outcomes)

    assert words.shape == (200,)
    assert (outcome_units._unpacked(words, n_annotators) == outcomes.T).all()


@pytest.mark.parametrize("n_annotators", [32, 33, 1_000])
def test_items_with_the_same_outcomes_are_one_row(n_annotators):
    rng = np.random.default_rng(n_annotators)
    kinds = rng.integers(-1, 3, (n_annotators, 7)).astype(np.int8)
    which = rng.integers(0, 7, 300)

    units = collect(kinds[:, which], cuts=(100, 101, 250))

    assert sorted(units.copies) == sorted(np.bincount(which))
    assert units.n_independent == 300
    whole = sum_outcomes(kinds[:, which])
    assert_same(units.drawn(units.copies[None].astype(float)), OutcomeSums.stack([whole]))


def test_sums_of_weights_that_differ_by_rounding_are_one_row():
    outcomes = np.zeros((1, 6), dtype=np.int8)
    weights = np.array([[0.1, 0.2, 0.3, 0.3, 0.2, 0.1]])  # .1 + .2 + .3 is not .3 + .2 + .1

    units = collect(outcomes, weights=weights, clusters=np.array([0, 0, 0, 1, 1, 1]))

    assert units.copies.tolist() == [2]


# Whoever is not met ------------------------------------------------------------------------------


@pytest.mark.parametrize("clusters", [None, np.arange(40) // 2])
def test_units_that_nobody_meets_are_none(clusters):
    rng = np.random.default_rng(0)
    outcomes = rng.integers(0, 3, (3, 40)).astype(np.int8)
    outcomes[:, 10:30] = -1

    units = collect(outcomes, clusters=clusters)

    assert units.n_independent == (20 if clusters is None else 10)
    assert units.n_units.any(axis=1).all()


def test_units_that_only_a_left_out_annotator_meets_are_left_out():
    outcomes = np.array([[0, 1, 2, -1, -1], [-1, -1, 1, 1, 1]], dtype=np.int8)
    units = collect(outcomes)

    kept = units.columns(np.array([True, False]))

    assert kept.n_independent == 3
    assert kept.copies.sum() == 3
    assert units.n_independent == 5


@pytest.mark.parametrize("n_annotators", [3, 40])
@pytest.mark.parametrize("clusters", [None, np.arange(5)])
def test_a_judge_without_labels_has_no_units(n_annotators, clusters):
    units = collect(np.full((n_annotators, 5), -1, dtype=np.int8), clusters=clusters)

    assert units.n_independent == 0
    assert units.columns(np.ones(n_annotators, dtype=bool)).weights.shape == (0, n_annotators, 3)


# Groups ------------------------------------------------------------------------------------------


def many_units(kind, *, n_items, n_annotators=5, seed=3):
    """Outcomes with more distinct units than rows are allowed."""
    rng = np.random.default_rng(seed)
    outcomes = rng.integers(-1, 3, (n_annotators, n_items)).astype(np.int8)
    weights = clusters = None
    if kind == "weighted":
        weights = np.where(outcomes >= 0, rng.integers(1, 1_000, outcomes.shape), 0.0)
    if kind == "clustered":
        clusters = np.sort(rng.integers(0, n_items // 3, n_items))
    return outcomes, weights, clusters


@pytest.mark.parametrize("kind", ["plain", "weighted", "clustered"])
def test_groups_keep_the_totals_exactly(monkeypatch, kind):
    monkeypatch.setattr(outcome_units, "MOST_ROWS", 64)
    outcomes, weights, clusters = many_units(kind, n_items=2_000)

    units = collect(outcomes, weights=weights, clusters=clusters, cuts=(0,))

    whole = sum_outcomes(outcomes, weights=weights, clusters=clusters)
    drawn = units.drawn(units.copies[None].astype(float))
    for name in FIELDS:  # whole numbers, so exactly
        assert (getattr(drawn, name)[0] == getattr(whole, name)).all()
    met = (outcomes >= 0).any(axis=0)
    n_met = np.count_nonzero(met) if clusters is None else len(np.unique(clusters[met]))
    assert units.n_independent == n_met
    assert units.copies.tolist() == [1] * 64


def test_more_than_a_hundred_annotators_have_a_quarter_of_the_rows(monkeypatch):
    monkeypatch.setattr(outcome_units, "MOST_ROWS", 64)

    few = collect(many_units("plain", n_items=500, n_annotators=100)[0])
    many = collect(many_units("plain", n_items=500, n_annotators=101)[0])

    assert (len(few.copies), len(many.copies)) == (64, 16)


@pytest.mark.parametrize("kind", ["plain", "weighted", "clustered"])
def test_sums_of_groups_vary_as_their_units_do(monkeypatch, kind):
    outcomes, weights, clusters = many_units(kind, n_items=6_000)
    mean = sum_outcomes(outcomes, weights=weights).weights

    def variance():
        # of the linearised share of wins, annotator by annotator and together
        units = collect(outcomes, weights=weights, clusters=clusters)
        mass = units.weights.sum(axis=-1)
        residual = units.weights[..., 0] - mass * (mean[:, 0] / mean.sum(axis=-1))
        together = residual.sum(axis=1)
        return [float(units.copies @ part**2) for part in (*residual.T, together)]

    monkeypatch.setattr(outcome_units, "MOST_ROWS", 10_000)
    apart = variance()
    monkeypatch.setattr(outcome_units, "MOST_ROWS", 512)
    grouped = variance()

    # A sum of 512 squares of nearly normal sums has a relative standard error of sqrt(2/512).
    np.testing.assert_allclose(grouped, apart, rtol=4 * np.sqrt(2 / 512))


# What is irrelevant ------------------------------------------------------------------------------


@settings(max_examples=40)
@given(outcome_blocks(), st.lists(st.integers(0, 60), max_size=4))
def test_where_blocks_end_is_irrelevant(block, cuts):
    outcomes, weights, clusters = block
    n_items = outcomes.shape[1]
    cuts = sorted(min(cut, n_items) for cut in cuts)
    if clusters is not None:  # blocks keep clusters whole
        cuts = [int(np.searchsorted(clusters, clusters[min(cut, n_items - 1)])) for cut in cuts]

    whole = collect(outcomes, weights=weights, clusters=clusters)
    blocks = collect(outcomes, weights=weights, clusters=clusters, cuts=cuts)

    assert_same(blocks, whole)
    assert blocks.copies.tolist() == whole.copies.tolist()


@pytest.mark.parametrize("failures", [False, True])
@pytest.mark.parametrize("clusters", [None, 3, 40, 900])
def test_the_blocks_of_a_comparison_are_irrelevant(monkeypatch, clusters, failures):
    judge, humans = labels(5, n_items=1_100)
    rng = np.random.default_rng(5)
    options = {
        "failed": np.arange(1_100) % 700 == 5 if failures else None,  # none in the last block
        "clusters": None if clusters is None else rng.integers(0, clusters, 1_100),
        "n_resamples": 100,
        "epsilon": 0.05,
    }

    [whole] = stats.alt_test(judge, humans, **options)
    monkeypatch.setattr("voirdire.stats.comparison._CELLS_AT_ONCE", 1)  # 256 items a block
    [blocks] = stats.alt_test(judge, humans, **options)

    assert blocks == whole
    assert whole.uncertainty.n_units <= (1_100 if clusters is None else clusters)


@pytest.mark.parametrize("most_rows", [4_096, 16])
@pytest.mark.parametrize("weights", [None, "imbalance"])
@pytest.mark.parametrize("clustered", [False, True])
def test_the_order_of_items_and_the_names_of_clusters_are_irrelevant(
    monkeypatch, clustered, weights, most_rows
):
    monkeypatch.setattr(outcome_units, "MOST_ROWS", most_rows)
    judge, humans = labels(8, n_items=400, missing=0.1)
    clusters = np.random.default_rng(8).integers(0, 120, 400)
    order = np.random.default_rng(9).permutation(400)
    names = np.random.default_rng(10).permutation(120)
    options = {"weights": weights, "n_resamples": 100, "epsilon": 0.05, "min_items": 10}

    [first] = stats.alt_test(judge, humans, clusters=clusters if clustered else None, **options)
    [second] = stats.alt_test(
        judge[order],
        humans[order],
        clusters=names[clusters][order] if clustered else None,
        **options,
    )

    one, two = first.uncertainty.as_dict(), second.uncertainty.as_dict()
    assert one == pytest.approx(two, abs=1e-12)
