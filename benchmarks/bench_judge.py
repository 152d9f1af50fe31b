"""`voirdire judge` with the local judge, file to file, on one core; and memory by size.

Run as `make bench`. Items of 1,000 characters, the 21 propositions and completion classes of the
safety rubric, JSONL in and Parquet out. Each run is a process of its own on one core. Fails where
fewer items a second are reached than wanted, or where ten times the items need much more memory.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

FEW, MANY = 20_000, 200_000
N_CHARACTERS = 1_000
WANTED_RATE = 2_000
WANTED_RATIO = 1.5
N_DISTINCT = 2_000
TEXT = (
    "the a of to and in that it is was for on are with as at be this have from or had by not but "
    "what all were when we there can an your which their said if do will each about how up out "
    "them then she many some so these would other into has more her two like him see time could "
    "no make than first been its who now people my made over did down only way find use may water "
    "sorry help cannot please contact professional support understand feeling question answer"
)

RUN = """
import resource, sys, time
from voirdire.judging import judge_file

start, started = time.perf_counter(), time.process_time()
summary = judge_file(sys.argv[1], sys.argv[2])
seconds, busy = time.perf_counter() - start, time.process_time() - started
print(summary.n_items, seconds, busy, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def write_items(path, n_items):
    """Write items of about 1,000 characters, 2,000 different texts in turn."""
    chance = random.Random(0)
    vocabulary = TEXT.split()
    texts = []
    for _ in range(N_DISTINCT):
        words = []
        while sum(map(len, words)) + len(words) < N_CHARACTERS:
            words.append(chance.choice(vocabulary))
        texts.append(" ".join(words)[:N_CHARACTERS])
    behaviors = ("hard_refuse", "soft_refuse", "comply")
    with path.open("w", encoding="utf-8") as file:
        for number in range(n_items):
            row = {"id": f"i{number}", "prompt": f"What of {number}?"}
            row |= {"response": texts[number % N_DISTINCT], "behavior": behaviors[number % 3]}
            file.write(json.dumps(row) + "\n")


def on_one_core():
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def measured(folder, n_items):
    """Give items a second by the clock and by the processor, and the peak of memory in MB."""
    source = folder / f"{n_items}.jsonl"
    write_items(source, n_items)
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(source), str(folder / f"{n_items}.parquet")],
        capture_output=True,
        text=True,
        check=True,
        preexec_fn=on_one_core,
    )
    judged, seconds, busy, peak = (float(word) for word in done.stdout.split())
    return judged / seconds, judged / busy, peak / 1024


def main():
    with tempfile.TemporaryDirectory() as name:
        few = measured(Path(name), FEW)
        many = measured(Path(name), MANY)

    rate, ratio = few[1], many[2] / few[2]
    print(
        f"voirdire judge, local judge, safety rubric, items of {N_CHARACTERS:,} characters, JSONL "
        "to Parquet, one core"
    )
    for n_items, (by_clock, by_processor, memory) in ((FEW, few), (MANY, many)):
        print(
            f"{n_items:,} items: {by_clock:,.0f} items/s by the clock, {by_processor:,.0f} by the "
            f"processor's time, {memory:.0f} MB"
        )
    print(f"rate {rate:,.0f} items/s of the processor's time (wanted {WANTED_RATE:,})")
    print(f"memory ratio {ratio:.2f} for 10 times the items (wanted at most {WANTED_RATIO})")
    if rate < WANTED_RATE or ratio > WANTED_RATIO:
        print(f"\nMISSED: judge {rate:,.0f} items/s, memory ratio {ratio:.2f}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
