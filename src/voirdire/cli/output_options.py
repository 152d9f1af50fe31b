"""The options about what a command prints, and what it does with what it wrote before."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import typer

__all__ = ["AsJson", "json_option", "restart_option"]


def json_option(*, panel: str | None = None) -> Any:
    """Make `--json`."""
    return typer.Option("--json", help="Print one JSON object.", rich_help_panel=panel)


AsJson: TypeAlias = Annotated[bool, json_option()]


def restart_option(*, panel: str) -> Any:
    """Make `--restart`."""
    return typer.Option(
        "--restart", help="Throw away what an interrupted run left.", rich_help_panel=panel
    )
