"""What a trainer hands over; whatever it is, the other turns are not touched."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewards.live.trying_judges import TryingJudge
from rewards.training.recorded_runs import scored
from voirdire.judging import ScriptedJudge, judge
from voirdire.rewards import RewardJudge, Turn
from voirdire.testing import golden_reward

ASKED = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello?"}]
SAID = [{"role": "assistant", "content": "<think>hm</think>Hi."}]
CALLED = {
    "role": "assistant",
    "content": "",
    "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
}
RETURNED = {"role": "tool", "content": "42"}
SORRY = 5.0  # the golden reward of `refuse` where `sorry` is 1, and nothing else
GOOD = Turn(response="no", behavior="refuse")


def asked(*turns, **settings):
    return scored(turns, reward=golden_reward(), judge=TryingJudge(), **settings)


def looking_judge(seen):
    """Make a judge that keeps what it gets to see."""

    def answer(item):
        seen.append(item)
        return [1.0, 0.0, 0.0]

    return ScriptedJudge(questions=golden_reward().rubric.propositions, answer=answer)


def seen_of(*turns, judged="final_answer"):
    """Give the items that a judge gets to see."""
    seen = []
    reward = dataclasses.replace(golden_reward(), judge=RewardJudge(name="x", judged=judged))
    scored(turns, reward=reward, judge=looking_judge(seen))
    return seen


def test_items_are_called_by_their_places_whatever_turns_are_called():
    turns = [Turn(response=text, id="x", behavior="refuse") for text in "abc"]

    found = asked(*turns)

    assert found.scores.items == ("0", "1", "2")
    assert [item.response for item in seen_of(*turns)] == ["a", "b", "c"]


@pytest.mark.edges
@pytest.mark.parametrize("behavior", [5, ["refuse"], {"behavior": "refuse"}, b"refuse", True])
def test_a_behavior_that_is_no_text_spoils_its_own_turn_only(behavior):
    found = asked(Turn(response="a", behavior=behavior), GOOD)

    assert found.rewards == [None, SORRY]
    assert found.scores.missing == {"0": "no behavior"}
    assert found.judged.missing == {"0": "the behavior is no text"}


def test_a_behavior_of_a_data_frame_that_is_nan_is_none():
    found = asked(Turn(response="a", behavior=math.nan), GOOD)

    assert found.scores.behaviors == (None, "refuse")
    assert found.scores.missing == {"0": "no behavior"}


@pytest.mark.edges
@pytest.mark.parametrize(
    "response",
    [
        *(None, 5, 1.5, b"text", {"a": 1}, [], [5], object(), True, [None], ["Hi."]),
        [{"role": "user", "content": "Hi."}],
        [{"role": "assistant", "content": 5}],
        [{"role": "assistant", "content": None}],
        [CALLED],
        np.array(["Hi."]),
        np.array(5),
    ],
)
def test_a_response_that_is_no_text_spoils_its_own_turn_only(response):
    found = asked(Turn(response=response, behavior="refuse"), GOOD)

    assert found.rewards == [None, SORRY]
    assert "the response or its prompt is neither text nor messages" in found.scores.missing["0"]


@pytest.mark.edges
@pytest.mark.parametrize("prompt", [5, b"text", {"a": 1}, [5], object()])
def test_a_prompt_that_is_no_text_spoils_its_own_turn_only(prompt):
    found = asked(Turn(response="a", prompt=prompt, behavior="refuse"), GOOD)

    assert found.rewards == [None, SORRY]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("group", "expected"), [(7, "7"), ("g", "g"), (None, None), (math.nan, None)]
)
def test_a_group_may_be_a_number(group, expected):
    [item] = seen_of(Turn(response="a", behavior="refuse", group=group))

    assert item.group == expected


@pytest.mark.edges
@pytest.mark.parametrize("judged", ["final_answer", "with_reasoning", "whole_turn"])
@pytest.mark.parametrize(
    ("prompt", "response"),
    [
        ("Hello?", "Hi."),
        ("Hello?", "<think>hm</think>Hi."),
        ("Hello?<think>\n", "hm</think>Hi."),
        (ASKED, "Hi."),
        (ASKED, SAID),
        (ASKED, [CALLED, RETURNED, *SAID]),
        ("", "Hi."),
    ],
)
def test_the_judge_sees_what_a_row_of_a_file_gives(judged, prompt, response):
    row = {"id": "0", "prompt": prompt, "response": response, "behavior": "refuse"}
    of_file = []

    of_turn = seen_of(
        Turn(prompt=prompt, response=response, behavior="refuse"),
        judged=judged,
    )

    judge([row], judge=looking_judge(of_file), rubric=golden_reward().rubric, judged=judged)
    assert len(of_turn) == len(of_file)
    for item, other in zip(of_turn, of_file, strict=True):
        assert (item.prompt, item.response) == (other.prompt, other.response)
        assert item.content_hash() == other.content_hash()


UNFINISHED = "failed verdict: the response ends inside its thoughts"


def test_a_response_that_ends_inside_its_thoughts_has_no_reward():
    responses = ["<think>sorry", "[THINK]sorry", [{"role": "assistant", "content": "<think>a"}]]

    found = asked(GOOD, *(Turn(response=said, behavior="refuse") for said in responses))

    assert found.rewards == [SORRY, None, None, None]
    assert found.scores.missing == dict.fromkeys("123", UNFINISHED)


@pytest.mark.parametrize(
    ("responses", "cut_off"),
    [
        (["hm</think>no", "hm, sorry"], "1"),
        (
            ["hm</think>no", "hm", "hm", "[]", *[[{"role": "assistant", "content": "a</think>b"}]]],
            "123",
        ),
        (["hm</think>no", "hm", "hm", "<think>a</think>no"], "12"),
        (["hm</think>no", "hm", "hm", "hm", "hm"], ""),
        (["<think>hm</think>no", "hm"], ""),
        (["hm", "hm"], ""),
    ],
)
def test_where_others_end_thoughts_that_a_template_began_all_must(responses, cut_off):
    turns = [Turn(response=said, behavior="refuse") for said in responses]

    assert asked(*turns).scores.missing == dict.fromkeys(cut_off, UNFINISHED)
    assert len(seen_of(*turns, judged="with_reasoning")) == len(set(map(str, responses)))


def test_no_prompt_is_none():
    turns = [Turn(response="Hi.", prompt=prompt, behavior="refuse") for prompt in (None, "", [])]

    assert [item.prompt for item in seen_of(*turns)] == [()]  # one item, asked about once


def test_messages_may_stand_in_an_array_and_those_before_the_answer_belong_to_the_prompt():
    turns = [
        Turn(response=SAID, prompt=ASKED, behavior="refuse"),
        Turn(response=np.array(SAID), prompt=np.array(ASKED), behavior="refuse"),
        Turn(response=[*ASKED, *SAID], behavior="refuse"),
    ]

    seen = [item for turn in turns for item in seen_of(turn)]

    assert seen == [seen[0]] * 3
    assert [message.content for message in seen[0].prompt] == ["Be kind.", "Hello?"]


class OwnText(str):
    """Text of a class of its own, as NumPy has."""

    __slots__ = ()


@pytest.mark.parametrize("kind", [OwnText, np.str_])
def test_text_of_a_class_of_its_own_is_text(kind):
    told = {"role": kind("user"), "content": kind("Hello?")}

    [item] = seen_of(
        Turn(response=kind("Hi."), prompt=[told], behavior=kind("refuse"), group=kind("g"))
    )

    [plain] = seen_of(Turn(response="Hi.", prompt="Hello?", behavior="refuse", group="g"))
    assert item == plain
    assert item.content_hash() == plain.content_hash()


def test_arguments_that_no_file_could_hold_spoil_their_own_turn_only():
    call = {"function": {"name": "f", "arguments": {"a": "\ud83d"}}}
    told = [{"role": "assistant", "content": "x", "tool_calls": [call]}]
    reward = dataclasses.replace(golden_reward(), judge=RewardJudge(name="x", judged="whole_turn"))

    found = scored(
        [Turn(response=told, behavior="refuse"), GOOD], reward=reward, judge=TryingJudge()
    )

    assert found.rewards == [None, SORRY]


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["role", "content", "type", "text", "tool_calls", "function", "name"]),
            inner | st.sampled_from(["assistant", "user", "text"]),
            max_size=4,
        )
    ),
    max_leaves=12,
)


@pytest.mark.ci
@given(
    pairs=st.lists(st.tuples(ANYTHING, ANYTHING), min_size=5, max_size=5),
    judged=st.sampled_from(["final_answer", "whole_turn"]),
)
@settings(max_examples=25)
def test_whatever_is_handed_over_is_judged_or_spoils_its_own_turn_only(pairs, judged):
    reward = dataclasses.replace(golden_reward(), judge=RewardJudge(name="x", judged=judged))
    turns = [Turn(response=said, prompt=asked, behavior="refuse") for said, asked in pairs]

    found = scored([*turns, GOOD], reward=reward, judge=TryingJudge())

    assert len(found.rewards) == 6
    assert found.rewards[-1] == SORRY
    assert set(found.rewards) <= {SORRY, None}
    assert len(found.scores.missing) == found.rewards.count(None)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("base_reward", "expected"),
    [
        (1, 1.0),
        (-2.5, -2.5),
        (np.float32(0.5), 0.5),
        (np.array(3), 3.0),
        ("1.25", 1.25),
        (math.inf, None),
        (10**400, None),
        (True, None),
        (np.True_, None),
        ("high", None),
        ([1, 2], None),
        (np.array([1.0, 2.0]), None),
        (object(), None),
        (math.nan, None),
    ],
)
def test_a_base_reward_is_a_number_or_spoils_its_own_turn_only(base_reward, expected):
    turns = [Turn(response="no", behavior="refuse", base_reward=x) for x in (base_reward, 2.0)]

    found = asked(*turns, base_column="base_reward")

    assert found.rewards == [None if expected is None else SORRY + expected, SORRY + 2.0]


@pytest.mark.ci
def test_a_base_reward_may_be_a_tensor():
    torch = pytest.importorskip("torch")
    rewards = (torch.tensor(1.5), torch.ones(2))
    turns = [Turn(response="no", behavior="refuse", base_reward=x) for x in rewards]

    assert asked(*turns, base_column="base_reward").rewards == [SORRY + 1.5, None]
