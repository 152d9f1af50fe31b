"""Whether the rubric that a reward was made from is still the same."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.errors import InputError
from voirdire.rubrics import built_in_rubrics, load_rubric

if TYPE_CHECKING:
    from voirdire.rubrics import Rubric

__all__ = ["check_rubric"]

_BUILT_IN = "built-in "
_ELSEWHERE = ("//", "\\\\")
"""How names of other machines' files begin: a reward may be a stranger's, and so may the machine,
which would be told who asks."""


def check_rubric(
    own: Rubric, *, given: Rubric | str | Path | None, written_from: str, source: str
) -> None:
    """Refuse a reward whose rubric is another one by now.

    Parameters
    ----------
    own : Rubric
        The one inside the reward.
    given : Rubric, str, path or None
        The one that it must belong to, where the caller says.
    written_from : str
        Else what it was read from when the reward was made: a built-in one, or a file. A file that
        is not there, is on another machine, is no rubric or has another name says nothing.
    source : str
        What messages call the reward.

    Raises
    ------
    InputError
        If they differ.
    """
    other = load_rubric(given) if given is not None else _found_again(own, written_from)
    if other is None or other.content_hash == own.content_hash:
        return
    msg = (
        f"{source}: was made for rubric {_named(own)}, got {_named(other)}"
        f"{'' if given is not None else f' in {shorten(written_from)}'}. "
        "Fit again with that rubric, or go back to the one that the reward was made for."
    )
    raise InputError(msg)


def _found_again(own: Rubric, written_from: str) -> Rubric | None:
    name = written_from.removeprefix(_BUILT_IN)
    if written_from.startswith(_BUILT_IN):
        return load_rubric(name) if name in built_in_rubrics() else None
    if name.startswith(_ELSEWHERE):
        return None
    try:
        # a pipe would be waited for, and a name that leads nowhere is no error
        found = load_rubric(Path(name)) if Path(name).is_file() else None
    except (InputError, OSError, ValueError):
        return None
    return found if found is not None and found.name == own.name else None


def _named(rubric: Rubric) -> str:
    mark = shorten(rubric.content_hash, width=19)
    return f"{shorten(rubric.name)!r} version {shorten(rubric.version)!r} ({mark})"
