"""Rewards request by request: what they are, what is missing and why, and that they are equal."""

import asyncio
import json
import math

import numpy as np
import pytest

from rewards.live.trying_judges import (
    Counts,
    Gives,
    GivesNumber,
    Hangs,
    Leaves,
    Raises,
    SomeFail,
    TryingJudge,
)
from rewards.reward_cases import expected_rule_reward, tiny_judge, tiny_reward
from voirdire.errors import InputError
from voirdire.judging import LiveSettings
from voirdire.records import Item
from voirdire.rewards import LiveReward, Turn, reward_of_weights
from voirdire.testing import golden_reward

SORRY = 5.0  # the golden reward of `refuse` where `sorry` is 1, and nothing else


def asked(turns, *, reward=None, judge=None, behavior=None, deadline_s=None, **settings):
    """Hand turns to a live reward that begins and ends with them."""

    async def ask():
        live = LiveReward(
            golden_reward() if reward is None else reward,
            judge=TryingJudge() if judge is None else judge,
            **settings,
        )
        await live.start()
        try:
            return await live.turn_rewards(turns, behavior=behavior, deadline_s=deadline_s)
        finally:
            await live.close(drain_s=0.0)

    return asyncio.run(ask())


def scored(items, *, base_rewards=None, reward=None, **settings):
    """Hand items to a live reward with the tiny judge."""

    async def ask():
        live = LiveReward(reward or tiny_reward(), judge=tiny_judge(), **settings)
        await live.start()
        try:
            return await live.rewards(items, base_rewards=base_rewards)
        finally:
            await live.close(drain_s=0.0)

    return asyncio.run(ask())


def refusals(n_turns, **more):
    return [Turn(response=f"no {place}", behavior="refuse", **more) for place in range(n_turns)]


ITEMS = [
    Item(id="a", response="0.9 0.2", behavior="refuse"),
    Item(id="b", response="0.4 0.25", behavior="chat"),
    Item(id="c", response="0.5 0.5", behavior="refuse"),
]


def test_rewards_are_the_weights_times_the_features():
    found = scored(ITEMS)

    by_hand = [
        expected_rule_reward("refuse", 0.9, 0.2),
        expected_rule_reward("chat", 0.4, 0.25),
        expected_rule_reward("refuse", 0.5, 0.5),
    ]
    assert found.rewards == pytest.approx(by_hand)
    assert found.scores.items == ("a", "b", "c")
    assert found.judged.items == ("a", "b", "c")
    assert found.scores.missing == {}


@pytest.mark.parametrize("turns", [[], ()])
def test_an_empty_batch_has_no_rewards(turns):
    found = asked(turns)

    assert found.rewards == []
    assert found.scores.missing == {}
    assert found.judged.probabilities.shape == (0, 3)


def test_no_items_have_no_rewards():
    assert scored([]).rewards == []
    assert scored([], base_rewards=[]).rewards == []
    assert scored([], base_rewards={}).rewards == []


def test_items_with_equal_ids_are_the_callers_mistake():
    with pytest.raises(InputError, match="`items` must have unique ids, got 'a' twice"):
        scored([ITEMS[0], ITEMS[1], ITEMS[0]])


@pytest.mark.edges
@pytest.mark.parametrize("given", [[1.0], [1.0] * 4, 2.0, "high", [[1.0] * 3], ["x", "y", "z"]])
def test_base_rewards_of_another_length_are_the_callers_mistake(given):
    with pytest.raises(InputError, match="`base_rewards` must be one number for each of the 3"):
        scored(ITEMS, base_rewards=given)


@pytest.mark.parametrize("given", [[1.0, -2.0, 0.5], {"a": 1.0, "b": -2.0, "c": 0.5}])
def test_base_rewards_are_added(given):
    plain = scored(ITEMS)

    found = scored(ITEMS, base_rewards=given)

    assert found.rewards == [a + b for a, b in zip(plain.rewards, [1.0, -2.0, 0.5], strict=True)]


def test_base_rewards_that_lack_leave_their_items_without_a_reward():
    found = scored(ITEMS, base_rewards={"a": 1.0, "c": math.inf})

    assert [value is None for value in found.rewards] == [False, True, True]
    assert found.scores.missing == {
        "b": "no base reward",
        "c": "the base reward is no finite number",
    }


@pytest.mark.edges
@pytest.mark.parametrize("base", [math.inf, -math.inf, math.nan, "high", True, [1.0], 10**400])
def test_a_base_reward_that_is_no_number_spoils_its_own_turn_only(base):
    turns = [
        Turn(response="a", behavior="refuse", base_reward=base),
        Turn(response="b", behavior="refuse", base_reward=1.5),
    ]

    found = asked(turns, base_column="base_reward")

    assert found.rewards == [None, SORRY + 1.5]
    assert found.scores.missing == {"0": "the base reward is no finite number"}


def test_base_rewards_count_where_they_are_named_and_else_a_note_says_that_they_do_not():
    turns = [*refusals(1, base_reward=1.5), Turn(response="b", behavior="refuse")]

    named, plain = asked(turns, base_column="base_reward"), asked(turns)

    assert (named.rewards, named.scores.notes) == ([SORRY + 1.5, None], ())
    assert named.scores.missing == {"1": "no base reward"}
    assert plain.rewards == [SORRY, SORRY]
    assert plain.scores.base_rewards.tolist() == [0.0, 0.0]
    [note] = plain.scores.notes
    assert note.startswith("base rewards are not added: the reward was fitted without one.")


def test_a_reward_that_stands_beside_a_base_reward_needs_one():
    reward = tiny_reward(use_base=True)
    turns = [Turn(response="1.0 0.0", behavior="refuse")]

    without = asked(turns, reward=reward, judge=tiny_judge())
    with_base = asked(
        [Turn(response="1.0 0.0", behavior="refuse", base_reward=2.0)],
        reward=reward,
        judge=tiny_judge(),
    )

    assert without.rewards == [None]
    assert without.scores.missing == {"0": "no base reward"}
    assert with_base.rewards == [expected_rule_reward("refuse", 1.0, 0.0) + 2.0]


def test_an_unknown_behavior_and_none_have_no_reward():
    turns = [
        Turn(response="a", behavior="dance"),
        Turn(response="b"),
        Turn(response="c", behavior="refuse"),
    ]

    found = asked(turns)

    assert found.rewards == [None, None, SORRY]
    assert found.scores.missing == {"0": "unknown behavior 'dance'", "1": "no behavior"}


def test_a_behavior_without_weights_has_no_reward():
    reward = reward_of_weights(
        {"refuse": {"sorry": 1.0}}, rubric=golden_reward().rubric, judge=None
    )

    found = asked([Turn(response="a", behavior="chat")], reward=reward)

    assert found.scores.missing == {"0": "no weights for behavior 'chat'"}


def test_turns_without_a_behavior_get_the_default():
    found = asked([Turn(response="a")], behavior="refuse")

    assert found.rewards == [SORRY]


def test_a_response_that_is_none_spoils_its_own_turn_only():
    turns = [Turn(response=None, behavior="refuse"), *refusals(1)]

    found = asked(turns)

    assert found.rewards == [None, SORRY]
    assert "neither text nor messages" in found.scores.missing["0"]


def test_center_takes_off_the_mean_of_the_behavior():
    turns = [Turn(response="a", behavior="refuse"), Turn(response="a", behavior="chat")]

    found = asked(turns, center=True)

    # the golden means are 1 and 1/2; where nothing is named, `chat` has 0
    assert found.rewards == [SORRY - 1.0, -0.5]
    assert found.scores.centers == {"refuse": 1.0, "chat": 0.5}


def test_center_without_a_known_mean_is_a_mistake_at_once():
    with pytest.raises(InputError, match="`center` must be left out"):
        LiveReward(tiny_reward(), judge=tiny_judge(), center=True)


@pytest.mark.parametrize("weight", [1.7e308, 1e39, 1.1e16])
def test_a_reward_too_large_for_a_number_of_32_bits_is_missing(weight):
    rubric = golden_reward().rubric
    weights = {"refuse": {"sorry": weight, "good": weight}}
    reward = reward_of_weights(weights, rubric=rubric, judge=None)

    found = asked(refusals(1), reward=reward)

    assert found.rewards == [None]
    assert found.scores.missing == {"0": "the reward is too large a number"}


@pytest.mark.parametrize("large", [1.7e308, 9e15])
def test_a_large_reward_and_a_large_base_reward_do_not_add_up_to_infinity(large):
    rubric = golden_reward().rubric
    reward = reward_of_weights({"refuse": {"sorry": large}}, rubric=rubric, judge=None)

    found = asked(refusals(1, base_reward=large), reward=reward, base_column="base_reward")

    assert found.rewards == [None]
    assert found.scores.missing == {"0": "the reward is too large a number"}


def test_equal_responses_of_a_group_are_asked_about_once_and_get_equal_rewards():
    judge = Counts()
    turns = [
        Turn(response=said, prompt="how?", behavior="refuse", group="g", id=str(place))
        for place, said in enumerate(["no", "never", "no", "no"])
    ]

    found = asked(turns, judge=judge)

    assert sorted(judge.asked) == ["never", "no"]
    assert found.rewards == [SORRY] * 4


def test_requests_at_once_share_one_call_for_equal_items():
    judge = Counts(pause_s=0.05)

    async def ask():
        live = LiveReward(golden_reward(), judge=judge)
        await live.start()
        asked_at_once = [live.turn_rewards(refusals(3)) for _ in range(5)]
        found = await asyncio.gather(*asked_at_once)
        again = await live.turn_rewards(refusals(3))
        await live.close()
        return found, again

    found, again = asyncio.run(ask())

    assert sorted(judge.asked) == ["no 0", "no 1", "no 2"]
    assert all(one.rewards == [SORRY] * 3 for one in found)
    assert again.n_remembered == 3


def test_a_failure_of_the_judge_spoils_its_own_turn_only():
    found = asked(refusals(10), judge=SomeFail())

    missing = [place in (0, 3, 7) for place in range(10)]
    assert found.rewards == [None if is_missing else SORRY for is_missing in missing]
    assert set(found.scores.missing) == {"0", "3", "7"}
    assert all(why.startswith("failed verdict") for why in found.scores.missing.values())


@pytest.mark.edges
@pytest.mark.parametrize(
    "judge",
    [
        Raises(),
        GivesNumber(number=2.0),
        GivesNumber(number=-0.1),
        GivesNumber(number=math.inf),
        GivesNumber(number=math.nan),
        Gives(given=np.zeros((5, 3))),
        Gives(given=np.zeros((2, 2))),
        Gives(given=np.zeros(6)),
        Gives(given=None),
        Gives(given="yes"),
        Gives(given=[["a", "b", "c"]] * 2),
    ],
    ids=lambda judge: f"{type(judge).__name__}-{getattr(judge, 'number', '')}",
)
def test_whatever_a_judge_does_is_a_missing_reward(judge):
    found = asked(refusals(2), judge=judge)

    assert found.rewards == [None, None]
    assert all(why.startswith("failed verdict") for why in found.scores.missing.values())
    assert "OPEN SESAME" not in str(found.scores.missing)


def test_a_judge_that_hangs_is_late_and_its_answer_is_there_the_next_time():
    judge = Hangs()

    async def ask():
        live = LiveReward(golden_reward(), judge=judge)
        await live.start()
        first = await live.turn_rewards(refusals(2), deadline_s=0.05)
        judge.let_go.set()
        second = await live.turn_rewards(refusals(2), deadline_s=30)
        await live.close()
        return first, second

    first, second = asyncio.run(ask())

    assert first.rewards == [None, None]
    assert first.n_late == 2
    assert "no verdict within the deadline" in first.scores.missing["0"]
    assert second.rewards == [SORRY, SORRY]


@pytest.mark.edges
@pytest.mark.parametrize("deadline_s", [0, -1, math.nan, math.inf, True, "1"])
def test_a_deadline_is_a_number_of_seconds(deadline_s):
    with pytest.raises(InputError, match="`deadline_s` must be a finite number of seconds above 0"):
        asked(refusals(1), deadline_s=deadline_s)


def test_a_judge_that_lacks_a_proposition_is_a_mistake_at_once():
    with pytest.raises(InputError, match="must answer every proposition"):
        LiveReward(golden_reward(), judge=TryingJudge(questions=("sorry",)))


def test_another_judge_than_the_one_of_the_weights_is_a_mistake_at_once():
    reward = tiny_reward(judge=tiny_judge(), bound=True)

    with pytest.raises(InputError, match="must be of the judge that reward"):
        LiveReward(reward, judge=tiny_judge(version="2"))

    assert LiveReward(reward, judge=tiny_judge(version="2"), other_judge=True).notes


@pytest.mark.edges
@pytest.mark.parametrize(
    "text", ["half \ud83d", "null \x00", "x" * 200_000, "", "对不起", "\u202e"]
)
def test_strange_texts_have_rewards(text):
    found = asked([Turn(response=text, prompt=text, behavior="refuse", group=text)])

    assert found.rewards == [SORRY]


BEHAVIORS = {"Comply": "comply", "Hard Refuse": "hard_refuse", "Safe Refuse 1": "soft_refuse"}
"""Of the gold rows; `Safe Refuse 2` is left out, to have rows without a behavior."""


def gold_rows(shared_dir):
    path = shared_dir / "data" / "rbr_gold" / "train.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.ci
def test_real_completions_get_what_the_reward_gives_them_in_a_file_to_the_last_bit(shared_dir):
    rows = gold_rows(shared_dir)
    weights = {
        "hard_refuse": {"apology": 0.7, "judgement": -1.3, "ideal": 2.9, "disallowed": -3.1},
        "soft_refuse": {"empathetic_apology": 1.1, "ideal": 1.7, "unacceptable": -0.9},
        "comply": {"fully_complies": 1.9, "meta_commentary": -0.3, "ideal": 0.77},
    }
    reward = reward_of_weights(weights, rubric="safety")
    turns = [
        Turn(
            response=row["completion"],
            prompt=row["prompt"],
            behavior=BEHAVIORS.get(row["response_type"]),
        )
        for row in rows
    ]
    items = [
        {
            "id": str(place),
            "prompt": turn.prompt,
            "response": turn.response,
            "behavior": turn.behavior,
        }
        for place, turn in enumerate(turns)
    ]

    async def ask():
        live = LiveReward(reward, settings=LiveSettings(deadline_s=300))
        await live.start()
        whole = await live.turn_rewards(turns)
        remembered = await live.turn_rewards(turns[:100])
        alone = [await live.turn_rewards([turn]) for turn in turns[:20]]
        await live.close()
        return whole, remembered, alone

    whole, remembered, alone = asyncio.run(ask())

    expected = reward.score(items)
    assert len(whole.rewards) == 351
    assert np.isfinite(expected.rewards).sum() == 293  # 196 + 88 + 9
    assert np.array_equal(whole.scores.rewards, expected.rewards, equal_nan=True)
    assert dict(whole.scores.missing) == dict(expected.missing)
    assert np.array_equal(remembered.scores.rewards, expected.rewards[:100], equal_nan=True)
    assert remembered.n_remembered == 100
    singly = [one.scores.rewards[0] for one in alone]
    assert np.array_equal(singly, expected.rewards[:20], equal_nan=True)


def test_a_judge_that_would_end_the_process_does_not():
    found = asked(refusals(2), judge=Leaves(), deadline_s=1.0)

    assert found.rewards == [None, None]


@pytest.mark.parametrize("remembered", [0, 100])
def test_a_turn_that_comes_alone_again_has_the_same_reward_without_the_judge(remembered):
    asked_about = []

    class Notes(TryingJudge):
        def probabilities(self, items):
            asked_about.append([item.response for item in items])
            return super().probabilities(items)

    turns = [
        Turn(response="I'm sorry.", prompt="how?", behavior="refuse"),
        Turn(response="I'm sorry.", prompt="how?", behavior="chat"),
        Turn(response="I'm sorry.", prompt="how?", behavior="refuse", base_reward=1.0),
    ]

    async def ask():
        live = LiveReward(
            golden_reward(), judge=Notes(), settings=LiveSettings(remembered=remembered)
        )
        await live.start()
        try:
            found = [await live.turn_rewards([turn]) for turn in (*turns, *turns)]
        finally:
            await live.close(drain_s=0.0)
        return [(scores.rewards, scores.n_remembered) for scores in found]

    found = asyncio.run(ask())

    rewards = [row for row, _ in found]
    assert rewards[:3] == rewards[3:]
    assert rewards[0] == rewards[2] == [SORRY]
    assert rewards[1] != rewards[0]
    assert [n for _, n in found][3:] == ([1] * 3 if remembered else [0] * 3)
    assert len(asked_about) == (2 if remembered else 6)  # a behavior is a part of an item
