"""The options that say how a file of items is read; each command has a panel for them."""

from __future__ import annotations

from typing import Any

import typer

__all__ = [
    "COLUMNS_OF_ITEMS",
    "behavior_option",
    "column_option",
    "format_option",
    "judged_option",
]

COLUMNS_OF_ITEMS = "id, prompt, response, messages, chosen, rejected, behavior, group, cluster"


def behavior_option(rows: str, *, panel: str) -> Any:
    """Make `--behavior`, for rows that have none."""
    return typer.Option(help=f"The behavior of {rows} that have none.", rich_help_panel=panel)


def column_option(names: str, *, panel: str) -> Any:
    """Make `--column`, which gives the user's name for one of ours."""
    return typer.Option(
        help=f"Your name for a column, as OURS=YOURS ({names}); repeatable.",
        metavar="OURS=YOURS",
        rich_help_panel=panel,
    )


def format_option(*, panel: str) -> Any:
    """Make `--format`."""
    return typer.Option(
        "--format",
        help="Instead of the file's ending: jsonl, csv, tsv, json, parquet.",
        rich_help_panel=panel,
    )


def judged_option(*, panel: str) -> Any:
    """Make `--judged`."""
    return typer.Option(
        help="What of a response is judged, where it has reasoning or tool turns.",
        rich_help_panel=panel,
    )
