"""A judge at two times: how many answers changed, which way, and whether that is too many."""

import numpy as np
import pytest
from scipy import stats as scipy_stats

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.stats import judge_drift


def test_no_change_is_bounded_as_clopper_and_pearson_bound_it():
    labels = np.arange(72) % 3

    found = judge_drift(labels, labels)

    assert (found.verdict, found.n_changed, found.changed.estimate) == ("same", 0, 0)
    assert found.changed.high == pytest.approx(1 - 0.025 ** (1 / 72))
    assert judge_drift(labels[:71], labels[:71]).verdict == "undecided"


def test_shares_and_shifts_are_counted():
    then = np.array([1, 1, 1, 0, 0, 0, 0, -1, 1, 0])
    now = np.array([1, 0, 1, 1, 1, 0, 0, 1, -1, 0])

    found = judge_drift(then, now, is_boolean=True, tolerance=0.1)

    # of 9 answers three flipped (1 → 0, twice 0 → 1) and one was lost
    assert (found.n_items, found.n_changed, found.n_lost) == (9, 4, 1)
    assert found.changed.estimate == pytest.approx(4 / 9)
    assert found.shift.estimate == pytest.approx(1 / 8)
    assert found.verdict == "drifted"
    assert found.probability_shift is None


def test_probabilities_shift_where_no_label_does():
    rng = np.random.default_rng(0)
    before = rng.uniform(0.6, 0.8, 100)
    after = before + rng.normal(0.1, 0.02, 100)
    after[:5] = np.nan

    found = judge_drift(np.ones(100, int), np.ones(100, int), probabilities=(before, after))

    difference = (after - before)[5:]
    expected = scipy_stats.t.interval(0.95, 94, difference.mean(), scipy_stats.sem(difference))
    assert found.verdict == "same"
    interval = found.probability_shift
    assert (interval.low, interval.high) == pytest.approx(expected, abs=5e-4)


def test_a_cluster_is_one_unit():
    then = np.zeros(40, int)
    now = np.array([1] * 4 + [0] * 36)
    clusters = np.arange(40) // 4

    apart, together = judge_drift(then, now), judge_drift(then, now, clusters=clusters)

    assert apart.changed.estimate == together.changed.estimate == 0.1
    assert together.changed.high > apart.changed.high


def test_the_verdict_is_wrong_one_time_in_twenty_at_most():
    rng = np.random.default_rng(1)
    then = rng.integers(0, 2, 400)
    verdicts = []
    for _ in range(600):
        now = np.where(rng.random(400) < 0.05, 1 - then, then)
        verdicts.append(judge_drift(then, now).verdict)

    # at the tolerance itself either word is wrong, each in a fortieth
    allowance = 3 * (0.025 * 0.975 / 600) ** 0.5
    assert verdicts.count("same") / 600 < 0.025 + allowance
    assert verdicts.count("drifted") / 600 < 0.025 + allowance
    assert judge_drift(then, np.where(rng.random(400) < 0.01, 1 - then, then)).verdict == "same"


def test_without_two_items_nothing_is_known():
    with pytest.warns(DegenerateDataWarning, match="drift is undefined|interval of drift"):
        found = judge_drift([1, -1], [1, 0])

    assert found.verdict == "undecided"
    assert np.isnan(found.changed.low)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"then": [1, 0], "now": [1]}, r"one shape \(n_items,\), got \(2,\) and \(1,\)"),
        ({"then": ["a"], "now": [1]}, "`then` must hold integer codes"),
        ({"then": [1], "now": [2], "is_boolean": True}, "`now` must hold 0, 1 or -1"),
        ({"then": [1], "now": [1], "tolerance": 0}, "`tolerance`"),
        ({"then": [1], "now": [1], "confidence_level": 95}, "`confidence_level`"),
        ({"then": [1], "now": [1], "clusters": [1, 2]}, "`clusters`"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, message):
    with pytest.raises(InputError, match=message):
        judge_drift(**arguments)
