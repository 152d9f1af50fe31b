"""The file behind `--settings`: options of a command, as YAML; the command line counts before it.

Every run that writes an output writes the settings that it used beside it, without secrets.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml  # type: ignore[import-untyped]
from cyclopts import Token

from voirdire._validation import shorten
from voirdire._version import __version__
from voirdire.documents import did_you_mean, read_document, write_whole
from voirdire.judging.judges.key_material import find_keys

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cyclopts.argument import Argument, ArgumentCollection

    from voirdire.documents import Document

__all__ = ["beside", "fill_from_file", "settings_text", "write_settings"]

_SIGN = "# Settings of a run of voirdire"
_ABOUT = ("command", "voirdire")
_OUTPUTS = ("output", "certificate", "report", "table", "plot", "record")
_NOTHING_WRITTEN = ("dry_run", "show_prompt", "show_card", "check")
_SECRET = re.compile(
    r"://[^/\s]*@|[?&][^=&]*(?:key|token|secret|password|sig)[^=&]*=", re.IGNORECASE
)


def fill_from_file(path: str, called: str, arguments: ArgumentCollection) -> frozenset[str]:
    """Give options the values of a file where none was typed; name those that got one."""
    document = read_document(path, what="a settings file", check_text=find_keys)
    if not isinstance(document.value, dict):
        document.add((), "a settings file must be a mapping of options. Write `epsilon: 0.1`.")
        document.raise_problems()
    named = {name: row for row in arguments if row.parse for name in _names(row)}
    filled = set()
    for key, value in document.value.items():
        if key in _ABOUT:
            continue
        row = named.get(str(key).replace("-", "_"))
        if row is None:
            msg = f"`{shorten(key)}` is no option of `voirdire {called}`."
            document.add((key,), msg + did_you_mean(str(key), list(named)), at_key=True)
        elif not row.tokens:
            filled |= _fill(row, value, key=key, document=document)
    if document.get(("command",)) not in (None, called):
        msg = f"`command` must be {called}, got {shorten(document.get(('command',)))!r}."
        document.add(("command",), msg)
    document.raise_problems()
    return frozenset(filled)


def _names(row: Argument) -> Iterator[str]:
    """Name an option as a file does: with underscores; a positional one by its parameter."""
    if row.is_positional_only():
        yield row.field_info.name
    for name in row.names:
        if name.startswith("--"):
            yield name.removeprefix("--").replace("-", "_")


def _fill(row: Argument, value: Any, *, key: Any, document: Document) -> set[str]:
    """Give an option what a file says; null and a flag that is false say nothing."""
    source = f"{document.source}:{document.line((key,))}"
    keyword = None if row.is_positional_only() else row.name
    if row.is_flag():
        if not isinstance(value, bool):
            document.add((key,), f"`{shorten(key)}` must be true or false, got {shorten(value)!r}.")
        elif value != row.field_info.default:
            row.append(Token(keyword=keyword, implicit_value=value, source=source))
            return {row.field_info.name}
        return set()
    is_list = row.token_count()[1]
    for index, text in enumerate(_texts(value, is_list=is_list)):
        row.append(Token(keyword=keyword, value=text, source=source, index=index))
    return {row.field_info.name} if row.tokens else set()


def _texts(value: Any, *, is_list: bool) -> list[str]:
    """Write a value of a file as it would be typed."""
    if value is None:
        return []
    if isinstance(value, dict):
        return [
            f"{name}={_texts(each, is_list=False)[0]}"
            for name, each in value.items()
            if each is not None
        ]
    if isinstance(value, list):
        if is_list:
            return [text for each in value for text in _texts(each, is_list=False)]
        return [json.dumps(value, ensure_ascii=False)]  # a universe of labels
    return [str(value).lower() if isinstance(value, bool) else str(value)]


def settings_text(called: str, arguments: ArgumentCollection, *, file: str) -> str:
    """Write what was set as YAML, and what was left as it is by default as remarks."""
    typed: dict[str, Any] = {"command": called, "voirdire": __version__}
    remarks = []
    for row in arguments:
        if not row.parse or row.children:
            continue
        name = next(_names(row), "")
        if not row.tokens:
            default = row.field_info.default
            if default not in (None, row.field_info.empty, False, [], (), {}, ""):
                shown = json.dumps(default, ensure_ascii=False, default=str)
                remarks.append(f"#   {name}: {shown}")
            continue
        if row.is_flag():
            typed[name] = bool(row.tokens[-1].implicit_value)
            continue
        texts = [token.value for token in row.tokens]
        if any(_SECRET.search(text) or any(find_keys(text)) for text in texts):
            remarks.append(f"#   {name}: left out, for it holds a password or a key")
            continue
        values = [_read_number_or_text(text) for text in texts]
        typed[name] = values if row.token_count()[1] else values[-1]
    body: str = yaml.safe_dump(typed, allow_unicode=True, sort_keys=False, width=10_000)
    by_default = "".join(f"{line}\n" for line in ["# By default:", *remarks]) if remarks else ""
    again = f"{_SIGN}. The same again: voirdire {called} --settings {file}\n"
    return f"{again}{body}{by_default}"


def _read_number_or_text(text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, int | float) and str(value) == text else text


def write_settings(called: str, arguments: ArgumentCollection) -> str | None:
    """Write the settings of a run beside its output; say why where that cannot be."""
    rows = {row.field_info.name: row for row in arguments}
    if any(name in rows and rows[name].tokens for name in _NOTHING_WRITTEN):
        return None
    named = [rows[name] for name in _OUTPUTS if name in rows and rows[name].parse]
    output = next((text for row in named if (text := _value_of(row))), "-")
    place = beside(Path(output))
    if output == "-" or not Path(output).exists():
        return None
    try:
        before = place.read_text("utf-8", "replace") if place.exists() else _SIGN
        if not before.startswith(_SIGN):
            return f"{place}: is no settings file and stays; the settings of this run are not kept."
        text = settings_text(called, arguments, file=str(place))
        write_whole(place, text.encode("utf-8", "backslashreplace"))
    except OSError as error:
        return f"{place}: the settings of this run are not kept ({error.strerror})."
    return None


def _value_of(row: Argument) -> str:
    if row.tokens:
        return str(row.tokens[-1].value)
    default = row.field_info.default
    return "" if default in (None, row.field_info.empty) else str(default)


def beside(output: Path) -> Path:
    """Name the settings file of an output: in a folder, or with the file's name before it."""
    if output.is_dir():
        return output / "settings.yaml"
    return output.with_name(f"{output.name}.settings.yaml")
