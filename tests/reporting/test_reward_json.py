"""The examination of a reward as JSON: every field under its name, undefined figures null."""

import dataclasses
import json
from pathlib import Path

import pytest

from examined_reward import examined_reward
from voirdire import stats, studies
from voirdire.errors import InputError
from voirdire.records import Dropped
from voirdire.reporting import from_json, to_json

JSON = Path(__file__).parent / "examined_reward.json"


@pytest.fixture(scope="module")
def reward_examination():
    """Give an examination with every part."""
    return examined_reward()


def _names(kind):
    fields = dataclasses.fields(kind)
    return [field.name for field in fields if field.metadata.get("key", field.name)]


def test_keys_are_the_names_of_the_fields(reward_examination):
    found = json.loads(to_json(reward_examination))

    assert list(found) == _names(studies.RewardExamination)
    assert found["schema"] == "voirdire.reward_examination/1"
    kinds = {
        "error_rates": studies.ErrorRate,
        "refusals": studies.RefusalErrors,
        "nonsense": studies.PaidNonsense,
        "drives": studies.FeatureDrive,
        "bench": studies.BenchSubset,
        "notes": stats.Caution,
        "dropped": Dropped,
    }
    for key, kind in kinds.items():
        assert found[key], key
        assert all(list(row) == _names(kind) for row in found[key])
    assert list(found["nonsense"][0]["examples"][0]) == _names(studies.NonsenseText)
    assert list(found["error_rates"][0]["rate"]) == _names(studies.RateEstimate)


def test_what_is_written_is_read_again_with_every_figure(reward_examination):
    written = to_json(reward_examination)

    for given in (written, written.encode(), json.loads(written)):
        found = from_json(given)
        assert to_json(found) == written
        assert repr(found.drives) == repr(reward_examination.drives)
        assert found.error_rates == reward_examination.error_rates


@pytest.fixture
def content():
    """Give an examination as JSON, free to change."""
    return json.loads(JSON.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": "voirdire.reward/1"}, r"\$.schema must be .* value 'voirdire.reward/1'"),
        ({"n_items": -1}, r"r.json: \$.n_items must be .*: Expected 'int' >= 0"),
        ({"older": 1}, r"\$ must be .*: Object contains unknown field 'older'"),
        ({"n_items": "7"}, r"\$.n_items must be .*: Expected 'int', got 'str'"),
        ({"drives": {}}, r"\$.drives must be .*: Expected 'array', got 'object'"),
        ({"dropped": [{"source": "a"}]}, r"\$.dropped\[0\] must be .* field 'reason'"),
    ],
)
def test_what_is_not_fit_is_named_with_its_place(content, change, message):
    with pytest.raises(InputError, match=message):
        from_json(content | change, source="r.json")


def test_a_value_within_a_record_is_named_with_its_place(content):
    content["drives"][3]["share"] = 1.5
    with pytest.raises(InputError, match=r"\$.drives\[3\].share must be .*: Expected .float. <= 1"):
        from_json(content)

    content["drives"][3]["share"] = "much"
    with pytest.raises(InputError, match=r"share must be .*: Expected 'float \| null', got 'str'"):
        from_json(content)

    del content["drives"][3]["feature"]
    content["drives"][3]["share"] = None
    with pytest.raises(InputError, match=r"\$.drives\[3\] must be .* required field .feature."):
        from_json(content)
