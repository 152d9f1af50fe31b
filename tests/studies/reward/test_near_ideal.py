"""The best label against the next."""

import numpy as np
import pytest

from studies.reward import reward_oracle as oracle


@pytest.mark.ci
def test_figures_are_those_of_a_loop(examine_rows, random_rows, reward):
    rows = random_rows(3, n_prompts=150)
    values = oracle.signals(rows, reward)

    found = examine_rows(rows, n_resamples=400).near_ideal

    assert {(row.behavior, row.best, row.next) for row in found} == {
        (behavior, "ideal", "less_good") for behavior in ("refuse", "comply")
    }
    for row in found:
        pairs = [
            (high, low)
            for high, low in oracle.comparisons(rows)
            if (rows[high]["behavior"], rows[high]["label"], rows[low]["label"])
            == (row.behavior, "ideal", "less_good")
        ]
        gaps = [values[row.signal][high] - values[row.signal][low] for high, low in pairs]
        assert row.error_rate.n == row.mean_gap.n == len(pairs)
        assert row.error_rate.value == pytest.approx(
            np.mean(oracle.errors(pairs, values[row.signal]))
        )
        assert row.mean_gap.value == pytest.approx(np.mean(gaps))
        assert row.mean_gap.low <= row.mean_gap.value <= row.mean_gap.high


def test_where_no_next_label_occurs_the_one_after_it_counts(examine_rows):
    rows = [
        {"prompt": "a", "behavior": "refuse", "label": label, "p": [1.0, 0, 0, 0]}
        for label in ("ideal", "unacceptable", "illogical", "disallowed")
    ]

    found = examine_rows(rows).near_ideal

    assert [(row.best, row.next) for row in found] == [
        ("ideal", "unacceptable"),
        ("ideal", "illogical"),
    ]
    assert {row.error_rate.value for row in found} == {0.5}  # all the same: ties


def test_without_labels_there_is_none(examine_rows):
    rows = [{"prompt": "a", "behavior": "refuse", "p": [x, 0, 0, 0]} for x in (1.0, 0.5)]

    examined = examine_rows(rows, pairs=[(0, 1)])

    assert examined.near_ideal == ()
