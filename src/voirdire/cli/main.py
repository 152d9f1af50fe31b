"""The commands, and what goes wrong in one line with an exit code."""

from __future__ import annotations

import gc
import io
import os
import sys
import tomllib
from importlib.resources import files

from voirdire.cli.shell import Command, make_app, rewrite_as_options, run_app
from voirdire.errors import RubricError, VoirdireError

__all__ = ["COMMANDS", "app", "run"]

with files("voirdire.cli").joinpath("commands.toml").open("rb") as file:
    COMMANDS = {name: Command(**row) for name, row in tomllib.load(file).items()}
app = make_app(COMMANDS)


def run() -> None:
    """Run the command line: exit 0 done, 1 our error in one line, 2 usage, 3 a gate not passed."""
    # calls and verdicts are freed without the collector, which takes a tenth of a run's time else
    gc.set_threshold(20_000, 10, 10)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Greek letters is no error
            stream.reconfigure(errors="replace")
    try:
        run_app(app, COMMANDS, sys.argv[1:])
        sys.stdout.flush()
    except VoirdireError as error:
        message = " ".join(str(error).splitlines())
        if not isinstance(error, RubricError):  # that is about keys of a file, not about options
            message = rewrite_as_options(message)
        sys.stderr.write(f"voirdire: {message}\n")
        sys.exit(1)
    except BrokenPipeError:
        _silence_output()  # whoever read our output has left
        sys.exit(1)
    except OSError as error:
        _silence_output()
        sys.stderr.write(f"voirdire: output cannot be written ({error.strerror}).\n")
        sys.exit(1)


def _silence_output() -> None:
    """Keep the interpreter from complaining at exit about what it could not write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
