"""Run what the README and the docs show: Python blocks, and commands with what they print.

A Python block with ``>>>`` prompts is a doctest; any other is executed. `<!-- output -->` before a
fenced block: its lines that start with `$` are the command, the rest is what it prints, and is
written anew; `--check` compares instead. `<!-- output | FILTER -->` shows what FILTER leaves of its
standard output; `<!-- output of: COMMAND -->` runs another command than the one shown. The blocks
of a page share one namespace and a folder with the demonstration data in `voirdire-demo/` and the
data files of `docs`.

Two more comments steer this: ``<!-- setup`` ... ``-->`` holds code to run first, and
``<!-- not run: REASON -->`` right before a Python block sets it aside; each reason is printed.
`--part 1/2` takes every second page from the first, `--part 2/2` those between.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
import doctest
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
CODE = re.compile(
    r"^<!-- setup\n(?P<setup>.*?)^-->"
    r"|^(?:<!-- not run: (?P<reason>.+?) -->\n+)?^```(?:python|pycon)\n(?P<code>.*?)^```",
    re.DOTALL | re.MULTILINE,
)
OUTPUT = re.compile(
    r"(?P<head>^<!-- output(?: of: (?P<command>[^\n]+?)| \| (?P<filter>[^\n]+?))? -->\n\n?```\w+\n)"
    r"(?P<typed>(?:\$ (?:[^\n]*\\\n)*[^\n]*\n)*)(?P<printed>.*?)(?P<tail>^```$)",
    re.DOTALL | re.MULTILINE,
)
MARK = re.compile(r"^<!-- output", re.MULTILINE)
DOCTEST_OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
TERMINAL = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb"}


def pages() -> list[Path]:
    """List the pages whose code must work."""
    built = ROOT / "docs" / "_build"
    docs = [page for page in (ROOT / "docs").rglob("*.md") if not page.is_relative_to(built)]
    return [*sorted(ROOT.glob("README*.md")), *sorted(docs)]


def print_of(command: str, kept: dict[str, Path]) -> str:
    """Run a command of a page; what stands before a pipe runs once a page.

    Returns what it prints on both streams.
    """
    first, pipe, rest = command.partition(" | ")
    if not pipe:
        return run_shell(command)
    said = ""
    if first not in kept:
        kept[first] = Path(tempfile.mkstemp()[1])
        said = run_shell(f"({first}) 2>&1 >{kept[first]}").lstrip("\n")
    return said + run_shell(f"cat {kept[first]} | {rest}")


def run_shell(command: str) -> str:
    """Run a command; return what it prints on both streams."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S602  # our own commands, with pipes
        command,
        shell=True,
        env=os.environ | TERMINAL | {"PATH": programs},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def run_code(code: str, *, page: str, line: int, names: dict[str, Any]) -> bool:
    """Run one Python block; True where it does what the page says."""
    if ">>>" in code:
        test = doctest.DocTestParser().get_doctest(code, names, page, page, line - 1)
        runner = doctest.DocTestRunner(optionflags=DOCTEST_OPTIONS)
        runner.run(test, clear_globs=False)
        names.update(test.globs)
        return runner.summarize(verbose=False).failed == 0
    try:
        exec(compile("\n" * (line - 1) + code, page, "exec"), names)  # noqa: S102  # our docs
    except Exception as error:  # noqa: BLE001  # reported, and the run fails
        print(f"{page}:{line}: {type(error).__name__}: {error}")
        return False
    return True


@contextlib.contextmanager
def folder_with_demo() -> Iterator[None]:
    """Work in a folder of its own, with the demonstration data and the data files of `docs`."""
    demo = Path(str(files("voirdire"))) / "data" / "demo"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copytree(demo, "voirdire-demo")
        Path("docs").mkdir()
        for name in ("labels.csv", "comparisons.jsonl", "others.jsonl"):
            shutil.copy(ROOT / "docs" / name, "docs")
        yield


def run_page(path: Path) -> tuple[str, int, int]:
    """Run a page; return it with fresh output, how many Python blocks ran, how many failed."""
    text, page = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
    names: dict[str, Any] = {"__name__": "__main__"}
    pieces: list[str] = []
    kept: dict[str, Path] = {}
    done = n_run = n_failed = 0
    places = sorted([*OUTPUT.finditer(text), *CODE.finditer(text)], key=lambda match: match.start())
    for match in places:
        if match.re is OUTPUT:
            typed = re.sub(r"^\$ ", "", match["typed"], flags=re.MULTILINE)
            if match["filter"]:
                typed = f"({typed}) 2>/dev/null | {match['filter']}"
            fresh = print_of(match["command"], kept) if match["command"] else run_shell(typed)
            pieces += [text[done : match.start()], match["head"], match["typed"], fresh]
            pieces.append(match["tail"])
            done = match.end()
            continue
        part = "setup" if match["code"] is None else "code"
        line = text.count("\n", 0, match.start(part)) + 1
        if match["reason"]:
            print(f"{page}:{line}: not run: {match['reason']}")
            continue
        shown = io.StringIO() if ">>>" not in match[part] else sys.stdout
        with contextlib.redirect_stdout(shown):
            passed = run_code(match[part], page=page, line=line, names=names)
        n_run, n_failed = n_run + 1, n_failed + (not passed)
        if not passed and isinstance(shown, io.StringIO):
            print(shown.getvalue(), end="")
    for printed in kept.values():
        printed.unlink()
    return "".join([*pieces, text[done:]]), n_run, n_failed


def is_current(path: Path, fresh: str) -> bool:
    """Compare a page with what its commands print; show the difference."""
    kept, page = path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()
    if len(OUTPUT.findall(kept)) != len(MARK.findall(kept)):
        print(f"{page}: `<!-- output -->` must stand before a fenced block.")
        return False
    if fresh != kept:
        lines = kept.splitlines(), fresh.splitlines()
        print("\n".join(difflib.unified_diff(*lines, page, "the commands", lineterm="")))
        print(f"{page} must show what the commands print. Run `make generate`.")
    return fresh == kept


def part(text: str) -> slice:
    """Read `1/2`: which of how many parts."""
    number, _, count = text.partition("/")
    if not 1 <= int(number) <= int(count):
        raise ValueError(text)
    return slice(int(number) - 1, None, int(count))


def main() -> int:
    """Run all pages, or those named; write them, or say what is wrong with them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--part", type=part, default="1/1")
    asked = parser.parse_args()
    os.environ.setdefault("NO_COLOR", "1")
    warnings.simplefilter("error")
    chosen = [page.resolve() for page in asked.pages] or pages()[asked.part]
    n_run = n_failed = n_old = 0
    for path in chosen:
        with folder_with_demo():
            fresh, *counts = run_page(path)
        n_run, n_failed = n_run + counts[0], n_failed + counts[1]
        if asked.check:
            n_old += not is_current(path, fresh)
        elif not counts[1]:
            path.write_text(fresh, encoding="utf-8")
    print(
        f"{n_run} blocks in {len(chosen)} pages, {n_failed} failed, {n_old} pages are out of date"
    )
    return 1 if n_failed or n_old else 0


if __name__ == "__main__":
    sys.exit(main())
