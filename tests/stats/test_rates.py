"""Rates from verdicts and labels, against ppi-python, counting and simulation."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import beta, hypergeom
from statsmodels.stats.proportion import proportion_confint

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats import (
    Estimate,
    chain_rates,
    compare_rates,
    estimate_rate,
    majority_shares,
)

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "ppi_py.json").read_text())


def draw(rng, n_labelled, n_others, share, finds, rejects):
    """Verdicts of all items, and labels of the first ones."""
    n_items = n_labelled + n_others
    true = (rng.random(n_items) < share).astype(float)
    yes = rng.random(n_items) < np.where(true == 1, finds, 1 - rejects)
    return yes.astype(float), np.where(np.arange(n_items) < n_labelled, true, np.nan)


# Figures ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", REFERENCE["cases"], ids=lambda case: f"seed {case['seed']}")
def test_prediction_powered_rates_are_those_of_ppi_python(case):
    rng = np.random.default_rng(case["seed"])
    n_items = case["n_labelled"] + case["n_others"]
    true = (rng.random(n_items) < case["share"]).astype(float)
    judged = np.where(rng.random(n_items) < case["right"], true, 1 - true)
    labels = np.where(np.arange(n_items) < case["n_labelled"], true, np.nan)

    found = estimate_rate(judged, labels)

    assert found.method == "ppi"
    # λ is chosen without the item it is used on, and their interval is symmetric
    assert found.rate.estimate == pytest.approx(case["estimate"], abs=2e-3)
    assert (found.rate.low, found.rate.high) == pytest.approx((case["low"], case["high"]), abs=0.01)


def test_labels_by_verdict_are_weighted_by_how_frequent_verdicts_are():
    judged = np.repeat([1.0, 0.0], [200, 800])
    labels = np.full(1_000, np.nan)
    labels[:50], labels[200:250] = np.arange(50) < 40, np.arange(50) < 5

    found = estimate_rate(judged, labels, labelled="verdict")

    # 1/5 of the items at 4/5 and 4/5 at 1/10
    assert found.rate.estimate == pytest.approx(0.2 * 0.8 + 0.8 * 0.1)
    assert found.method == "efficient"
    assert np.isnan(found.human.estimate)
    assert found.naive.estimate == pytest.approx(0.2)
    assert (found.n_items, found.n_labelled) == (1_000, 100)
    # among all items: 160 of the 240 that hold are called yes, 720 of the 760 others no
    assert found.sensitivity.estimate == pytest.approx(160 / 240)
    assert found.specificity.estimate == pytest.approx(720 / 760)
    assert found.sensitivity.low < 160 / 240 < found.sensitivity.high


def test_strata_combine_by_mover_with_jeffreys_limits():
    judged = np.repeat([1.0, 0.0], [200, 800])
    labels = np.full(1_000, np.nan)
    labels[:50], labels[200:250] = np.arange(50) < 40, 0.0

    found = estimate_rate(judged, labels, labelled="verdict").rate

    low, high = beta.ppf([0.025, 0.975], 40.5, 10.5)
    top = beta.ppf(0.975, 0.5, 50.5)
    moved = 1.959964**2 * 0.2 * 0.8 * 0.8**2 / 1_000
    assert found.estimate == pytest.approx(0.16)
    assert found.low == pytest.approx(0.16 - np.sqrt((0.2 * (0.8 - low)) ** 2 + moved), abs=1e-6)
    above = (0.2 * (high - 0.8)) ** 2 + (0.8 * top) ** 2 + moved
    assert found.high == pytest.approx(0.16 + np.sqrt(above), abs=1e-6)


def test_a_rare_yes_is_not_moved_to_half_a_label():
    judged = np.repeat([1.0, 0.0], [4, 1_996])
    labels = np.full(2_000, np.nan)
    labels[:4], labels[4:50] = 1.0, 0.0

    found = estimate_rate(judged, labels, labelled="verdict").rate

    assert found.estimate == pytest.approx(0.002)
    assert found.low <= found.estimate <= found.high


def test_the_weight_of_the_verdicts_is_chosen_without_the_item():
    rng = np.random.default_rng(0)
    judged, labels = draw(rng, 40, 60, 0.4, 0.8, 0.9)
    y, f, rest = labels[:40], judged[:40], judged[40:]
    corrected = []
    for i in range(40):
        kept = np.arange(40) != i
        spread = np.var(np.r_[f[kept], rest], ddof=1)
        power = np.cov(y[kept], f[kept])[0, 1] / (spread * (1 + 39 / 60))
        corrected.append(y[i] - np.clip(power, 0, 1) * (f[i] - rest.mean()))

    assert estimate_rate(judged, labels).rate.estimate == pytest.approx(np.mean(corrected))


@pytest.mark.parametrize(("n_yes", "method"), [(40, "human"), (80, "ppi")])
def test_a_verdict_too_rare_among_the_labelled_leaves_the_labels_alone(n_yes, method):
    judged = (np.arange(1_000) % (1_000 // n_yes) == 0).astype(float)
    labels = np.where(np.arange(1_000) % 10 == 3, judged, np.nan)
    labels[:40:10] = 1.0

    found = estimate_rate(judged, labels)

    assert found.method == method  # 100 labels x 4% is 4, x 8% is 8
    low, high = proportion_confint(np.nansum(labels), found.n_labelled, method="beta")
    assert (found.human.low, found.human.high) == pytest.approx((low, high))


@pytest.mark.parametrize(("k", "outcome"), [(10, "silent"), (17, "caution"), (25, "refused")])
def test_a_draw_that_the_verdicts_contradict_is_no_random_one(k, outcome):
    judged = np.repeat([1.0, 0.0], [100, 400])
    labels = np.full(500, np.nan)
    labels[:k], labels[100 : 150 - k] = 1.0, 0.0
    p_value = 2 * min(hypergeom(500, 100, 50).cdf(k), hypergeom(500, 100, 50).sf(k - 1))

    if outcome == "refused":
        assert p_value < 0.001
        with pytest.raises(InputError, match=r"yes to 50% of the 50 .* 20.0% of all 500"):
            estimate_rate(judged, labels)
        return
    found = estimate_rate(judged, labels)
    assert found.draw_p_value == pytest.approx(min(p_value, 1.0))
    assert (found.draw_p_value <= 0.05) == (outcome == "caution")
    assert (found.yes_labelled, found.yes_all) == (k / 50, 0.2)
    assert found.by_verdict == estimate_rate(judged, labels, labelled="verdict").rate


def test_a_judge_without_an_error_among_the_labels_may_err_as_often_as_a_binomial_limit_says():
    truth = np.repeat([1.0, 0.0], [240, 260])

    found = estimate_rate(truth, truth)

    # Clopper and Pearson: .025 ** (1 / n), which is nearly reached since the other verdict is sure
    assert found.sensitivity.low == pytest.approx(0.025 ** (1 / 240), abs=1.5e-3)
    assert found.specificity.low == pytest.approx(0.025 ** (1 / 260), abs=1.5e-3)


def test_labels_by_class_correct_by_sensitivity_and_specificity():
    judged = np.concatenate([np.repeat([1.0, 0.0], 500), np.repeat([1, 0, 1, 0], [45, 5, 10, 40])])
    labels = np.concatenate([np.full(1_000, np.nan), np.repeat([1.0, 0.0], 50)])

    found = estimate_rate(judged, labels, labelled="class")

    assert found.method == "rogan_gladen"
    assert found.rate.estimate == pytest.approx((0.5 + 0.8 - 1) / (0.9 + 0.8 - 1))
    assert 0 < found.rate.low < found.rate.estimate < found.rate.high < 0.6


def test_where_all_items_are_labelled_people_alone_count():
    found = estimate_rate(np.ones(40), np.repeat([1.0, 0.0], 20))

    assert found.method == "human"
    assert found.rate == found.human
    assert found.naive.estimate == 1
    low = proportion_confint(40, 40, method="beta")[0]
    assert found.naive.low == pytest.approx(low)


def test_probabilities_are_cut_into_strata():
    rng = np.random.default_rng(4)
    stated = rng.random(3_000)
    true = rng.random(3_000) < stated**2  # far from calibrated
    labels = np.where(np.arange(3_000) < 600, true, np.nan)

    efficient = estimate_rate(stated, labels, method="efficient")
    powered = estimate_rate(stated, labels)

    assert efficient.rate.estimate == pytest.approx(true.mean(), abs=0.03)
    assert powered.rate.estimate == pytest.approx(true.mean(), abs=0.03)
    for found in (efficient.rate, powered.rate):
        assert found.high - found.low < 0.9 * (efficient.human.high - efficient.human.low)
    assert efficient.naive.low > true.mean()  # 1/2 where it holds for 1/3


def test_shares_of_people_are_labels_too():
    rng = np.random.default_rng(5)
    shares = rng.choice([0, 1 / 3, 2 / 3, 1], 200)
    judged = (shares > 0.5).astype(float)

    found = estimate_rate(judged, np.where(np.arange(200) < 100, shares, np.nan))

    assert found.human.estimate == pytest.approx(shares[:100].mean())


def test_clusters_make_the_interval_wider():
    rng = np.random.default_rng(6)
    judged, labels = draw(rng, 50, 150, 0.4, 0.8, 0.8)
    copies = np.repeat(np.arange(200), 3)

    alone = estimate_rate(judged, labels)
    copied = estimate_rate(judged[copies], labels[copies], clusters=copies)

    for name in ("rate", "human"):
        one, other = getattr(alone, name), getattr(copied, name)
        assert other.estimate == pytest.approx(one.estimate, abs=2e-3)
        assert (other.low, other.high) == pytest.approx((one.low, one.high), abs=0.015)


# Intervals ----------------------------------------------------------------------------------------


@pytest.mark.edges
@pytest.mark.parametrize(("finds", "rejects"), [(0.5, 0.5), (0.95, 0.95), (1, 1)])
@pytest.mark.parametrize("share", [0.03, 0.5])
def test_a_hundred_labels_and_a_hundred_others_cover(share, finds, rejects):
    rng = np.random.default_rng([round(100 * share), round(100 * finds)])
    n_runs = 400
    covered = {"rate": 0, "human": 0}
    widths = {"rate": [], "human": []}
    for _ in range(n_runs):
        found = estimate_rate(*draw(rng, 100, 100, share, finds, rejects))
        for name in covered:
            interval = getattr(found, name)
            covered[name] += interval.low <= share <= interval.high
            widths[name].append(interval.high - interval.low)

    allowance = 3 * (0.95 * 0.05 / n_runs) ** 0.5
    assert min(covered.values()) / n_runs >= 0.95 - allowance
    assert np.mean(widths["rate"]) <= 1.1 * np.mean(widths["human"])


# Two rates, and rates in a row --------------------------------------------------------------------


def test_a_difference_is_second_less_first():
    rng = np.random.default_rng(7)
    first, second = draw(rng, 100, 500, 0.2, 0.9, 0.9), draw(rng, 100, 500, 0.5, 0.9, 0.9)
    judged, labels = (np.concatenate(parts) for parts in zip(first, second, strict=True))

    found = compare_rates(judged, labels, is_second=np.repeat([False, True], 600))

    alone = [estimate_rate(*part).rate.estimate for part in (first, second)]
    assert found.difference.estimate == pytest.approx(alone[1] - alone[0])
    assert found.difference.low > 0
    assert found.p_value < 1e-4
    assert found.correlation == 0


def test_the_same_prompts_make_a_difference_surer():
    rng = np.random.default_rng(8)
    prompt = rng.random(400)
    holds = rng.random((2, 400)) < 0.1 + 0.8 * (prompt > 0.5)
    judged = np.where(rng.random((2, 400)) < 0.9, holds, ~holds).astype(float).ravel()
    labels = np.where(np.arange(400) < 150, holds, np.nan).ravel()
    is_second = np.repeat([False, True], 400)

    apart = compare_rates(judged, labels, is_second=is_second)
    paired = compare_rates(judged, labels, is_second=is_second, clusters=np.tile(np.arange(400), 2))

    assert paired.correlation > 0.3
    assert paired.difference.estimate == pytest.approx(apart.difference.estimate)
    widths = [x.difference.high - x.difference.low for x in (paired, apart)]
    assert widths[0] < 0.85 * widths[1]


@pytest.mark.ci
def test_equal_rates_differ_one_time_in_twenty():
    rng = np.random.default_rng(9)
    n_runs = 300
    covered = rejected = 0
    for _ in range(n_runs):
        parts = [draw(rng, 80, 300, 0.3, 0.8, 0.9) for _ in range(2)]
        judged, labels = (np.concatenate(x) for x in zip(*parts, strict=True))
        found = compare_rates(judged, labels, is_second=np.repeat([False, True], 380))
        covered += found.difference.low <= 0 <= found.difference.high
        rejected += found.p_value <= 0.05

    allowance = 3 * (0.95 * 0.05 / n_runs) ** 0.5
    assert covered / n_runs >= 0.95 - allowance
    assert rejected / n_runs <= 0.05 + allowance


def test_two_steps_right_nineteen_times_in_twenty_are_right_nine_times_in_ten():
    step = Estimate(estimate=0.95, low=0.9, high=0.98)
    sure = Estimate(estimate=0.95, low=0.95, high=0.95)

    both = chain_rates({"first": step, "second": step})
    one = chain_rates({"first": step, "second": sure})

    assert both.rate.estimate == pytest.approx(0.9025)
    assert both.error_shares == pytest.approx({"first": 0.5, "second": 0.5})
    assert one.error_shares == pytest.approx({"first": 1, "second": 0})
    assert (one.rate.low, one.rate.high) == pytest.approx((0.9 * 0.95, 0.98 * 0.95))
    assert both.rate.low < one.rate.low


# Truth from several annotators --------------------------------------------------------------------


def test_ties_are_shared_and_nobody_is_nan():
    shares = majority_shares([[0, 0, 1], [0, 1, -1], [-1, -1, -1], [2, 2, 1]], n_labels=3)

    assert shares[:2].tolist() == [[1, 0, 0], [0.5, 0.5, 0]]
    assert np.isnan(shares[2]).all()
    assert shares[3].tolist() == [0, 0, 1]


# What is undefined or wrong -----------------------------------------------------------------------


def test_without_a_label_nothing_is_known():
    with pytest.warns(DegenerateDataWarning, match="no item has a label and a verdict"):
        found = estimate_rate([1, 0, 1], [np.nan] * 3)
    assert np.isnan(found.rate.estimate)
    assert found.naive.estimate == pytest.approx(2 / 3)


def test_a_verdict_without_labels_leaves_the_rate_open():
    with pytest.warns(DegenerateDataWarning, match="a verdict has no labelled item"):
        found = estimate_rate([1, 1, 0, 0], [1, 0, np.nan, np.nan], labelled="verdict")
    assert np.isnan(found.rate.estimate)


def test_a_judge_no_better_than_chance_corrects_nothing():
    with pytest.warns(DegenerateDataWarning, match="no better than chance"):
        found = estimate_rate([1, 0, 0, 1, 1], [1, 1, 0, 0, np.nan], labelled="class")
    assert np.isnan(found.rate.estimate)


def test_one_labelled_item_has_no_interval():
    with pytest.warns(DegenerateDataWarning, match="at least two items"):
        found = estimate_rate([1, 0, 1], [1, np.nan, np.nan])
    assert found.rate.estimate == 1
    assert np.isnan(found.rate.low)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"judged": [1], "labels": [1, 0]}, r"one shape \(n_items,\)"),
        ({"judged": [1.5], "labels": [1]}, r"`judged` must be in \[0, 1\]"),
        ({"judged": [1], "labels": [-1]}, r"`labels` must be in \[0, 1\]"),
        ({"judged": [1], "labels": [1], "labelled": "somehow"}, "`labelled`"),
        (
            {"judged": [1], "labels": [1], "method": "rogan_gladen"},
            "human' or 'efficient' or 'ppi' for items labelled by random",
        ),
        ({"judged": [1], "labels": [1], "method": "ppi", "labelled": "class"}, "rogan_gladen"),
        (
            {"judged": [1], "labels": [1], "method": "human", "labelled": "verdict"},
            "'efficient'",
        ),
        ({"judged": [1], "labels": [1], "confidence_level": 95}, "`confidence_level`"),
        ({"judged": [1], "labels": [1], "clusters": [1, 2]}, "`clusters`"),
    ],
)
def test_what_is_no_rate_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        estimate_rate(**arguments)


def test_groups_steps_and_votes_are_checked():
    with pytest.raises(InputError, match="must mark some of the items"):
        compare_rates([1, 0], [1, 0], is_second=[True, True])
    with pytest.raises(InputError, match="at least one step"):
        chain_rates({})
    with pytest.raises(InputError, match=r"rates in \(0, 1\], got 0.0 for 'b'"):
        chain_rates({"b": Estimate(estimate=0.0, low=0.0, high=0.1)})
    with pytest.raises(InputError, match="must hold integer codes"):
        majority_shares([[0.5]])
    with pytest.raises(InputError, match="integer codes of shape"):
        majority_shares([0, 1])
    with pytest.raises(InputError, match="codes below 2, got 0 to 2"):
        majority_shares([[0, 2]])
