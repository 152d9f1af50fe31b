"""Run every Python block of the README and the docs, page by page.

A block with ``>>>`` prompts is a doctest; any other is executed. The blocks of a page share one
namespace and an empty working directory. Two comments steer this, neither of them shown to readers:
``<!-- setup`` ... ``-->`` holds code to run first, and ``<!-- not run: REASON -->`` right before a
block sets it aside; each of those is printed with its reason.
"""

from __future__ import annotations

import contextlib
import doctest
import os
import re
import sys
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(
    r"^<!-- setup\n(?P<setup>.*?)^-->"
    r"|^(?:<!-- not run: (?P<reason>.+?) -->\n+)?^```(?:python|pycon)\n(?P<code>.*?)^```",
    re.DOTALL | re.MULTILINE,
)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


@dataclass(frozen=True, kw_only=True)
class Block:
    """One piece of code of a page."""

    code: str
    line: int
    reason_not_run: str | None


def pages() -> list[Path]:
    """List the pages whose code must work."""
    built = ROOT / "docs" / "_build"
    docs = [page for page in (ROOT / "docs").rglob("*.md") if not page.is_relative_to(built)]
    return [*sorted(ROOT.glob("README*.md")), *sorted(docs)]


def blocks(text: str) -> Iterator[Block]:
    """Find the code of a page, in order."""
    for match in BLOCK.finditer(text):
        name = "code" if match["code"] is not None else "setup"
        line = text.count("\n", 0, match.start(name)) + 1
        yield Block(code=match[name], line=line, reason_not_run=match["reason"])


def run_block(block: Block, page: str, names: dict[str, Any]) -> bool:
    """Run one block; True where it does what the page says."""
    if ">>>" not in block.code:
        source = "\n" * (block.line - 1) + block.code
        exec(compile(source, page, "exec"), names)  # noqa: S102  # the docs are ours
        return True
    test = doctest.DocTestParser().get_doctest(block.code, names, page, page, block.line - 1)
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    runner.run(test, clear_globs=False)
    names.update(test.globs)
    return runner.summarize(verbose=False).failed == 0


def run_page(path: Path) -> tuple[int, int]:
    """Run the blocks of a page; return how many ran and how many of them failed."""
    page = path.relative_to(ROOT).as_posix()
    names: dict[str, Any] = {"__name__": "__main__"}
    n_run = n_failed = 0
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks(path.read_text(encoding="utf-8")):
            if block.reason_not_run:
                print(f"{page}:{block.line}: not run: {block.reason_not_run}")
                continue
            n_run += 1
            try:
                passed = run_block(block, page, names)
            except Exception as error:  # noqa: BLE001  # reported, and the run fails
                print(f"{page}:{block.line}: {type(error).__name__}: {error}")
                passed = False
            n_failed += not passed
    return n_run, n_failed


def main() -> int:
    """Run all pages, or those named on the command line."""
    os.environ.setdefault("NO_COLOR", "1")
    warnings.simplefilter("error")
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or pages()
    totals = [run_page(path) for path in chosen]
    n_run, n_failed = (sum(column) for column in zip(*totals, strict=True))
    print(f"{n_run} blocks in {len(chosen)} pages, {n_failed} failed")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())
