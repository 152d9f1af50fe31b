"""The power simulation against plain loops, and what it reports."""

import math
from dataclasses import asdict
from itertools import pairwise

import numpy as np
import pytest

import power_oracle as oracle
from voirdire import stats
from voirdire.errors import InputError
from voirdire.stats import NoiseModel, PowerResult, PowerRow, power

SIZES = (10, 25, 40, 60)
EPSILONS = (0.0, 0.1, 0.2)


def simulated(model, *, n_studies, n_annotators, seed=0):
    """Labels as the simulation draws them in its first block."""
    return model.draw(
        np.random.default_rng([seed, 0]),
        n_studies=n_studies,
        n_items=SIZES[-1],
        n_annotators=n_annotators,
    )


def rates_in_loops(labels, n_annotators, epsilon, size, **options):
    return [
        oracle.winning_rate(
            study[:size, :n_annotators].T.tolist(), answers[:size].tolist(), epsilon, **options
        )
        for study, answers in zip(labels.humans, labels.judge, strict=True)
    ]


# Against plain loops ----------------------------------------------------------------------------


@pytest.mark.ci
@pytest.mark.parametrize(
    ("mode", "min_items", "n_simulations"), [("additive", 25, 20), ("multiplicative", 2, 15)]
)
def test_power_is_the_share_of_plain_loops_that_pass(mode, min_items, n_simulations):
    model = NoiseModel(human_noise=0.3, judge_noise=0.3, n_categories=4)
    labels = simulated(model, n_studies=n_simulations, n_annotators=4, seed=7)

    result = power(
        human_noise=0.3,
        judge_noise=0.3,
        n_categories=4,
        prevalences="drawn",
        n_items=SIZES,
        n_annotators=[2, 3, 4],
        epsilon=EPSILONS,
        epsilon_mode=mode,
        min_items=min_items,
        n_simulations=n_simulations,
        seed=7,
    )

    for row in result.rows:
        options = {"mode": mode, "min_items": min_items}
        rates = rates_in_loops(labels, row.n_annotators, row.epsilon, row.n_items, **options)
        n_passed = sum(rate is not None and rate >= 0.5 for rate in rates)
        assert row.winning_rate_power == n_passed / n_simulations
        assert row.power <= 1
        if row.n_items >= min_items:
            assert row.winning_rate == pytest.approx(sum(rates) / n_simulations)
            assert row.reason is None
    assert 0 < np.mean([row.winning_rate_power for row in result.rows]) < 1


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize("shares", [None, (0.9, 0.1)])
def test_a_simulated_study_is_examined_as_any_study_is(mode, shares):
    model = NoiseModel(human_noise=0.25, judge_noise=0.3, prevalences=shares)
    labels = simulated(model, n_studies=24, n_annotators=3)
    options = {"epsilon": EPSILONS, "epsilon_mode": mode, "min_items": 20}

    result = power(
        human_noise=0.25,
        judge_noise=0.3,
        prevalences=shares or "drawn",
        n_items=[25, SIZES[-1]],
        n_annotators=3,
        n_simulations=24,
        **options,
    )

    for size in (25, SIZES[-1]):
        examined = [
            stats.alt_test(labels.judge[study, :size], labels.humans[study, :size], **options)
            for study in range(24)
        ]
        for position, epsilon in enumerate(EPSILONS):
            [row] = [row for row in result.rows if (row.n_items, row.epsilon) == (size, epsilon)]
            tests = [study[position] for study in examined]
            assert row.power == np.mean([each.outcome == "passed" for each in tests])
            assert row.winning_rate_power == np.mean([each.t_test.passed for each in tests])
            assert row.winning_rate == pytest.approx(
                np.mean([e.t_test.winning_rate for e in tests])
            )


# What power depends on ----------------------------------------------------------------------------


@pytest.mark.ci
def test_a_judge_on_the_boundary_of_the_null_seldom_passes():
    # Annotators never err, so each is the others. The judge errs where it guesses another label:
    # half of its guesses. Then rho_h = 1, rho_f = 1 - noise / 2 = 1 - epsilon with noise .4.
    result = power(
        human_noise=0.0,
        judge_noise=0.4,
        prevalences=(0.5, 0.5),
        n_items=[200, 400],
        n_annotators=[3, 5],
        epsilon=0.2,
        n_simulations=2_000,
    )

    for row in result.rows:
        assert row.power <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 2_000)
        assert row.power > 0


@pytest.mark.ci
def test_a_much_worse_judge_never_passes():
    result = power(
        human_noise=0.05,
        judge_noise=0.9,
        prevalences=(0.5, 0.5),
        epsilon=0.1,
        n_simulations=300,
    )

    assert max(row.power for row in result.rows) == 0


def test_a_judge_that_guesses_blindly_wins_where_labels_are_skewed_and_does_not_pass():
    guessing = {"human_noise": 0.1, "judge_noise": 1.0, "epsilon": 0.2, "n_simulations": 300}

    skewed = power(**guessing, prevalences=(0.97, 0.03), n_items=200)
    even = power(**guessing, prevalences=(0.5, 0.5), n_items=200)

    assert skewed.rows[0].winning_rate_power > 0.9
    assert even.rows[0].winning_rate_power == 0
    assert (skewed.rows[0].power, even.rows[0].power) == (0, 0)


@pytest.mark.ci
def test_power_rises_with_items_and_with_the_margin():
    result = power(human_noise=0.3, judge_noise=0.3, prevalences=(0.4, 0.6), n_simulations=1_000)

    for epsilon in result.epsilons:
        curve = [row.power for row in result.curve(n_annotators=3, epsilon=epsilon)]
        assert all(later >= earlier - 0.03 for earlier, later in pairwise(curve))
        assert curve[-1] > 0.95
    for size in result.sizes:
        powers = [row.power for row in result.rows if row.n_items == size]
        assert powers == sorted(powers)


# Seeds ----------------------------------------------------------------------------------------


@pytest.mark.ci
def test_a_seed_gives_the_same_figures():
    plan = {"human_noise": 0.2, "judge_noise": 0.3, "n_simulations": 200}

    assert power(**plan, seed=3) == power(**plan, seed=3)
    assert power(**plan, seed=3).rows != power(**plan, seed=4).rows


@pytest.mark.ci
def test_figures_do_not_depend_on_what_else_is_asked():
    plan = {"human_noise": 0.2, "judge_noise": 0.3, "n_simulations": 2_000}

    alone = power(**plan, n_items=[50, 200], n_annotators=3, epsilon=0.1)
    together = power(**plan, n_items=[50, 100, 200], n_annotators=[3, 6], epsilon=[0.2, 0.1])

    assert alone.rows == tuple(
        row
        for row in together.rows
        if (row.n_annotators, row.epsilon) == (3, 0.1) and row.n_items != 100
    )


@pytest.mark.ci
def test_blocks_bound_memory(peak_memory):
    def simulate():
        power(human_noise=0.2, judge_noise=0.2, n_items=1_000, epsilon=0.1, n_simulations=2_000)

    # all labels at once would take 2,000 * 1,000 * 5 raters, and several times that to draw
    assert peak_memory(simulate) < 10e6


# What is reported ---------------------------------------------------------------------------------


def test_too_few_items_to_be_tested_are_never_passed():
    result = power(
        human_noise=0.0,
        judge_noise=0.0,
        prevalences=(0.5, 0.5),
        n_items=[20, 50],
        epsilon=0.1,
        n_simulations=20,
    )

    small, enough = result.rows
    assert (small.power, small.standard_error) == (0.0, 0.0)
    assert math.isnan(small.winning_rate)
    assert small.reason == "no annotator has the 30 items of `min_items`"
    assert (enough.power, enough.winning_rate, enough.reason) == (1.0, 1.0, None)


def test_standard_errors_are_binomial():
    result = power(human_noise=0.3, judge_noise=0.3, n_items=60, epsilon=0.2, n_simulations=400)

    [row] = result.rows
    assert 0.2 < row.power < 0.9
    assert row.standard_error == pytest.approx(math.sqrt(row.power * (1 - row.power) / 400))


def made(powers, *, wanted=0.8, shares=None):
    """A result with given powers, `{(m, ε): {n: power}}`, and label shares, `{m: share}`."""
    rows = [
        PowerRow(
            n_items=n,
            n_annotators=m,
            epsilon=epsilon,
            power=share,
            standard_error=0.0,
            winning_rate_power=share,
            winning_rate=share,
            n_simulations=10,
            route="assumptions",
            label_share=(shares or {}).get(m, 1.0),
            n_labels=round(n * m * (shares or {}).get(m, 1.0)),
            reason=None,
        )
        for (m, epsilon), curve in powers.items()
        for n, share in curve.items()
    ]
    return PowerResult.of(
        rows,
        wanted_power=wanted,
        human_kappa=0.5,
        judge_kappa=0.5,
        human_noise=0.3,
        judge_noise=0.3,
    )


def test_the_smallest_size_stays_above_what_is_wanted():
    result = made({(3, 0.1): {30: 0.85, 50: 0.7, 100: 0.8, 150: 0.9}})

    [size] = result.smallest_sizes

    assert (size.n_items, size.n_labels, size.power) == (100, 300, 0.8)


def test_a_size_that_is_not_reached_is_none():
    result = made({(3, 0.1): {30: 0.9, 50: 0.7}})

    [size] = result.smallest_sizes
    [plan] = result.smallest_plans

    assert (size.n_items, size.n_labels, size.power) == (None, None, None)
    assert plan == size


def test_the_smallest_plan_has_the_fewest_labels_for_its_margin():
    result = made(
        {
            (3, 0.1): {30: 0.1, 60: 0.2, 90: 0.7},
            (3, 0.2): {30: 0.1, 60: 0.9, 90: 1.0},
            (5, 0.1): {30: 0.5, 60: 0.9, 90: 1.0},
            (5, 0.2): {30: 0.9, 60: 0.9, 90: 1.0},
        }
    )

    narrow, wide = result.smallest_plans

    # ε .1 is only reached by five annotators; at ε .2 5 * 30 labels are fewer than 3 * 60
    assert (narrow.epsilon, narrow.n_annotators, narrow.n_items, narrow.n_labels) == (
        0.1,
        5,
        60,
        300,
    )
    assert (wide.epsilon, wide.n_annotators, wide.n_items, wide.n_labels) == (0.2, 5, 30, 150)


def test_the_smallest_plan_counts_the_labels_that_are_given():
    powers = {(3, 0.1): {30: 0.5, 61: 0.9}, (4, 0.1): {30: 0.5, 61: 0.9}}

    [plan] = made(powers, shares={3: 1.0, 4: 0.7}).smallest_plans

    # 61 * 4 * .7 = 170.8, fewer than 61 * 3 = 183
    assert (plan.n_annotators, plan.n_items, plan.n_labels) == (4, 61, 171)


@pytest.mark.ci
def test_the_dict_holds_every_figure():
    result = power(human_noise=0.3, judge_noise=0.2, n_annotators=[3, 4], n_simulations=50, seed=5)

    plain = asdict(result)

    assert len(plain["rows"]) == 12 * 2 * 3
    first = plain["rows"][0]
    assert first == asdict(result.rows[0])
    assert first["n_labels"] == first["n_items"] * first["n_annotators"]
    assert plain["human_kappa"] == pytest.approx(0.49)
    assert plain["judge_kappa"] == pytest.approx(0.56)
    assert len(plain["smallest_sizes"]) == 2 * 3
    assert len(plain["smallest_plans"]) == 3
    assert plain["settings"]["seed"] == 5
    assert plain["settings"]["prevalences"] == [0.5, 0.5]
    assert plain["settings"]["n_annotators"] == [3, 4]


# What is refused ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"human_noise": 2}, r"`human_noise` must be a number in \[0, 1\], got 2\."),
        ({"judge_noise": math.nan}, r"`judge_noise` must be .*, got nan\."),
        ({"n_annotators": 1}, r"`n_annotators` must be a whole number of at least 2, got 1\."),
        ({"n_annotators": [3, 1]}, r"`n_annotators` must be .* at least 2, got 1\."),
        ({"n_items": []}, r"`n_items` must hold at least one number, got \[\]\."),
        ({"n_items": 50.5}, r"`n_items` must be a whole number of at least 2, got 50\.5\."),
        ({"epsilon": 1.0}, r"`epsilon` must be in the interval \[0, 1\), got 1\.0"),
        ({"epsilon_mode": "both"}, r"`epsilon_mode` must be one of"),
        ({"wanted_power": 80}, r"`wanted_power` must be in the interval \(0, 1\), got 80"),
        ({"n_simulations": 0}, r"`n_simulations` must be a whole number of at least 1, got 0"),
        ({"min_items": 1}, r"`min_items` must be a whole number of at least 2, got 1"),
        ({"seed": -1}, r"`seed` must be a whole number of at least 0, got -1"),
        ({"false_discovery_rate": 0}, r"`false_discovery_rate` must be in the interval"),
        ({"prevalences": [0.2, 0.2]}, r"`prevalences` must be 2 shares that sum to 1"),
        ({"prevalences": "skewed"}, "`prevalences` must be one of 'drawn'"),
        ({"prevalences": 0.5}, r"`prevalences` must be a sequence of shares, got 0\.5\."),
        ({"prevalences": np.array(0.5)}, r"`prevalences` must be a sequence of shares, got array"),
        (
            {"prevalences": [0.5, 0.5], "n_categories": 5},
            r"`prevalences` must be 5 shares that sum to 1, one per category, got \[0\.5, 0\.5\]",
        ),
        ({"n_items": 10**12}, r"`n_items` times .* at most 100,000,000, got 1,000,000,000,000 ti"),
        ({"n_annotators": 10**8}, r"`n_items` times `n_annotators` .*, got 400 times 100,000,000"),
        ({"n_items": 10**300}, r"`n_items` times `n_annotators` must be at most 100,000,000, got"),
        ({"n_items": range(2, 10**12)}, r"`n_items` must hold at most 1,000 numbers, got more"),
        ({"n_annotators": range(2, 10**9)}, r"`n_annotators` must hold at most 1,000 numbers"),
        (
            {"n_items": range(2, 1_000), "n_annotators": 1_000, "epsilon": [0.1, 0.2]},
            r"`n_items` must hold at most 1,000,000 numbers times .*, got 998 times 1,000 times 2",
        ),
    ],
)
def test_settings_out_of_range_are_refused(wrong, match):
    with pytest.raises(InputError, match=match):
        power(**{"human_noise": 0.2, "judge_noise": 0.2} | wrong)


def test_arrays_of_sizes_are_taken():
    result = power(
        human_noise=0.2,
        judge_noise=0.2,
        n_items=np.arange(30, 60, 10),
        n_annotators=np.int64(3),
        epsilon=np.array([0.1]),
        n_simulations=5,
    )

    assert result.sizes == (30, 40, 50)
    assert all(type(size) is int for size in result.sizes)


def test_as_many_labels_are_assumed_as_prevalences():
    plan = {"human_noise": 0.2, "judge_noise": 0.2, "n_items": 30, "n_simulations": 5}

    three = power(**plan, prevalences=[0.2, 0.3, 0.5])

    assert three.settings["n_categories"] == 3
    assert three == power(**plan, prevalences=(0.2, 0.3, 0.5), n_categories=3)
    assert power(**plan).settings["n_categories"] == 2
