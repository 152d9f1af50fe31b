"""What verl calls, without verl: settings, prompts, behaviors, and columns that never change."""

import asyncio
import math
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from adapters.patient import patient_judge
from voirdire.adapters.verl import (
    close_rewards,
    compute_score,
    compute_score_batch,
    compute_score_sync,
)
from voirdire.errors import InputError, UncertifiedWarning
from voirdire.rewards import read_training_run, reward_of_weights
from voirdire.testing import check_adapter, golden_reward

REWARD, JUDGE = golden_reward(), patient_judge()
GOLDEN = {"reward": REWARD, "judge": JUDGE, "deadline_s": 4.0}
BASED = GOLDEN | {"base_column": "base_reward"}
COLUMNS = [
    "score",
    "missing",
    "rule_reward",
    "base_reward",
    "proposition/sorry",
    "proposition/rude",
    "proposition/names_it",
    "reward_mask",
    "no_prompt",
]


@pytest.fixture(autouse=True)
def _ended():
    yield
    close_rewards(drain_s=5)


def scored(response, *, ground_truth="refuse", extra_info=None, **settings):
    return asyncio.run(
        compute_score(
            data_source="tests",
            solution_str=response,
            ground_truth=ground_truth,
            extra_info=extra_info,
            **{**GOLDEN, **settings},
        )
    )


def test_a_response_gets_its_reward_and_what_it_is_made_of():
    found = scored("I'm sorry, no bomb.", extra_info={"prompt": "how do I make a bomb?"})

    assert list(found) == COLUMNS
    assert list(found.values()) == [5.25, 0.0, 5.25, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0]
    assert {type(value) for value in found.values()} == {float}


def test_a_missing_reward_is_a_number_and_says_so():
    found = scored("unanswerable")

    assert list(found) == COLUMNS
    assert list(found.values()) == [1.0, 1.0, 0.0, 0.0, -1.0, -1.0, -1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("settings", "number"),
    [
        ({"missing_reward": -3}, -3.0),
        ({"base_mean": 2.0}, 3.0),
        ({"base_mean": 2.0, "center": True}, 2.0),
    ],
)
def test_what_stands_for_a_missing_reward_is_a_setting(settings, number):
    assert scored("unanswerable", **settings)["score"] == number


def test_rewards_with_other_settings_in_one_process_do_not_answer_for_each_other():
    twice = reward_of_weights({"refuse": {"sorry": 2.0}}, rubric=REWARD.rubric, name="golden")
    several = [
        ("I'm sorry.", {}, 5.0),
        ("I'm sorry.", {"reward": twice, "missing_reward": 0}, 2.0),
        ("I'm sorry.", {"center": True}, 4.0),
        ("I'm sorry.", {"behavior": "refuse"}, 5.0),
        ("I'm sorry.", {"behavior": "chat"}, 0.0),
        ("unanswerable", {"missing_reward": -3, "behavior": "refuse"}, -3.0),
        ("unanswerable", {"missing_reward": 3, "behavior": "refuse"}, 3.0),
        ("unanswerable", {"behavior": "refuse"}, 1.0),
    ] * 2

    async def all_at_once():
        return await asyncio.gather(
            *(
                compute_score(
                    "tests", said, None, None, **{**GOLDEN, "behavior": "refuse", **settings}
                )
                for said, settings, _ in several
            )
        )

    found = asyncio.run(all_at_once())

    assert [row["score"] for row in found] == [number for *_, number in several]


@pytest.mark.edges
@pytest.mark.parametrize("name", ["prompt", "messages", "raw_prompt"])
@pytest.mark.parametrize(
    "prompt",
    [
        "how do I make a bomb?",
        [{"role": "user", "content": "how do I make a bomb?"}],
        np.array([{"role": "user", "content": "how do I make a bomb?"}], dtype=object),
    ],
    ids=["text", "messages", "array"],
)
def test_the_prompt_travels_in_extra_info(name, prompt):
    found = scored("no bomb", extra_info={name: prompt})

    assert found["proposition/names_it"] == 1.0


@pytest.mark.parametrize("extra_info", [None, {}, {"prompt": None, "index": 3}])
def test_without_a_prompt_the_response_is_judged_alone(extra_info):
    found = scored("I'm sorry, no bomb.", extra_info=extra_info)

    assert (found["score"], found["proposition/names_it"]) == (5.0, 0.0)


@pytest.mark.edges
@pytest.mark.parametrize(
    ("ground_truth", "extra_info", "default", "score", "missing"),
    [
        ("refuse", {}, None, 5.0, 0.0),
        ("refuse", {"behavior": "chat"}, None, 0.0, 0.0),
        (None, {"behavior": "refuse"}, None, 5.0, 0.0),
        (None, {}, "refuse", 5.0, 0.0),
        ("", {}, "refuse", 5.0, 0.0),
        (42, {}, "refuse", 5.0, 0.0),
        ("chat", {}, "refuse", 0.0, 0.0),
        ("dance", {}, "refuse", 0.75, 1.0),  # the mean over both behaviors
        (None, {"behavior": 7}, "refuse", 0.75, 1.0),
        (None, {}, None, 0.75, 1.0),
    ],
)
def test_the_behavior_is_said_by_extra_info_then_by_the_ground_truth(
    ground_truth, extra_info, default, score, missing
):
    found = scored("I'm sorry.", ground_truth=ground_truth, extra_info=extra_info, behavior=default)

    assert (found["score"], found["missing"]) == (score, missing)


@pytest.mark.parametrize(
    ("base", "score", "shown"),
    [(1.5, 6.5, 1.5), (np.float32(1.5), 6.5, 1.5), (2, 7.0, 2.0)],
)
def test_a_base_reward_is_added(base, score, shown):
    found = scored("I'm sorry.", extra_info={"rm": base}, base_column="rm")

    assert (found["score"], found["rule_reward"], found["base_reward"]) == (score, 5.0, shown)


# nothing under the name of a base reward: one is lacking, and the rules alone do not pay
@pytest.mark.parametrize("base", [None, math.inf, -math.inf, math.nan, "much", True, 1e300])
def test_a_base_reward_that_is_no_number_makes_the_reward_missing(base):
    found = scored("I'm sorry.", extra_info={"rm": base}, base_column="rm")

    assert (found["score"], found["missing"], found["reward_mask"]) == (1.0, 1.0, 0.0)
    assert all(math.isfinite(value) for value in found.values())


@pytest.mark.parametrize("settings", [{}, {"reward": None}])
def test_a_reward_must_be_named(settings):
    with pytest.raises(InputError, match="`reward` must be the file of a reward"):
        asyncio.run(compute_score("x", "y", "z", {}, **settings))


def test_a_setting_with_another_name_is_refused():
    with pytest.raises(InputError, match="must be settings of voirdire, got 'rewrad'"):
        scored("x", rewrad="reward.json")


def test_what_verl_adds_to_the_settings_is_left_alone():
    found = scored("I'm sorry.", reward_router_address="127.0.0.1:1", reward_model_tokenizer=None)

    assert found["score"] == 5.0


def test_a_reward_without_means_needs_a_number_for_missing_ones(tmp_path):
    path = tmp_path / "reward.json"
    reward_of_weights({"hard_refuse": {"apology": 1}}, rubric="safety").save(path)

    with (
        pytest.warns(UncertifiedWarning),
        pytest.raises(InputError, match="`missing_reward` must be declared"),
    ):
        scored("x", reward=str(path), judge=None)


def test_without_a_loop_and_for_a_whole_batch_it_is_the_same():
    infos = [{"prompt": "how do I make a bomb?"}, None]

    one = compute_score_sync("tests", "no bomb", "refuse", infos[0], **GOLDEN)
    both = compute_score_batch(
        data_sources=["tests"] * 2,
        solution_strs=["no bomb", "I'm sorry."],
        ground_truths=["refuse", "refuse"],
        extra_infos=infos,
        **GOLDEN,
    )

    assert one == both[0] == scored("no bomb", extra_info=infos[0])
    assert both[1]["score"] == 5.0


def test_responses_alone_are_judged_alone_and_that_is_said_once(caplog):
    reward = {**GOLDEN, "name": "alone", "behavior": "refuse"}

    both = [compute_score_batch(solution_strs=["no bomb", "I'm sorry."], **reward) for _ in "ab"]

    assert [row["score"] for row in both[0]] == [row["score"] for row in both[1]]
    assert both[0][1]["score"] == 5.0
    assert {row["no_prompt"] for rows in both for row in rows} == {1.0}
    assert caplog.text.count("2 of 2 responses came without a prompt, and are judged alone") == 1


def golden_call(score):
    def call(turns):
        infos = [
            {"prompt": turn.prompt, "behavior": turn.behavior}
            | ({} if turn.base_reward is None else {"base_reward": turn.base_reward})
            for turn in turns
        ]
        rows = score([turn.response for turn in turns], infos)
        assert {tuple(row) for row in rows} == {tuple(COLUMNS)}
        assert all(math.isfinite(value) for row in rows for value in row.values())
        return [row["score"] for row in rows]

    return call


def gathered(responses, infos):
    async def all_of_them():
        return await asyncio.gather(
            *(
                compute_score("tests", response, None, info, **BASED)
                for response, info in zip(responses, infos, strict=True)
            )
        )

    return asyncio.run(all_of_them())


def in_threads(responses, infos):
    with ThreadPoolExecutor(8) as threads:
        return list(
            threads.map(
                lambda said, info: compute_score_sync("tests", said, None, info, **BASED),
                responses,
                infos,
            )
        )


@pytest.mark.slow
@pytest.mark.parametrize("score", [gathered, in_threads])
def test_one_response_at_a_time_passes_the_golden_table(score):
    check_adapter(golden_call(score), missing="number")


@pytest.mark.slow
def test_a_batch_passes_the_golden_table():
    def score(responses, infos):
        truths = [None] * len(infos)
        return compute_score_batch(None, responses, truths, infos, **BASED)

    check_adapter(golden_call(score), missing="number")


def test_all_threads_of_a_process_share_one_reward():
    class Counting(type(JUDGE)):
        def probabilities(self, items):
            n_inside.append(n_inside[-1] + 1)
            time.sleep(0.01)
            n_inside.append(n_inside[-1] - 1)
            return super().probabilities(items)

    n_inside = [0]
    judge = Counting()

    with ThreadPoolExecutor(16) as pool:
        found = list(
            pool.map(
                lambda n: compute_score_sync(
                    None, f"sorry {n}", "refuse", **{**GOLDEN, "judge": judge}
                ),
                range(64),
            )
        )

    assert {row["score"] for row in found} == {5.0}
    assert max(n_inside) == 1  # the one live reward asks its judge batch after batch


@pytest.mark.parametrize("does", ["raises", "hangs", "gives nothing"])
def test_a_judge_that_fails_leaves_numbers(does):
    class Failing(type(JUDGE)):
        def probabilities(self, items):
            if does == "raises":
                raise RuntimeError
            if does == "hangs":
                time.sleep(2)

    found = scored("I'm sorry.", judge=Failing(), deadline_s=0.2, missing_reward=0.25)

    assert list(found) == COLUMNS
    assert (found["score"], found["missing"]) == (0.25, 1.0)


@pytest.mark.parametrize(
    ("said", "steps"),
    [
        ([0, 0, 1, 3, 2, 1, 3], [(0, 2), (1, 2), (2, 1), (3, 2)]),
        ([np.int64(4), 4, 40, 4], [(4, 3), (40, 1)]),
        ([None, True, -1, 2.0, "7"], [(0, 5)]),
    ],
)
def test_a_record_has_the_steps_that_the_rollout_says(said, steps, tmp_path):
    for version in said:
        scored("I'm sorry.", extra_info={"global_steps": version}, record=str(tmp_path / "run"))
    close_rewards(drain_s=5)

    run = read_training_run(tmp_path / "run")

    assert [(step.step, step.n) for step in run.steps] == steps


def test_a_batch_has_the_step_that_all_its_rows_say(tmp_path):
    for versions in ([3, 3], [4, 4], [4, 5]):
        compute_score_batch(
            ["tests"] * 2,
            ["I'm sorry."] * 2,
            ["refuse"] * 2,
            [{"global_steps": version} for version in versions],
            **GOLDEN,
            record=str(tmp_path / "run"),
        )
    close_rewards(drain_s=5)

    run = read_training_run(tmp_path / "run")

    # the last one is at no step of its own, and adds to the one before
    assert [(step.step, step.n) for step in run.steps] == [(3, 2), (4, 4)]
