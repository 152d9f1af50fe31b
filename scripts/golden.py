"""Run every command of `tests/golden/commands.py`, and write the figures it leaves as its golden.

A golden is written anew only because a figure is meant to change: in a commit of its own that says
why. ``python scripts/golden.py fit score`` writes only those whose names begin so; ``--check``
writes nothing, and says what differs.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(
    ROOT / "tests"
)  # in place of this folder, where this file has the name of the package

from golden.adapters import figures_of_adapters  # noqa: E402
from golden.commands import RUNS  # noqa: E402
from golden.comparing import differences  # noqa: E402
from golden.figures import golden_text, read_golden  # noqa: E402
from golden.hashes import KEPT as KEPT_HASHES  # noqa: E402
from golden.hashes import hashes  # noqa: E402
from golden.inputs import write_inputs  # noqa: E402
from golden.runs import KEPT, Places, Run, figures_of_run  # noqa: E402

ADAPTERS = Run("adapters", words="")


def main() -> int:
    """Write the goldens, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="what the names of runs begin with; default: all")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 where one differs"
    )
    asked = parser.parse_args()
    KEPT.mkdir(exist_ok=True)
    n_different = 0
    with tempfile.TemporaryDirectory() as name:
        inputs = Path(name) / "inputs"
        inputs.mkdir()
        places = Places(inputs=write_inputs(inputs), shared=ROOT.parent / "shared")
        for run in (*RUNS, ADAPTERS):
            if not run.name.startswith(tuple(asked.names or [""])):
                continue
            if run.needs_shared and not places.shared.is_dir():
                print(f"{run.name}: left as it is, the folder `shared` is not here")
                continue
            folder = Path(name) / run.name
            folder.mkdir()
            began = time.process_time()
            found = (
                figures_of_adapters() if run is ADAPTERS else figures_of_run(run, places, folder)
            )
            lines = _differences(run, found)
            print(f"{run.name}: {time.process_time() - began:.2f} s, {len(lines)} differ")
            print("".join(f"    {line}\n" for line in lines[:5]), end="")
            n_different += bool(lines)
            if lines and not asked.check:
                (KEPT / f"{run.name}.json").write_text(golden_text(found), encoding="utf-8")
        if "hashes".startswith(tuple(asked.names or [""])):
            folder = Path(name) / "hashes"
            folder.mkdir()
            text = json.dumps(hashes(folder, places.inputs), indent=1, ensure_ascii=False) + "\n"
            is_new = not KEPT_HASHES.exists() or KEPT_HASHES.read_text(encoding="utf-8") != text
            print(f"hashes: {'they differ' if is_new else 'the same'}")
            n_different += is_new
            if not asked.check:
                KEPT_HASHES.write_text(text, encoding="utf-8")
    return int(asked.check and n_different > 0)


def _differences(run: Run, found: Any) -> list[str]:
    path = KEPT / f"{run.name}.json"
    return differences(read_golden(path), found, run=run) if path.exists() else ["it is new"]


if __name__ == "__main__":
    sys.exit(main())
