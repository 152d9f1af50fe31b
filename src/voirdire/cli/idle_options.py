"""Refuse what was typed and would mean nothing, such as a limit of cost that nobody keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from voirdire._validation import shorten
from voirdire.cli.model_options import ALL_OPTIONS, OF_REPLIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = ["as_flags", "refuse_idle_options", "refuse_typed", "typed_names"]


def typed_names(context: typer.Context, names: Iterable[str]) -> list[str]:
    """Name those of the options that were typed."""
    sources = {name: context.get_parameter_source(name) for name in names}
    return [
        name
        for name, source in sources.items()
        if source is not None and source.name == "COMMANDLINE"
    ]


def as_flags(names: Iterable[str]) -> str:
    """Write options as they are typed."""
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def refuse_typed(context: typer.Context, names: Iterable[str], *, why: str) -> None:
    """Refuse these options, each of which is idle here."""
    typed = as_flags(typed_names(context, names))
    if typed:
        msg = f"{typed} must be left out: {why}."
        raise typer.BadParameter(msg)


def refuse_idle_options(
    context: typer.Context,
    *,
    judge: str,
    judges: Path | None = None,
    names: Sequence[str] = ALL_OPTIONS,
) -> None:
    """Refuse options of models, `names`, where none is called, or where a file says them."""
    from voirdire.judging.cascade.cascade_file import is_cascade_file
    from voirdire.models import is_model_name

    of_calls = [*names, *OF_REPLIES]
    if judges is not None:
        _refuse_beside("`--judges`", as_flags(typed_names(context, [*names, "judge"])))
    elif is_cascade_file(judge):
        of_file = [name for name in names if name != "max_cost"]  # which is this run's
        _refuse_beside(f"`{shorten(judge)}`", as_flags(typed_names(context, of_file)))
    elif not is_model_name(judge) and (typed := as_flags(typed_names(context, of_calls))):
        msg = f"`--judge` must name a language model for {typed}, such as openai/gpt-4o-mini, got "
        raise typer.BadParameter(f"{msg}{shorten(judge)!r}.")


def _refuse_beside(file: str, typed: str) -> None:
    if typed:
        msg = f"{file} must say everything about its judges, got {typed} beside it."
        raise typer.BadParameter(f"{msg} Write it into the file.")
