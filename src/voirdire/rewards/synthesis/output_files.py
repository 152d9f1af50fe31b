"""Where completions are written: never over a file that holds anything else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.errors import InputError
from voirdire.rewards.synthesis.result import RejectedSlot, SynthesizedRow

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["checked_outputs", "line_of"]

_SUFFIX = ".jsonl"


def checked_outputs(output: Path, *, source: object) -> tuple[Path, Path, Path]:
    """Give the files of completions, of rejected ones and of dropped prompts, or say why not.

    Files of an earlier synthesis are replaced, and empty ones; nothing else is.
    """
    target = output.resolve()
    if target.suffix.lower() != _SUFFIX:
        msg = f"`output` must end in {_SUFFIX}, got {str(output)!r}. Rename it."
        raise InputError(msg)
    if target.exists() and not target.is_file():
        msg = f"`output` must be a regular file, got a folder or a device: {str(output)!r}."
        raise InputError(msg)
    folder = target.parent
    if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        what = "cannot be written to" if folder.is_dir() else "does not exist"
        msg = f"`output` must be in a folder that can be written to; {str(folder)!r} {what}."
        raise InputError(msg)
    _check_apart(target, source)
    rejected = target.with_name(f"{target.name}.rejected{_SUFFIX}")
    _check_ours(target, SynthesizedRow.__struct_fields__)
    _check_ours(rejected, RejectedSlot.__struct_fields__)
    return target, rejected, target.with_name(f"{target.name}.dropped{_SUFFIX}")


def line_of(row: Mapping[str, Any]) -> bytes:
    """Write a row as a line of JSON; half a surrogate pair, which is no text, as an escape."""
    try:
        return msgspec.json.encode(row) + b"\n"
    except UnicodeEncodeError:
        import json

        return json.dumps(row, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _check_apart(target: Path, source: object) -> None:
    if not isinstance(source, str | Path) or str(source) == "-" or not target.exists():
        return
    given = Path(source)
    if given.exists() and given.samefile(target):
        msg = f"`output` must be another file than the prompts, got {str(source)!r} for both."
        raise InputError(msg)


def _check_ours(target: Path, keys: tuple[str, ...]) -> None:
    if not target.exists() or not target.stat().st_size:
        return
    first = None
    try:
        with target.open("rb") as file:
            first = msgspec.json.decode(file.readline())
    except (OSError, msgspec.DecodeError):
        pass
    if not (isinstance(first, dict) and tuple(first) == keys):
        msg = (
            f"`output` must not replace {str(target)!r}, which is no file of a synthesis. Move it, "
            "or name another."
        )
        raise InputError(msg)
