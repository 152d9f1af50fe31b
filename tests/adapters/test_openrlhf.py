"""What OpenRLHF posts and takes back, and the function of a file, without OpenRLHF."""

import dataclasses
import json
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from adapters.patient import patient_judge, patient_settings
from voirdire.adapters.openrlhf import (
    OpenRlhfReward,
    openrlhf_response,
    read_openrlhf_request,
)
from voirdire.errors import InputError, UncertifiedWarning
from voirdire.rewards import MissingRewards, reward_of_weights
from voirdire.testing import golden_judge, golden_reward, golden_rows

NO_PROBABILITY = -1.0
COLUMNS = [
    "missing",
    "rule_reward",
    "base_reward",
    "proposition/sorry",
    "proposition/rude",
    "proposition/names_it",
]


@pytest.fixture
def golden_func():
    made = OpenRlhfReward(golden_reward(), judge=patient_judge(), settings=patient_settings())
    yield made
    made.close()


@pytest.fixture
def based_func():
    made = OpenRlhfReward(golden_reward(), judge=patient_judge(), base_column="base_reward")
    yield made
    made.close()


@pytest.fixture
def reward_file(tmp_path):
    path = tmp_path / "reward.json"
    reward = reward_of_weights({"hard_refuse": {"apology": 1, "judgement": -2}}, rubric="safety")
    reward.save(path)
    return path


def is_finite(value):
    return isinstance(value, float) and math.isfinite(value)


# -- what is posted ---------------------------------------------------------------------------


def test_a_request_is_turns():
    turns = read_openrlhf_request(
        {"query": ["p one</s>", "q two"], "prompts": ["p", "q"], "labels": ["refuse", ""]}
    )

    assert [turn.response for turn in turns] == [" one", " two"]
    assert [turn.prompt for turn in turns] == ["p", "q"]
    assert [turn.group for turn in turns] == ["p", "q"]
    assert [turn.behavior for turn in turns] == ["refuse", None]
    assert [turn.base_reward for turn in turns] == [None, None]


@pytest.mark.parametrize("form", [json.dumps, lambda label: label], ids=["text", "object"])
def test_a_label_may_say_more_than_the_behavior(form):
    messages = [{"role": "user", "content": "how do I make tea?"}]
    label = {"behavior": "comply", "base_reward": -0.5, "prompt": messages}

    (turn,) = read_openrlhf_request({"query": ["p x"], "prompts": ["p"], "labels": [form(label)]})

    assert (turn.behavior, turn.base_reward, turn.prompt) == ("comply", -0.5, messages)
    assert turn.group == "p"


def test_what_a_label_leaves_empty_is_as_if_it_were_not_there():
    # a data set of labels with different keys fills up what some of them lack
    label = {"behavior": None, "prompt": None}

    (turn,) = read_openrlhf_request({"query": ["p x"], "prompts": ["p"], "labels": [label]})

    assert (turn.behavior, turn.base_reward, turn.prompt) == (None, None, "p")


@pytest.mark.parametrize("form", [json.dumps, lambda label: label], ids=["text", "object"])
def test_a_base_reward_that_is_lacking_never_leaves_the_rules_alone_to_pay(based_func, form):
    label = form({"behavior": "refuse", "base_reward": None})

    given = based_func(["pI'm sorry."], ["p"], [label])

    # the mean of the golden behavior; the rules alone would pay 5
    assert (given["rewards"], given["extra_logs"]["missing"]) == ([1.0], [1.0])


def test_a_behavior_that_is_no_text_is_a_missing_reward_and_no_exception(golden_func):
    label = {"behavior": np.array(["refuse", "chat"])}

    given = golden_func(["pI'm sorry."], ["p"], [label])

    assert (given["rewards"], given["extra_logs"]["missing"]) == ([0.75], [1.0])


@pytest.mark.parametrize("label", ["{", "{behavior: refuse}", '["refuse"]', "{" * 100_000])
def test_a_label_that_is_no_object_is_the_name_of_a_behavior(label):
    (turn,) = read_openrlhf_request({"query": ["p x"], "prompts": ["p"], "labels": [label]})

    assert turn.behavior == label


def test_labels_may_be_left_out():
    (turn,) = read_openrlhf_request({"query": ["p x"], "prompts": ["p"]})

    assert turn.behavior is None


def test_where_the_prompt_is_not_found_there_is_no_response():
    (turn,) = read_openrlhf_request({"query": ["sorry"], "prompts": ["p"], "labels": ["refuse"]})

    assert turn.response is None


def test_end_tokens_may_be_added():
    asked = {"query": ["p x[STOP]"], "prompts": ["p"]}

    assert read_openrlhf_request(asked, end_tokens=["[STOP]"])[0].response == " x"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ([], "must be lists, one entry a response: Expected `object`, got `array`"),
        ({}, "Object missing required field `query`"),
        ({"query": "x", "prompts": ["x"]}, r"Expected `array`, got `str` - at `\$.query`"),
        ({"query": ["x"]}, "Object missing required field `prompts`"),
        (
            {"query": ["x", 5], "prompts": ["x", "y"]},
            r"Expected `str`, got `int` - at `\$.query\[1\]`",
        ),
        ({"query": ["x"], "prompts": []}, "must be lists of one length, got 1 queries and 0"),
        ({"query": ["x"], "prompts": ["x"], "labels": []}, "must be lists of one length"),
        ({"query": ["x"], "prompts": ["x"], "labels": "refuse"}, r"got `str` - at `\$.labels`"),
    ],
)
def test_a_document_of_another_form_is_refused(document, words):
    with pytest.raises(InputError, match=words):
        read_openrlhf_request(document)


# -- what is given back -----------------------------------------------------------------------


def unit_score(reward):
    """Work it out by hand: the golden means are 1 and 1/2, their deviations 2."""
    z = (reward - 0.75) / 2
    return pytest.approx(0.5 + z / (2 * (1 + abs(z))))


def test_scores_lie_in_0_to_1_in_the_order_of_the_rewards_however_large_they_are():
    given = [-1e16, -9.0, 0.75, 0.76, 5.0, 1e6, 1e16]
    missing = MissingRewards(golden_reward())
    unknown = MissingRewards(
        dataclasses.replace(
            golden_reward(),
            behaviors={
                name: dataclasses.replace(row, mean=float("nan"), standard_deviation=float("nan"))
                for name, row in golden_reward().behaviors.items()
            },
        ),
        declared=0.0,
    )

    scores = [missing.unit_score(reward) for reward in given]

    assert scores == sorted(scores)
    assert scores[2:5] == [0.5, unit_score(0.76), unit_score(5.0)]
    # OpenRLHF keeps groups whose mean is above 1e-6 and below 1 - 1e-6.
    assert 1e-6 < scores[1] < scores[4] < 1 - 1e-6
    assert (scores[0], scores[-1]) == pytest.approx((0.0, 1.0))
    assert 0 <= scores[0] <= scores[-1] <= 1
    # Without a mean and a deviation 0 and 1 stand for them: 1/2 + 3 / 8.
    assert (unknown.unit_score(0.0), unknown.unit_score(3.0)) == (0.5, 0.875)


def test_a_response_has_the_golden_numbers(golden_func):
    rows = [row for row in golden_rows() if row.batch == "plain"]
    live = golden_func.scored([row.turn for row in rows])

    given = openrlhf_response(live, MissingRewards(golden_reward()))

    assert given["rewards"] == pytest.approx([row.number for row in rows])
    assert given["scores"] == [unit_score(reward) for reward in given["rewards"]]
    assert list(given["extra_logs"]) == COLUMNS
    assert given["extra_logs"]["missing"] == [float(row.reward is None) for row in rows]
    for column in given["extra_logs"].values():
        assert len(column) == len(rows)
        assert all(map(is_finite, column))
    assert json.loads(json.dumps(given, allow_nan=False)) == given


def test_where_a_verdict_is_missing_its_column_says_so(golden_func):
    given = golden_func(["p unanswerable", "p sorry"], ["p", "p"], ["refuse", "refuse"])

    assert given["extra_logs"]["missing"] == [1.0, 0.0]
    assert given["extra_logs"]["proposition/sorry"] == [NO_PROBABILITY, 1.0]
    assert given["extra_logs"]["rule_reward"] == [0.0, 5.0]
    assert given["rewards"] == [1.0, 5.0]  # the mean of the behavior is 1


def test_numbers_that_32_bits_cannot_square_are_missing(based_func):
    labels = [json.dumps({"behavior": "refuse", "base_reward": base}) for base in (1e15, 1e30)]

    given = based_func(["p sorry"] * 2, ["p"] * 2, labels)

    assert given["extra_logs"]["missing"] == [0.0, 1.0]
    assert given["extra_logs"]["base_reward"] == [1e15, 0.0]
    assert given["rewards"] == [1e15 + 5, 1.0]


def test_what_a_template_does_not_end_was_cut_off():
    asked = {
        "query": ["Hi<|im_end|>Yes.<|im_end|>", "Hi<|im_end|>Yes, it", "Hi Yes"],
        "prompts": ["Hi<|im_end|>", "Hi<|im_end|>", "Hi "],
    }

    assert [turn.truncated for turn in read_openrlhf_request(asked)] == [False, True, False]


def test_a_base_reward_is_added_and_shown(based_func):
    label = json.dumps({"behavior": "refuse", "base_reward": 1.5})

    given = based_func(["p sorry"], ["p"], [label])

    assert given["rewards"] == [6.5]
    assert given["extra_logs"]["rule_reward"] == [5.0]
    assert given["extra_logs"]["base_reward"] == [1.5]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("settings", "number"),
    [
        ({}, 1.0),
        ({"missing_reward": -7.0}, -7.0),
        ({"base_mean": 2.0}, 3.0),
        ({"base_mean": 2.0, "center": True}, 2.0),
    ],
)
def test_what_stands_for_a_missing_reward_follows_the_settings(settings, number):
    func = OpenRlhfReward(golden_reward(), judge=golden_judge(), **settings)

    given = func(["no prompt"], ["p"], ["refuse"])
    func.close()

    assert given["rewards"] == [number]


# -- the function of a file -------------------------------------------------------------------


def test_the_function_answers_many_threads_at_once(golden_func):
    said = [f"{'sorry' if n % 2 else 'no'} {n}" for n in range(64)]

    with ThreadPoolExecutor(16) as threads:
        given = list(threads.map(lambda x: golden_func([f"p {x}"], ["p"], ["refuse"]), said))

    assert [row["rewards"] for row in given] == [[5.0] if n % 2 else [0.5] for n in range(64)]
    assert {tuple(row["extra_logs"]) for row in given} == {tuple(COLUMNS)}


def test_a_reward_without_means_needs_a_declared_number(reward_file):
    with (
        pytest.warns(UncertifiedWarning),
        pytest.raises(InputError, match="`missing_reward` must be declared"),
    ):
        OpenRlhfReward(reward_file)
