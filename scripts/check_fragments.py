"""Check that each changelog fragment is named for an issue and holds one sentence."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SENTENCE_END = re.compile(r"[.](?=\s+[A-Z`])")


def kinds() -> list[str]:
    """Read the kinds of change from pyproject.toml."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return [kind["directory"] for kind in settings["tool"]["towncrier"]["type"]]


def faults(fragment: Path, pattern: re.Pattern[str]) -> list[str]:
    """Say what is wrong with a fragment."""
    text = fragment.read_text(encoding="utf-8").strip()
    found = []
    if not pattern.fullmatch(fragment.name):
        found.append(f"the name must be ISSUE.KIND.md or ISSUE.KIND.N.md, KIND one of {kinds()}")
    if not text.endswith("."):
        found.append(f"the sentence must end with a full stop, got {text[-40:]!r}")
    if SENTENCE_END.search(text):
        found.append("one fragment holds one sentence; give the next one a file ISSUE.KIND.N.md")
    return found


def main() -> int:
    """Check every file of changelog.d but its README."""
    pattern = re.compile(rf"\d+\.({'|'.join(kinds())})(\.\d+)?\.md")
    folder = ROOT / "changelog.d"
    fragments = [path for path in sorted(folder.iterdir()) if path.name != "README.md"]
    messages = [
        f"{fragment.relative_to(ROOT)}: {fault}"
        for fragment in fragments
        for fault in faults(fragment, pattern)
    ]
    print("\n".join(messages) or f"{len(fragments)} fragments are well-formed")
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
