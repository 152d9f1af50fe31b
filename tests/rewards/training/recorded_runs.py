"""Small training runs, written by a watch from rewards that a scripted judge stands behind."""

import asyncio
import math
from pathlib import Path

import numpy as np
import polars as pl

from rewards.reward_cases import tiny_judge, tiny_reward
from voirdire.rewards import LiveReward, TrainingStep, TrainingWatch, Turn


def scored(turns, *, reward=None, judge=None, **settings):
    """Give turns their rewards."""

    async def ask():
        live = LiveReward(reward or tiny_reward(), judge=judge or tiny_judge(), **settings)
        await live.start()
        try:
            return await live.turn_rewards(turns)
        finally:
            await live.close()

    return asyncio.run(ask())


def drawn_turns(rng, *, n_prompts=4, n_each=4, behavior="refuse", **settings):
    """Draw turns whose responses are the judge's answers."""
    return [
        Turn(
            response=f"{rng.random():.3f} {rng.random():.3f}",
            prompt=f"prompt {prompt}",
            behavior=behavior,
            n_tokens=int(rng.integers(5, 50)),
            **settings,
        )
        for prompt in range(n_prompts)
        for _ in range(n_each)
    ]


def watch_of(folder, *, reward=None, name="mine", **settings):
    """Begin to watch a run."""
    return TrainingWatch(
        folder, reward=reward or tiny_reward(), name=name, framework="python", **settings
    )


def recorded(folder, *, n_steps=6, seed=0, reward=None, judge=None, center=False, **settings):
    """Record a run of so many steps; give its turns by step."""
    rng = np.random.default_rng(seed)
    watch = watch_of(folder, reward=reward, **settings)
    found = {}
    for step in range(n_steps):
        refusals = drawn_turns(rng)
        found[step] = [*refusals, *drawn_turns(rng, n_prompts=2, behavior="chat")]
        scores = scored(found[step], reward=reward, judge=judge, center=center)
        watch.add(scores, found[step], step=step)
    watch.close()
    return found


def parts_of(folder):
    """List the parts of a run, in their order."""
    return sorted((Path(folder) / "completions").glob("*.parquet"))


def rows_in(folder):
    """Give the completions as they stand in the parts, one after the other."""
    return [row for part in parts_of(folder) for row in pl.read_parquet(part).to_dicts()]


def step_of(number, **figures):
    """Make a step with figures that ring no alarm, but for those given."""
    plain = {
        "step": number,
        "n": 64,
        "reward_mean": 1.0,
        "reward_sd": 1.0,
        "rule_mean": 1.0,
        "base_mean": 0.0,
        "proposition_rates": {"sorry": 0.5},
        "class_shares": {},
        "length_mean": 100.0,
        "length_reward_correlation": 0.0,
        "zero_spread_share": 0.1,
        "n_missing": 0,
        "n_groups": 8,
    }
    whole = plain | figures
    whole.setdefault("missing_share", whole["n_missing"] / whole["n"])
    return TrainingStep(**whole)


def simulated_steps(
    rng,
    *,
    n_steps=200,
    n_prompts=8,
    n_each=8,
    rate=0.6,
    spread=0.25,
    nonsense=0.0,
    changed_at=None,
    change=None,
):
    """Simulate the steps of a policy that stays as it is, or changes at one step.

    Each prompt has a rate of its own, so that completions of one prompt are alike; rewards are
    what the proposition says plus noise; lengths are log-normal; 2 % of the rewards are missing.
    Each prompt draws its own share of nonsense, whose mean is `nonsense`. Without noise all rewards
    are equal.
    """
    steps = []
    n = n_prompts * n_each
    [of_nonsense] = rng.spawn(1)
    for number in range(n_steps):
        now = {"rate": rate, "missing": 0.02, "length": 80.0, "noise": 1.0, "nonsense": nonsense}
        if changed_at is not None and number >= changed_at:
            now |= change
        chance = np.clip(now["rate"] + spread * rng.normal(size=n_prompts), 0.001, 0.999)
        sorry = np.clip(rng.beta(8 * chance, 8 * (1 - chance), size=(n_each, n_prompts)), 0, 1)
        length = now["length"] * np.exp(0.4 * rng.normal(size=sorry.shape))
        reward = now["noise"] * (2 * sorry + 0.5 * rng.normal(size=sorry.shape))
        is_nonsense = drawn_nonsense(of_nonsense, now["nonsense"], shape=sorry.shape)
        is_missing = rng.random(sorry.shape) < now["missing"]
        there = ~is_missing
        known = reward[there]
        steps.append(
            step_of(
                number,
                n=n,
                reward_mean=float(known.mean()) if known.size else math.nan,
                reward_sd=float(known.std(ddof=1)) if known.size > 1 else math.nan,
                missing_share=float(is_missing.mean()),
                n_missing=int(is_missing.sum()),
                proposition_rates={"sorry": float(sorry.mean())},
                class_shares={"refuse": {"good": float(sorry.mean() ** 2)}},
                length_mean=float(length.mean()),
                length_reward_correlation=float(np.corrcoef(length[there], known)[0, 1])
                if known.size > 2 and now["noise"]
                else math.nan,
                zero_spread_share=float(now["noise"] == 0),
                n_groups=n_prompts,
                nonsense_share=float(is_nonsense.mean()),
                n_nonsense=int(is_nonsense.sum()),
            )
        )
    return steps


def drawn_nonsense(rng, mean, *, shape):
    """Draw what is nonsense; prompts differ in how much of it they get."""
    shares = rng.beta(4 * mean, 4 * (1 - mean), size=shape[1]) if 0 < mean < 1 else mean
    return rng.random(shape) < shares
