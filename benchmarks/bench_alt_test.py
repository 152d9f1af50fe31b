"""Ratios of the alternative annotator test to plain loops; sizes; start-up times.

Run as `make bench`. Prints a table, and fails where a wanted ratio is missed.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path
from statistics import median

REPOSITORY = Path(__file__).resolve().parent.parent
SHARED = REPOSITORY.parent / "shared"
sys.path.insert(0, str(REPOSITORY / "tests"))

EPSILONS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
WANTED_ALL, WANTED_ONE, WANTED_WHOLE = 100, 30, 1
WANTED_SECONDS, WANTED_MEMORY = 4.0, 3.0
WANTED_IMPORT_MS, WANTED_HELP_MS = 200, 400


def seconds(work, *, repeats):
    """Median wall time of some runs after one warm-up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times)


def plain_loops(judges, humans, alignment):
    from alt_test_oracle import alt_test_oracle

    for judge in judges.values():
        for epsilon in EPSILONS:
            alt_test_oracle(judge, humans, alignment=alignment, epsilon=epsilon)


def bench_data_set(folder, alignment):
    import voirdire
    from voirdire.errors import DoubtfulLabelsWarning

    # some of the published judges answer with labels of their own
    warnings.simplefilter("ignore", DoubtfulLabelsWarning)
    humans = json.loads((folder / "human_annotations.json").read_text(encoding="utf-8"))
    judges = json.loads((folder / "llm_annotations.json").read_text(encoding="utf-8"))
    whole = partial(voirdire.examine, humans=humans, alignment=alignment, epsilon=EPSILONS)
    if alignment == "accuracy":
        whole = partial(whole, kind="choice")
    # the loops have no bootstrap, and no agreement or diagnosis around the test, either
    test = partial(whole, n_resamples=0, around=False)
    start = time.perf_counter()
    plain_loops(judges, humans, alignment)
    plain = time.perf_counter() - start
    together = seconds(partial(test, judges=judges), repeats=15)
    single = sum(
        seconds(partial(test, judges={name: labels}), repeats=15) for name, labels in judges.items()
    )
    return plain, together, single, seconds(partial(whole, judges=judges), repeats=3)


def bench_million():
    """Time and peak memory of a fresh process, beyond what the labels themselves take."""
    code = (
        "import resource, time, numpy as np\n"
        "from voirdire.stats import alt_test\n"
        "rng = np.random.default_rng(0)\n"
        "alt_test(rng.integers(0, 5, (99, 6)), rng.integers(0, 5, (99, 10)))\n"
        "humans = rng.integers(0, 5, (1_000_000, 10), dtype=np.int32)\n"
        "judges = rng.integers(0, 5, (1_000_000, 6), dtype=np.int32)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "start = time.process_time()\n"
        f"alt_test(judges, humans, epsilon={EPSILONS})\n"
        "spent = time.process_time() - start\n"
        "after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "print(spent, (after - before) * 1024, humans.nbytes)\n"
    )
    output = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout
    spent, extra, matrix = map(float, output.split())
    return spent, extra / matrix


def milliseconds(*command, repeats=7):
    run = partial(subprocess.run, command, check=True, capture_output=True)
    return 1000 * seconds(run, repeats=repeats)


def start_up():
    python = sys.executable
    nothing = milliseconds(python, "-c", "pass")
    imported = milliseconds(python, "-c", "import voirdire")
    helped = milliseconds(python, "-c", "from voirdire.cli import run; run()", "--help")
    return nothing, imported, helped


def main():
    missed = []
    row = "{:<44} {:>12} {:>12} {:>9} {:>8}"
    print(row.format("alt-test, seven ε", "plain loops", "voirdire", "ratio", "wanted"))
    if SHARED.is_dir():
        published = json.loads(
            (SHARED / "reference" / "alt_test_published.json").read_text(encoding="utf-8")
        )
        for name, entry in published.items():
            plain, together, single, whole = bench_data_set(
                SHARED / "data" / "alttest" / name, entry["alignment"]
            )
            for what, spent, wanted in (
                ("all judges at once", together, WANTED_ALL),
                ("one judge at a time", single, WANTED_ONE),
                ("all judges, intervals and all", whole, WANTED_WHOLE),
            ):
                ratio = plain / spent
                shown = [f"{plain:.2f} s", f"{spent * 1e3:.1f} ms", f"{ratio:.0f} x", f"{wanted} x"]
                print(row.format(f"{name}, {what}", *shown))
                if ratio < wanted:
                    missed.append(f"{name}, {what}: {ratio:.0f} x")
    else:
        print("shared data is not beside the repository: the ratios on it were NOT measured")
        missed.append("shared data missing")

    spent, memory = bench_million()
    print(
        f"\n1,000,000 items x 10 annotators x 6 judges: {spent:.2f} s of one core (at most 4), "
        f"extra memory {memory:.2f} x the label matrix (at most 3)"
    )
    if spent > WANTED_SECONDS or memory > WANTED_MEMORY:
        missed.append(f"million: {spent:.2f} s, {memory:.2f} x")

    nothing, imported, helped = start_up()
    print(
        f"python alone {nothing:.0f} ms, import voirdire {imported:.0f} ms (at most 200), "
        f"voirdire --help {helped:.0f} ms (at most 400)"
    )
    if imported > WANTED_IMPORT_MS or helped > WANTED_HELP_MS:
        missed.append(f"start-up: {imported:.0f} ms, {helped:.0f} ms")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"peak memory of this process: {peak} MiB")
    if missed:
        print("\nMISSED: " + "; ".join(missed))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
