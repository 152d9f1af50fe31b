"""Run every command of `tests/golden/commands.py`, and write the figures it leaves as its golden.

A golden is written anew only because a figure is meant to change: in a commit of its own that says
why. ``python scripts/golden.py fit score`` writes only those whose names begin so; ``--check``
writes nothing, and says what differs.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(
    ROOT / "tests"
)  # in place of this folder, where this file has the name of the package

from golden.commands import RUNS  # noqa: E402
from golden.comparing import differences  # noqa: E402
from golden.figures import golden_text, read_golden  # noqa: E402
from golden.inputs import write_inputs  # noqa: E402
from golden.runs import KEPT, Places, figures_of_run  # noqa: E402


def main() -> int:
    """Write the goldens, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="what the names of runs begin with; default: all")
    parser.add_argument(
        "--check", action="store_true", help="write nothing, exit 1 on a difference"
    )
    asked = parser.parse_args()
    runs = [run for run in RUNS if not asked.names or run.name.startswith(tuple(asked.names))]
    KEPT.mkdir(exist_ok=True)
    n_different = 0
    with tempfile.TemporaryDirectory() as name:
        inputs = Path(name) / "inputs"
        inputs.mkdir()
        places = Places(inputs=write_inputs(inputs), shared=ROOT.parent / "shared")
        for run in runs:
            if run.needs_shared and not places.shared.is_dir():
                print(f"{run.name}: left as it is, the folder `shared` is not here")
                continue
            folder = Path(name) / run.name
            folder.mkdir()
            began = time.process_time()
            found = figures_of_run(run, places, folder)
            path = KEPT / f"{run.name}.json"
            told = differences(read_golden(path), found, run=run) if path.exists() else ["new"]
            n_different += bool(told)
            if not asked.check and told:
                path.write_text(golden_text(found), encoding="utf-8")
            print(f"{run.name}: {time.process_time() - began:.2f} s, {len(told)} differ")
            print("".join(f"    {line}\n" for line in told[:5]), end="")
    return int(asked.check and n_different > 0)


if __name__ == "__main__":
    sys.exit(main())
