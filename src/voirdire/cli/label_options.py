"""The options about labels that `voirdire examine` and `voirdire power` read alike."""

from __future__ import annotations

from typing import Any

from cyclopts import Group, Parameter

__all__ = ["kind_option", "labels_option", "missing_option", "rater_option"]


def kind_option(*, panel: Group) -> Any:
    """Make `--kind`."""
    return Parameter(
        help="What the question asks for. Default: what the alignment needs; accuracy: choice.",
        group=panel,
    )


def labels_option(*, panel: Group) -> Any:
    """Make `--labels`."""
    return Parameter(
        help="The label universe, as a,b,c or a JSON array.", metavar="LABELS", group=panel
    )


def missing_option(*, panel: Group) -> Any:
    """Make `--missing`."""
    return Parameter(help="A word that means no answer; repeatable.", metavar="WORD", group=panel)


def rater_option(*, panel: Group) -> Any:
    """Make `--rater`."""
    return Parameter(
        help="Wide annotations: a column that is an annotator; repeatable. Default: all.",
        metavar="COLUMN",
        group=panel,
    )
