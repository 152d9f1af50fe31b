"""The commands, their help, and what goes wrong in one line with an exit code.

A command is a function in a file of its own, loaded when it is called: `rubric new` is
`new_command` of `rubric.py`. Its parameters are its options; a settings record is a group of them.
"""

from __future__ import annotations

import gc
import io
import os
import sys
import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from cyclopts import App, Group, Parameter
from cyclopts import exceptions as wrong

from voirdire._version import __version__
from voirdire.cli import calls
from voirdire.cli.options import OPTIONS
from voirdire.errors import RubricError, VoirdireError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

ALL = "--help-all"
_FAMILIES = {
    "certify": "Check that an examination still holds.",
    "rubric": "List, show, check and start rubrics: the questions of judges.",
}
_KINDS = {"CHOICE": "WORD", "FLOAT": "NUMBER", "INT": "NUMBER", "PATH": "FILE", "STR": "TEXT"}
_KINDS["STR|PATH"] = "FOLDER"
_NO_DEFAULT = (None, "False", "[]", "()", "{}", "None")


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command: its task, what it does, a call, and the options that plain help shows, or all."""

    task: str
    summary: str
    example: str
    usual: str = ""


with files("voirdire.cli").joinpath("commands.toml").open("rb") as file:
    COMMANDS = {name: Command(**row) for name, row in tomllib.load(file).items()}


# Help -----------------------------------------------------------------------------------------


class _ShortHelp:
    """Shows names beside what they mean: the options in `shown`, or all where it is empty."""

    called = ""
    shown: Sequence[str] = ()

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:  # noqa: ARG002
        from rich.table import Table

        is_list = panel.format == "command"
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, max_width=36, overflow="fold", min_width=16 * is_list)
        table.add_column(ratio=1)
        for row in panel.entries:
            if is_list:
                command = COMMANDS.get(f"{self.called} {row.names[0]}".strip())
                summary = command.summary if command else _plain(row.description)
                table.add_row(f"  {row.names[0]}", summary)
            elif row.required or not {*row.all_options}.isdisjoint(self.shown or row.all_options):
                table.add_row(f"  {_name_kind(row)}", _describe_option(row))
            elif not row.all_options:
                table.add_row(f"  {row.positional_label}", _describe_option(row))
        if table.row_count:
            console.print(panel.title, style="bold")
            console.print(table)
            if not is_list:
                console.print()

    def render_usage(self, console: Console, _options: ConsoleOptions, usage: Any) -> None:
        """Show how the command is called."""
        console.print(usage)

    def render_description(self, console: Console, _options: ConsoleOptions, text: Any) -> None:
        """Show what the command does, and how to see its other options."""
        for part in str(getattr(text, "primary_renderable", text)).strip().split("\n\n"):
            console.print(f"{_plain(part)}\n")
        if self.shown:
            console.print(f"The usual options; all of them: {ALL}.\n", style="dim")


def _plain(text: Any) -> str:
    return " ".join(str(getattr(text, "primary_renderable", text) or "").split())


def _name_kind(row: HelpEntry) -> str:
    """Name an option, and the kind of its value in the words of people."""
    kind = (row.metavar or "").removesuffix("...")
    return " ".join(filter(None, [", ".join(row.all_options), _KINDS.get(kind, kind)]))


def _describe_option(row: HelpEntry) -> str:
    """Say what an option means, what it may be, and what it is by default."""
    text = [_plain(row.description)]
    text += [f"One of {', '.join(row.choices)}."] if row.choices else []
    default = (row.default or "").strip("[]").replace("'", "")
    text += [f"Default {default}."] if row.default not in _NO_DEFAULT else []
    text += ["Required."] if row.required and row.all_options else []
    return " ".join(filter(None, text))


_help = _ShortHelp()


# Calls ----------------------------------------------------------------------------------------


def _make_app() -> App:
    """Make the application; none of its commands is loaded yet."""
    names = [*dict.fromkeys(row.task for row in COMMANDS.values())]
    tasks = {name: Group(name, sort_key=place) for place, name in enumerate(names)}
    app = App(
        name="voirdire",
        help="Judge responses, examine judges against people, turn verdicts into rewards.",
        help_epilogue="Also: voirdire COMMAND --help, --version, --install-completion.",
        version=f"voirdire {__version__}",
        help_format="plaintext",
        help_formatter=_help,
        default_parameter=Parameter(
            negative=(),
            show_env_var=False,
            allow_repeating=True,
            allow_leading_hyphen=True,  # an option takes what follows it, also `-` and `-1`
            name_transform=calls.spell,
        ),
        config=calls.remember,
        group_parameters=OPTIONS,
    )
    app.register_install_completion_command()
    for flag in ("--help", "--version", "--install-completion"):
        app[flag].show = False
    for name, command in COMMANDS.items():
        about: Any = {"group": tasks[command.task], "help_epilogue": ""}
        place, (*family, last) = app, name.split()
        if " ".join(family) in COMMANDS:  # beside a command of this name: see `_call`
            family, last = [], name.replace(" ", "-")
            about |= {"show": False, "usage": f"voirdire {name} [OPTIONS]"}
        for part in family:
            if part not in app:
                app.command(App(name=part, help=_FAMILIES[part], **about))
            place = app[part]
        home = name.split()[0].replace("-", "_")
        target = f"{__package__}.{home}:{name.split()[-1].replace('-', '_')}_command"
        place.command(target, name=last, sort_key=[*COMMANDS].index(name), **about)
    return app


app = _make_app()


def _call(words: Sequence[str]) -> None:
    """Call the command that is meant; exit 2 with a line where none can be meant."""
    name = ""
    try:
        name = _name_command(words)
        command = COMMANDS.get(name)
        _help.called = name
        _help.shown = command.usual.split() if command and ALL not in words else ()
        family, _, last = name.rpartition(" ")
        if family in COMMANDS:
            words = [f"{family}-{last}", *words[2:]]
        typed: list[str] = []
        for word in words:  # `--humans a b` is `--humans a --humans b`
            last = next((each for each in reversed(typed) if each[:2] == "--"), "")
            if last in ("--humans", "--judges") and word[:1] != "-" and typed[-1] != last:
                typed.append(last)
            typed.append("--help" if word == ALL else word)
        function, bound, _ = app.parse_args(typed, print_error=False, exit_on_error=False)
        function(*bound.args, **bound.kwargs)
        if command is None and [*words] == name.split():
            sys.exit(2)  # no command was named: help was shown
    except (wrong.CycloptsError, calls.UsageError) as error:
        if isinstance(error.__cause__, VoirdireError):  # a settings record refused its values
            raise error.__cause__ from None
        program, command = f"voirdire {name}".strip(), COMMANDS.get(name)
        lacks = isinstance(error, wrong.MissingArgumentError) and error.keyword is None
        if command and (lacks or [*words] == name.split()):
            calls.say(f"{program}: {_message(error)} {command.summary}")
            calls.say(f"Example: {command.example}")
        else:
            calls.say(f"{program}: {_message(error)}")
        calls.say(f"Help: {program} --help")
        sys.exit(2)


def _name_command(words: Sequence[str]) -> str:
    """Name the command or family that a call begins with; nothing where it begins with none."""
    path: list[str] = []
    for word in words:
        is_whole = " ".join(path) in COMMANDS and " ".join([*path, word]) not in COMMANDS
        if word[:1] == "-" or is_whole:
            break
        path.append(word)
    name = " ".join(path)
    if name and name not in (*COMMANDS, *_FAMILIES):
        word = " ".join(path[: 1 + (path[0] in _FAMILIES)])
        near = get_close_matches(word, [*COMMANDS, *_FAMILIES], n=1)
        msg = f"`{word}` is no command.{f' Did you mean `{near[0]}`?' if near else ''}"
        raise calls.UsageError(msg)
    return name


def _message(error: Exception) -> str:
    """Say what is wrong with a call."""
    if not isinstance(error, wrong.CycloptsError):
        return str(error)
    argument = error.argument
    name = "it" if argument is None else argument.name
    name = f"`{name}`" if name[:1] == "-" else name
    unused = [word for word in error.unused_tokens or () if word[:1] == "-"]
    unknown = [x for x in unused if x.partition("=")[0] not in calls.list_options()]
    if unknown and not (isinstance(error, wrong.MissingArgumentError) and error.keyword):
        return calls.refuse_option(unknown[0])
    match error:
        case wrong.UnknownOptionError():
            return calls.refuse_option(error.token.keyword or error.token.value)
        case wrong.MissingArgumentError():
            return f"{name} needs a value." if error.keyword else f"{name} is missing."
        case wrong.CoercionError():
            choices = ", ".join((argument and argument.get_choices(force=True)) or ())
            kinds = {"int": "a whole number", "float": "a number"}
            kind = kinds.get(getattr(error.target_type, "__name__", ""), "of another kind")
            value = "" if error.token is None else f", got {error.token.value!r}"
            return f"{name} must be {f'one of {choices}' if choices else kind}{value}."
        case wrong.RepeatArgumentError():
            jury = " A jury.yaml makes one judge of several."
            option = error.token.keyword
            return f"`{option}` must be given once, got it twice.{jury * (option == '--judge')}"
        case wrong.ValidationError():
            return f"{name}: {error.exception_message} Got {argument and argument.value!r}."
        case wrong.UnusedCliTokensError():
            return f"it takes no {', '.join(map(repr, error.unused_tokens or ()))} there."
    return " ".join(str(error).replace('"', "`").split())


def run() -> None:
    """Run the command line: exit 0 done, 1 our error in one line, 2 usage, 3 a gate not passed."""
    # calls and verdicts are freed without the collector, which takes a tenth of a run's time else
    gc.set_threshold(20_000, 10, 10)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal without Greek letters is no error
            stream.reconfigure(errors="replace")
    try:
        _call(sys.argv[1:])
        sys.stdout.flush()
    except VoirdireError as error:
        message = " ".join(str(error).splitlines())
        if not isinstance(error, RubricError):  # that is about keys of a file, not about options
            message = calls.rewrite_as_options(message)
        sys.stderr.write(f"voirdire: {message}\n")
        sys.exit(1)
    except OSError as error:
        # whoever reads our output has left, or it cannot be written: nothing more is said of it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            sys.stderr.write(f"voirdire: output cannot be written ({error.strerror}).\n")
        sys.exit(1)
