"""Reads a table of scores: a number per row, with columns of its facets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from voirdire._types import FALSE_WORDS, TRUE_WORDS
from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.files import DataFile, place
from voirdire.io.rows import open_table
from voirdire.io.values import refuse_column, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.files import Source

__all__ = ["read_scores"]


def read_scores(source: Source, *, score: str, facets: Sequence[str]) -> pl.DataFrame:
    r"""Read scores and their facets, such as the item, the run and the prompt.

    Parameters
    ----------
    source : str, path or binary file
        A path, ``"-"`` for standard input, or an open binary file; CSV, TSV, JSONL, JSON, Parquet
        or XLSX by the ending of its name.
    score : str
        The column of scores: numbers, or yes and no (1 and 0). Rows without one are left out.
    facets : sequence of str
        The columns that number or name the items, runs, prompts, annotators, ...

    Returns
    -------
    polars.DataFrame
        Columns `score` (Float64) and the facets (String), a row per score.

    Raises
    ------
    NoDataError
        If no row has a score.
    InputError
        If the file cannot be read or lacks a column, a score is none, or a row with a score lacks
        a facet; the message names the file and the line.

    Examples
    --------
    >>> import io
    >>> text = '{"item": 1, "run": 1, "value": true}\n{"item": 1, "run": 2, "value": false}\n'
    >>> read_scores(io.BytesIO(text.encode()), score="value", facets=["item", "run"]).rows()
    [(1.0, '1', '1'), (0.0, '1', '2')]
    """
    table = open_table(DataFile(source, held="score"), id_column=facets[0])
    for name in (score, *facets):
        if name not in table.columns:
            refuse_column(table, name, way_out="Name one of these.")
    rows = table.load(list(dict.fromkeys([score, *facets])))
    cells = texts(rows.columns[score], source=table.source)
    words = cells.str.strip_chars().str.to_lowercase()
    known = dict.fromkeys(TRUE_WORDS, 1.0) | dict.fromkeys(FALSE_WORDS, 0.0)
    scores = [known.get(word, _number(word)) for word in words]
    for line, cell, value in zip(rows.lines, cells, scores, strict=True):
        if cell is not None and value is None:
            where = place(table.source, line=line, column=shorten(score))
            msg = f"{where} must be a number, or yes or no, got {shorten(cell)!r}."
            raise InputError(msg)
    frame = pl.DataFrame({"score": pl.Series(scores, dtype=pl.Float64), "line": rows.lines})
    for name in facets:
        frame = frame.with_columns(texts(rows.columns[name], source=table.source).alias(name))
    frame = frame.drop_nulls("score")
    if frame.is_empty():
        msg = f"{table.source}: column `{shorten(score)}` must hold scores, got none."
        raise NoDataError(msg)
    for name in facets:
        empty = frame.filter(pl.col(name).is_null())
        if not empty.is_empty():
            where = place(table.source, line=empty["line"][0], column=shorten(name))
            msg = f"{where} must hold a value for every score, got nothing."
            raise InputError(msg)
    return frame.drop("line")


def _number(text: str | None) -> float | None:
    try:
        number = None if text is None else float(text)
    except ValueError:
        return None
    return number if number is not None and abs(number) < float("inf") else None
