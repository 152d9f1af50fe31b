"""Run checks side by side: `side_by_side.py TITLE COMMAND [TITLE COMMAND ...]`.

Most checks keep one core busy, so two run at once; each takes the next one when it is done, so put
the longest first. All of them run, whatever became of the others. What a check prints comes in one
piece when it ends; what the red ones print comes last. Where a signal ends it all, what was under
way says how far it was.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import FrameType

N_AT_ONCE = 2
POLL_S = 0.1
PATIENCE_S = 10


@dataclass(frozen=True, kw_only=True)
class Check:
    """A command, and what to call it."""

    title: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Running:
    """A check that runs, and where its output goes."""

    check: Check
    process: subprocess.Popen[bytes]
    output: IO[bytes]
    started: float


def start(check: Check) -> Running:
    """Start a check, with both of its streams in one file."""
    output = tempfile.TemporaryFile()  # noqa: SIM115  # read when the check has ended
    process = subprocess.Popen(  # noqa: S603  # our own commands
        [*check.command],
        env=os.environ | check.environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
    )
    return Running(check=check, process=process, output=output, started=time.monotonic())


def report(ended: Running) -> str:
    """Say what a check has printed, and how it ended."""
    ended.output.seek(0)
    printed = ended.output.read().decode(errors="replace").rstrip()
    ended.output.close()
    title, status = ended.check.title, ended.process.returncode
    seconds = round(time.monotonic() - ended.started)
    how = f"FAILED with status {status} after {seconds} s" if status else f"{seconds} s"
    return "\n".join([f"== {title}", *([printed] if printed else []), f"== {title}: {how}"])


def end(running: Sequence[Running]) -> None:
    """End what still runs, and show what it has printed: it may be what hung."""
    for each in running:
        each.process.terminate()
    for each in running:
        try:
            each.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            each.process.kill()
            each.process.wait()
        print(report(each), flush=True)


def leave(number: int, _frame: FrameType | None) -> None:
    """Leave, so that what runs is ended."""
    sys.exit(128 + number)


def run_all(checks: Iterable[Check]) -> bool:
    """Run every check; True where all are green."""
    signal.signal(signal.SIGTERM, leave)
    waiting, running, red = [*checks], [], []
    try:
        while waiting or running:
            while waiting and len(running) < N_AT_ONCE:
                running.append(start(waiting.pop(0)))
            time.sleep(POLL_S)
            ended = [each for each in running if each.process.poll() is not None]
            running = [each for each in running if each not in ended]
            for each in ended:
                said = report(each)
                if each.process.returncode:
                    red.append((each.check.title, said))
                    print(f"== {each.check.title}: FAILED, see the end", flush=True)
                else:
                    print(said, flush=True)
    finally:
        end(running)
    for _, said in red:
        print(f"\n{said}", flush=True)
    if red:
        print(f"\n== FAILED: {', '.join(title for title, _ in red)}", flush=True)
    return not red


def main() -> int:
    """Run the checks that are named on the command line."""
    words = sys.argv[1:]
    if not words or len(words) % 2:
        sys.exit("usage: side_by_side.py TITLE COMMAND [TITLE COMMAND ...]")
    pairs = zip(words[::2], words[1::2], strict=True)
    checks = [Check(title=title, command=shlex.split(command)) for title, command in pairs]
    return 0 if run_all(checks) else 1


if __name__ == "__main__":
    sys.exit(main())
