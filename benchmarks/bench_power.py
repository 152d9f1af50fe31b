"""The published power simulation in plain loops and in one vectorised pass.

Run as `make bench`. 20 data sets x 10 resamples x 18 sizes x 4 ε. The loops run on a declared part
of the data sets and resamples, all sizes and ε, and their time is scaled up linearly. Prints what
was done, and fails where the wanted ratio is missed.
"""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from statistics import median

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))

SIZES = (10, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100, 125, 150, 175, 200, 250, 300)
EPSILONS = (0.05, 0.1, 0.15, 0.2)
N_DATA_SETS, N_RESAMPLES = 20, 10
LOOPED_DATA_SETS, LOOPED_RESAMPLES = 10, 2
NOISE = {"human_noise": 0.3, "judge_noise": 0.3, "n_categories": 4}
N_ANNOTATORS, MIN_ITEMS = 3, 2
WANTED = 300
REPEATS = 15


def loops():
    """Seconds of the plain loops on their part, and the mean of ω by size and ε."""
    from power_oracle import published_simulation

    start = time.perf_counter()
    rates = published_simulation(
        random.Random(0),
        n_data_sets=LOOPED_DATA_SETS,
        n_resamples=LOOPED_RESAMPLES,
        sizes=SIZES,
        epsilons=EPSILONS,
        n_annotators=N_ANNOTATORS,
        min_items=MIN_ITEMS,
        **NOISE,
    )
    return time.perf_counter() - start, rates


def vectorised(seed=0):
    """Simulate every study of the configuration, each a data set of its own."""
    from voirdire.stats.power_analysis import power

    return power(
        **NOISE,
        n_items=SIZES,
        n_annotators=N_ANNOTATORS,
        epsilon=EPSILONS,
        min_items=MIN_ITEMS,
        n_simulations=N_DATA_SETS * N_RESAMPLES,
        seed=seed,
    )


def main():
    result = vectorised()
    times = []
    for seed in range(REPEATS):
        start = time.perf_counter()
        vectorised(seed)
        times.append(time.perf_counter() - start)
    ours = median(times)
    spent, rates = loops()
    n_looped = LOOPED_DATA_SETS * LOOPED_RESAMPLES
    n_studies = N_DATA_SETS * N_RESAMPLES
    whole = spent * n_studies / n_looped
    ratio = whole / ours

    print(
        f"power, {N_DATA_SETS} data sets x {N_RESAMPLES} resamples x {len(SIZES)} sizes x "
        f"{len(EPSILONS)} ε, {N_ANNOTATORS} annotators, {NOISE['n_categories']} labels"
    )
    print(
        f"plain loops: {spent:.2f} s for {LOOPED_DATA_SETS} data sets x {LOOPED_RESAMPLES} "
        f"resamples ({n_looped} of {n_studies}, all sizes and ε), scaled to {whole:.1f} s"
    )
    print(
        f"voirdire: {1e3 * ours:.1f} ms for all {n_studies} "
        f"(median of {REPEATS} runs, {1e3 * min(times):.1f} to {1e3 * max(times):.1f} ms)"
    )
    found = {(row.n_items, row.epsilon): row.winning_rate for row in result.rows}
    for size, epsilon in ((125, 0.1), (30, 0.2)):
        print(
            f"mean of ω at {size} items, ε {epsilon}: {found[size, epsilon]:.2f}, "
            f"in the loops' part {rates[size, epsilon]:.2f}"
        )
    print(f"ratio {ratio:.0f} x (wanted {WANTED} x)")
    if ratio < WANTED:
        print(f"\nMISSED: power {ratio:.0f} x")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
