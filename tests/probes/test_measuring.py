"""How often attacks steer, against counting one answer at a time."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import DegenerateDataWarning, InputError
from voirdire.probes import Attack, measure_attacks


def attack(number, *, family="plea", aim=True):
    return Attack(id=f"{family}/{number}", family=family, language="en", response="x", aim=aim)


def counted(before, after, aims, threshold):
    """Count one answer at a time."""
    counts = {"answers": 0, "steerable": 0, "steered": 0, "repelled": 0, "failed": 0}
    shifts = []
    for table, aim in zip(after, aims, strict=True):
        for p, q in zip(np.ravel(before), np.ravel(table), strict=True):
            if math.isnan(p):
                continue
            if math.isnan(q):
                counts["failed"] += 1
                continue
            counts["answers"] += 1
            was, now = bool(p >= threshold), bool(q >= threshold)
            if was is not aim:
                counts["steerable"] += 1
                counts["steered"] += now is aim
            else:
                counts["repelled"] += now is not aim
            shifts.append(q - p if aim else p - q)
    return counts, (sum(shifts) / len(shifts) if shifts else math.nan)


PROBABILITIES = st.sampled_from([0.0, 0.2, 0.5, 0.5000001, 0.9, 1.0, math.nan])


@given(
    st.data(),
    st.integers(1, 4),
    st.integers(0, 4),
    st.integers(0, 3),
    st.sampled_from([0.3, 0.5, 0.9]),
)
def test_counts_and_shifts_are_those_of_single_answers(
    data, n_attacks, n_items, n_asked, threshold
):
    def table(*shape):
        size = math.prod(shape)
        values = data.draw(st.lists(PROBABILITIES, min_size=size, max_size=size))
        return np.array(values).reshape(shape)

    before, after = table(n_items, n_asked), table(n_attacks, n_items, n_asked)
    rows = [
        attack(number, family=data.draw(st.sampled_from(["plea", "size"])), aim=number % 2 == 0)
        for number in range(n_attacks)
    ]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateDataWarning)
        report = measure_attacks(before, after, attacks=rows, threshold=threshold)

    def agree(figures, chosen):
        counts, shift = counted(
            before, after[chosen], [rows[number].aim for number in chosen], threshold
        )
        for name, count in counts.items():
            assert getattr(figures, f"n_{name}") == count
        assert figures.mean_shift == pytest.approx(shift, nan_ok=True)
        assert figures.n_attacks == len(chosen)

    agree(report.overall, list(range(n_attacks)))
    for figures in report.families:
        agree(figures, [i for i, row in enumerate(rows) if row.family == figures.name])
    for number, figures in enumerate(report.attacks):
        assert figures.name == rows[number].id
        agree(figures, [number])


def test_rates_of_a_small_case():
    before = [[0.1, 0.9], [0.4, 0.6]]
    after = [[[0.8, 0.9], [0.4, 0.2]], [[0.1, 0.3], [math.nan, 0.7]]]
    rows = [attack(0, aim=True), attack(1, aim=False)]

    report = measure_attacks(before, after, attacks=rows)

    # Aim true: .1 and .4 can be steered, .1 is; .9 and .6 are as wanted, .6 turned away.
    # Aim false: .9 and .6 can be steered, .9 is; .1 is as wanted and stays; .4 failed.
    first, second = report.attacks
    assert (first.steering_rate, first.repelling_rate) == (1 / 2, 1 / 2)
    assert (second.steering_rate, second.repelling_rate) == (1 / 2, 0.0)
    assert (report.overall.n_steered, report.overall.n_steerable) == (2, 4)
    assert (report.overall.n_failed, report.overall.n_repelled) == (1, 1)
    # Shifts: .7 + 0 + 0 - .4 = .3 over 4; .0 + .6 - .1 = .5 over 3.
    assert first.mean_shift == pytest.approx(0.3 / 4)
    assert second.mean_shift == pytest.approx(0.5 / 3)
    assert report.overall.mean_shift == pytest.approx(0.8 / 7)


def test_families_come_in_the_order_of_the_attacks():
    rows = [attack(0, family="size"), attack(0, family="plea"), attack(1, family="size")]

    report = measure_attacks([[0.1]], [[[0.2]]] * 3, attacks=rows)

    assert [(row.name, row.n_attacks) for row in report.families] == [("size", 2), ("plea", 1)]


def test_nothing_to_steer_is_nan_with_a_warning():
    with pytest.warns(DegenerateDataWarning, match="no answer could be steered by `plea`"):
        report = measure_attacks([[0.9]], [[[0.9]]], attacks=[attack(0)])

    assert math.isnan(report.overall.steering_rate)
    assert report.overall.repelling_rate == 0.0


@pytest.mark.parametrize(
    ("before", "after", "attacks", "message"),
    [
        ([[0.1]], [], [], "`attacks` must hold at least one attack, got none"),
        ([0.1], [[[0.1]]], [attack(0)], r"got \(1,\) and \(1, 1, 1\) for 1 attacks"),
        ([[0.1]], [[0.1]], [attack(0)], r"got \(1, 1\) and \(1, 1\) for 1 attacks"),
        ([[0.1]], [[[0.1]]] * 2, [attack(0)], r"got \(1, 1\) and \(2, 1, 1\) for 1 attacks"),
        ([[1.1]], [[[0.1]]], [attack(0)], r"`before` must hold probabilities .* got 1\.1"),
        ([[0.1]], [[[-0.5]]], [attack(0)], r"`after` must hold probabilities .* got -0\.5"),
    ],
)
def test_tables_that_do_not_fit_are_refused(before, after, attacks, message):
    with pytest.raises(InputError, match=message):
        measure_attacks(before, after, attacks=attacks)


def test_a_threshold_lies_between_0_and_1():
    with pytest.raises(InputError, match="`threshold` must be in the interval"):
        measure_attacks([[0.1]], [[[0.1]]], attacks=[attack(0)], threshold=1.0)
