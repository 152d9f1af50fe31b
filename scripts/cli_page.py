"""Write docs/reference/cli.md from the help of the commands; `--check` compares instead."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

from voirdire.cli.main import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "cli.md"
HEAD = """\
# The command line

<!-- Written by `make generate` from the help of the commands. Do not edit. -->

Results go to standard output, everything else to standard error. The exit status is 0 when the
work is done, 1 for an error of ours (one line), 2 for wrong usage, and 3 when a gate is not passed.
This page shows all options, as `--help-all` does; `--help` shows the usual ones. An option that an
earlier command of this page explains in the same words is only named.
"""
WIDTH = 88
PLAIN = {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": str(WIDTH)}


def help_of(command: str = "") -> str:
    """Run `voirdire COMMAND --help-all` without colours, at a fixed width."""
    program = Path(sys.executable).parent / "voirdire"
    done = subprocess.run(  # noqa: S603  # our own program
        [program, *command.split(), "--help-all"],
        env=os.environ | PLAIN,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"`voirdire {command} --help-all` failed:\n{done.stderr.strip()}")
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def without_repeats(command: str, group: str, told: dict[tuple[str, ...], str]) -> str:
    """Explain the options of a group; name those that an earlier command explains alike."""
    heading, *options = re.split(r"\n(?=  -)", group)
    fresh, named = [heading], dict[str, list[str]]()
    for option in options:
        words = option.split()
        first = told.setdefault(tuple(words), command)
        if first == command:
            fresh.append(option)
        else:
            named.setdefault(first, []).append(words[0].rstrip(","))
    for first, names in named.items():
        line = f"As in voirdire {first}: {', '.join(names)}."
        fresh.append(textwrap.indent(textwrap.fill(line, WIDTH - 2, break_on_hyphens=False), "  "))
    return "\n".join(fresh)


def page() -> str:
    """Render the whole page."""
    told: dict[tuple[str, ...], str] = {}
    sections = [HEAD]
    for command in ("", *COMMANDS):
        groups = help_of(command).split("\n\n")
        text = "\n\n".join(without_repeats(command, group, told) for group in groups)
        sections.append(f"## voirdire {command}".rstrip() + f"\n\n```text\n{text}\n```\n")
    return "\n".join(sections)


def main() -> int:
    """Write the page, or say how it differs from what the commands print."""
    fresh = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(fresh, encoding="utf-8")
        return 0
    kept = PAGE.read_text(encoding="utf-8")
    if kept == fresh:
        return 0
    difference = difflib.unified_diff(
        kept.splitlines(), fresh.splitlines(), "the page", "the commands", lineterm=""
    )
    print("\n".join(difference))
    print(f"{PAGE.relative_to(ROOT)} must say what the commands print. Run `make generate`.")
    return 1


if __name__ == "__main__":
    sys.exit(main())
