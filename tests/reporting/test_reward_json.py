"""The examination of a reward as JSON: every field under its name, undefined figures null."""

import dataclasses
import json
import math

import pytest

from examined_reward import examined_reward
from voirdire import studies
from voirdire.records import Dropped
from voirdire.reporting import (
    reward_examination_as_dict,
    reward_examination_to_json,
)


@pytest.fixture(scope="module")
def reward_examination():
    """Give an examination with every part."""
    return examined_reward()


def _names(kind):
    return [field.name for field in dataclasses.fields(kind)]


def test_keys_are_the_names_of_the_fields(reward_examination):
    found = json.loads(reward_examination_to_json(reward_examination))

    assert list(found) == _names(studies.RewardExamination)
    assert found["schema"] == "voirdire.reward_examination/1"
    kinds = {
        "error_rates": studies.ErrorRate,
        "histograms": studies.LabelHistogram,
        "near_ideal": studies.NearIdeal,
        "misranked": studies.MisrankedPair,
        "refusals": studies.RefusalErrors,
        "degenerate": studies.DegenerateCheck,
        "drives": studies.FeatureDrive,
        "scales": studies.BehaviorScale,
        "bench": studies.BenchSubset,
        "notes": studies.RewardNote,
        "dropped": Dropped,
    }
    for key, kind in kinds.items():
        assert found[key], key
        assert all(list(row) == _names(kind) for row in found[key])
    assert list(found["degenerate"][0]["examples"][0]) == _names(studies.DegenerateExample)
    assert list(found["policy"]) == _names(studies.PolicyCheck)
    assert list(found["error_rates"][0]["rate"]) == _names(studies.RateEstimate)


def test_what_is_undefined_is_null_and_figures_are_exact(reward_examination):
    def refuse(word):
        raise AssertionError(word)

    written = reward_examination_to_json(reward_examination)
    found = json.loads(written, parse_constant=refuse)

    assert math.isnan(reward_examination.policy.base_spread)
    assert found["policy"]["base_spread"] is None
    assert found["error_rates"][0]["rate"]["value"] == reward_examination.error_rates[0].rate.value


def test_as_a_dict_nan_stays_nan(reward_examination):
    found = reward_examination_as_dict(reward_examination)

    assert math.isnan(found["policy"]["base_spread"])
