"""Run every test, two groups side by side, and hold the coverage against the least wanted.

The groups with the longest runs come first. A folder of `tests` that no group names is tested with
the last group. Simulations need no coverage and go without.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from side_by_side import Check, run_all

ROOT = Path(__file__).resolve().parents[1]
TESTS = ROOT / "tests"
SIMULATIONS = "validity"
GROUPS = (
    ("cli",),
    ("judging",),
    (SIMULATIONS,),
    ("rewards",),
    ("stats",),
    ("reporting",),
    ("web",),
    ("adapters", "models"),
    ("studies", "io", "rubrics"),
)
MANY = 5  # as many paths are too long for a title
COVERED = ["--cov", "--cov-report=", "--cov-fail-under=0"]


def groups() -> list[list[str]]:
    """Part what holds tests into groups, each as paths."""
    named = {name for group in GROUPS for name in group}
    rest = sorted(
        path.name
        for path in TESTS.iterdir()
        if path.name not in named and (path.match("test_*.py") or any(path.rglob("test_*.py")))
    )
    return [[f"tests/{name}" for name in group] for group in (*GROUPS, rest)]


def tests(paths: list[str], covered: Path) -> Check:
    """Test one group; its coverage goes into a file of its own."""
    options = [] if SIMULATIONS in paths[0] else COVERED
    return Check(
        title=" ".join(paths if len(paths) < MANY else [*paths[: MANY - 1], "..."]),
        command=[sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, *paths],
        environment={"COVERAGE_FILE": str(covered)},
    )


def checks(work: Path) -> list[Check]:
    """List all groups, the longest runs first."""
    return [tests(paths, work / f".coverage.{n}") for n, paths in enumerate(groups())]


def coverage_is_enough(work: Path) -> bool:
    """Put the coverage of the groups together, and hold it against the least that is wanted."""
    coverage, data = [sys.executable, "-m", "coverage"], f"--data-file={work / '.coverage'}"
    subprocess.run([*coverage, "combine", "--quiet", data, str(work)], check=True)  # noqa: S603
    return subprocess.run([*coverage, "report", data], check=False).returncode == 0  # noqa: S603


def main() -> int:
    """Run all of it; green only where each part is."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        return 0 if run_all(checks(work)) and coverage_is_enough(work) else 1


if __name__ == "__main__":
    sys.exit(main())
