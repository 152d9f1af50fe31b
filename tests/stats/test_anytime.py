"""The test that may be looked at after every label, against the same bets in plain loops."""

import math

import numpy as np
import pytest

from voirdire.errors import InputError
from voirdire.stats import anytime_test, forecast_anytime

TIES, SHARES = (0.5, 0.7, 0.8, 0.9, 0.95), (0.05, 0.1, 0.2, 0.4, 0.6, 0.8)


def share_agreeing(label, others):
    return sum(label == other for other in others) / len(others)


def compare(label, own, others):
    """Say who is closer to the others: -1 the judge, 0 both, 1 the annotator."""
    mine, theirs = share_agreeing(label, others), share_agreeing(own, others)
    return (theirs > mine) - (mine > theirs)


def bet(judge, humans, *, constants, epsilon, mode="additive", units=None, largest=1, failed=()):
    """Bet on one unit after another; give the wealth of each seat and against each constant."""
    n_items, m = len(humans), len(humans[0])
    if mode == "additive":
        m0, tie = (1 - epsilon) / 2, epsilon / 2
    else:
        m0, tie = (1 - epsilon) / (2 - epsilon), epsilon / (2 - epsilon)
    y_of = {-1: 1 - m0, 0: tie, 1: -m0}
    rates = []
    for t in TIES:
        mean = t * tie + (1 - t) / 2 * (y_of[-1] + y_of[1])
        square = t * tie**2 + (1 - t) / 2 * (y_of[-1] ** 2 + y_of[1] ** 2)
        rates.append(min(0.9 / m0, mean / square))
    units = range(n_items) if units is None else units
    seats = [[1.0] * len(TIES) for _ in range(m)]
    against = [[1.0] * len(SHARES) for _ in constants]
    trace = []
    for unit in dict.fromkeys(units):
        rows = [i for i in range(n_items) if units[i] == unit]
        sums, gains = [0.0] * m, [0.0] * len(constants)
        for i in rows:
            met, won = [], []
            for j in range(m):
                others = [x for k, x in enumerate(humans[i]) if k != j and x >= 0]
                if humans[i][j] < 0 or not others:
                    continue
                d = 1 if i in failed else compare(judge[i], humans[i][j], others)
                sums[j] += y_of[d]
                met.append(j)
                won.append([(d <= 0) - (compare(c, humans[i][j], others) <= 0) for c in constants])
            for k in range(len(constants)):
                gains[k] += sum(row[k] for row in won) / len(met) if met else 0.0
        for j in range(m):
            seats[j] = [
                w * (1 + r * sums[j] / largest) for w, r in zip(seats[j], rates, strict=True)
            ]
        for k in range(len(constants)):
            against[k] = [
                w * (1 + s * gains[k] / largest) for w, s in zip(against[k], SHARES, strict=True)
            ]
        wealth = [sum(row) / len(row) for row in seats]
        n_smallest = m - math.ceil(m / 2) + 1
        combined = sum(sorted(wealth)[:n_smallest]) / n_smallest
        trace.append((rows[-1] + 1, wealth, combined, min(sum(x) / len(x) for x in against)))
    return trace


def made_labels(rng, n_items=90, n_annotators=3, *, skill=0.85, missing=0.1):
    truth = rng.integers(0, 3, n_items)

    def labels(size, skill):
        return np.where(rng.random(size) < skill, truth.reshape(-1, *[1] * (len(size) - 1)),
                        rng.integers(0, 3, size))  # fmt: skip

    humans = labels((n_items, n_annotators), skill)
    humans[rng.random(humans.shape) < missing] = -1
    return labels((n_items,), 0.9), humans


@pytest.mark.parametrize("mode", ["additive", "multiplicative"])
@pytest.mark.parametrize(("epsilon", "n_annotators"), [(0.2, 3), (0.1, 4), (0.15, 5)])
def test_the_wealth_is_that_of_bets_one_by_one(mode, epsilon, n_annotators):
    rng = np.random.default_rng(n_annotators)
    judge, humans = made_labels(rng, n_annotators=n_annotators)
    failed = np.zeros(len(judge), dtype=bool)
    failed[[3, 50]] = True
    about = {"epsilon": epsilon, "constants": [0, 1, 2]}

    found = anytime_test(judge, humans, epsilon_mode=mode, failed=failed, **about)
    trace = bet(judge.tolist(), humans.tolist(), mode=mode, failed={3, 50}, **about)

    n_items, wealth, combined, least = trace[-1]
    assert (found.n_items, found.n_needed) == (n_items, math.ceil(n_annotators / 2))
    np.testing.assert_allclose(found.wealth, wealth, rtol=1e-9)
    np.testing.assert_allclose((found.combined_wealth, found.constant_wealth), (combined, least),
                               rtol=1e-9)  # fmt: skip
    stops = [at for at, _, together, alone in trace if together >= 20 and alone >= 20]
    assert found.stopped_at == (stops[0] if stops else None)


def test_a_cluster_is_one_bet():
    rng = np.random.default_rng(5)
    judge, humans = made_labels(rng, n_items=120, missing=0.0)
    sizes = rng.integers(1, 5, 60)
    units = np.repeat(np.arange(60), sizes)[:120]
    about = {"epsilon": 0.2, "constants": [0, 1]}

    found = anytime_test(judge, humans, clusters=units, largest_cluster=4, **about)
    trace = bet(judge.tolist(), humans.tolist(), units=units.tolist(), largest=4, **about)

    np.testing.assert_allclose(found.wealth, trace[-1][1], rtol=1e-9)
    np.testing.assert_allclose(found.constant_wealth, trace[-1][3], rtol=1e-9)
    with pytest.raises(InputError, match="`largest_cluster` must be the size of the largest"):
        anytime_test(judge, humans, clusters=units, largest_cluster=2, **about)
    with pytest.raises(InputError, match="side by side"):
        anytime_test(judge, humans, clusters=units[::-1] % 3, largest_cluster=99, **about)


def test_a_pass_once_reached_stands_and_names_who_is_shown():
    rng = np.random.default_rng(3)
    truth = np.arange(80) % 2
    humans = np.column_stack([truth, truth, truth ^ (rng.random(80) < 0.3)])
    judge = truth.copy()

    early = anytime_test(judge, humans, constants=[0, 1])
    judge[50:] = 1 - truth[50:]  # it goes wrong after its pass
    late = anytime_test(judge, humans, constants=[0, 1])

    assert early.passed
    assert late.stopped_at == early.stopped_at < 50
    assert late.combined_wealth < early.combined_wealth
    assert set(early.shown) >= {2}  # the judge is closer to the two others than the third is


def test_a_constant_holds_a_judge_up():
    rng = np.random.default_rng(2)
    truth = rng.random(200) < 0.05
    humans = (truth[:, None] ^ (rng.random((200, 3)) < 0.02)).astype(int)

    found = anytime_test(np.zeros(200, dtype=int), humans, constants=[0, 1])

    assert (found.passed, found.is_held_by_constant, found.constant) == (False, True, 0)
    assert anytime_test(truth.astype(int), humans, constants=[0, 1]).constant == 0


def test_without_items_nothing_is_known_and_what_makes_no_sense_is_refused():
    none = anytime_test(np.zeros(0, int), np.zeros((0, 3), int), constants=[0, 1])
    assert (none.wealth, none.stopped_at, none.n_items) == ((1.0, 1.0, 1.0), None, 0)
    judge, humans = made_labels(np.random.default_rng(0))
    for about, match in (
        ({"epsilon": 0.0}, "`epsilon` must be above 0"),
        ({"constants": []}, "`constants` must list at least one"),
        ({"clusters": np.arange(3)}, "one entry an item"),
    ):
        with pytest.raises(InputError, match=match):
            anytime_test(judge, humans, **{"constants": [0, 1], **about})
    with pytest.raises(InputError, match="at least 20 items for a forecast, got 10"):
        forecast_anytime(judge[:10], humans[:10], constants=[0, 1], n_planned=100)


def test_a_forecast_is_sure_where_the_matter_is():
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 40)
    humans = truth[:, None] ^ (rng.random((40, 3)) < 0.15)
    about = {"constants": [0, 1], "epsilon": 0.1, "n_planned": 400}

    good = forecast_anytime(truth, humans, **about)
    bad = forecast_anytime(rng.integers(0, 2, 40), humans, **about)

    assert good.share_passing > 0.9
    assert bad.share_passing < 0.05
    low, middle, high = good.more_items
    assert 0 < low <= middle <= high <= 360
    assert good == forecast_anytime(truth, humans, **about)
    assert forecast_anytime(truth, humans, **{**about, "n_planned": 40}).share_passing == 0.0
