"""Plant seeded faults, one at a time, and count how many a folder's tests let through.

`mutants.py src/voirdire/stats tests/stats --number 150` draws faults (a swapped comparison or sign,
a number one off, `and` for `or`, a condition turned round) in the lines of the first folder, and
runs for each those tests of the second that reach its line, up to the first that fails. A fault
that no test reaches survives; one in a line that runs at import meets all tests. Work happens in a
copy, with the tests of every day. `--keep FILE` writes the faults with their fate; `--again FILE`
takes those faults, wherever their line is now.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("src", "tests", "scripts", "pyproject.toml", "README.md", "docs")
TIMEOUT_S = 300
SWAPPED = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.And: "or",
    ast.Or: "and",
}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One line with a fault; `nth` counts equal lines of the file before it."""

    file: str
    line: str
    nth: int
    mutated: str
    fate: str = ""


def faults(node: ast.AST, text: str) -> Iterator[tuple[int, int, str]]:
    """Give what may stand instead of a piece of a line: from, to, replacement."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield between(text, node.left, node.comparators[0], SWAPPED[type(node.ops[0])])
    elif isinstance(node, ast.BinOp) and type(node.op) in SWAPPED:
        yield between(text, node.left, node.right, SWAPPED[type(node.op)])
    elif isinstance(node, ast.BoolOp):
        yield between(text, node.values[0], node.values[1], SWAPPED[type(node.op)])
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield node.col_offset, node.end_col_offset or 0, repr(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield node.col_offset, node.end_col_offset or 0, repr(not node.value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
        yield node.col_offset, node.operand.col_offset, ""
    elif isinstance(node, ast.If | ast.IfExp) and one_line(node.test):
        test = text.encode()[node.test.col_offset : node.test.end_col_offset].decode()
        yield node.test.col_offset, node.test.end_col_offset or 0, f"not ({test})"


def between(text: str, left: ast.expr, right: ast.expr, operator: str) -> tuple[int, int, str]:
    """Keep the brackets that stand around an operator."""
    start, end = left.end_col_offset or 0, right.col_offset
    gap = text.encode()[start:end].decode()
    closing, opening = gap.count(")"), gap.count("(")
    return start, end, f"{')' * closing} {operator} {'(' * opening}"


def one_line(node: ast.expr) -> bool:
    """Whether an expression begins and ends on one line."""
    return node.lineno == node.end_lineno


def mutants_of(path: Path) -> Iterator[Mutant]:
    """List every fault of a file that still compiles and changes the code."""
    text = path.read_text(encoding="utf-8")
    lines, tree = text.splitlines(), ast.parse(text)
    left_out = {
        id(inner)
        for node in ast.walk(tree)
        for part in (
            getattr(node, "annotation", None),
            getattr(node, "returns", None),
            *getattr(node, "decorator_list", ()),
            node if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) else None,
        )
        if part is not None
        for inner in ast.walk(part)
    }
    for node in ast.walk(tree):
        line_number = getattr(node, "lineno", None)
        if line_number is None or id(node) in left_out:
            continue
        if isinstance(node, ast.expr) and not one_line(node):
            continue
        before = lines[line_number - 1]
        for start, end, put in faults(node, before):
            raw = before.encode()
            after = (raw[:start] + put.encode() + raw[end:]).decode()
            changed = [*lines[: line_number - 1], after, *lines[line_number:]]
            try:
                same = ast.dump(ast.parse("\n".join(changed))) == ast.dump(tree)
            except SyntaxError:
                continue
            if not same:
                nth = lines[: line_number - 1].count(before)
                name = path.relative_to(ROOT).as_posix()
                yield Mutant(file=name, line=before, nth=nth, mutated=after)


def run_tests(copy: Path, *options: str) -> int:
    """Run tests in the copy; the exit status, 124 where they take too long."""
    environment = os.environ | {
        "PYTHONPATH": str(copy / "src"),
        "HYPOTHESIS_PROFILE": "quick",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    try:
        done = subprocess.run(  # noqa: S603  # our own tests
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
            cwd=copy,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return 124
    return done.returncode


def reach(copy: Path, source: str, tests: str) -> dict[tuple[str, int], list[str]]:
    """Find which tests reach which line."""
    data = copy / ".reach"
    os.environ["COVERAGE_FILE"] = str(data)
    every_day = ["-m", "not slow and not ci", tests]
    covered = [f"--cov={source}", "--cov-context=test", "--cov-report=", "--cov-fail-under=0"]
    if status := run_tests(copy, *covered, *every_day):
        sys.exit(f"{tests} must be green before faults are planted, got status {status}.")
    reached: dict[tuple[str, int], list[str]] = defaultdict(list)
    import coverage  # a part of the tests' group only

    found = coverage.CoverageData(basename=str(data))
    found.read()
    for file in found.measured_files():
        name = Path(file).relative_to(copy).as_posix()
        for line, contexts in found.contexts_by_lineno(file).items():
            chosen = [context.partition("|")[0] for context in contexts if context]
            reached[name, line] += chosen or [tests]
    return reached


def fate(mutant: Mutant, copy: Path, reached: dict[tuple[str, int], list[str]]) -> str:
    """Plant one fault and say what became of it: killed, survived, unreached or gone."""
    path = copy / mutant.file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    places = [n for n, line in enumerate(text.splitlines()) if line == mutant.line]
    if len(places) <= mutant.nth:
        return "gone"
    place = places[mutant.nth]
    chosen = sorted(set(reached.get((mutant.file, place + 1), ())))
    if not chosen:
        return "unreached"
    lines = text.splitlines()
    lines[place] = mutant.mutated
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    listed = copy / ".chosen"
    listed.write_text("\n".join(chosen), encoding="utf-8")
    status = run_tests(copy, "-x", f"@{listed}")
    path.write_text(text, encoding="utf-8")
    return "killed" if status else "survived"


def main() -> int:
    """Draw faults, plant them, count the survivors."""
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("tests")
    parser.add_argument("--number", type=int, default=150)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--again", type=Path)
    asked = parser.parse_args()
    if asked.again:
        drawn = [Mutant(**mutant) for mutant in json.loads(asked.again.read_text())]
    else:
        files = sorted((ROOT / asked.source).rglob("*.py"))
        possible = sorted({m for path in files for m in mutants_of(path)}, key=repr)
        drawn = random.Random(asked.seed).sample(possible, asked.number)  # noqa: S311
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy.mkdir()
        for part in PARTS:
            place = ROOT / part
            (shutil.copytree if place.is_dir() else shutil.copy)(place, copy / part)
        if (ROOT.parent / "shared").is_dir():
            (Path(folder) / "shared").symlink_to(ROOT.parent / "shared")
        reached = reach(copy, asked.source, asked.tests)
        judged = []
        for number, mutant in enumerate(drawn):
            judged.append(replace(mutant, fate=fate(mutant, copy, reached)))
            print(number, judged[-1].fate, mutant.file, mutant.mutated.strip(), flush=True)
            if asked.keep:
                asked.keep.write_text(json.dumps([asdict(each) for each in judged], indent=1))
    fates = [each.fate for each in judged]
    print({kind: fates.count(kind) for kind in sorted(set(fates))})
    return 0


if __name__ == "__main__":
    sys.exit(main())
