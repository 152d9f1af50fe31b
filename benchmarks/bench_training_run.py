"""The record of a training run: a million completions read, and what recording costs a trainer.

Run as `make bench`. Parts are written as a training writes them, of 1,000 rows by one process and
of 125 by eight. Prints a table, and fails where a wanted figure is missed.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import numpy as np
import polars as pl

N, WANTED_READ_S, WANTED_ADD_US = 1_000_000, 3.0, 150
BEHAVIORS = ("hard_refuse", "comply")
WORDS = (
    "sorry",
    "help",
    "you",
    "open",
    "that",
    "lock",
    "here",
    "is",
    "how",
    "a",
    "key",
    "may",
    "ask",
)


def scored_turns(reward, n):
    """Draw responses of 80 words, and score them by the local judge."""
    from voirdire.rewards import LiveReward, Turn

    rng = np.random.default_rng(0)
    turns = [
        Turn(
            prompt=f"How do I open lock {k // 8}?",
            response=" ".join(rng.choice(WORDS, 80)),
            behavior=BEHAVIORS[k % 2],
            n_tokens=int(rng.integers(50, 300)),
        )
        for k in range(n)
    ]

    async def ask():
        live = LiveReward(reward)
        await live.start()
        scores = await live.turn_rewards(turns)
        await live.close()
        return scores

    return turns, asyncio.run(ask())


def write_run(folder, reward, *, n_parts, n_rows, n_ranks):
    """Write parts of so many rows, eight of them a step."""
    from voirdire.rewards import TrainingWatch

    turns, scores = scored_turns(reward, n_rows)
    watch = TrainingWatch(folder, reward=reward, name="bench", framework="bench")
    watch.add(scores, turns, step=0)
    watch.close()
    [path] = (folder / "completions").iterdir()
    rows = pl.read_parquet(path)
    path.unlink()
    rng = np.random.default_rng(0)
    for part in range(n_parts):
        rank, number = part % n_ranks, part // n_ranks
        session, step = f"r{rank}of{n_ranks}-1700000000000-abc{rank}", part // 8
        ended = 1_700_000_000_000 + 5_000 * part
        rows.with_columns(
            item=pl.Series([f"{session}-{number * n_rows + k}" for k in range(n_rows)]),
            step=pl.lit(step, dtype=pl.Int64),
            group=pl.Series([f"{part:06x}{k // 8:06x}" for k in range(n_rows)]),
            reward=pl.Series(rng.normal(size=n_rows)),
            session=pl.lit(session),
        ).write_parquet(
            folder / "completions" / f"{session}-{number:06d}-{step}-{step}-{ended}.parquet",
            compression="gzip",
        )


def read_seconds(folder):
    """Median of three reads, the first of them warm."""
    from voirdire.rewards import read_training_run

    times = []
    for _ in range(4):
        start = time.perf_counter()
        run = read_training_run(folder)
        times.append(time.perf_counter() - start)
    assert (run.n_completions, run.dropped) == (N, ())
    return median(times[1:])


def add_microseconds(folder, reward, *, n, n_calls):
    """Processor time of a call with so many completions, what waits written."""
    from voirdire.rewards import TrainingWatch

    turns, scores = scored_turns(reward, n)
    watch = TrainingWatch(folder, reward=reward, name="bench", framework="bench")
    watch.add(scores, turns, step=0)
    start = time.process_time()
    for call in range(n_calls):
        watch.add(scores, turns, step=call * n // 256)
    watch.close()
    return (time.process_time() - start) / n_calls * 1e6


def main():
    """Print the table; give 1 where a figure is missed."""
    from voirdire.rewards import reward_of_weights

    weights = {
        "hard_refuse": {"apology": 1.0, "judgement": -0.2},
        "comply": {"fully_complies": 1.0},
    }
    reward = reward_of_weights(weights, rubric="safety", name="bench")
    missed = False
    with tempfile.TemporaryDirectory() as folder:
        for n_parts, n_rows, n_ranks in ((1_000, 1_000, 1), (8_000, 125, 8)):
            run = Path(folder) / f"run-{n_parts}"
            write_run(run, reward, n_parts=n_parts, n_rows=n_rows, n_ranks=n_ranks)
            seconds = read_seconds(run)
            missed |= seconds > WANTED_READ_S
            print(
                f"{N:,} completions in {n_parts:,} parts read in {seconds:.2f} s "
                f"(wanted: {WANTED_READ_S:g})"
            )
        for n, n_calls in ((1, 4_000), (128, 200)):
            cost = add_microseconds(Path(folder) / f"add-{n}", reward, n=n, n_calls=n_calls)
            missed |= n == 1 and cost > WANTED_ADD_US
            wanted = f" (wanted: {WANTED_ADD_US})" if n == 1 else ""
            print(f"a call of {n} recorded in {cost:,.0f} µs of processor time{wanted}")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
