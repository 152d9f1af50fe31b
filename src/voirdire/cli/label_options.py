"""The options about labels that `voirdire examine` and `voirdire power` read alike."""

from __future__ import annotations

from typing import Any

import typer

__all__ = ["kind_option", "labels_option", "missing_option", "rater_option"]


def kind_option(*, panel: str) -> Any:
    """Make `--kind`."""
    return typer.Option(
        help="What the question asks for. Default: what the alignment needs; accuracy: choice.",
        rich_help_panel=panel,
    )


def labels_option(*, panel: str) -> Any:
    """Make `--labels`."""
    return typer.Option(
        help="The label universe, as a,b,c or a JSON array.",
        metavar="LABELS",
        rich_help_panel=panel,
    )


def missing_option(*, panel: str) -> Any:
    """Make `--missing`."""
    return typer.Option(
        help="A word that means no answer; repeatable.", metavar="WORD", rich_help_panel=panel
    )


def rater_option(*, panel: str) -> Any:
    """Make `--rater`."""
    return typer.Option(
        help="Wide annotations: a column that is an annotator; repeatable. Default: all.",
        metavar="COLUMN",
        rich_help_panel=panel,
    )
