import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voirdire.errors import InputError
from voirdire.stats import Calibrator, calibrator_from_dict

CALIBRATORS = [
    Calibrator(method="platt", slope=0.7, intercept=-1.25),
    Calibrator(method="platt", slope=0.0, intercept=0.5),
    Calibrator(method="temperature", slope=1 / 2.5, intercept=0.0),
]
each = pytest.mark.parametrize("calibrator", CALIBRATORS, ids=repr)


@each
def test_it_reads_back_from_json(calibrator):
    text = json.dumps(calibrator.to_dict(), allow_nan=False)

    assert calibrator_from_dict(json.loads(text)) == calibrator


@pytest.mark.edges
@each
@given(probabilities=st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_the_order_of_items_stays(calibrator, probabilities):
    calibrated = calibrator.apply(sorted(probabilities))

    assert (np.diff(calibrated) >= 0).all()
    assert ((calibrated >= 0) & (calibrated <= 1)).all()


@pytest.mark.edges
@each
@given(probabilities=st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_one_probability_becomes_what_an_array_makes_of_it(calibrator, probabilities):
    alone = [calibrator.apply_one(probability) for probability in probabilities]

    np.testing.assert_allclose(alone, calibrator.apply(probabilities), rtol=1e-12, atol=1e-15)


def test_a_platt_calibrator_moves_the_log_odds():
    # 3/4 has odds of 3; to the power of 2 that is 9, and times e^0 it stays
    steeper = Calibrator(method="platt", slope=2.0, intercept=0.0)
    assert steeper.apply([0.75])[0] == pytest.approx(9 / 10)
    doubled = Calibrator(method="platt", slope=1.0, intercept=math.log(2))
    assert doubled.apply([0.5])[0] == pytest.approx(2 / 3)


def test_a_temperature_leaves_a_half_where_it_is():
    calibrated = Calibrator(method="temperature", slope=0.5, intercept=0.0).apply([0.5, 0.9])

    np.testing.assert_allclose(calibrated, [0.5, 3 / 4])  # the odds of 9 become 3


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"method": "magic"},
        {"method": "platt", "slope": 1.0},
        {"method": "platt", "slope": -1.0, "intercept": 0.0},
        {"method": "platt", "slope": "1", "intercept": 0.0},
        {"method": "platt", "slope": math.nan, "intercept": 0.0},
        {"method": "platt", "slope": 1.0, "intercept": 0.0, "more": 1},
        {"method": "platt", "slope": 10**400, "intercept": 0.0},
        {"method": "temperature", "temperature": 2.0},
        ["platt", 1.0, 0.0],
    ],
    ids=repr,
)
def test_anything_else_is_refused(content):
    with pytest.raises(InputError, match="`content` must be what a calibrator's `to_dict` gives"):
        calibrator_from_dict(content)


@pytest.mark.parametrize("wrong", [[1.5], [-0.1], [math.nan], [[0.5]], ["high"]], ids=repr)
@each
def test_only_probabilities_are_calibrated(calibrator, wrong):
    with pytest.raises(InputError, match="`probabilities` must"):
        calibrator.apply(wrong)
