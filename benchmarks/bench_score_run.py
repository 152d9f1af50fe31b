"""Another reward over a training run, and a sample of it: a million completions, 8 to a group.

Run as `make bench`. A thousand completions are recorded as a training does it; the parts of the
other steps are made of theirs, with verdicts and rewards of their own, texts of 1,000 characters,
and one in a thousand verdicts missing. Every second completion repeats another one. Work is done in
a process of its own, whose peak of memory is compared with that of a tenth of the run. Prints a
table, and fails where a wanted figure is missed.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from voirdire.judging import ScriptedJudge
from voirdire.rewards import LiveReward, TrainingWatch, Turn, reward_of_weights
from voirdire.rubrics import load_rubric

N_COMPLETIONS, N_PART, N_GROUP = 1_000_000, 1_000, 8
WANTED_SECONDS, WANTED_MEMORY = 20.0, 2.5
RUBRIC = load_rubric("safety")
WORK = """
import json, resource, sys, time
from voirdire.rewards import sample_training_run, score_run

folder, work = sys.argv[1], sys.argv[2]
start, busy = time.perf_counter(), time.process_time()
if work == "score":
    reward = f"{folder}/other.json"
    n = score_run(f"{folder}/run", f"{folder}/rewards.parquet", reward=reward).n_items
else:
    n = sample_training_run(f"{folder}/run", f"{folder}/sample", n=60).n_completions
seconds, busy = time.perf_counter() - start, time.process_time() - busy
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"n": n, "seconds": seconds, "busy": busy, "memory": memory}))
"""


def reward(name, seed):
    """Give a reward with a weight for everything."""
    rng = np.random.default_rng(seed)
    weights = {
        row.id: {feature: float(rng.normal()) for feature in row.features}
        for row in RUBRIC.behaviors
    }
    return reward_of_weights(weights, rubric="safety", judge=None, name=name)


async def record(folder, paid):
    """Record one step as a training does."""
    answer = [0.5] * len(RUBRIC.propositions)
    judge = ScriptedJudge(questions=RUBRIC.propositions, answer=lambda _: answer)
    turns = [
        Turn(
            response=f"response {place // 2 * 2} " + "word " * 200,
            prompt=f"prompt {place // N_GROUP} " + "word " * 30,
            behavior=RUBRIC.behaviors[place // N_GROUP % len(RUBRIC.behaviors)].id,
            n_tokens=200,
        )
        for place in range(N_PART)
    ]
    watch = TrainingWatch(folder, reward=paid, name="bench", framework="python")
    live = LiveReward(paid, judge=judge)
    await live.start()
    try:
        watch.add(await live.turn_rewards(turns), turns, step=0)
    finally:
        await live.close()
        watch.close()


def write_steps(folder, n_steps):
    """Make the parts of further steps out of the first one."""
    [first] = (folder / "completions").glob("*.parquet")
    rows = pl.read_parquet(first)
    session = first.stem.rpartition("-000000-")[0]
    rng = np.random.default_rng(0)
    ended = time.time_ns() // 1_000_000
    for step in range(1, n_steps):
        values = rng.random((N_PART, len(RUBRIC.propositions)))
        values[rng.random(values.shape) < 0.001] = np.nan
        group = [f"{step * N_PART + place // N_GROUP:012x}" for place in range(N_PART)]
        rows.with_columns(
            pl.Series("item", [f"{session}-{step * N_PART + place}" for place in range(N_PART)]),
            pl.Series("group", group),
            pl.lit(step, dtype=pl.Int64).alias("step"),
            pl.col("prompt") + f" {step}",
            pl.Series("reward", rng.normal(size=N_PART)),
            *(
                pl.Series(name, values[:, place]).fill_nan(None)
                for place, name in enumerate(RUBRIC.propositions)
            ),
        ).write_parquet(
            folder / "completions" / f"{session}-{step:06d}-{step}-{step}-{ended}.parquet"
        )


def measure(folder, work):
    """Do it in a process of its own."""
    command = [sys.executable, "-c", WORK, str(folder), work]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main():
    """Print the table; give 1 where a figure is missed."""
    rows, is_missed = {}, False
    for n in (N_COMPLETIONS // 10, N_COMPLETIONS):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            reward("other", 1).save(folder / "other.json")
            asyncio.run(record(folder / "run", reward("paid", 0)))
            write_steps(folder / "run", n // N_PART)
            for work in ("score", "sample"):
                found = rows[work, n] = measure(folder, work)
                print(
                    f"{work} of {found['n']:,} completions: {found['seconds']:.1f} s ("
                    f"{found['busy']:.1f} s of processor time), "
                    f"{found['memory']:,.0f} MiB at most"
                )
    for work in ("score", "sample"):
        small, large = rows[work, N_COMPLETIONS // 10], rows[work, N_COMPLETIONS]
        is_missed |= large["n"] != N_COMPLETIONS or large["busy"] > WANTED_SECONDS
        is_missed |= large["memory"] > WANTED_MEMORY * small["memory"]
    if is_missed:
        print(f"wanted: {WANTED_SECONDS:.0f} s of processor time, {WANTED_MEMORY:g} times the")
        print("memory of a tenth of the run at most, and every completion")
    return int(is_missed)


if __name__ == "__main__":
    sys.exit(main())
