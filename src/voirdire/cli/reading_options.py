"""The options that say how a file of items is read; each command has a panel for them."""

from __future__ import annotations

from typing import Any

from cyclopts import Group, Parameter

__all__ = [
    "COLUMNS_OF_ITEMS",
    "behavior_option",
    "column_option",
    "format_option",
    "judged_option",
]

COLUMNS_OF_ITEMS = "id, prompt, response, messages, chosen, rejected, behavior, group, cluster"


def behavior_option(rows: str, *, panel: Group) -> Any:
    """Make `--behavior`, for rows that have none."""
    return Parameter(help=f"The behavior of {rows} that have none.", group=panel)


def column_option(names: str, *, panel: Group) -> Any:
    """Make `--column`, which gives the user's name for one of ours."""
    return Parameter(
        help=f"Your name for a column, as OURS=YOURS ({names}); repeatable.",
        metavar="OURS=YOURS",
        group=panel,
    )


def format_option(*, panel: Group) -> Any:
    """Make `--format`."""
    return Parameter(
        name="--format",
        help="Instead of the file's ending: jsonl, csv, tsv, json, parquet.",
        group=panel,
    )


def judged_option(*, panel: Group) -> Any:
    """Make `--judged`."""
    return Parameter(
        help="What of a response is judged, where it has reasoning or tool turns.", group=panel
    )
