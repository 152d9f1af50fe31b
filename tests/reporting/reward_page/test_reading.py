"""What is read: the JSON of an examination, and errors that name the place."""

import json
import math

import pytest

from voirdire.errors import InputError
from voirdire.reporting.reward_json import reward_examination_to_json
from voirdire.reporting.reward_page.reading import MOST_BYTES, read_reward_report
from voirdire.studies.reward.result import (
    BehaviorScale,
    BenchSubset,
    ErrorRate,
    FeatureDrive,
    LabelHistogram,
    NearIdeal,
    PolicyCheck,
    RateEstimate,
    RefusalErrors,
    RewardExamination,
    RewardNote,
    RouterCheck,
)

RATE = RateEstimate(value=0.125, low=0.1, high=math.nan, n=80, n_prompts=20)
WHERE = {"behavior": "comply", "signal": "total"}


def whole_examination():
    """Fill every field of every record once."""
    numbers = dict.fromkeys(
        ("mean", "standard_deviation", "lowest", "highest", "mean_ideal", "mean_worst"), 1.5
    )
    policy = dict.fromkeys(
        ("group_size", "base_spread", "rule_spread", "cost", "seconds", "step_calls"), 2.0
    ) | dict.fromkeys(("n_items", "n_groups", "n_without_variance", "n_missing"), 3)
    return RewardExamination(
        reward={"name": "safety-reward"},
        n_items=5,
        n_prompts=4,
        n_comparisons=3,
        is_held_out=False,
        error_rates=(ErrorRate(**WHERE, against="all", rate=RATE, tie_share=0.5),),
        histograms=(
            LabelHistogram(
                **WHERE, label="ideal", edges=(0.0, 1.0), counts=(2,), mean=0.5,
                standard_deviation=math.nan,
            ),
        ),
        near_ideal=(NearIdeal(**WHERE, best="ideal", next="less_good", error_rate=RATE,
                              mean_gap=RATE),),
        refusals=(RefusalErrors(**WHERE, kind="false_refusal", rate=RATE),),
        drives=(
            FeatureDrive(
                behavior="comply", feature="apology", weight=1.0, low=0.5, high=1.5, mean=0.5,
                spread=0.25, share=1.0, error_rate_without=0.5, is_dead=False,
                is_contradictory=True, demand="core required", is_certified=True,
            ),
        ),
        scales=(
            BehaviorScale(behavior="comply", n_items=5, n_prompts=4, base_standard_deviation=1.0,
                          **numbers),
        ),
        router=RouterCheck(
            behaviors=("comply",), confusion=((4,),), n_unrouted=1, error_rate_right=RATE,
            error_rate_routed=RATE, cost=((math.nan,),),
        ),
        policy=PolicyCheck(
            **policy, spread_ratio=1.0, class_shares={"comply.ideal": 1.0}, n_calls=3, n_tokens=9,
            step_size=512, step_cost=math.nan, step_seconds=1.0,
            behaviors={"comply": {"mean": 1.0, "n_items": 3}},
        ),
        bench=(BenchSubset(subset=None, signal="total", accuracy=RATE, tie_share=0.0),),
        notes=(RewardNote(code="x", sentence="A sentence.", figures={"n": 1}),),
        settings={"confidence_level": 0.9},
    )  # fmt: skip


def test_an_examination_its_json_and_its_bytes_are_read_alike():
    examination = whole_examination()
    text = reward_examination_to_json(examination)

    found = read_reward_report(examination)

    assert found == read_reward_report(text) == read_reward_report(text.encode())
    assert found == read_reward_report(json.loads(text))


def test_every_figure_of_the_result_arrives():
    found = read_reward_report(whole_examination())

    assert found.error_rates[0].rate.value == 0.125
    assert found.error_rates[0].rate.high is None
    assert found.histograms[0].edges == [0.0, 1.0]
    assert found.drives[0].demand == "core required"
    assert found.router.cost == [[None]]
    assert found.policy.step_size == 512
    assert found.settings == {"confidence_level": 0.9}


def test_no_field_of_a_result_is_unknown_to_the_page():
    """A key that the page does not know would be left aside without a word."""
    plain = json.loads(reward_examination_to_json(whole_examination()))
    found = read_reward_report(plain)

    for name, rows in plain.items():
        [first] = [getattr(found, name)[0] if isinstance(rows, list) and rows else
                   getattr(found, name)]  # fmt: skip
        row = rows[0] if isinstance(rows, list) and rows else rows
        if isinstance(row, dict) and hasattr(first, "__struct_fields__"):
            assert set(row) == set(first.__struct_fields__), name


def test_keys_of_newer_versions_are_left_aside(content, read):
    assert read(content | {"tomorrow": 1}) == read(content)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": None}, "with the schema 'voirdire.reward_examination/1', got no `schema`"),
        ({"schema": "voirdire.reward/1"}, "got schema 'voirdire.reward/1'"),
        ({"n_items": -1}, r"r.json: \$.n_items must be a whole number >= 0, got -1"),
        ({"n_items": "7"}, r"\$.n_items must be a whole number, got '7'"),
        ({"is_held_out": 1}, r"\$.is_held_out must be true or false, got 1"),
        ({"drives": {}}, r"\$.drives must be an array, got an object of 0"),
        ({"router": 3}, r"\$.router must be an object or null, got 3"),
    ],
)
def test_what_is_not_fit_is_named_with_its_place(content, read, change, message):
    with pytest.raises(InputError, match=message):
        read(content | change, source="r.json")


def test_a_value_within_a_record_is_named_with_its_place(content, read):
    content["drives"][3]["share"] = 1.5
    with pytest.raises(InputError, match=r"\$.drives\[3\].share must be a number <= 1, got 1.5"):
        read(content)

    del content["drives"][3]["feature"]
    content["drives"][3]["share"] = 0.5
    with pytest.raises(InputError, match=r"\$.drives\[3\] must have the key `feature`, got none"):
        read(content)


def test_a_word_that_is_none_of_ours_is_refused(content, read):
    content["error_rates"][2]["signal"] = "bonus"

    with pytest.raises(InputError, match=r"\$.error_rates\[2\].signal must be one of the words"):
        read(content)


def test_a_histogram_has_one_edge_more_than_counts_and_they_rise(content, read):
    for edges in ([0.0, 1.0], [1.0, 0.0, *range(2, 25)]):
        content["histograms"][1]["edges"] = edges
        with pytest.raises(InputError, match=r"\$.histograms\[1\].edges must rise, one more than"):
            read(content)


def test_the_tables_of_the_router_are_square(content, read):
    content["router"]["cost"].pop()

    with pytest.raises(InputError, match=r"\$.router.cost must be a table of 3 x 3, got 2 rows"):
        read(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "r.json:1:2: must be JSON, got the end"),
        (b"\xff", "r.json: must be JSON in UTF-8, got byte 0xff"),
        ("[1]", "must be what `voirdire examine-reward --json` prints, got an array of 1"),
        ("null", "got null"),
        ("[" * 100_000, "r.json: must be JSON of sensible depth"),
        (b" " * (MOST_BYTES + 1), "must be JSON of at most 64 MiB, got 64 MiB"),
    ],
    ids=["broken", "bytes", "array", "null", "deep", "long"],
)
def test_what_is_no_json_of_an_examination_is_refused(read, text, message):
    with pytest.raises(InputError, match=message):
        read(text, source="r.json")


def test_other_objects_are_refused(read):
    with pytest.raises(InputError, match="`content` must be the examination of a reward or its"):
        read(3)
