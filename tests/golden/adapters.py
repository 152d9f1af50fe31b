"""Rewards through each adapter, called as its framework calls it, without the framework."""

import asyncio
import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np

from golden.figures import figures_of
from golden.inputs import response, truths
from golden.runs import FILES
from golden.training import scripted_judge
from voirdire.adapters import reward_function
from voirdire.adapters.openrlhf import (
    OpenRlhfReward,
    openrlhf_response,
    read_openrlhf_request,
)
from voirdire.adapters.trl import TrlReward
from voirdire.adapters.verl import close_rewards, compute_score, compute_score_batch
from voirdire.errors import UncertifiedWarning
from voirdire.rewards import LiveReward, LiveScores, MissingRewards, RewardModel, load_reward

BEHAVIORS = ["refuse", "refuse", "chat", "chat", "refuse", "chat", "chat", "refuse"]
NAMES = [f"item-{number}" for number in range(700, 708)]
PROMPTS = [f"Question {place // 2}?" for place in range(len(NAMES))]
RESPONSES = [response(name, truths(name)) for name in NAMES]
RESPONSES[3] = "There is no answer to this. (item-0)"


def _reward() -> RewardModel:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UncertifiedWarning)
        return load_reward(FILES / "first.json")


def plain() -> dict[str, Any]:
    function = reward_function(_reward(), judge=scripted_judge())
    try:
        return {"rewards": function(PROMPTS, RESPONSES, behaviors=BEHAVIORS)}
    finally:
        function.close()


def trl() -> dict[str, Any]:
    logged: dict[str, Any] = {}
    function = TrlReward(_reward(), judge=scripted_judge(), name="golden")
    try:
        rewards = asyncio.run(
            function(
                prompts=PROMPTS,
                completions=RESPONSES,
                completion_ids=[[1, 2, 3]] * len(NAMES),
                behavior=BEHAVIORS,
                trainer_state=SimpleNamespace(global_step=0),
                log_extra=logged.__setitem__,
                log_metric=logged.__setitem__,
            )
        )
    finally:
        function.close()
    return {"rewards": rewards, "logged": logged}


def openrlhf_function() -> dict[str, Any]:
    function = OpenRlhfReward(_reward(), judge=scripted_judge(), missing_reward=-9.0)
    queries = [prompt + said for prompt, said in zip(PROMPTS, RESPONSES, strict=True)]
    try:
        found = function(queries, PROMPTS, BEHAVIORS)
    finally:
        function.close()
    columns = {"rewards": found["rewards"], "scores": found["scores"], **found["extra_logs"]}
    return {name: np.asarray(column, dtype=float).tolist() for name, column in columns.items()}


def openrlhf_request() -> dict[str, Any]:
    """Answer what OpenRLHF posts, as `voirdire serve` does."""
    queries = [prompt + said for prompt, said in zip(PROMPTS, RESPONSES, strict=True)]
    turns = read_openrlhf_request({"query": queries, "prompts": PROMPTS, "labels": BEHAVIORS})
    reward = _reward()

    async def scored() -> LiveScores:
        live = LiveReward(reward, judge=scripted_judge())
        await live.start()
        try:
            return await live.turn_rewards(turns)
        finally:
            await live.close()

    return openrlhf_response(asyncio.run(scored()), MissingRewards(reward, declared=-9.0))


def verl() -> dict[str, Any]:
    settings = {"reward": _reward(), "judge": scripted_judge(), "missing_reward": -9.0}
    known = [{"prompt": prompt} for prompt in PROMPTS]
    try:
        batch = compute_score_batch([""] * len(NAMES), RESPONSES, BEHAVIORS, known, **settings)
        one = asyncio.run(compute_score("", RESPONSES[0], BEHAVIORS[0], known[0], **settings))
        return {"batch": batch, "one": one}
    finally:
        close_rewards(drain_s=5)


ADAPTERS = (plain, trl, openrlhf_function, openrlhf_request, verl)


def figures_of_adapters() -> dict[str, Any]:
    """Give what every adapter gives for the same eight responses, one of which nobody can judge."""
    return {call.__name__: figures_of(call()) for call in ADAPTERS}
