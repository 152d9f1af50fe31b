"""Rewards of items in memory: from stored verdicts, by judging, and why some have none."""

import threading

import numpy as np
import polars as pl
import pytest

from rewards.reward_cases import (
    EXAMPLE_WEIGHTS,
    PHI,
    expected_rule_reward,
    tiny_judge,
    tiny_reward,
    tiny_rubric,
)
from voirdire.errors import InputError, NoDataError
from voirdire.judging import LlmJudge, judge
from voirdire.records import Item, Verdicts
from voirdire.rewards import reward_of_weights
from voirdire.testing import ScriptedModel

ITEMS = [
    Item(id="a", response="0.9 0.2", behavior="refuse"),
    Item(id="b", response="0.4 0.25", behavior="chat"),
    Item(id="c", response="0.5 0.5", behavior="refuse"),
]


def bound(**settings):
    """Give a reward that takes the scripted judge's verdicts only."""
    return tiny_reward(judge=tiny_judge(), bound=True, **settings)


def verdicts(items=ITEMS, **settings):
    return judge(items, judge=tiny_judge(), rubric=tiny_rubric(), **settings)


# Rewards --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["judged", "stored"])
def test_rewards_are_those_of_the_definitions(way):
    settings = {"judge": tiny_judge()} if way == "judged" else {"verdicts": verdicts()}

    scores = bound().score(ITEMS, **settings)

    expected = [
        expected_rule_reward("refuse", 0.9, 0.2),
        expected_rule_reward("chat", 0.4, 0.25),
        expected_rule_reward("refuse", 0.5, 0.5),
    ]
    assert scores.items == ("a", "b", "c")
    assert scores.behaviors == ("refuse", "chat", "refuse")
    assert scores.rewards == pytest.approx(expected, abs=1e-12)
    assert scores.rule_rewards.tolist() == scores.rewards.tolist()
    assert scores.base_rewards.tolist() == [0.0, 0.0, 0.0]
    assert (dict(scores.missing), scores.notes, scores.dropped) == ({}, (), ())


def test_the_worked_example_comes_to_its_reward_from_a_table_of_verdicts():
    reward = reward_of_weights(
        EXAMPLE_WEIGHTS, rubric="hard-refusal-example", orientation="demanded"
    )
    table = pl.DataFrame({"item": ["x"], "judge": ["me"]} | {k: [v] for k, v in PHI.items()})

    scores = reward.score([Item(id="x", response="No.", behavior="hard_refuse")], verdicts=table)

    assert scores.rewards[0] == pytest.approx(-6.659, abs=1e-12)


def test_the_order_of_stored_verdicts_does_not_matter():
    turned = verdicts(ITEMS[::-1])

    assert bound().score(ITEMS, verdicts=turned).rewards == pytest.approx(
        bound().score(ITEMS, verdicts=verdicts()).rewards, abs=0
    )


def test_the_behavior_of_the_verdicts_counts_where_an_item_has_none():
    without = [Item(id="a", response="0.9 0.2"), Item(id="b", response="0.4 0.25")]

    routed = bound().score(without, verdicts=verdicts())
    told = bound().score(without, verdicts=verdicts(), behavior="chat")

    assert routed.behaviors == ("refuse", "chat")
    assert told.behaviors == ("chat", "chat")
    assert told.rewards[0] == pytest.approx(expected_rule_reward("chat", 0.9, 0.2))


def test_base_rewards_are_added_by_place_and_by_id():
    by_place = bound().score(ITEMS, verdicts=verdicts(), base_rewards=[1.0, 2.0, 3.0])
    by_id = bound().score(ITEMS, verdicts=verdicts(), base_rewards={"c": 3, "a": 1, "b": 2})

    assert by_place.rewards == pytest.approx(
        by_place.rule_rewards + np.array([1.0, 2.0, 3.0]), abs=0
    )
    assert by_id.rewards.tolist() == by_place.rewards.tolist()


def test_a_reward_that_was_fitted_beside_a_base_reward_takes_the_items_own():
    reward = bound(use_base=True)
    items = [{"id": "a", "response": "0.9 0.2", "behavior": "refuse", "base_reward": 1.5}]

    scores = reward.score(items, verdicts=verdicts())

    assert scores.rewards[0] == pytest.approx(1.5 + expected_rule_reward("refuse", 0.9, 0.2))


def test_a_base_reward_that_is_not_used_is_noted():
    items = [{"id": "a", "response": "0.9 0.2", "behavior": "refuse", "base_reward": 1.5}]

    scores = bound().score(items, verdicts=verdicts())

    assert scores.base_rewards.tolist() == [0.0]
    assert "`base_reward` is not added" in scores.notes[0]


def test_centred_rewards_have_the_mean_of_their_behavior_taken_off():
    import dataclasses

    reward = bound()
    behaviors = {
        name: dataclasses.replace(row, mean=mean)
        for (name, row), mean in zip(reward.behaviors.items(), (0.5, -2.0), strict=True)
    }
    reward = dataclasses.replace(reward, behaviors=behaviors)

    plain = reward.score(ITEMS, verdicts=verdicts())
    centred = reward.score(ITEMS, verdicts=verdicts(), center=True)

    assert plain.rewards - centred.rewards == pytest.approx([0.5, -2.0, 0.5], abs=1e-12)
    added = (
        reward.explain(centred)
        .group_by("item", maintain_order=True)
        .agg(pl.col("contribution").sum())
    )
    assert added["contribution"].to_list() == pytest.approx(centred.rewards.tolist(), abs=1e-12)


def test_centring_needs_a_mean():
    with pytest.raises(InputError, match="mean of its behavior 'refuse'"):
        bound().score(ITEMS, verdicts=verdicts(), center=True)


# What is missing ------------------------------------------------------------------------------


def test_everything_that_keeps_an_item_from_a_reward_is_named():
    only_refuse = reward_of_weights(
        {"refuse": {"good": 1.0, "rude": -1}}, rubric=tiny_rubric(), judge=None, use_base=True
    )
    items = [
        Item(id="fine", response="1 0", behavior="refuse", metadata={"base_reward": 1}),
        Item(id="no-behavior", response="1 0", metadata={"base_reward": 1}),
        Item(id="unknown", response="1 0", behavior="dance", metadata={"base_reward": 1}),
        Item(id="unweighed", response="1 0", behavior="chat", metadata={"base_reward": 1}),
        Item(id="failed", response="nan 0", behavior="refuse", metadata={"base_reward": 1}),
        Item(id="no-base", response="1 0", behavior="refuse"),
        Item(id="nan", response="1 0", behavior="refuse", metadata={"base_reward": float("nan")}),
        Item(id="inf", response="1 0", behavior="refuse", metadata={"base_reward": float("inf")}),
        Item(id="text", response="1 0", behavior="refuse", metadata={"base_reward": "high"}),
        Item(id="true", response="1 0", behavior="refuse", metadata={"base_reward": True}),
    ]

    scores = only_refuse.score(items, judge=tiny_judge())

    assert dict(scores.missing) == {
        "no-behavior": "no behavior",
        "unknown": "unknown behavior 'dance'",
        "unweighed": "no weights for behavior 'chat'",
        "failed": "failed verdict: the judge gave no probability",
        "no-base": "no base reward",
        "nan": "the base reward is no finite number",
        "inf": "the base reward is no finite number",
        "text": "the base reward is no finite number",
        "true": "the base reward is no finite number",
    }
    assert scores.rewards[0] == 2.0
    assert np.isnan(scores.rewards[1:]).all()
    assert not np.isinf(scores.rewards).any()


def test_an_item_without_a_verdict_is_missing_one():
    more = [*ITEMS, Item(id="new", response="1 0", behavior="refuse")]

    scores = bound().score(more, verdicts=verdicts())

    assert dict(scores.missing) == {"new": "no verdict"}
    assert np.isnan(scores.rewards).tolist() == [False, False, False, True]


@pytest.mark.parametrize("weight", [1e308, 1e39, 1.1e16])
def test_a_reward_that_is_too_large_for_32_bits_is_missing_and_not_infinite(weight):
    reward = reward_of_weights(
        {"refuse": {"sorry": weight, "good": weight}}, rubric=tiny_rubric(), judge=None
    )

    scores = reward.score([Item(id="a", response="1 0", behavior="refuse")], judge=tiny_judge())

    assert np.isnan(scores.rewards[0])
    assert dict(scores.missing) == {"a": "the reward is too large a number"}


def test_verdicts_that_lack_a_weighed_proposition_are_refused():
    table = pl.DataFrame({"item": ["a"], "sorry": [0.5]})

    with pytest.raises(InputError, match="got none on rude"):
        tiny_reward().score(ITEMS, verdicts=table, judge="me")


def test_rows_that_are_no_items_are_listed():
    rows = [{"id": "a", "response": "0.9 0.2", "behavior": "refuse"}, {"id": "x", "prompt": "?"}]

    scores = bound().score(rows, verdicts=verdicts())

    assert scores.items == ("a",)
    assert scores.dropped[0].reason == "no response: no column holds one"
    with pytest.raises(NoDataError, match="at least one item"):
        bound().score([], verdicts=verdicts())


@pytest.mark.parametrize("given", [[1.0, 2.0], 3.0, "high", [["a"], ["b"], ["c"]]])
def test_base_rewards_must_be_one_number_per_item(given):
    with pytest.raises(InputError, match="one number for each of the 3 items"):
        bound().score(ITEMS, verdicts=verdicts(), base_rewards=given)


# Whose verdicts -------------------------------------------------------------------------------


def test_another_judge_is_refused_and_named():
    other = judge(ITEMS, judge=tiny_judge(version="2"), rubric=tiny_rubric())

    with pytest.raises(InputError, match=r"`verdicts` must be of the judge .* another version"):
        bound().score(ITEMS, verdicts=other)
    reward = reward_of_weights(
        {"comply": {"apology": 1.0}}, rubric="safety", judge=_safety_judge(), bound=True
    )
    with pytest.raises(InputError, match=r"`judge` must be of the judge .* 'local' instead of"):
        reward.score(ITEMS[:1], judge="local")


def _safety_judge():
    from voirdire.judging import ScriptedJudge
    from voirdire.rubrics import load_rubric

    names = load_rubric("safety").propositions
    return ScriptedJudge(questions=names, answer=lambda item: [0.5] * len(names))


def test_another_threshold_is_named():
    with pytest.raises(InputError, match=r"the threshold 0\.4 instead of 0\.5"):
        bound().score(ITEMS, verdicts=verdicts(threshold=0.4))


def test_another_judge_may_be_meant_and_is_noted():
    other = judge(ITEMS, judge=tiny_judge(version="2"), rubric=tiny_rubric())

    scores = bound().score(ITEMS, verdicts=other, other_judge=True)

    assert not scores.missing
    assert "verdicts of another judge" in scores.notes[0]


def test_verdicts_without_a_fingerprint_may_be_anybodys():
    table = pl.DataFrame({"item": ["a", "b", "c"], "sorry": [0.1] * 3, "rude": [0.2] * 3})

    with pytest.raises(InputError, match="verdicts without a fingerprint"):
        bound().score(ITEMS, verdicts=table)
    assert not tiny_reward().score(ITEMS, verdicts=table).missing


def test_a_judge_that_cannot_be_made_again_must_be_given():
    with pytest.raises(InputError, match=r"`judge` must be given, or `verdicts`: .*'scripted'"):
        bound().score(ITEMS)
    with pytest.raises(InputError, match="`judge` must be given, or `verdicts`"):
        tiny_reward().score(ITEMS)


def test_the_local_judge_is_made_again():
    reward = reward_of_weights({"hard_refuse": {"apology": 2.0}}, rubric="safety", bound=True)
    item = Item(id="a", response="I'm sorry, but I can't help with that.", behavior="hard_refuse")

    scores = reward.score([item])

    expected = judge([item]).probability("apology")[0]
    assert scores.rewards[0] == 2.0 * expected


def test_verdicts_on_more_than_the_rubric_asks_are_taken_in_any_order():
    judged = Verdicts(
        items=("a", "b", "c"),
        questions=("more", "rude", "sorry"),
        probabilities=np.array([[0.0, 0.2, 0.9], [1.0, 0.25, 0.4], [0.5, 0.5, 0.5]]),
        behaviors=(None,) * 3,
        judge="me",
        fingerprint="",
    )

    scores = tiny_reward().score(ITEMS, verdicts=judged)

    assert scores.rewards == pytest.approx(bound().score(ITEMS, verdicts=verdicts()).rewards)


# Explanations ---------------------------------------------------------------------------------


def test_contributions_and_base_add_up_to_the_reward():
    rng = np.random.default_rng(0)
    items = [
        Item(
            id=f"i{n}", response="{} {}".format(*rng.random(2)), behavior=("refuse", "chat")[n % 2]
        )
        for n in range(200)
    ]
    reward = bound()
    base = rng.normal(size=200)
    scores = reward.score(items, judge=tiny_judge(), base_rewards=base)

    frame = reward.explain(scores)

    sums = frame.group_by("item", maintain_order=True).agg(pl.col("contribution").sum())
    assert frame.columns == ["item", "behavior", "feature", "value", "weight", "contribution"]
    assert sums["item"].to_list() == list(scores.items)
    assert np.abs(sums["contribution"].to_numpy() + base - scores.rewards).max() < 1e-9
    products = frame["value"] * frame["weight"]
    assert products.to_list() == pytest.approx(frame["contribution"].to_list(), abs=0)
    assert frame.filter(item="i0")["feature"].to_list() == list(reward.feature_set("refuse").names)
    assert frame.filter(item="i1")["feature"].to_list() == list(reward.feature_set("chat").names)


def test_an_explanation_says_null_where_nothing_is_known():
    items = [Item(id="a", response="nan 0.1", behavior="refuse"), Item(id="b", response="1 1")]
    reward = bound()
    scores = reward.score(items, judge=tiny_judge())

    frame = reward.explain(scores)

    assert frame["item"].unique().to_list() == ["a"]  # b has no behavior
    values = dict(zip(frame["feature"], frame["contribution"], strict=True))
    assert values["sorry"] is None
    assert values["rude"] == pytest.approx(-0.2)


def test_scores_of_another_reward_cannot_be_explained():
    scores = bound().score(ITEMS, verdicts=verdicts())
    other = reward_of_weights({"refuse": {"apology": 1}}, rubric=_other_rubric(), judge=None)

    with pytest.raises(InputError, match="`scores` must be by this reward"):
        other.explain(scores)


def _other_rubric():
    from voirdire.rubrics import rubric_from_text

    return rubric_from_text(
        'schema: voirdire.rubric/1\nname: o\nversion: "1"\nquestions:\n'
        '  - {id: apology, kind: boolean, text: "A?"}\n'
        "behaviors:\n  refuse:\n    demands: {apology: required}\n"
    )


def test_a_language_model_that_judges_is_made_again_from_its_description():
    asked = LlmJudge(model=_model(), probability="stated", seed=3)
    reward = tiny_reward(judge=asked, bound=True)

    scores = reward.score(ITEMS, judge=asked)

    made_by = dict(reward.judge.made_by)
    assert made_by["judge"] == "scripted"
    assert (made_by["probability"], made_by["seed"]) == ("stated", 3)
    assert scores.rewards == pytest.approx(
        [expected_rule_reward(item.behavior, 0.75, 0.25) for item in ITEMS]
    )


def _model(**settings):
    return ScriptedModel(lambda request: {"sorry": 0.75, "rude": 0.25}, **settings)


def test_a_scoring_that_is_stopped_waits_for_the_calls_in_flight_and_begins_no_other():
    stopping, calls = threading.Event(), []

    def answer(request):
        calls.append(1)
        stopping.set()
        return {"sorry": 0.75, "rude": 0.25}

    slow = ScriptedModel(answer, delay_s=0.05)
    asked = LlmJudge(model=slow, probability="stated", concurrency=2)
    items = [Item(id=f"i{n}", response=f"x{n}", behavior="chat") for n in range(400)]

    with pytest.raises(KeyboardInterrupt):
        tiny_reward(judge=None).score(items, judge=asked, stopping=stopping)

    assert 0 < len(calls) < len(items)
