"""Error rates against loops over all pairs of completions, and by hand."""

import numpy as np
import pytest

from studies.reward import reward_oracle as oracle

IDEAL, RUDE, HELPS = [1.0, 0, 0, 0], [1.0, 1, 0, 0], [0.0, 0, 1, 0]


def _rows(*labelled, prompt="a", behavior="refuse"):
    return [
        {"prompt": prompt, "behavior": behavior, "label": label, "p": p, "base": base}
        for label, p, base in labelled
    ]


def _found(examined):
    return {(row.behavior, row.signal, row.against): row for row in examined.error_rates}


@pytest.mark.edges
@pytest.mark.parametrize("seed", range(5))
def test_rates_are_those_of_loops(examine_rows, random_rows, reward, seed):
    rows = random_rows(seed)
    values = oracle.signals(rows, reward)
    pairs = oracle.comparisons(rows)

    found = _found(examine_rows(rows))

    for (behavior, signal, against), row in found.items():
        own = pairs if against == "all" else oracle.of_best(rows, pairs)
        own = [pair for pair in own if behavior in (None, rows[pair[0]]["behavior"])]
        expected = oracle.errors(own, values[signal])
        assert row.rate.n == len(expected)
        assert row.rate.value == pytest.approx(np.mean(expected))
        assert row.tie_share == pytest.approx(np.mean([x == 0.5 for x in expected]))
        assert row.rate.n_prompts == len({rows[high]["prompt"] for high, _ in own})


def test_every_signal_stands_beside_the_others(examine_rows):
    rows = _rows(("ideal", IDEAL, 0.0), ("unacceptable", RUDE, 5.0))

    found = _found(examine_rows(rows))

    assert list(dict.fromkeys(signal for _, signal, _ in found)) == ["base", "total", "rules"]
    assert found["refuse", "base", "all"].rate.value == 1.0
    assert found["refuse", "rules", "all"].rate.value == 0.0
    # ideal: apology 2, extra flipped in no orientation, class 1 = 3; rude: 2 - 1 = 1, and 5 more
    assert found["refuse", "total", "all"].rate.value == 1.0


def test_without_a_base_reward_there_is_one_signal(examine_rows, random_rows):
    found = _found(examine_rows(random_rows(0, with_base=False)))

    assert {signal for _, signal, _ in found} == {"total"}


def test_all_behaviors_come_first(examine_rows, random_rows):
    rates = examine_rows(random_rows(1)).error_rates

    names = [row.behavior for row in rates]
    assert names == [None] * 6 + ["refuse"] * 6 + ["comply"] * 6


def test_a_behavior_whose_every_prompt_is_right_has_an_upper_end_above_zero(examine_rows):
    rows = [
        row
        for k in range(10)
        for row in _rows(("ideal", IDEAL, None), ("disallowed", HELPS, None), prompt=k)
    ]

    rate = _found(examine_rows(rows, n_resamples=50))["refuse", "total", "all"].rate

    assert rate.value == rate.low == 0.0
    assert rate.high == pytest.approx(1 - 0.025**0.1)


def test_declared_pairs_count_without_labels(examine_rows):
    rows = _rows((None, IDEAL, None), (None, RUDE, None), (None, HELPS, None))

    found = _found(examine_rows(rows, pairs=[(0, 1), (2, 1)]))

    # helps is declared to be better than rude, and is rewarded less: -3 against 1
    assert found["refuse", "total", "all"].rate.value == 0.5
    assert found["refuse", "total", "best"].rate.n == 2  # neither is worse than anything


def test_missing_verdicts_and_base_rewards_take_their_pairs_away(examine_rows):
    rows = _rows(("ideal", IDEAL, 1.0), ("unacceptable", RUDE, None), ("disallowed", HELPS, 0.0))
    rows.append({**rows[2], "p": [1.0, np.nan, 0, 0]})

    examined = examine_rows(rows)

    assert _found(examined)["refuse", "total", "all"].rate.n == 1
    reasons = {drop.item: drop.reason for drop in examined.dropped}
    assert reasons == {
        "i1": "no base reward, where others have one",
        "i3": "no verdict",
    }


def test_sums_in_another_order_tie(examine_rows):
    one, other = 0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1
    rows = _rows(("ideal", IDEAL, one), ("unacceptable", RUDE, other))

    row = _found(examine_rows(rows))["refuse", "base", "all"]

    assert one != other
    assert (row.rate.value, row.tie_share) == (0.5, 1.0)
