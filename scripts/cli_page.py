"""Write docs/reference/cli.md from the help of the commands; `--check` compares instead."""

from __future__ import annotations

import difflib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "reference" / "cli.md"
HEAD = """\
# The command line

<!-- Written by `make generate` from the help of the commands. Do not edit. -->

Results go to standard output, everything else to standard error. The exit status is 0 when the
work is done, 1 for an error of ours (one line), 2 for wrong usage, and 3 when a gate is not passed.
"""
PLAIN = {"TYPER_USE_RICH": "0", "NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "88"}


def help_of(*command: str) -> str:
    """Run `voirdire COMMAND --help` without colours, at a fixed width."""
    program = Path(sys.executable).parent / "voirdire"
    done = subprocess.run(  # noqa: S603  # our own program
        [program, *command, "--help"],
        env=os.environ | PLAIN,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"`voirdire {' '.join(command)} --help` failed:\n{done.stderr.strip()}")
    return "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())


def commands(text: str) -> list[str]:
    """Read the names of the commands from the help of the program."""
    listed = text.partition("\nCommands:\n")[2]
    return re.findall(r"^  ([a-z][a-z-]*)", listed, flags=re.MULTILINE)


def page() -> str:
    """Render the whole page."""
    overview = help_of()
    sections = [f"## voirdire\n\n```text\n{overview}\n```\n"]
    for name in commands(overview):
        own = help_of(name)
        for words in ((name,), *((name, part) for part in commands(own))):
            text = own if len(words) == 1 else help_of(*words)
            sections.append(f"## voirdire {' '.join(words)}\n\n```text\n{text}\n```\n")
    return "\n".join([HEAD, *sections])


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
