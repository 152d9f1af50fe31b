"""The interval of ρ is that of scipy, or of Clopper and Pearson; stability is repetition."""

import math
from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special
from scipy import stats as scipy_stats

from voirdire import stats


def labels(seed, *, n_items=100, n_annotators=3, skill=0.7, share=0.5, missing=0.0):
    """A judge and annotators of a yes/no question."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n_items) < share

    def answers(right):
        return np.where(rng.random(n_items) < right, truth, ~truth).astype(int)

    humans = np.stack([answers(0.75) for _ in range(n_annotators)], axis=1)
    humans[rng.random(humans.shape) < missing] = -1
    return answers(skill), humans


def interval(judge, humans, **options):
    """Examine with many resamples and no controls."""
    options = {"n_resamples": 2_000} | options
    return stats.alt_test(judge, humans, **options)[0]


def outcomes_of(judge, humans):
    """W^f and W^h of every comparison in plain loops, nan where there is none."""
    judge_wins, human_wins = np.full(humans.shape, np.nan), np.full(humans.shape, np.nan)
    for i, j in np.argwhere(humans >= 0):
        others = [k for k in range(humans.shape[1]) if k != j and humans[i, k] >= 0]
        if others and judge[i] >= 0:
            ahead, behind = (sum(humans[i, others] == own) for own in (judge[i], humans[i, j]))
            judge_wins[i, j], human_wins[i, j] = ahead >= behind, behind >= ahead
    return judge_wins, human_wins


def nominal(level, n):
    """The level whose widened tails are those of the given level."""
    tail = math.sqrt((n - 1) / n) * special.ndtri((1 - level) / 2)
    return 1 - 2 * special.stdtr(n - 1, tail)


# The interval ------------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize(("skill", "share"), [(0.7, 0.5), (0.95, 0.5), (0.3, 0.2)])
def test_without_its_widening_the_interval_is_the_bca_of_scipy(skill, share, level):
    judge, humans = labels(1, n_items=400, skill=skill, share=share)
    n = len(judge)

    result = interval(judge, humans, n_resamples=20_000, confidence_level=nominal(level, n))

    for won, low, high in zip(
        outcomes_of(judge, humans),
        (result.uncertainty.advantage_low, result.uncertainty.human_advantage_low),
        (result.uncertainty.advantage_high, result.uncertainty.human_advantage_high),
        strict=True,
    ):
        expected = scipy_stats.bootstrap(
            (won.mean(axis=1),),
            np.mean,
            n_resamples=20_000,
            confidence_level=level,
            method="BCa",
            rng=np.random.default_rng(0),
        )
        # Both are quantiles of 20,000 draws, which lie on a grid.
        allowed = 0.1 * expected.standard_error + 1 / n
        assert low == pytest.approx(expected.confidence_interval.low, abs=allowed)
        assert high == pytest.approx(expected.confidence_interval.high, abs=allowed)


@pytest.mark.ci
@pytest.mark.parametrize("clustered", [False, True])
def test_on_sparse_labels_it_is_the_bca_of_scipy_over_units(clustered):
    judge, humans = labels(2, n_items=90, missing=0.35, skill=0.8)
    clusters = np.arange(90) // 3 if clustered else np.arange(90)
    won, _ = outcomes_of(judge, humans)
    drop = np.isnan(won).all(axis=1)
    judge, humans, clusters, won = judge[~drop], humans[~drop], clusters[~drop], won[~drop]
    units = [np.flatnonzero(clusters == cluster) for cluster in np.unique(clusters)]

    def advantage(numbers):
        items = np.concatenate([units[number] for number in numbers.astype(int)])
        return np.nanmean(won[items], axis=0).mean()

    expected = scipy_stats.bootstrap(
        (np.arange(len(units)),),
        advantage,
        n_resamples=20_000,
        method="BCa",
        vectorized=False,
        rng=np.random.default_rng(0),
    )
    result = interval(
        judge,
        humans,
        clusters=clusters if clustered else None,
        n_resamples=20_000,
        confidence_level=nominal(0.95, len(units)),
    )

    allowed = 0.2 * expected.standard_error
    found = result.uncertainty
    assert found.advantage_low == pytest.approx(expected.confidence_interval.low, abs=allowed)
    assert found.advantage_high == pytest.approx(expected.confidence_interval.high, abs=allowed)
    assert found.n_units == len(units)
    assert found.clustered is clustered


@pytest.fixture(scope="module")
def varied():
    """A judge, twelve annotators of six labels, and the outcomes: hardly any two items alike."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 6, 5_200)

    def answers(*shape):
        true = np.broadcast_to(truth.reshape(-1, *[1] * (len(shape) - 1)), shape)
        return np.where(rng.random(shape) < 0.35, true, rng.integers(0, 6, shape))

    judge, humans = answers(5_200), answers(5_200, 12)
    humans[rng.random(humans.shape) < 0.3] = -1
    return judge, humans, outcomes_of(judge, humans)


@pytest.mark.ci
@pytest.mark.parametrize("clustered", [False, True])
def test_where_no_two_units_are_alike_the_interval_is_nearly_normal(varied, clustered):
    judge, humans, outcomes = varied
    clusters = np.random.default_rng(3).permutation(np.r_[np.arange(4_700), np.arange(500)])

    result = interval(judge, humans, clusters=clusters if clustered else None)
    found = result.uncertainty

    # The linearised share of wins of every annotator, summed over a unit.
    units = clusters if clustered else np.arange(len(judge))
    for won, middle, low, high in zip(
        outcomes,
        (result.advantage_probability, result.human_advantage),
        (found.advantage_low, found.human_advantage_low),
        (found.advantage_high, found.human_advantage_high),
        strict=True,
    ):
        influence = np.nan_to_num(won - np.nanmean(won, axis=0)) / (~np.isnan(won)).sum(axis=0)
        sums = np.bincount(units, weights=influence.mean(axis=1))
        half = 1.96 * math.sqrt((sums**2).sum())
        assert (low, high) == pytest.approx((middle - half, middle + half), abs=0.12 * half)
    assert found.n_units == len(np.unique(units))


@pytest.mark.ci
@given(st.integers(0, 2**32 - 1), st.sampled_from((0.0, 0.5, 0.9, 1.0)), st.booleans())
def test_the_interval_holds_its_estimate_and_grows_with_its_level(seed, skill, clustered):
    judge, humans = labels(seed, n_items=40, skill=skill, missing=0.2)
    options = {"clusters": np.arange(40) // 4 if clustered else None, "min_items": 5}

    wide, narrow = (
        interval(judge, humans, n_resamples=300, confidence_level=level, **options)
        for level in (0.95, 0.6)
    )

    one, two = wide.uncertainty, narrow.uncertainty
    rho, human = wide.advantage_probability, wide.human_advantage
    assert 0 <= one.advantage_low <= two.advantage_low <= rho + 1e-12
    assert rho - 1e-12 <= two.advantage_high <= one.advantage_high <= 1 + 1e-12
    assert 0 <= one.human_advantage_low <= two.human_advantage_low <= human + 1e-12
    assert human - 1e-12 <= two.human_advantage_high <= one.human_advantage_high <= 1 + 1e-12
    assert 0 <= one.stability <= 1
    assert one.stability == two.stability


@pytest.mark.edges
@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.parametrize("clustered", [False, True])
def test_where_every_item_is_won_the_bound_is_that_of_clopper_and_pearson(clustered, level):
    _, humans = labels(4, n_items=60)
    gold = (humans.sum(axis=1) > 1).astype(int)
    n = 20 if clustered else 60
    options = {"gold": gold, "clusters": np.arange(60) // 3 if clustered else None}

    always = interval(gold, humans, confidence_level=level, **options).uncertainty
    never = interval(1 - gold, 0 * humans + gold[:, None], confidence_level=level, **options)

    exact = scipy_stats.binomtest(n, n).proportion_ci(level, method="exact")
    assert (always.advantage_low, always.advantage_high) == pytest.approx((exact.low, exact.high))
    exact = scipy_stats.binomtest(0, n).proportion_ci(level, method="exact")
    found = never.uncertainty
    assert (found.advantage_low, found.advantage_high) == pytest.approx((exact.low, exact.high))
    assert never.uncertainty.human_advantage_high == 1
    assert always.reason is None


def test_items_that_nobody_compared_add_nothing_to_that_bound():
    humans = np.full((3_000, 2), -1)
    humans[:, 0] = 0
    humans[:40, 1] = 0

    found = interval(np.zeros(3_000, dtype=int), humans).uncertainty

    assert found.n_units == 40
    assert found.advantage_low == pytest.approx(0.025 ** (1 / 40))


def test_failures_add_nothing_to_that_bound():
    humans = np.zeros((100, 2), dtype=int)

    found = interval(np.zeros(100, dtype=int), humans, failed=np.arange(100) < 60).uncertainty

    assert found.n_units == 100
    assert found.advantage_low == pytest.approx(0.025 ** (1 / 40))


def test_an_annotator_with_few_items_widens_that_bound():
    # ρ is the mean of two annotators, of whom one has 30 items and the other 1,000: an item of the
    # first decides 1/60 of it. Were the losses all there, ρ = 1 - δ would win all 30 items with
    # the probability (1 - 2δ)^30 <= (1 - δ)^60.
    humans = np.full((1_030, 2), -1)
    humans[:1_000, 0] = humans[1_000:, 1] = 0
    gold = np.zeros(1_030, dtype=int)

    found = interval(gold, humans, gold=gold).uncertainty

    assert found.advantage_low == pytest.approx(0.025 ** (1 / 60))


def test_where_all_items_are_alike_an_end_is_undefined_with_a_reason():
    # c differs from a and b on every item: the judge, who says what they say, is never worse;
    # a and b tie with it and c loses, so that the annotators' advantage is 2/3 on every item.
    humans = np.tile([0, 0, 1], (50, 1))

    result = interval(np.zeros(50, dtype=int), humans)

    found = result.uncertainty
    assert found.advantage_low == pytest.approx(0.025 ** (1 / 50))
    assert result.human_advantage == pytest.approx(2 / 3)
    assert np.isnan([found.human_advantage_low, found.human_advantage_high]).all()
    assert found.reason == "all units have the same outcomes"


def test_one_cluster_has_no_interval():
    judge, humans = labels(5)

    found = interval(judge, humans, clusters=np.zeros(100, dtype=int)).uncertainty

    assert found.reason == "fewer than two units to resample"
    assert found.n_units == 1
    assert np.isnan([found.advantage_low, found.human_advantage_high, found.stability]).all()


@pytest.mark.filterwarnings("ignore::voirdire.DegenerateDataWarning")
def test_without_a_tested_annotator_there_is_no_interval():
    judge, humans = labels(6, n_items=20)

    found = interval(judge, humans).uncertainty

    assert found.reason == "no annotator has enough items"
    assert np.isnan([found.advantage_low, found.human_advantage_high, found.stability]).all()


def test_untested_annotators_and_the_expert_do_not_count():
    judge, humans = labels(7, n_annotators=4)
    humans[20:, 3] = -1
    few, gold = humans.copy(), humans[:, 0].copy()

    without = interval(judge, humans[:, :3], gold=gold).uncertainty
    untested = interval(judge, few, gold=gold).uncertainty
    expert = interval(judge, np.column_stack([humans[:, :3], gold]), expert=3).uncertainty

    # the same units in another order: other draws
    assert untested.n_units == expert.n_units == without.n_units
    assert asdict(untested) == pytest.approx(asdict(without), abs=0.015)
    assert asdict(expert) == pytest.approx(asdict(without), abs=0.015)


# Stability ---------------------------------------------------------------------------------------

CASES = {
    "plain": {},
    "multiplicative": {"epsilon_mode": "multiplicative"},
    "clustered": {"clusters": np.arange(60) // 2},
    "failures": {"failed": np.arange(60) % 9 == 0},
    "failures in clusters": {"failed": np.arange(60) % 9 == 0, "clusters": np.arange(60) // 2},
    "quality": {"quality": np.array([1.0, 3.0, 0.5, 1.0])},
    "expert": {"expert": 1, "quality": np.array([1.0, 3.0, 0.5, 1.0])},
}


@pytest.mark.ci
@pytest.mark.parametrize("name", CASES)
def test_stability_is_the_share_of_repeated_data_sets_that_pass(name):
    options = CASES[name] | {"epsilon": 0.2 if "clusters" in CASES[name] else 0.1}
    skill = 0.65 if "failed" not in options else 0.8
    judge, humans = labels(8, n_items=60, n_annotators=4, skill=skill, missing=0.1)
    clusters = options.get("clusters", np.arange(60))
    members = [np.flatnonzero(clusters == cluster) for cluster in np.unique(clusters)]
    rng, n_runs = np.random.default_rng(5), 250

    found = interval(judge, humans, n_resamples=4_000, **options).uncertainty

    passed = 0
    for _ in range(n_runs):
        copies = [members[k] for k in rng.integers(0, len(members), len(members))]
        items = np.concatenate(copies)
        repeated = {"failed": options["failed"][items]} if "failed" in options else {}
        if "clusters" in options:
            repeated["clusters"] = np.repeat(np.arange(len(copies)), list(map(len, copies)))
        [result] = stats.alt_test(judge[items], humans[items], min_items=2, **(options | repeated))
        passed += result.winning_rate >= 0.5
    share = passed / n_runs
    error = math.sqrt(share * (1 - share) * (1 / n_runs + 1 / 4_000))
    assert abs(found.stability - share) <= 3.5 * error
    assert 0.05 < found.stability < 0.95


def test_equal_weights_give_the_interval_without_weights():
    # Half of the items are 0 for everyone and half are 1: every weight is 100 / 50 = 2.
    humans = np.repeat([0, 1], 50)[:, np.newaxis] + np.zeros((1, 3), dtype=int)
    judge = np.where(np.arange(100) % 6 == 0, 1 - humans[:, 0], humans[:, 0])

    weighted = interval(judge, humans, weights="imbalance").uncertainty
    plain = interval(judge, humans).uncertainty

    assert weighted.advantage_low == plain.advantage_low
    assert weighted.advantage_high == plain.advantage_high


def test_a_larger_margin_is_passed_no_less_often_and_leaves_the_interval():
    judge, humans = labels(11)

    results = stats.alt_test(judge, humans, epsilon=[0.0, 0.1, 0.2, 0.4], n_resamples=400)

    shares = [result.uncertainty.stability for result in results]
    assert shares == sorted(shares)
    assert shares[0] < shares[-1]
    assert len({result.uncertainty.advantage_low for result in results}) == 1


def test_failures_make_passing_rarer():
    judge, humans = labels(12, skill=0.85)
    failed = np.arange(100) % 12 == 0

    lost = interval(judge, humans, failed=failed).uncertainty
    dropped = interval(np.where(failed, -1, judge), humans).uncertainty

    assert lost.stability < dropped.stability
    # ρ itself leaves them out: its interval is the same but for the draws
    assert lost.advantage_low == pytest.approx(dropped.advantage_low, abs=0.015)
    assert lost.advantage_high == pytest.approx(dropped.advantage_high, abs=0.015)


# Randomness and record ---------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_figures_and_another_seed_others():
    judge, humans = labels(14)

    first, again, other = (interval(judge, humans, seed=seed).uncertainty for seed in (1, 1, 2))

    assert first == again
    assert first != other
    assert first.advantage_low == pytest.approx(other.advantage_low, abs=0.01)


@pytest.mark.ci
@pytest.mark.parametrize("lost", [False, True])
def test_margins_asked_for_together_are_each_alone(lost):
    judge, humans = labels(15)
    options = {"failed": np.arange(100) < 5 if lost else None, "n_resamples": 1_000}
    margins = [k / 40 for k in range(20)]

    together = stats.alt_test(judge, humans, epsilon=margins, **options)

    for margin, result in list(zip(margins, together, strict=True))[::6]:
        alone = interval(judge, humans, epsilon=margin, **options)
        assert result.uncertainty.stability == alone.uncertainty.stability
        assert result.uncertainty == alone.uncertainty


@pytest.mark.edges
@pytest.mark.parametrize(
    ("lost", "clustered"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_the_order_of_items_and_the_names_of_clusters_are_irrelevant(lost, clustered):
    judge, humans = labels(8, n_items=400, missing=0.1)
    rng = np.random.default_rng(8)
    clusters, failed = rng.integers(0, 120, 400), rng.random(400) < 0.1
    order, names = rng.permutation(400), rng.permutation(120)

    first, second = (
        interval(
            judge[items],
            humans[items],
            failed=failed[items] if lost else None,
            clusters=name[clusters][items] if clustered else None,
            n_resamples=100,
        )
        for items, name in ((np.arange(400), np.arange(120)), (order, names))
    )

    expected = pytest.approx(asdict(first.uncertainty), abs=1e-12)
    assert asdict(second.uncertainty) == expected


def test_the_interval_for_other_annotators_adds_their_variance_to_that_of_items():
    judge, humans = labels(12, n_annotators=4)
    humans[:, 3] = np.where(np.arange(100) < 60, judge, 1 - humans[:, 3])  # one who differs

    found = interval(judge, humans, n_resamples=100)

    won, _ = outcomes_of(judge, humans)
    n, m = won.shape
    covariance = np.cov(won.T, bias=True) / n
    apart = covariance.diagonal().mean() - (covariance.sum() - covariance.trace()) / (m * (m - 1))
    of_items = covariance.mean()
    of_panel = max(won.mean(axis=0).var(ddof=1) / m - apart / m, 0)
    assert of_panel > 0
    variance = of_items + of_panel
    freedom = variance**2 / (of_items**2 / (n - 1) + of_panel**2 / (m - 1))
    rho = won.mean()
    half = special.stdtrit(freedom, 0.975) * math.sqrt(variance) / (rho * (1 - rho))
    ends = special.expit(special.logit(rho) + np.array([-half, half]))
    assert (found.uncertainty.panel_low, found.uncertainty.panel_high) == pytest.approx(tuple(ends))
    assert found.uncertainty.panel_low < found.uncertainty.advantage_low


def test_one_annotator_says_nothing_of_others():
    judge, humans = labels(13)
    humans[:80, 1:] = -1  # two have too few items to be tested

    found = interval(judge, humans, min_annotators=2, min_items=30, gold=judge, n_resamples=100)

    assert found.n_annotators == 1
    assert math.isnan(found.uncertainty.panel_low)
    assert math.isfinite(found.uncertainty.advantage_low)


def test_units_that_nobody_meets_are_none():
    judge, humans = labels(9)
    humans[10:30] = -1
    clusters = np.arange(100) // 2

    items = interval(judge, humans).uncertainty
    clustered = interval(judge, humans, clusters=clusters).uncertainty

    assert (items.n_units, clustered.n_units) == (80, 40)


@pytest.mark.ci
def test_memory_does_not_grow_with_the_resamples(peak_memory):
    rng = np.random.default_rng(16)
    judge, humans = rng.integers(0, 3, 5_000), rng.integers(0, 3, (5_000, 8))
    options = {}

    few = peak_memory(lambda: stats.alt_test(judge, humans, n_resamples=1_500, **options))
    many = peak_memory(lambda: stats.alt_test(judge, humans, n_resamples=6_000, **options))

    assert many < 2 * few


def test_the_record_says_how_it_was_made():
    judge, humans = labels(17)

    found = interval(judge, humans, n_resamples=123, confidence_level=0.9).uncertainty

    figures = asdict(found)
    assert (found.n_resamples, found.confidence_level, found.n_units) == (123, 0.9, 100)
    assert found.clustered is False
    assert found.reason is None
    assert list(figures) == [
        "advantage_low",
        "advantage_high",
        "human_advantage_low",
        "human_advantage_high",
        "panel_low",
        "panel_high",
        "stability",
        "confidence_level",
        "n_resamples",
        "n_units",
        "clustered",
        "reason",
    ]
    assert stats.alt_test(judge, humans)[0].uncertainty is None


@pytest.mark.parametrize("judges", [2])
def test_each_judge_has_an_interval_of_its_own(judges):
    judge, humans = labels(18)
    both = np.stack([judge, 1 - judge], axis=1)
    failed = np.zeros(both.shape, dtype=bool)
    failed[:10, 1] = True

    together = stats.alt_test(both, humans, failed=failed, n_resamples=200, epsilon=[0.1, 0.2])

    for k in range(judges):
        alone = stats.alt_test(
            both[:, k], humans, failed=failed[:, k], n_resamples=200, epsilon=[0.1, 0.2]
        )
        for one, two in zip(together[2 * k : 2 * k + 2], alone, strict=True):
            assert one.uncertainty == two.uncertainty
