"""Register the commands, and turn what goes wrong into one line and an exit code."""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

import voirdire
from voirdire.cli.demo import demo_command
from voirdire.cli.distill import distill_command
from voirdire.cli.examine import examine_command
from voirdire.cli.examine_reward import examine_reward_command
from voirdire.cli.fit import fit_command
from voirdire.cli.gate import GatedCommand
from voirdire.cli.judge import judge_command
from voirdire.cli.messages import in_options
from voirdire.cli.power import power_command
from voirdire.cli.probe import probe_command
from voirdire.cli.replay import replay_command
from voirdire.cli.report import report_command
from voirdire.cli.rubric import rubric_app
from voirdire.cli.sample import sample_command
from voirdire.cli.score import score_command
from voirdire.cli.serve import serve_command
from voirdire.cli.synthesize import synthesize_command
from voirdire.errors import RubricError, VoirdireError

__all__ = ["app", "run"]

_INTERRUPTED = 130

app = typer.Typer(
    name="voirdire",
    help="Judge responses by a rubric, examine judges against people, turn verdicts into rewards.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("demo")(demo_command)
app.command("distill")(distill_command)
app.command("examine", cls=GatedCommand)(examine_command)
app.command("examine-reward")(examine_reward_command)
app.command("fit")(fit_command)
app.command("judge")(judge_command)
app.command("power")(power_command)
app.command("probe")(probe_command)
app.command("replay")(replay_command)
app.command("report")(report_command)
app.command("sample")(sample_command)
app.command("score")(score_command)
app.command("serve")(serve_command)
app.command("synthesize")(synthesize_command)
app.add_typer(rubric_app, name="rubric")


def _print_version(*, wanted: bool) -> None:
    if wanted:
        typer.echo(f"voirdire {voirdire.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            help="Print the version and leave.",
            is_eager=True,
            callback=lambda value: _print_version(wanted=value),
        ),
    ] = False,
) -> None:
    """Judge responses by a rubric, examine judges against people, turn verdicts into rewards."""


def run() -> None:
    """Run the command line: exit 0 done, 1 our error in one line, 2 usage, 3 a gate not passed."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Greek letters is no error
            stream.reconfigure(errors="replace")
    try:
        app()
    except VoirdireError as error:
        message = " ".join(str(error).splitlines())
        if not isinstance(error, RubricError):  # that is about keys of a file, not about options
            message = in_options(message)
        sys.stderr.write(f"voirdire: {message}\n")
        sys.exit(1)
    except SystemExit as left:
        if left.code == _INTERRUPTED:  # typer has caught the KeyboardInterrupt
            sys.stderr.write("voirdire: interrupted\n")
        raise
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
