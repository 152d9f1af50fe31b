"""The page of an examination with one question, and the demonstration.

Run as `make bench`. Prints a table, and fails where a wanted time is missed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from statistics import median

WANTED_PAGE_S, WANTED_DEMO_S = 0.6, 15.0
REPEATS = 5


def examination():
    """Examine five judges of one question against four annotators on 400 items."""
    import voirdire

    people = {
        name: {i: int((i * 7 + i // 9) % 3 == 0) ^ int((i + 5 * n) % 11 == 0) for i in range(400)}
        for n, name in enumerate(("ann", "bob", "cid", "dee"))
    }
    judges = {
        f"judge-{k}": {i: people["ann"][i] ^ int(i % (4 + 3 * k) == 0) for i in range(400)}
        for k in range(5)
    }
    return voirdire.examine(humans=people, judges=judges, kind="boolean", epsilon=0.2)


def seconds_of_page():
    """Median processor time of a page, after one that loads what pages need."""
    from voirdire.reporting import html_page

    found = examination()
    html_page(found)
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        html_page(found)
        times.append(time.process_time() - start)
    return median(times)


def seconds_of_demo():
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        command = [sys.executable, "-m", "voirdire", "demo", "-o", f"{folder}/demo", "--no-open"]
        subprocess.run(command, check=True, capture_output=True)
        return time.perf_counter() - start


def main():
    row = "{:<44} {:>10} {:>10}"
    print(row.format("", "seconds", "wanted"))
    missed = False
    for what, found, wanted in (
        ("the page of one question, processor time", seconds_of_page(), WANTED_PAGE_S),
        ("voirdire demo, two cores", seconds_of_demo(), WANTED_DEMO_S),
    ):
        print(row.format(what, f"{found:.2f}", f"{wanted:.1f}"))
        missed |= found > wanted
    sys.exit("MISSED" if missed else None)


if __name__ == "__main__":
    main()
