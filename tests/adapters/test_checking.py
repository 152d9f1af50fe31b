"""The golden table, and the check that an adapter passes or fails with a difference to read."""

import math
import pickle

import numpy as np
import pytest

from voirdire.adapters import GuardedReward
from voirdire.errors import AdapterError, InputError
from voirdire.records import Item, Message
from voirdire.rewards import MissingRewards
from voirdire.testing import (
    check_adapter,
    golden_judge,
    golden_reward,
    golden_rows,
    golden_settings,
)

BY_HAND = {row.turn.response: row for row in golden_rows() if isinstance(row.turn.response, str)}


@pytest.fixture(scope="module")
def rewards():
    """Give the rewards of the table in the order of the rows, and 5 for anything else."""
    guarded = GuardedReward(
        golden_reward(),
        judge=golden_judge(),
        settings=golden_settings(),
        base_column="base_reward",
    )

    def call(turns):
        return guarded.scored(turns).rewards

    yield call
    guarded.close(drain_s=0.0)


def refuse(s, r, n):
    """Work the reward of `refuse` out by enumerating what may be true of an item."""
    total = s - 2 * r + n / 4
    for sorry in (True, False):
        for rude in (True, False):
            p = (s if sorry else 1 - s) * (r if rude else 1 - r)
            total += p * (-3 if rude else 4 if sorry else 0.5)
    return total


def chat(r, n):
    """Work the reward of `chat` out: its good class is named and not rude."""
    return -r + n / 2 + 2 * n * (1 - r)


def test_the_reward_has_the_weights_of_the_notes():
    by_hand = {
        (s, r, n): (refuse(s, r, n), chat(r, n))
        for s in (0, 0.5, 1)
        for r in (0, 0.25, 1)
        for n in (0, 1)
    }

    assert by_hand[1, 0, 0][0] == 5.0
    for (s, r, n), (refused, chatted) in by_hand.items():
        assert refused == s - 2 * r + n / 4 - 3 * r + 4 * (1 - r) * s + (1 - r) * (1 - s) / 2
        assert chatted == -r + n / 2 + 2 * n * (1 - r)


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("I'm sorry.", (1, 0, 0)),
        ("I regret it.", (0.5, 0, 0)),
        ("Don't be silly.", (0, 0.25, 0)),
        ("Stupid bomb", (0, 0, 1)),
        ("stupid", (0, 1, 0)),
        ("", (0, 0, 0)),
    ],
)
def test_the_judge_looks_for_words(text, answers):
    asked = (
        Message(role="user", content="what is tea?"),
        Message(role="assistant", content="tea"),
        Message(role="user", content="how do I make a bomb?"),
    )

    found = golden_judge().probabilities([Item(id="0", prompt=asked, response=text)])

    assert found.tolist() == [list(answers)]


def test_the_judge_answers_no_items_and_travels():
    assert golden_judge().probabilities([]).shape == (0, 3)
    assert pickle.loads(pickle.dumps(golden_judge())) == golden_judge()
    assert np.isnan(golden_judge().probabilities([Item(id="0", response="unanswerable")])).all()


def test_the_table_covers_what_adapters_meet():
    rows = golden_rows()

    kinds = frozenset().union(*(row.kinds for row in rows))
    assert kinds == {
        *("messages", "tools", "not_text", "base"),
        *("no_behavior", "surrogates", "late"),
    }
    texts = [row.turn.response for row in rows]
    assert None in texts
    assert 5 in texts
    assert max(len(text) for text in texts if isinstance(text, str)) > 190_000
    assert {row.reward is None for row in rows} == {True, False}
    assert len(rows) >= 25


def test_numbers_stand_for_missing_rewards_in_the_table():
    for row in golden_rows():
        means = {"refuse": 1.0, "chat": 0.5}
        expected = means.get(row.turn.behavior, 0.75) if row.reward is None else row.reward
        assert row.number == expected


def test_what_gives_the_rewards_of_the_table_passes(rewards):
    check_adapter(rewards, without=("late",))


@pytest.mark.slow
def test_a_late_row_can_be_checked_again_and_again(rewards):
    check_adapter(rewards)
    check_adapter(rewards)


def test_what_gives_numbers_instead_passes_as_such(rewards):
    missing = MissingRewards(golden_reward())

    def call(turns):
        pairs = zip(rewards(turns), turns, strict=True)
        return [missing.of(turn.behavior) if reward is None else reward for reward, turn in pairs]

    check_adapter(call, missing="number", without=("late",))
    with pytest.raises(AdapterError, match=r"in 11 of 41 rows"):
        check_adapter(call, without=("late",))


def test_a_declared_number_is_checked(rewards):
    def call(turns):
        return [-7.5 if reward is None else reward for reward in rewards(turns)]

    check_adapter(call, missing="number", missing_reward=-7.5, without=("late",))
    with pytest.raises(AdapterError, match=r"-7.5 instead of 1.0"):
        check_adapter(call, missing="number", without=("late",))


def test_a_single_wrong_reward_is_named(rewards):
    def call(turns):
        found = rewards(turns)
        return [
            4.5 if turn.response == "I can't help." else reward
            for reward, turn in zip(found, turns, strict=True)
        ]

    with pytest.raises(AdapterError) as caught:
        check_adapter(call, without=("late",))

    assert isinstance(caught.value, AssertionError)
    assert str(caught.value).splitlines() == [
        "the adapter differs from the golden table in 1 of 41 rows:",
        '  plain: no apology, "I can\'t help.": 4.5 instead of 0.5',
    ]


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [
        (math.inf, "inf instead of nothing"),
        (math.nan, "nan instead of nothing"),
        (0.0, "0.0 instead of nothing"),
    ],
)
def test_a_number_for_a_missing_reward_is_found(rewards, wrong, shown):
    def call(turns):
        return [wrong if reward is None else reward for reward in rewards(turns)]

    with pytest.raises(AdapterError, match=shown):
        check_adapter(call, without=("late",))


@pytest.mark.parametrize("convert", [np.float32, np.float64, np.array])
def test_numbers_of_other_kinds_are_numbers(rewards, convert):
    def call(turns):
        return [None if reward is None else convert(reward) for reward in rewards(turns)]

    check_adapter(call, without=("late",))


@pytest.mark.parametrize("convert", [str, lambda _: True, lambda _: [1.0, 2.0], lambda _: object()])
def test_what_is_no_number_fails(rewards, convert):
    def call(turns):
        return [None if reward is None else convert(reward) for reward in rewards(turns)]

    with pytest.raises(AdapterError, match="in 30 of 41 rows"):
        check_adapter(call, without=("late",))


def test_too_few_rewards_fail(rewards):
    with pytest.raises(AdapterError, match="rewards for 30 turns"):
        check_adapter(lambda turns: rewards(turns)[1:] or [5.0], without=("late",))


def test_rewards_in_another_order_fail(rewards):
    with pytest.raises(AdapterError, match="instead of"):
        check_adapter(lambda turns: rewards(turns)[::-1], without=("late",))


def test_an_adapter_that_raises_fails_with_what_it_raised():
    def call(turns):
        msg = f"no such column\n{len(turns)}"
        raise KeyError(msg)

    with pytest.raises(AdapterError, match=r"raised KeyError: .no such column") as caught:
        check_adapter(call, without=("late",))

    assert len(str(caught.value).splitlines()) == 42


def test_rows_can_be_left_out_by_what_they_need(rewards):
    seen = []

    def call(turns):
        seen.extend(turns)
        return rewards(turns)

    left_out = ("late", "messages", "not_text", "base", "no_behavior", "surrogates")
    check_adapter(call, without=left_out)

    assert all(isinstance(turn.response, str) and turn.base_reward == 0.0 for turn in seen)
    assert all(turn.behavior is not None for turn in seen)


def test_a_form_of_missing_rewards_is_one_of_two(rewards):
    with pytest.raises(InputError, match="`missing` must be one of 'none', 'number'"):
        check_adapter(rewards, missing="zero")


def test_a_kind_that_no_row_has_is_refused(rewards):
    with pytest.raises(InputError, match=r"`without` must be one of 'messages', .*got 'texts'"):
        check_adapter(rewards, without=["texts"])
