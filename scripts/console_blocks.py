"""Write what commands print into the pages that show it; `--check` compares instead.

`--part 1/2` takes every second page from the first, `--part 2/2` those between.
`<!-- output -->` before a fenced block: its lines that start with `$` are the command, the rest is
what it prints. `<!-- output of: COMMAND -->` runs another command than the one shown, such as the
same with most of its lines left out. The commands of a page share a folder with the demonstration
data in `voirdire-demo/`; the page's Python blocks run in it too, in their place.
"""

from __future__ import annotations

import argparse
import contextlib
import difflib
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
from typing import Any

from check_examples import BLOCK, ROOT, blocks, pages, run_block

SHOWN = re.compile(
    r"(?P<head>^<!-- output(?: of: (?P<command>[^\n]+?))? -->\n\n?```\w+\n)"
    r"(?P<typed>(?:\$ (?:[^\n]*\\\n)*[^\n]*\n)*)(?P<printed>.*?)(?P<tail>^```$)",
    re.DOTALL | re.MULTILINE,
)
MARK = re.compile(r"^<!-- output", re.MULTILINE)
SETTINGS = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "TYPER_USE_RICH": "0"}


def printed(command: str) -> str:
    """Run a command of a page; return what it prints on both streams."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S602  # our own commands, with pipes
        command,
        shell=True,
        env=os.environ | SETTINGS | {"PATH": programs},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def refreshed(text: str, page: str) -> str:
    """Render a page with fresh output, its Python run on the way."""
    names: dict[str, Any] = {"__name__": "__main__"}
    pieces, done = [], 0
    places = sorted([*SHOWN.finditer(text), *BLOCK.finditer(text)], key=lambda match: match.start())
    for match in places:
        if match.re is BLOCK:
            [block] = blocks(match.group())
            with contextlib.redirect_stdout(io.StringIO()):
                passed = block.reason_not_run is not None or run_block(block, page, names)
            if not passed:
                sys.exit(f"{page}: an example fails. Run scripts/check_examples.py.")
            continue
        typed = re.sub(r"^\$ ", "", match["typed"], flags=re.MULTILINE)
        fresh = printed(match["command"] or typed)
        pieces += [text[done : match.start()], match["head"], match["typed"], fresh, match["tail"]]
        done = match.end()
    return "".join([*pieces, text[done:]])


def refresh(path: Path) -> str:
    """Render a page in a folder of its own."""
    demo = Path(str(files("voirdire"))) / "data" / "demo"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        shutil.copytree(demo, "voirdire-demo")
        return refreshed(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())


def part(text: str) -> slice:
    """Read `1/2`: which of how many parts."""
    number, _, count = text.partition("/")
    if not 1 <= int(number) <= int(count):
        raise ValueError(text)
    return slice(int(number) - 1, None, int(count))


def main() -> int:
    """Write the pages, or say how they differ from what the commands print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--part", type=part, default="1/1")
    asked = parser.parse_args()
    os.environ.setdefault("NO_COLOR", "1")
    warnings.simplefilter("error")
    status = 0
    for path in pages()[asked.part]:
        kept = path.read_text(encoding="utf-8")
        page = path.relative_to(ROOT).as_posix()
        if len(SHOWN.findall(kept)) != len(MARK.findall(kept)):
            print(f"{page}: `<!-- output -->` must stand before a fenced block.")
            status = 1
        if not MARK.search(kept) or (fresh := refresh(path)) == kept:
            continue
        if not asked.check:
            path.write_text(fresh, encoding="utf-8")
            continue
        difference = difflib.unified_diff(
            kept.splitlines(), fresh.splitlines(), page, "the commands", lineterm=""
        )
        print("\n".join(difference))
        print(f"{page} must show what the commands print. Run `make generate`.")
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
