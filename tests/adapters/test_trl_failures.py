"""A judge out of order, or numbers that are none, in the middle of a training with TRL."""

import asyncio
import math
import threading

import numpy as np
import polars as pl
import pytest

from frameworks import require_framework

require_framework("torch", "trl", "datasets")

from adapters.trl_harness import (  # noqa: E402
    HurtJudge,
    KeptRlooTrainer,
    KeptTrainer,
    Overheard,
    fails_for_some,
    prompts,
    refusal_reward,
    train,
)
from voirdire.adapters.trl import TrlReward  # noqa: E402
from voirdire.rewards import read_training_run  # noqa: E402

pytestmark = pytest.mark.slow

GROUP = 16
N_STEPS = 8


@pytest.fixture
def trained(tmp_path):
    """Train with one reward function, and close it."""

    def trained(*rewards, n_steps=N_STEPS, **options):
        heard = [Overheard(reward) for reward in rewards]
        run = train(heard, tmp_path / "trl", n_steps=n_steps, **options)
        for reward in rewards:
            reward.close(drain_s=0)
        return run, [one.said for one in heard]

    return trained


def hurt(judge, **options):
    return TrlReward(refusal_reward(), judge=judge, other_judge=True, **options)


def rewards_without_failures(step):
    """Ask the whole judge about the completions of a step."""
    function = TrlReward(refusal_reward(), behavior="hard_refuse")
    rewards = asyncio.run(function(prompts=step.prompts, completions=step.completions))
    function.close()
    return np.array(rewards)


def grpo_advantages(rewards):
    """Work out a group's advantages from the rewards that are there, and nothing else."""
    there = np.isfinite(rewards)
    advantages = np.zeros(len(rewards))
    if there.sum() > 1:
        left = rewards[there]
        advantages[there] = (left - left.mean()) / (left.std(ddof=1) + 1e-4)
    return advantages


def rloo_advantages(rewards):
    """Compare each reward with the mean of the others that are there."""
    there = np.flatnonzero(np.isfinite(rewards))
    advantages = np.zeros(len(rewards))
    for place in there:
        others = [rewards[other] for other in there if other != place]
        advantages[place] = rewards[place] - np.mean(others) if others else 0.0
    return advantages


def by_group(work_out, rewards):
    return np.concatenate([work_out(group) for group in rewards.reshape(-1, GROUP)])


@pytest.mark.parametrize(
    ("trainer_class", "work_out"),
    [(KeptTrainer, grpo_advantages), (KeptRlooTrainer, rloo_advantages)],
    ids=["GRPO", "RLOO"],
)
def test_a_judge_that_fails_for_some_does_not_move_the_advantages_of_the_others(
    trained, trainer_class, work_out
):
    run, _ = trained(hurt(HurtJudge(fails_for_some)), trainer_class=trainer_class)

    assert run.n_steps == N_STEPS
    assert run.is_finite
    shares = []
    for step in run.steps:
        paid = step.rewards[:, 0]
        there = np.isfinite(paid)
        shares.append(1 - there.mean())
        whole = rewards_without_failures(step)
        np.testing.assert_allclose(paid[there], whole[there], atol=1e-5)
        wanted = by_group(work_out, np.where(there, whole, np.nan))
        np.testing.assert_allclose(step.advantages, wanted, atol=2e-4)
        assert not step.advantages[~there].any()
    assert 0.1 < np.mean(shares) < 0.6


def raises_from_the_third_call_on(n_calls, _, answers):
    if n_calls >= 3:
        raise RuntimeError("out of order")
    return answers


def test_a_judge_that_raises_does_not_stop_training(trained):
    judge = HurtJudge(raises_from_the_third_call_on)
    run, (said,) = trained(hurt(judge))

    assert run.n_steps == N_STEPS
    assert run.is_finite
    assert judge.n_calls >= 3
    for step in run.steps:
        missing = np.isnan(step.rewards[:, 0])
        assert not step.advantages[missing].any()
    assert any(reward is None for reward in said[-1])
    # what was judged before it broke is remembered, and paid
    assert not any(reward is None for reward in said[0])


def test_a_judge_that_hangs_does_not_stop_training(trained):
    release = threading.Event()

    def hangs_from_the_third_call_on(n_calls, _, answers):
        if n_calls >= 3:
            release.wait(120)
        return answers

    try:
        run, (said,) = trained(hurt(HurtJudge(hangs_from_the_third_call_on), deadline_s=0.3))
    finally:
        release.set()

    assert run.n_steps == N_STEPS
    assert run.is_finite
    assert any(reward is None for reward in said[-1])
    for step in run.steps:
        there = np.isfinite(step.rewards[:, 0])
        paid = np.where(there, rewards_without_failures(step), np.nan)
        np.testing.assert_allclose(step.advantages, by_group(grpo_advantages, paid), atol=2e-4)


def test_neither_inf_nor_nan_reaches_the_trainer(trained):
    values = [1.0, math.inf, -math.inf, math.nan, None, 1e39, 1e300, -2.5]

    def base(completions, **others):
        return [values[place % len(values)] for place in range(len(completions))]

    run, (said,) = trained(TrlReward(refusal_reward(), base=base))

    assert run.n_steps == N_STEPS
    assert run.is_finite
    paid = [reward for rewards in said for reward in rewards if reward is not None]
    assert len(paid) == N_STEPS * 32 * 2 // len(values)
    assert np.isfinite(np.float32(paid)).all()
    assert all(np.isfinite(step.advantages).all() for step in run.steps)
    assert all(math.isfinite(line["loss"]) for line in run.log if "loss" in line)
    for step in run.steps:
        whole = rewards_without_failures(step)
        added = np.array([values[place % len(values)] or np.nan for place in range(32)])
        total = np.where(np.isin(added, [1.0, -2.5]), whole + added, np.nan)
        np.testing.assert_allclose(step.rewards[:, 0], total, atol=1e-5)
        np.testing.assert_allclose(step.advantages, by_group(grpo_advantages, total), atol=2e-4)


def test_a_training_without_a_single_reward_leaves_the_model_as_it_was(trained):
    def fails(_, items, answers):
        return np.full_like(answers, np.nan)

    def weights(run):
        return [tensor.detach().numpy().copy() for tensor in run.trainer.model.parameters()]

    untrained, _ = trained(TrlReward(refusal_reward()), n_steps=1, learning_rate=0.0)
    run, (said,) = trained(hurt(HurtJudge(fails)))

    assert {reward for rewards in said for reward in rewards} == {None}
    for before, after in zip(weights(untrained), weights(run), strict=True):
        np.testing.assert_array_equal(before, after)


def test_two_reward_functions_keep_figures_and_columns_of_their_own(trained, tmp_path):
    first, second = TrlReward(refusal_reward("harm")), TrlReward(refusal_reward("harm"))
    names = first.__name__, second.__name__

    run, _ = trained(first, second, n_steps=3, log_completions=True, num_completions_to_print=0)

    assert len(set(names)) == 2
    for place, name in enumerate(names):
        logged = [line for line in run.log if f"{name}/reward" in line]
        assert len(logged) == 3
        for line, step in zip(logged, run.steps, strict=True):
            mean = step.rewards[:, place].mean()
            assert line[f"{name}/reward"] == pytest.approx(mean, abs=1e-4)
            assert line[f"rewards/{name}/mean"] == pytest.approx(mean, abs=1e-4)
            assert line[f"{name}/missing"] == 0.0
    table = pl.read_parquet(sorted((tmp_path / "trl" / "completions").glob("*.parquet"))[-1])
    for name in names:
        assert {f"{name}/apology", f"{name}/missing", f"{name}/rule_reward"} <= set(table.columns)
    sorry = table["completion"].str.contains("I'm sorry").to_numpy()
    apology = table[f"{names[0]}/apology"].to_numpy()
    assert apology[sorry].mean() > apology[~sorry].mean() + 0.3


def test_prompts_and_completions_as_messages(trained):
    run, (said,) = trained(
        TrlReward(refusal_reward()),
        dataset=prompts(messages=True),
        chat_template="{% for message in messages %}{{ message['content'] }}{% endfor %}",
        n_steps=3,
    )

    assert run.n_steps == 3
    assert run.steps[0].completions[0][0]["role"] == "assistant"
    assert not any(reward is None for rewards in said for reward in rewards)


def test_an_evaluation_in_between_is_no_part_of_the_record(trained, tmp_path):
    reward = TrlReward(refusal_reward(), record=tmp_path / "run")

    run, (said,) = trained(
        reward,
        n_steps=4,
        eval_dataset=prompts(n_rows=16),
        eval_strategy="steps",
        eval_steps=2,
        per_device_eval_batch_size=32,
    )
    recorded = read_training_run(tmp_path / "run")

    assert len(said) > 4  # asked in evaluations as well
    assert any(f"eval_{reward.__name__}/reward" in line for line in run.log)
    assert [step.n for step in recorded.steps] == [32] * 4
    means = [step.reward_mean for step in recorded.steps]
    np.testing.assert_allclose(means, run.curve, atol=1e-5)
