"""Settings of a fit: refused before anything is done."""

import json

import numpy as np
import pytest

from voirdire.errors import InputError
from voirdire.rewards import FitSettings


@pytest.mark.edges
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"orientation": "upright"}, "`orientation` must be one of 'plain'"),
        ({"l2": -0.1}, r"`l2` must be a finite number of at least 0, got -0.1"),
        ({"l2": float("nan")}, "`l2` must be a finite number"),
        ({"l2": float("inf")}, "`l2` must be a finite number"),
        ({"l2": True}, "`l2` must be a finite number"),
        ({"l2": "much"}, "`l2` must be a finite number of at least 0, got 'much'"),
        ({"margin": 0}, "`margin` must be a finite number above 0, got 0"),
        ({"margin": float("inf")}, "`margin` must be a finite number above 0"),
        (
            {"margins": {"ideal": -1}},
            "`margins` must be a finite number above 0, got -1 for 'ideal'",
        ),
        ({"margins": [1]}, "`margins` must be a mapping by name"),
        ({"orders": "a > b"}, "`orders` must be a mapping by name"),
        (
            {"signs": {"apology": "up"}},
            "`signs` must be one of 'positive', .*, got 'up' for 'apology'",
        ),
        (
            {"signs": "positive"},
            "`signs` must be one of 'rubric', got 'positive'",
        ),
        ({"signs": ["apology"]}, "`signs` must be a mapping by name"),
        (
            {"fixed": {"apology": float("inf")}},
            "`fixed` must be a finite number, got inf for 'apology'",
        ),
        ({"fixed": {"apology": "2"}}, "`fixed` must be a finite number, got '2' for 'apology'"),
        ({"ignored": "apology"}, "`ignored` must be a list of names, got 'apology'"),
        ({"ignored": [1]}, "`ignored` must be a list of names"),
        ({"n_folds": 1}, "`n_folds` must be a whole number of at least 2, got 1"),
        ({"n_resamples": 49}, "`n_resamples` must be 0 or at least 50, got 49"),
        ({"n_resamples": -1}, "`n_resamples` must be a whole number of at least 0"),
        ({"confidence_level": 95}, "`confidence_level` must be in the interval"),
        ({"seed": -1}, "`seed` must be a whole number of at least 0"),
    ],
)
def test_a_setting_that_breaks_its_rule_is_refused(given, words):
    with pytest.raises(InputError, match=words):
        FitSettings(**given)


def test_a_feature_is_held_to_one_thing_only():
    with pytest.raises(InputError, match="`ignored` must not name 'apology', which `signs` names"):
        FitSettings(signs={"apology": "positive"}, ignored=["apology"])


def test_numbers_of_numpy_are_numbers():
    settings = FitSettings(l2=np.float64(0.5), margin=np.float64(2), seed=np.int64(3))

    assert settings.as_dict()["l2"] == 0.5
    assert settings.as_dict()["margin"] == 2.0


def test_settings_are_plain_json_in_an_order_of_their_own():
    one = FitSettings(fixed={"b": 1, "a": np.float64(2)}, ignored=("d", "c"))
    other = FitSettings(fixed={"a": 2, "b": 1.0}, ignored=["c", "d"])

    assert json.dumps(one.as_dict()) == json.dumps(other.as_dict())
    assert one.as_dict()["fixed"] == {"a": 2.0, "b": 1.0}
