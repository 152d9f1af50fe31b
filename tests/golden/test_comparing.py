"""What the comparison with a golden lets pass, and what it reports."""

import json

import pytest

from golden.comparing import differences
from golden.figures import figures_of, golden_text, unpacked
from golden.runs import Run

EXACT = Run("exact", words="")
SEEDED = Run("seeded", words="", n_draws=400)


def test_a_difference_is_reported_by_key_with_both_values():
    told = differences({"rho": 0.5, "n": 3}, {"rho": 0.5 + 1e-8, "n": 3}, run=EXACT)

    assert told == ["rho: 0.5 in the golden, 0.50000001 now"]


def test_rounding_is_no_difference():
    assert differences({"rho": 0.5}, {"rho": 0.5 + 1e-11}, run=EXACT) == []


@pytest.mark.parametrize(("fits", "n_told"), [(True, 0), (False, 1)])
def test_a_fit_may_be_off_by_a_millionth(fits, n_told):
    run = Run("fit", words="", fits=fits)

    assert len(differences({"weight": 2.0}, {"weight": 2.000001}, run=run)) == n_told


def test_what_is_lost_and_what_is_new_are_differences():
    told = differences({"old": 1}, {"new": 2}, run=EXACT)

    assert told == ["old: 1 in the golden, 'nothing' now", "new: 'nothing' in the golden, 2 now"]


def test_true_is_not_one():
    assert differences({"passed": True}, {"passed": 1}, run=EXACT) != []


# five standard errors of a difference: 5 * sqrt(2 * .25 / 400) = .177
@pytest.mark.parametrize(("now", "n_told"), [(0.67, 0), (0.69, 1)])
def test_a_share_of_draws_may_be_off_by_its_error(now, n_told):
    told = differences({"row": {"stability": 0.5}}, {"row": {"stability": now}}, run=SEEDED)

    assert len(told) == n_told


# 8 * .2 / sqrt(400) = .08
@pytest.mark.parametrize(("now", "n_told"), [(0.47, 0), (0.49, 1)])
def test_the_end_of_an_interval_may_be_off_by_its_error(now, n_told):
    before = {"low": 0.4, "high": 0.6}

    assert len(differences(before, before | {"low": now}, run=SEEDED)) == n_told


def test_rows_are_named_by_what_they_are_of():
    rows = [{"judge": "a", "epsilon": 0.1, "rho": 0.5}, {"judge": "a", "epsilon": 0.2, "rho": 0.6}]

    found = figures_of({"examinations": rows, "sentence": "Not kept.", "seconds": 3})

    assert list(found) == ["examinations"]
    assert found["examinations"]["a|0.2"]["rho"] == 0.6
    assert unpacked(json.loads(golden_text(found))) == found
