"""What every command stands on: how a call is read, what help shows, how a call ends.

A command is a function in a file of its own, loaded when it is called: `rubric new` is
`new_command` of `rubric.py`, and `voirdire.cli.main` lists them. Its parameters are its options,
and a dataclass marked ``Parameter(name="*")`` is a group of them. What a caller got wrong is a
`UsageError`. A command that takes a `Call` is told which options were typed.
"""

from __future__ import annotations

import re
import sys
from contextvars import ContextVar
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from cyclopts import App, Group, Parameter
from cyclopts.exceptions import (
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownOptionError,
    UnusedCliTokensError,
    ValidationError,
)

from voirdire._version import __version__
from voirdire.errors import VoirdireError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cyclopts.argument import Argument, ArgumentCollection
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions

__all__ = [
    "ALL",
    "OPTIONS",
    "Call",
    "Command",
    "Typed",
    "UsageError",
    "list_options",
    "make_app",
    "rewrite_as_options",
    "run_app",
    "say",
]

ALL = "--help-all"
_HELP = "Judge responses by a rubric, examine judges against people, turn verdicts into rewards."
_FAMILIES = {
    "certify": "Check that an examination still holds.",
    "rubric": "List, show, check and start rubrics: the questions that judges answer.",
}
OPTIONS = Group("Options", sort_key=0)
_WIDEST_NAME = 36
_KINDS = {
    "CHOICE": "WORD",
    "FLOAT": "NUMBER",
    "INT": "NUMBER",
    "PATH": "FILE",
    "STR": "TEXT",
    "STR|PATH": "FOLDER",
}
_NO_DEFAULT = (None, "False", "[]", "()", "{}", "None")


_ARGUMENT = re.compile(r"(?<!column )`(\w+)`")
_COLUMNS = re.compile(r"""columns=\{(['"])(\w+)\1: (?:\1(\w+)\1|[^}]*)\}""")
_FLAG = re.compile(r"`(\w+)=True`")
_RATERS = re.compile(r"raters=\[[^\]]*\]")
_KEYWORD = re.compile(r"""\b(\w+)=(['"])([^'"]*)\2""")


class UsageError(Exception):
    """A call that says something that no command can mean."""


@dataclass(frozen=True)
class Typed:
    """How the options of a call were typed, by the names of their parameters."""

    options: Mapping[str, str]

    def flags(self, names: Iterable[str]) -> str:
        """List those of the options that were typed, as they were typed."""
        return ", ".join(self.options[name] for name in names if name in self.options)

    def refuse(self, names: Iterable[str], *, why: str) -> None:
        """Refuse those of the options that were typed: they mean nothing here."""
        if flags := self.flags(names):
            msg = f"{flags} must be left out: {why}."
            raise UsageError(msg)


Call: TypeAlias = Annotated[Typed, Parameter(parse=False)]


@dataclass(kw_only=True)
class _State:
    """State of the call that is being read."""

    called: str = ""
    shown: Sequence[str] = ()
    typed: Typed = Typed({})
    arguments: ArgumentCollection | None = None


_STATE: ContextVar[_State] = ContextVar("state", default=_State())  # noqa: B039  # none runs


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command: what it does, a call, and the options that plain help shows.

    `usual` names options between spaces; empty shows all.
    """

    summary: str
    example: str
    usual: str = ""


def say(text: str = "") -> None:
    """Say something beside the result."""
    sys.stderr.write(f"{text}\n")


def make_app(commands: Mapping[str, Command]) -> App:
    """Make an application of commands, none of which is loaded yet.

    The first word of a name of two, such as `rubric list`, is a family with a help text.
    """
    app = App(
        name="voirdire",
        help=_HELP,
        version=f"voirdire {__version__}",
        help_format="plaintext",
        help_formatter=_ShortHelp(commands),
        default_parameter=Parameter(
            negative_bool=(),
            negative_iterable=(),
            show_env_var=False,
            allow_repeating=True,
            allow_leading_hyphen=True,  # an option takes what follows it, also `-` and `-1`
            name_transform=_spell,
        ),
        config=_remember_typed,
        group_parameters=OPTIONS,
    )
    app.register_install_completion_command()
    for called in commands:
        place = app
        *path, last = called.split(" ")
        for part in path:
            if part not in place:
                place.command(App(name=part, help=_FAMILIES[part]))
            place = place[part]
        home = called.partition(" ")[0].replace("-", "_")
        place.command(f"{__package__}.{home}:{last.replace('-', '_')}_command", name=last)
    return app


def _remember_typed(_app: App, _commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    names = [name for argument in arguments for name in argument.names if argument.parse]
    for argument in arguments:
        for token in argument.tokens:
            if token.keyword is None and token.value[:1] == "-" and token.value not in ("-", "--"):
                raise UsageError(_refuse_option(token.value.partition("=")[0], names))
    state = _STATE.get()
    state.typed = Typed({row.field_info.name: row.name for row in arguments if row.tokens})
    state.arguments = arguments


def _spell(field: str) -> str:
    """Spell a field as an option: without the n of a count and the unit of a time."""
    return field.removeprefix("n_").removesuffix("_s").replace("_", "-")


def _find_option(name: str) -> str | None:
    """Give the option or argument that a message of the library calls by a name."""
    arguments = _STATE.get().arguments or ()
    by_field = {x.field_info.name: x.name for x in arguments if x.parse and x.name != "*"}
    flag = f"--{_spell(name)}"
    return by_field.get(name) or (flag if flag in by_field.values() else None)


def rewrite_as_options(message: str) -> str:
    """Rewrite what a message of the library says about arguments: it means options here."""
    message = _COLUMNS.sub(lambda x: f"--column {x[2]}={x[3] or 'YOURS'}", message)
    message = message.replace("columns={...}", "--column OURS=YOURS")
    for rule in ("must be a file", "must end in"):
        message = message.replace(f"`source` {rule}", f"what is read {rule}", 1)
    message = _RATERS.sub("--rater COLUMN", message)
    message = _FLAG.sub(lambda found: f"`{_find_option(found[1]) or found[1]}`", message)
    message = _KEYWORD.sub(_rewrite_keyword, message)
    return _ARGUMENT.sub(lambda found: f"`{_find_option(found[1]) or found[1]}`", message)


def _rewrite_keyword(found: re.Match[str]) -> str:
    option = _find_option(found[1])
    return f"{option} {found[3]!r}" if option else found[0]


class _ShortHelp:
    """Shows names beside what they mean: the usual options, or all where they are asked for."""

    def __init__(self, commands: Mapping[str, Command]) -> None:
        self._commands = commands

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:  # noqa: ARG002
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, max_width=_WIDEST_NAME, overflow="fold")
        table.add_column(ratio=1)
        for row in panel.entries:
            name = ", ".join(map(_name_kind, row.display_labels_with_metavar))
            if panel.format == "command":
                command = self._commands.get(f"{_STATE.get().called} {name}".strip())
                table.add_row(f"  {name}", command.summary if command else _plain(row.description))
            elif _is_shown(row):
                table.add_row(Text(f"  {name}"), Text(_describe_option(row)))
        if table.row_count:
            console.print(panel.title, style="bold")
            console.print(table)
            console.print()

    def render_usage(self, console: Console, _options: ConsoleOptions, usage: Any) -> None:
        """Show how the command is called."""
        console.print(usage)

    def render_description(self, console: Console, _options: ConsoleOptions, text: Any) -> None:
        """Show what the command does, and how to see its other options."""
        console.print(_reflow(text))
        console.print()
        if _STATE.get().shown:
            console.print(f"The usual options; all of them: {ALL}.\n", style="dim")


def _describe_option(row: HelpEntry) -> str:
    """Say what an option means, what it may be, and what it is by default."""
    text = [_plain(row.description)]
    text += [f"One of {', '.join(row.choices)}."] if row.choices else []
    default = (row.default or "").strip("[]").replace("'", "")
    text += [f"Default {default}."] if row.default not in _NO_DEFAULT else []
    text += ["Required."] if row.required and not row.positional_label else []
    return " ".join(part for part in text if part)


def _name_kind(label: str) -> str:
    """Name the kind of a value in the words of people."""
    name, space, kind = label.rpartition(" ")
    kind = kind.removesuffix("...") if space else kind
    return f"{name}{space}{_KINDS.get(kind, kind) if space else kind}"


def _reflow(text: Any) -> str:
    """Set a description anew, without the line ends of its source."""
    text = str(getattr(text, "primary_renderable", text) or "").strip()
    return "\n\n".join(" ".join(part.split()) for part in text.split("\n\n"))


def _plain(text: Any) -> str:
    return " ".join(str(getattr(text, "primary_renderable", text) or "").split())


def _is_shown(row: HelpEntry) -> bool:
    usual = _STATE.get().shown
    if row.positional_label or not usual:
        return True
    return row.required or any(name in usual for name in row.all_options)


def run_app(app: App, commands: Mapping[str, Command], tokens: Sequence[str]) -> None:
    """Call the command that is meant; exit 2 with a line where none can be meant."""
    words = [word for word in tokens if word != ALL]
    shows_all = len(words) < len(tokens)
    called = _called(commands, words)
    command = commands.get(called)
    state = _State(
        called=called or next((word for word in words[:1] if word[:1] != "-"), ""),
        shown=command.usual.split() if command and not shows_all else (),
    )
    _STATE.set(state)
    try:
        function, bound, ignored = app.parse_args(
            [*words, *(["--help"] if shows_all else [])],
            print_error=False,
            exit_on_error=False,
        )
        given = {"call": state.typed} if "call" in ignored else {}
        function(*bound.args, **(bound.kwargs | given))
        if not called and not any(word.startswith("-") for word in tokens):
            sys.exit(2)  # no command was named: help was shown
    except (CycloptsError, UsageError) as error:
        if isinstance(error.__cause__, VoirdireError):  # a settings record refused its values
            raise error.__cause__ from None
        names = [*list_options(app, called)] if command else []
        for line in _lines(error, called, command, names, is_bare=words == called.split()):
            say(line)
        sys.exit(2)


def _called(commands: Mapping[str, Command], tokens: Sequence[str]) -> str:
    """Name the command that a call begins with."""
    found = [name for name in commands if [*tokens[: len(name.split())]] == name.split()]
    return max(found, key=len, default="")


def list_options(app: App, called: str) -> dict[str, Argument]:
    """List the options of a command by their spellings."""
    place = app
    for name in called.split():
        place = place[name]
    options = place.assemble_argument_collection(default_parameter=app.default_parameter)
    return {name: row for row in options if row.parse for name in row.names if name[:1] == "-"}


def _lines(
    error: Exception, called: str, command: Command | None, names: Sequence[str], *, is_bare: bool
) -> list[str]:
    """Say what is wrong with a call."""
    program = f"voirdire {called}".strip()
    unused = [word.partition("=")[0] for word in getattr(error, "unused_tokens", None) or ()]
    unknown = [word for word in unused if word.startswith("-") and word not in names]
    if unknown:
        text = _refuse_option(unknown[0], names)
        return [f"{program}: {text}", f"Help: {program} --help"]
    if isinstance(error, MissingArgumentError) and command and error.keyword is None:
        return [
            f"{program}: {_name(error)} is missing. {command.summary}",
            f"Example: {command.example}",
            f"Help: {program} --help",
        ]
    if command and is_bare:
        text = f"{program}: {_message(error)} {command.summary}"
        return [text, f"Example: {command.example}", f"Help: {program} --help"]
    return [f"{program}: {_message(error)}", f"Help: {program} --help"]


def _name(error: CycloptsError) -> str:
    """Name the option or argument that an error is about, as it is typed."""
    argument = error.argument
    if argument is None:
        return "it"
    return f"`{argument.name}`" if argument.name.startswith("-") else argument.name


def _message(error: Exception) -> str:
    match error:
        case UnknownOptionError():
            word = (error.token.keyword or error.token.value).partition("=")[0]
            names = [name for row in error.argument_collection for name in row.names if row.parse]
            return _refuse_option(word, names)
        case MissingArgumentError():
            return f"{_name(error)} needs a value."
        case CoercionError():
            value = "" if error.token is None else f", got {error.token.value!r}"
            return f"{_name(error)} must be {_describe_kind(error)}{value}."
        case RepeatArgumentError():
            jury = " A jury.yaml makes one judge of several."
            name = error.token.keyword
            return f"`{name}` must be given once, got it twice.{jury * (name == '--judge')}"
        case ValidationError():
            given = error.argument.value if error.argument else None
            return f"{_name(error)}: {error.exception_message} Got {given!r}."
        case UnusedCliTokensError():
            return f"it takes no {', '.join(map(repr, error.unused_tokens or ()))} there."
    return " ".join(str(error).replace('"', "`").split())


def _refuse_option(word: str, names: Sequence[str]) -> str:
    """Refuse an option, and name the one that may be meant."""
    near = get_close_matches(word, names, n=1, cutoff=0.6)
    return f"`{word}` is no option.{f' Did you mean `{near[0]}`?' if near else ''}"


def _describe_kind(error: CoercionError) -> str:
    """Say what a value must be."""
    argument = error.argument
    choices = None if argument is None else argument.get_choices(force=True)
    if choices:
        return f"one of {', '.join(choices)}"
    kinds = {"int": "a whole number", "float": "a number"}
    return kinds.get(getattr(error.target_type, "__name__", ""), "of another kind")
