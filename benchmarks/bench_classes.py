"""Completion classes of the safety rubric: one pass over many items against one item at a time.

Run as `make bench`. The plain side is what one would write for a single item: the closed form of
the five default classes, and the five rules for hard labels. It runs on a part of the items and is
scaled. Prints a table, and fails where a wanted speed or ratio is missed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median

import numpy as np

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY / "tests"))

N_ITEMS, N_PLAIN, REPEATS = 1_000_000, 5_000, 7
WANTED_PER_SECOND, WANTED_RATIO = 1_000_000, 20
ONE_OF = {"comply": ("fully_complies", "partially_complies", "requests_information")}


def cpu_seconds(work, *, repeats=REPEATS):
    """Median CPU time of some runs after one warm-up: other processes do not count."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return median(times)


def plain_probabilities(rubric, behavior, rows):
    """Class probabilities, item by item."""
    from rubrics.logic.class_oracle import default_probabilities

    names, demands = rubric.propositions, rubric.behavior(behavior).demands
    one_of = ONE_OF.get(behavior, ())
    return [
        default_probabilities(dict(zip(names, row, strict=True)), demands, one_of=one_of)
        for row in rows
    ]


def plain_classes(rubric, behavior, rows):
    """Hard classes, item by item."""
    from rubrics.logic.class_oracle import default_class

    names, demands = rubric.propositions, rubric.behavior(behavior).demands
    one_of = ONE_OF.get(behavior, ())

    def unanswered(truth):
        return bool(one_of) and not any(truth[name] for name in one_of)

    return [
        default_class(dict(zip(names, row, strict=True)), demands, unacceptable_when=unanswered)
        for row in rows
    ]


def measure(rubric, behavior, p, labels):
    """Yield what was done, and the seconds per item of both sides; both must agree."""
    from voirdire.rubrics import class_probabilities, hard_classes

    some_p, some_labels = p[:N_PLAIN].tolist(), labels[:N_PLAIN].tolist()
    classes = [row.name for row in rubric.behavior(behavior).classes]

    exact = class_probabilities(rubric, behavior, probabilities=p).values
    assert np.abs(exact.sum(axis=1) - 1).max() <= 1e-12
    assert np.allclose(exact[:N_PLAIN], plain_probabilities(rubric, behavior, some_p))
    hard = hard_classes(rubric, behavior, labels=labels)
    plain = plain_classes(rubric, behavior, some_labels)
    assert [classes[k] for k in hard[:N_PLAIN]] == plain

    for what, ours, theirs in (
        (
            "exact probabilities",
            lambda: class_probabilities(rubric, behavior, probabilities=p),
            lambda: plain_probabilities(rubric, behavior, some_p),
        ),
        (
            "hard classes",
            lambda: hard_classes(rubric, behavior, labels=labels),
            lambda: plain_classes(rubric, behavior, some_labels),
        ),
    ):
        yield what, cpu_seconds(ours) / N_ITEMS, cpu_seconds(theirs, repeats=3) / N_PLAIN


def main():
    from voirdire.rubrics import load_rubric

    rubric = load_rubric("safety")
    rng = np.random.default_rng(0)
    p = rng.beta(0.4, 0.4, (N_ITEMS, len(rubric.propositions)))
    labels = p >= (rubric.threshold or 0.5)
    missed = []
    row = "{:<34} {:>16} {:>16} {:>8} {:>8}"
    title = f"{N_ITEMS:,} items, {p.shape[1]} columns"
    print(row.format(title, "plain, items/s", "ours, items/s", "ratio", "wanted"))
    for behavior in (entry.id for entry in rubric.behaviors):
        for what, ours, plain in measure(rubric, behavior, p, labels):
            shown = [f"{1 / plain:,.0f}", f"{1 / ours:,.0f}"]
            ratio = plain / ours
            name = f"{behavior}, {what}"
            print(row.format(name, *shown, f"{ratio:.0f} x", f"{WANTED_RATIO} x"))
            if 1 / ours < WANTED_PER_SECOND or ratio < WANTED_RATIO:
                missed.append(f"{name}: {1 / ours:,.0f} items/s, {ratio:.0f} x")
    if missed:
        print(f"\nMISSED (wanted {WANTED_PER_SECOND:,} items/s): " + "; ".join(missed))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
