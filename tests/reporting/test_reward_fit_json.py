"""A fit as JSON: every figure, and null where there is none."""

import dataclasses
import json

from rewards.fitting.fit_cases import labelled_case
from rewards.fitting.test_fit import fit
from voirdire.reporting import to_json
from voirdire.rewards import BehaviorFit


def refuse(word):
    raise AssertionError(word)


def test_every_attribute_of_a_fit_is_there():
    found = fit(labelled_case(1, base=True), n_resamples=50)

    content = json.loads(to_json(found), parse_constant=refuse)

    row = content["behaviors"][0]
    names = {field.name for field in dataclasses.fields(BehaviorFit)}
    assert names <= set(row)
    assert row["n_pairs"] == found.behaviors[0].n_pairs
    assert row["error_rate"] == dataclasses.asdict(found.behaviors[0].error_rate)
    assert row["mean"] == found.model.behaviors["answer"].mean
    assert list(row["weights"]) == list(found.model.behaviors["answer"].weights)
    assert content["notes"] == list(found.notes)
    assert content["reward"]["content_hash"] == found.model.content_hash


def test_what_is_undefined_is_null():
    found = fit(labelled_case(1))

    row = json.loads(to_json(found))["behaviors"][0]

    assert row["error_rate"]["low"] is None
    assert row["error_rate_base"] == {"value": None, "low": None, "high": None}


def test_hashes_of_prompts_stay_in_the_file_of_the_reward():
    found = fit(labelled_case(1))

    content = json.loads(to_json(found))

    assert "prompt_hashes" in found.model.settings
    assert "prompt_hashes" not in content["settings"]


def test_drops_are_listed_with_their_place():
    case = labelled_case(1)
    case.rows[0]["label"] = "idael"

    content = json.loads(to_json(fit(case)))

    assert [(row["item"], row["value"]) for row in content["dropped"]] == [("i0", "idael")]
