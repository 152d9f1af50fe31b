"""Refuse what was typed and would mean nothing, such as a limit of cost that nobody keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.cli.model_options import ALL_OPTIONS, OF_REPLIES
from voirdire.cli.shell import Call, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["refuse_idle_options", "refuse_typed", "typed_flags", "typed_names"]


def typed_names(call: Call, names: Iterable[str]) -> list[str]:
    """Name those of the options that were typed."""
    return [name for name in names if name in call.options]


def typed_flags(call: Call, names: Iterable[str]) -> str:
    """Write those of the options that were typed as they were typed."""
    return ", ".join(call.options[name].flag for name in typed_names(call, names))


def refuse_typed(call: Call, names: Iterable[str], *, why: str) -> None:
    """Refuse these options, each of which is idle here."""
    typed = typed_flags(call, names)
    if typed:
        msg = f"{typed} must be left out: {why}."
        raise UsageError(msg)


def refuse_idle_options(
    call: Call,
    *,
    judge: str,
    judges: str | None = None,
    names: Sequence[str] = ALL_OPTIONS,
) -> None:
    """Refuse options of models, `names`, where none is called, or where a file says them."""
    from voirdire.judging.cascade.cascade_file import is_cascade_file
    from voirdire.models import is_model_name

    of_calls = [*names, *OF_REPLIES]
    if judges is not None:
        _refuse_beside(f"`{shorten(judges)}`", typed_flags(call, names))
    elif is_cascade_file(judge):
        of_file = [name for name in names if name != "max_cost"]  # which is this run's
        _refuse_beside(f"`{shorten(judge)}`", typed_flags(call, of_file))
    elif not is_model_name(judge) and (typed := typed_flags(call, of_calls)):
        msg = f"`--judge` must name a language model for {typed}, such as openai/gpt-4o-mini, got "
        raise UsageError(f"{msg}{shorten(judge)!r}.")


def _refuse_beside(file: str, typed: str) -> None:
    if typed:
        msg = f"{file} must say everything about its judges, got {typed} beside it."
        raise UsageError(f"{msg} Write it into the file.")
