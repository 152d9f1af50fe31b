"""Where the program begins: interrupted while it is still being loaded, it says so in a line."""

from __future__ import annotations

import signal
import sys


def run() -> None:
    """Load the commands, and run the one that is wanted."""
    try:
        from voirdire.cli.main import run as run_command

        run_command()
    except KeyboardInterrupt:
        sys.stderr.write("voirdire: interrupted\n")
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # one more while Python ends changes nothing
        sys.exit(130)
