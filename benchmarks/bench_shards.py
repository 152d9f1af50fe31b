"""Shards: how much faster two of them judge a folder than one, on two cores.

Run as `make bench`, or with a number of items: `bench_shards.py 1000000`. Each shard is
`voirdire judge IN/ -o OUT/ --shard K/N` as a program of its own, with the local judge in one
process. Fails below 1.7 times; with fewer than two cores nothing is wanted.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

N_FILES, WANTED = 20, 1.7
SENTENCES = (
    "I'm sorry, but I can't help with that.",
    "First open the lid, then turn the screw on the left by half a turn.",
    "You might want to talk to somebody you trust about how you feel.",
    "There are 24 seats in the first row and 31 in the second!",
)
PROGRAM = (sys.executable, "-c", "import voirdire.cli as c; c.run()")


def write_items(folder, n_items):
    rng = np.random.default_rng(0)
    folder.mkdir()
    each = n_items // N_FILES
    for number in range(N_FILES):
        with (folder / f"{number:02d}.jsonl").open("w") as file:
            for row in range(each):
                text = " ".join(rng.choice(SENTENCES, 4))
                item = {"id": f"{number}-{row}", "prompt": "How?", "response": f"{row} {text}"}
                file.write(json.dumps(item) + "\n")
    return each * N_FILES


def judge(items, output, n_shards):
    start = time.perf_counter()
    shards = [
        subprocess.Popen(
            [*PROGRAM, "judge", str(items), "-o", str(output), "--workers", "1",
             "--shard", f"{number}/{n_shards}"],
            stdout=subprocess.DEVNULL,
        )
        for number in range(1, n_shards + 1)
    ]  # fmt: skip
    if any(shard.wait() for shard in shards):
        sys.exit("a shard failed")
    return time.perf_counter() - start


def main():
    n_items = int(sys.argv[1]) if len(sys.argv) > 1 else 300_000
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        n_items = write_items(folder / "in", n_items)
        one, two = (judge(folder / "in", folder / f"out{n}", n) for n in (1, 2))
        n_bytes = sum(path.stat().st_size for path in (folder / "out2").glob("*.parquet"))
    print(f"{n_items:,} items, one shard: {n_items / one:,.0f} items/s")
    print(f"two shards: {n_items / two:,.0f} items/s, {one / two:.2f} times one")
    print(f"verdicts: {n_bytes / n_items:,.0f} bytes an item")
    if len(os.sched_getaffinity(0)) > 1 and one / two < WANTED:
        sys.exit(f"wanted: {WANTED} times")


if __name__ == "__main__":
    main()
