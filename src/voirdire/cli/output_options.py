"""The options about what a command prints, and what it does with what it wrote before."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from cyclopts import Group, Parameter

__all__ = ["AsJson", "json_option", "restart_option"]


_HELP = "Print one JSON object."
AsJson: TypeAlias = Annotated[bool, Parameter(name="--json", help=_HELP)]


def json_option(*, panel: Group) -> Any:
    """Make `--json`."""
    return Parameter(name="--json", help=_HELP, group=panel)


def restart_option(*, panel: Group) -> Any:
    """Make `--restart`."""
    return Parameter(name="--restart", help="Throw away what an interrupted run left.", group=panel)
