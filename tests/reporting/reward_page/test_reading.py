"""What is read: the JSON of an examination, and errors that name the place."""

import json
import math
from dataclasses import replace

import pytest

from voirdire.errors import InputError
from voirdire.reporting import reward_examination_to_json, reward_report
from voirdire.studies import (
    BenchSubset,
    ErrorRate,
    FeatureDrive,
    RateEstimate,
    RefusalErrors,
    RewardExamination,
    RewardNote,
)

RATE = RateEstimate(value=0.125, low=0.1, high=math.nan, n=80, n_prompts=20)
WHERE = {"behavior": "comply", "signal": "total"}


def whole_examination():
    """Fill every field of every record once."""
    return RewardExamination(
        reward={"name": "safety-reward"},
        n_items=5,
        n_prompts=4,
        n_comparisons=3,
        is_held_out=False,
        error_rates=(ErrorRate(**WHERE, against="all", rate=RATE, tie_share=0.5),),
        refusals=(RefusalErrors(**WHERE, kind="false_refusal", by="labels", rate=RATE),),
        drives=(
            FeatureDrive(
                behavior="comply", feature="apology", weight=1.0, low=0.5, high=1.5, mean=0.5,
                spread=0.25, share=1.0, error_rate_without=0.5, is_dead=False,
                is_contradictory=True, demand="core required", is_certified=True,
            ),
        ),
        bench=(BenchSubset(subset=None, signal="total", accuracy=RATE, tie_share=0.0),),
        notes=(RewardNote(code="x", sentence="A sentence.", figures={"n": 1}),),
        settings={"confidence_level": 0.9},
    )  # fmt: skip


def test_an_examination_its_json_and_its_bytes_are_read_alike():
    examination = replace(whole_examination(), drives=())
    text = reward_examination_to_json(examination)

    pages = {reward_report(each) for each in (examination, text, text.encode(), json.loads(text))}

    assert len(pages) == 1


def test_every_figure_of_the_result_arrives(page_text):
    text = page_text(json.loads(reward_examination_to_json(whole_examination())))

    for words in ("12.5%", "required, core", "A sentence.", "confidence_level 0.9",
                  "safety-reward", "apology"):  # fmt: skip
        assert words in text


def test_keys_of_newer_versions_are_left_aside(minimal):
    assert reward_report(minimal | {"tomorrow": 1}) == reward_report(minimal)


def test_a_value_that_is_not_fit_is_named_with_its_place(content):
    content["drives"][3]["share"] = 1.5

    with pytest.raises(
        InputError, match=r"r.json: \$.drives\[3\].share must be a number of at most 1"
    ):
        reward_report(content, source="r.json")


def test_objects_nested_too_deep_are_refused(minimal):
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}

    with pytest.raises(InputError, match="must be of sensible depth"):
        reward_report(minimal | {"settings": deep})


def test_other_objects_are_refused():
    with pytest.raises(InputError, match="`content` must be the JSON of an examination, got 3"):
        reward_report(3)
