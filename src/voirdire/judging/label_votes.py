"""Labels of several raters as one label per item and question: what most of them say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from voirdire.errors import InputError
from voirdire.io.verdict_files import columns_of_file, layout_of_file
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from voirdire.io import LabelTable, Role

__all__ = ["Votes", "read_votes"]


@dataclass(frozen=True, kw_only=True)
class Votes:
    """One label per item and question.

    Attributes
    ----------
    frame : polars.DataFrame
        Columns `question`, `item` and `label` (Boolean); one row per pair that has a majority.
    tied : tuple of Dropped
        Pairs on which as many raters say yes as no.
    dropped : tuple of Dropped
        Labels that could not be read.
    raters : tuple of str
        Whose labels these are.
    """

    frame: pl.DataFrame = field(repr=False)
    tied: tuple[Dropped, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    raters: tuple[str, ...] = ()


def read_votes(sources: Sequence[Path], *, threshold: float | None = None) -> Votes:
    """Read files of verdicts or annotations, and count the votes."""
    from voirdire.io import join_tables

    tables = [_read(source, threshold=threshold) for source in sources]
    whole = join_tables(tables)
    counted = (
        whole.frame.lazy()
        .filter(pl.col("label").is_not_null())
        .group_by("question", "item", maintain_order=True)
        .agg(n_yes=(pl.col("label") == "true").sum(), n=pl.len(), source=pl.first("source"))
        .collect()
    )
    tie = 2 * pl.col("n_yes").cast(pl.Int64) == pl.col("n").cast(pl.Int64)
    label = 2 * pl.col("n_yes").cast(pl.Int64) > pl.col("n").cast(pl.Int64)
    return Votes(
        frame=counted.filter(~tie).select("question", "item", label=label),
        tied=tuple(
            Dropped(
                reason="tie: as many raters say yes as no",
                source=str(source),
                item=item,
                question=question,
                value=f"{n} raters",
            )
            for question, item, n, source in counted.filter(tie)
            .select("question", "item", "n", "source")
            .iter_rows()
        ),
        dropped=whole.dropped,
        raters=tuple(whole.frame["rater"].unique(maintain_order=True).to_list()),
    )


def _read(source: Path, *, threshold: float | None) -> LabelTable:
    from voirdire.io import read_labels

    if layout_of_file(source) == "wide":
        msg = (
            f"{source}: verdicts must be in the long layout to learn from, got the wide one. Judge "
            "with `--layout long`."
        )
        raise InputError(msg)
    return read_labels(source, role=_role_of(source), kind="boolean", threshold=threshold)


def _role_of(source: Path) -> Role:
    """Whose labels a file holds, by its columns: people's unless it names a judge."""
    columns = columns_of_file(source)
    return "judge" if "judge" in columns and "annotator" not in columns else "annotator"
