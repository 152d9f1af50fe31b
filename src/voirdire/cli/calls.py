"""What was typed: the options of this call, what it must not say, and messages in its words."""

from __future__ import annotations

import ast
import glob
import json
import re
import shlex
import sys
from contextvars import ContextVar
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._messages import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from cyclopts.argument import Argument

_ARGUMENTS: ContextVar[Sequence[Argument]] = ContextVar("arguments", default=())
_KEYWORD = re.compile(r"\b(\w+)=(\{[^}]*\}|\[[^\]]*\]|'[^']*'|\"[^\"]*\"|True)")
_MOST_SAID = 5
"""Files of a folder that were not done, and are named."""

_NAME = re.compile(r"(?<!column )`(\w+)`")


class UsageError(Exception):
    """A call that says something that no command can mean."""


def require(holds: object, rule: str) -> None:
    """Refuse a call for which a rule does not hold."""
    if not holds:
        raise UsageError(rule)


def say(text: str = "") -> None:
    """Say something beside the result."""
    sys.stderr.write(f"{text}\n")


def is_folder(output: Path) -> bool:
    """Whether an output is a folder: one that is there, or a name without an ending."""
    return str(output) != "-" and (output.is_dir() or not output.suffix)


def say_failed(failed: Mapping[str, str], *, what: str) -> None:
    """Say which files of a folder were not done, and end with status 1 if there are any."""
    for name, why in list(failed.items())[:_MOST_SAID]:
        say(f"voirdire: {shorten(name)} has no {what}: {rewrite_as_options(why)}")
    if len(failed) > _MOST_SAID:
        say(f"voirdire: {len(failed) - _MOST_SAID:,} more files have none; --json lists them.")
    if failed:
        raise SystemExit(1)


def spell(field: str) -> str:
    """Spell a field as an option: without the n of a count and the unit of a time."""
    return field.removeprefix("n_").removesuffix("_s").replace("_", "-")


def remember(_app: Any, _commands: tuple[str, ...], arguments: Sequence[Argument]) -> None:
    """Remember the arguments of the call that is read, and refuse options that none of them is."""
    _ARGUMENTS.set(arguments)
    for token in (token for row in arguments for token in row.tokens if token.keyword is None):
        if token.value[:1] == "-" and token.value not in ("-", "--"):
            asked = [row.name for row in arguments if token.value in row.names]
            wrong = f"`{asked[0]}` needs a value." if asked else refuse_option(token.value)
            raise UsageError(wrong)


def refuse_option(word: str) -> str:
    """Say that a word is no option, and which one may be meant."""
    word, names = word.partition("=")[0], list_options()
    near = get_close_matches(word, names, n=1)
    return f"`{word}` is no option.{f' Did you mean `{near[0]}`?' if near else ''}"


def list_options() -> list[str]:
    """List the options of the command that was called."""
    return [name for row in _ARGUMENTS.get() if row.parse for name in row.names]


def list_typed() -> dict[str, str]:
    """Give the options that were typed, by the names of their fields."""
    return {row.field_info.name: row.name for row in _ARGUMENTS.get() if row.tokens}


def refuse(names: Iterable[str], *, why: str) -> None:
    """Refuse those of the options that were typed: they mean nothing here."""
    options = list_typed()
    typed = ", ".join(options[name] for name in names if name in options)
    require(not typed, f"{typed} must be left out: {why}.")


def is_source(_kind: Any, _value: Any) -> None:
    """Mark what names a file that is read."""


def check_sources() -> None:
    """Refuse a file that does not exist before anything is loaded that would read it."""
    for row in _ARGUMENTS.get():
        for token in row.tokens if row.parameter.validator == (is_source,) else ():
            path = re.sub(r"(?i)(\.xlsx)#.*", r"\1", token.value)  # which may name a sheet
            is_there = Path(path).exists() or glob.glob(path)  # noqa: PTH207  # may be absolute
            if path != "-" and "://" not in path and not is_there:
                msg = f"`{row.name}` must be a file that exists, got {token.value!r}."
                raise InputError(f"{msg} Check the path.")


def _find_option(name: str) -> str | None:
    """Give the option or argument that a message of the library calls by a name."""
    options = {
        row.field_info.name: row.name for row in _ARGUMENTS.get() if row.parse and row.name != "*"
    }
    flag = f"--{spell(name)}"
    return options.get(name) or (flag if flag in options.values() else None)


def rewrite_as_options(message: str) -> str:
    """Rewrite what a message of the library says about arguments: it means options here."""
    for rule in ("must be a file", "must end in"):
        message = message.replace(f"`source` {rule}", f"what is read {rule}", 1)
    message = _KEYWORD.sub(_rewrite_keyword, message)
    return _NAME.sub(lambda found: f"`{_find_option(found[1]) or found[1]}`", message)


def _rewrite_keyword(found: re.Match[str]) -> str:
    """Write an argument with its value as what the shell takes."""
    option, value = _find_option(found[1]), found[2]
    if option is None or value == "True":
        return option or found[0]
    try:
        content: Any = ast.literal_eval(value)  # three dots stand for what the caller knows
    except (ValueError, SyntaxError):
        content = value
    if found[1] == "raters":
        return f"{option} COLUMN"
    if isinstance(content, dict | set):
        pairs = content if isinstance(content, dict) else {"OURS": ...}
        yours = ["YOURS" if name is ... else shlex.quote(name) for name in pairs.values()]
        return " ".join(map(f"{option} {{}}={{}}".format, pairs, yours))
    if isinstance(content, str):
        return f"{option} {value}"
    words = ["WORD" if word is ... else str(word) for word in content]
    if found[1] == "labels":
        is_plain = not any("," in word for word in words)
        words = [",".join(words) if is_plain else json.dumps(words, ensure_ascii=False)]
    return " ".join(f"{option}{'=' if x[:1] == '-' else ' '}{shlex.quote(x)}" for x in words)
