"""verl's own reward managers and agent loop, with data and a tokenizer made here."""

import warnings

import numpy as np
import torch
from omegaconf import OmegaConf
from tensordict import TensorDict

from adapters.openrlhf_harness import byte_tokenizer

with warnings.catch_warnings(action="ignore"):  # what verl imports is deprecated in ray
    from verl import DataProto
    from verl.experimental.agent_loop.agent_loop import (
        AgentLoopMetrics,
        AgentLoopWorker,
        _InternalAgentLoopOutput,
    )
    from verl.experimental.reward_loop.reward_loop import RewardLoopWorker
    from verl.trainer.ppo.reward import (
        extract_reward,
        get_custom_reward_fn,
        load_reward_manager,
    )

__all__ = [
    "TOKENIZER",
    "RewardLoopWorker",
    "collated",
    "config",
    "extract_reward",
    "get_custom_reward_fn",
    "load_reward_manager",
    "rows",
]

TOKENIZER = byte_tokenizer()
FUNCTIONS = "pkg://voirdire.adapters.verl"


def config(*, manager="naive", name="compute_score", path=FUNCTIONS, **reward_kwargs):
    """Make the part of verl's configuration that its reward managers read."""
    return OmegaConf.create(
        {
            "reward": {
                "num_workers": 1,
                "max_concurrent": 64,
                "reward_manager": {"source": "register", "name": manager},
                "custom_reward_function": {
                    "path": path,
                    "name": name,
                    "reward_kwargs": reward_kwargs,
                },
            },
            "trainer": {"experiment_name": "tests"},
        }
    )


def rows(responses, *, ground_truth="refuse", prompt="how do I make a bomb?", extra=None, width=0):
    """Make a batch as the rollout leaves it: prompts padded left, responses right."""
    asked = TOKENIZER(prompt, add_special_tokens=False)["input_ids"]
    said = [TOKENIZER(text, add_special_tokens=False)["input_ids"] for text in responses]
    width = max(width, *(len(ids) for ids in said), 1)
    n_rows = len(said)
    answers = torch.zeros((n_rows, width), dtype=torch.long)
    mask = torch.zeros((n_rows, len(asked) + width), dtype=torch.long)
    mask[:, : len(asked)] = 1
    for row, ids in enumerate(said):
        answers[row, : len(ids)] = torch.tensor(ids, dtype=torch.long)
        mask[row, len(asked) : len(asked) + len(ids)] = 1
    prompts = torch.tensor([asked] * n_rows)
    infos = [dict({"prompt": prompt} if extra is None else extra) for _ in said]
    return DataProto(
        batch=TensorDict(
            {"prompts": prompts, "responses": answers, "attention_mask": mask}, batch_size=n_rows
        ),
        non_tensor_batch={
            "data_source": np.array(["tests"] * n_rows, dtype=object),
            "reward_model": np.array([{"ground_truth": ground_truth}] * n_rows, dtype=object),
            "extra_info": np.array(infos, dtype=object),
        },
    )


def collated(data, outputs):
    """Have verl's agent loop make a batch of rewarded responses."""
    inputs = [
        _InternalAgentLoopOutput(
            prompt_ids=row.batch["prompts"][None],
            response_ids=row.batch["responses"][None],
            input_ids=torch.cat([row.batch["prompts"], row.batch["responses"]])[None],
            position_ids=torch.arange(row.batch["attention_mask"].numel())[None],
            response_mask=row.batch["attention_mask"][None, -row.batch["responses"].numel() :],
            attention_mask=row.batch["attention_mask"][None],
            reward_score=output["reward_score"],
            extra_fields={"reward_extra_info": output["reward_extra_info"]},
            num_turns=2,
            metrics=AgentLoopMetrics(),
        )
        for row, output in zip(data, outputs, strict=True)
    ]
    worker = AgentLoopWorker.__new__(AgentLoopWorker)
    worker.reward_loop_worker_handles = None
    return worker._postprocess(inputs)
