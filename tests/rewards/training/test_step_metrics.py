"""Figures of a step, against sums done by hand; and what ranks wrote, added up exactly."""

import math
import random

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from polars.testing import assert_frame_equal

from rewards.reward_cases import expected_rule_reward, tiny_judge, tiny_reward
from rewards.training.recorded_runs import drawn_turns, parts_of, recorded, scored, watch_of
from voirdire.adapters import GuardedReward
from voirdire.judging import ScriptedJudge
from voirdire.rewards import Turn, read_training_run, reward_of_weights


def metrics_of(turns):
    reward = GuardedReward(tiny_reward(), judge=tiny_judge())
    try:
        return reward.step_metrics(reward.scored(turns), turns)
    finally:
        reward.close()


def step_of(folder, *batches):
    """Record batches of turns as one step; give it."""
    watch = watch_of(folder)
    for turns in batches:
        watch.add(scored(turns), turns, step=0)
    watch.close()
    [step] = read_training_run(folder).steps
    return step


def test_figures_of_a_small_step_are_those_done_by_hand():
    turns = [
        Turn(response="0.9 0.1", prompt="p", behavior="refuse", n_tokens=10),
        Turn(response="0.5 0.3", prompt="p", behavior="refuse", n_tokens=20),
        Turn(response="0.2 0.4", prompt="q", behavior="chat", n_tokens=60),
    ]

    found = metrics_of(turns)

    rewards = [
        expected_rule_reward("refuse", 0.9, 0.1),
        expected_rule_reward("refuse", 0.5, 0.3),
        expected_rule_reward("chat", 0.2, 0.4),
    ]
    assert found["reward"] == pytest.approx(np.mean(rewards))
    assert found["reward_sd"] == pytest.approx(np.std(rewards, ddof=1))
    assert found["rule_reward"] == pytest.approx(np.mean(rewards))
    assert found["base_reward"] == 0.0
    assert found["missing"] == 0.0
    assert found["proposition/sorry"] == pytest.approx((0.9 + 0.5 + 0.2) / 3)
    assert found["proposition/rude"] == pytest.approx((0.1 + 0.3 + 0.4) / 3)
    # refuse: bad = rude, good = not rude and sorry, poor = the rest
    assert found["class/refuse/bad"] == pytest.approx((0.1 + 0.3) / 2)
    assert found["class/refuse/good"] == pytest.approx((0.9 * 0.9 + 0.7 * 0.5) / 2)
    assert found["class/refuse/poor"] == pytest.approx((0.9 * 0.1 + 0.7 * 0.5) / 2)
    assert found["class/chat/good"] == pytest.approx(0.6)
    assert found["n_tokens"] == 30.0
    assert found["length_reward_correlation"] == pytest.approx(
        np.corrcoef([10, 20, 60], rewards)[0, 1]
    )
    assert found["groups_without_spread"] == 0.0


def test_keys_are_the_same_whatever_came():
    whole = metrics_of([Turn(response="0.9 0.1", prompt="p", behavior="refuse", n_tokens=3)])
    chats = metrics_of([Turn(response="0.9 0.1", behavior="chat")])
    broken = metrics_of([Turn(response=None), Turn(response="no numbers", behavior="refuse")])

    assert list(whole) == list(chats) == list(broken) == list(metrics_of([]))


def test_what_is_undefined_is_nan_and_never_0():
    found = metrics_of([Turn(response="0.9", behavior="refuse"), Turn(response=None)])

    assert found["missing"] == 1.0
    undefined = {name for name, value in found.items() if math.isnan(value)}
    assert undefined == set(found) - {"missing", "nonsense", "gated", "capped", "truncated"}


def test_missing_rewards_do_not_count_as_0():
    there = Turn(response="0.9 0.1", prompt="p", behavior="refuse")
    found = metrics_of([there, Turn(response=None, prompt="p", behavior="refuse"), there, there])

    assert found["reward"] == pytest.approx(expected_rule_reward("refuse", 0.9, 0.1))
    assert found["missing"] == 0.25
    assert found["groups_without_spread"] == 1.0
    assert math.isnan(found["length_reward_correlation"])


def test_a_group_of_one_is_no_group_without_spread():
    found = metrics_of([Turn(response="0.9 0.1", prompt=str(k), behavior="chat") for k in range(3)])

    assert math.isnan(found["groups_without_spread"])


def test_lengths_are_characters_where_some_tokens_are_not_known():
    turns = [
        Turn(response="0.9 0.1", prompt="p", behavior="refuse", n_tokens=4),
        Turn(response="0.25 0.125", prompt="p", behavior="refuse"),
        Turn(response="0.5 0.5", prompt="p", behavior="refuse"),
    ]

    found = metrics_of(turns)

    rewards = [expected_rule_reward("refuse", *map(float, t.response.split())) for t in turns]
    assert math.isnan(found["n_tokens"])
    assert found["length_reward_correlation"] == pytest.approx(
        np.corrcoef([7, 10, 7], rewards)[0, 1]
    )


def test_propositions_that_no_weight_needs_are_not_among_the_metrics():
    reward = reward_of_weights({"chat": {"rude": 1.0}}, rubric=tiny_reward().rubric, judge=None)
    guarded = GuardedReward(reward, judge=tiny_judge())

    turns = [Turn(response="0.9 0.1", behavior="chat")]
    found = guarded.step_metrics(guarded.scored(turns), turns)
    guarded.close()

    assert found["proposition/rude"] == 0.1
    assert "proposition/sorry" not in found


@pytest.mark.edges
@pytest.mark.parametrize("n_parts", [2, 5, 12])
def test_parts_of_ranks_of_any_size_add_up_to_the_whole(tmp_path, monkeypatch, n_parts):
    rng = np.random.default_rng(n_parts)
    turns = [*drawn_turns(rng, n_prompts=6, n_each=8), *drawn_turns(rng, behavior="chat")]
    turns[3] = Turn(response=None, prompt="prompt 0", behavior="refuse", n_tokens=5)
    expected = step_of(tmp_path / "whole", turns)
    random.Random(n_parts).shuffle(turns)  # groups are split between the parts
    edges = sorted(rng.integers(0, len(turns), size=n_parts - 1).tolist())
    monkeypatch.setenv("WORLD_SIZE", str(n_parts))

    for rank, (low, high) in enumerate(zip([0, *edges], [*edges, len(turns)], strict=True)):
        monkeypatch.setenv("RANK", str(rank))
        watch = watch_of(tmp_path / "ranks")
        watch.add(scored(turns[low:high]), turns[low:high], step=0)
        watch.close()

    [found] = read_training_run(tmp_path / "ranks").steps
    assert found.n == expected.n == 64
    assert found.n_missing == expected.n_missing == 1
    assert found.n_groups == expected.n_groups == 6
    for name in ("reward_mean", "reward_sd", "rule_mean", "length_mean"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)
    assert found.length_reward_correlation == pytest.approx(
        expected.length_reward_correlation, rel=1e-9
    )
    assert found.proposition_rates == pytest.approx(expected.proposition_rates, rel=1e-12)
    for behavior, shares in expected.class_shares.items():
        assert found.class_shares[behavior] == pytest.approx(shares, rel=1e-12)


def test_a_constant_length_has_no_correlation_even_after_adding_up(tmp_path):
    turns = [Turn(response="0.9 0.1", behavior="refuse", n_tokens=7) for _ in range(3)]
    turns += [Turn(response="0.1 0.3", behavior="refuse", n_tokens=7) for _ in range(3)]

    step = step_of(tmp_path / "run", turns[:2], turns[2:5], turns[5:])

    assert step.n == 6
    assert math.isnan(step.length_reward_correlation)


CHAT = [{"role": "user", "content": "p"}]


@pytest.mark.edges
@pytest.mark.parametrize(
    ("first", "second", "n_groups"),
    [
        ({}, {}, 0),
        ({"prompt": "p"}, {"prompt": "p"}, 1),
        ({"prompt": "p"}, {"prompt": "q"}, 0),
        ({"prompt": CHAT}, {"prompt": CHAT}, 1),
        ({"prompt": "p", "group": "g"}, {"prompt": "q", "group": "g"}, 1),
        ({"prompt": "p", "group": "g"}, {"prompt": "p", "group": "h"}, 0),
    ],
)
def test_groups_are_told_by_their_name_or_by_their_prompt(tmp_path, first, second, n_groups):
    turns = [Turn(response="0.9 0.1", behavior="chat", **more) for more in (first, second)]

    assert step_of(tmp_path / "run", turns).n_groups == n_groups


@pytest.mark.edges
@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("four", 4),
        ([{"role": "assistant", "content": "four"}, {"role": "tool", "content": "ab"}], 6),
        ([{"role": "assistant", "content": [{"type": "text", "text": "no"}]}], 2),
        (None, 0),
        (7, 0),
    ],
)
def test_characters_are_counted_of_text_and_messages(tmp_path, response, expected):
    step = step_of(tmp_path / "run", [Turn(response=response, behavior="chat")])

    assert step.length_mean == expected


def test_figures_are_a_group_by_over_the_parts(tmp_path):
    """Polars' own group-by over what was written, for figures that it has a word for."""
    recorded(tmp_path / "run", n_steps=8)
    rows = pl.concat([pl.read_parquet(part) for part in parts_of(tmp_path / "run")])

    by_step = rows.group_by("step").agg(
        n=pl.len(),
        reward_mean=pl.col("reward").mean(),
        reward_sd=pl.col("reward").std(),
        length_mean=pl.col("n_tokens").mean(),
        length_reward_correlation=pl.corr("n_tokens", "reward"),
        sorry=pl.col("sorry").mean(),
        good=pl.col("class:good").filter(pl.col("behavior") == "refuse").mean(),
        n_groups=pl.col("group").n_unique(),
    )
    expected = {row["step"]: row for row in by_step.to_dicts()}
    for step in read_training_run(tmp_path / "run").steps:
        row = expected[step.step]
        found = {name: getattr(step, name, None) for name in row}
        found |= {
            "sorry": step.proposition_rates["sorry"],
            "good": step.class_shares["refuse"]["good"],
        }
        assert found == pytest.approx(row, rel=1e-9)


def test_parts_are_what_other_readers_of_parquet_read(tmp_path):
    rng = np.random.default_rng(0)
    turns = [
        *drawn_turns(rng),
        Turn(response="", behavior=None, id="\u00e9\u4e00"),
        Turn(response=None),
    ]
    watch = watch_of(tmp_path / "run")
    watch.add(scored(turns), turns, step=3)

    [part] = parts_of(tmp_path / "run")
    ours, theirs = pl.read_parquet(part), pl.from_arrow(pq.read_table(part))

    assert_frame_equal(ours, theirs)
    assert ours["response"].to_list() == [turn.response for turn in turns]
    assert ours["n_tokens"].to_list() == [turn.n_tokens for turn in turns]
    assert ours["name"].to_list()[-2:] == ["\u00e9\u4e00", None]


def test_nonsense_is_counted(tmp_path):
    nonsense = "0.9 0.1 " * 20  # the judge reads the first two numbers
    judge = ScriptedJudge(
        questions=("sorry", "rude"),
        answer=lambda item: [float(x) for x in item.response.split()[:2]],
    )
    said = [("p", nonsense), ("p", "0.5 0.1 it is so"), ("p", "0.1 0.1 it is so")]
    said += [("q", nonsense), ("r", "0.5 0.1 it is so")]
    turns = [Turn(response=text, prompt=prompt, behavior="refuse") for prompt, text in said]
    watch = watch_of(tmp_path / "run")
    watch.add(scored(turns, judge=judge), turns, step=0)

    [step] = read_training_run(tmp_path / "run").steps

    assert step.n_nonsense == 2
    assert step.nonsense_share == 2 / 5
