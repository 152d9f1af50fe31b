"""Labels that are counted instead of held: time and memory of an examination.

Run as `make bench`, or with a number of labels, of different labels, and `wide`, `shuffled` or
`sorted`: `bench_large_labels.py 1e8 5 shuffled`. Nine people and a judge label each item, in
Parquet files of ten million labels; an examination is a program of its own. Fails above 300 MB, or
90 s of CPU for 10⁸ labels.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

RATERS = [*(f"ann{number}" for number in range(9)), "gpt"]
ITEMS_OF_A_FILE, ITEMS_AT_ONCE = 1_000_000, 100_000
MOST_MB, MOST_SECONDS = 300, 90
EXAMINE = """
import sys, warnings
import voirdire
from voirdire.io import Reading

warnings.simplefilter("ignore")
reading = Reading(judge_columns=["gpt"], kind="choice")
[found] = voirdire.examine(
    humans=sys.argv[1], judges=sys.argv[1], reading=reading, epsilon=0.1, large=True
).results
print(f"{found.n_items:,} items: {found.outcome}, ω {found.winning_rate:.2f}, "
      f"ρ {found.advantage_probability:.4f}, α {found.human_agreement.alpha:.4f}")
[peak] = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak) // 1024)
"""


def write_labels(folder, n_items, *, n_labels, form):
    rng = np.random.default_rng(0)
    words = pl.Series([f"label {number}" for number in range(n_labels)])
    for number, first in enumerate(range(0, n_items, ITEMS_OF_A_FILE)):
        frames = []
        for start in range(first, min(first + ITEMS_OF_A_FILE, n_items), ITEMS_AT_ONCE):
            truth = rng.integers(0, n_labels, ITEMS_AT_ONCE)[:, np.newaxis]
            guess = rng.integers(0, n_labels, (ITEMS_AT_ONCE, len(RATERS)))
            codes = np.where(rng.random(guess.shape) < 0.8, truth, guess)
            names = pl.int_range(start, start + ITEMS_AT_ONCE, eager=True).cast(pl.String)
            items = pl.DataFrame({"item": "item-" + names.str.zfill(9)})
            labels = zip(RATERS, codes.T, strict=True)
            columns = [words.gather(codes_of).alias(name) for name, codes_of in labels]
            frame = items.with_columns(columns)
            if form != "wide":
                frame = frame.unpivot(index="item", variable_name="annotator", value_name="label")
                frame = frame.sort("item") if form == "sorted" else frame
            frames.append(frame)
        whole = pl.concat(frames)
        if form == "shuffled":
            whole = whole.sample(fraction=1, shuffle=True, seed=number)
        whole.write_parquet(folder / f"{number:02d}.parquet", row_group_size=1_000_000)


def main():
    n, n_labels, form = (*sys.argv[1:], *("1e7", "2", "sorted")[len(sys.argv) - 1 :])
    n_items = max(int(float(n)) // len(RATERS) // ITEMS_AT_ONCE, 1) * ITEMS_AT_ONCE
    with tempfile.TemporaryDirectory() as place:
        write_labels(Path(place), n_items, n_labels=int(n_labels), form=form)
        command = [sys.executable, "-c", EXAMINE, place]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found, megabytes = done.stdout.splitlines()[0], int(done.stdout.splitlines()[1])
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = used.ru_utime + used.ru_stime
    print(found)
    print(f"{n_items * len(RATERS):,} labels, {form}: {seconds:.1f} s of CPU, {megabytes} MB")
    limit = MOST_SECONDS * max(n_items * len(RATERS) / 1e8, 0.1)
    if seconds > limit or megabytes > MOST_MB:
        sys.exit(f"wanted: {limit:.0f} s and {MOST_MB} MB")


if __name__ == "__main__":
    main()
