"""Align label tables read from files or frames, without Python loops over rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.records import Dropped
from voirdire.stats import LabelSets
from voirdire.studies.label_matrix import LabelMatrix, with_typical_sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

    from voirdire.io import LabelTable

__all__ = ["matrix_from_tables"]

_MOST_SHOWN = 10
_UNIT = "\x1f"
"""Stands between the labels of a set in its key; labels that hold it are escaped."""


def matrix_from_tables(
    judges: LabelTable,
    humans: LabelTable,
    *,
    question: str,
    numeric: bool,
    labels: Sequence[Any] | None = None,
    gold: LabelTable | None = None,
    clustered: bool = False,
) -> LabelMatrix:
    """Align the labels of one question on the items that annotators labelled.

    Parameters
    ----------
    judges, humans : LabelTable
        Of one kind.
    question : str
        Which question.
    numeric : bool
        Whether labels become numbers instead of codes.
    labels : sequence, optional
        The declared label universe.
    gold : LabelTable, optional
        One label per item.
    clustered : bool, optional
        Whether the tables' clusters are the independent units.

    Returns
    -------
    LabelMatrix

    Raises
    ------
    InputError
        If clusters are asked for and an item has none, or two.
    NoDataError
        If there are no annotations, or a judge has no item in common with them.
    """
    import polars as pl

    asked = pl.col("question") == question
    people, machines = humans.frame.filter(asked), judges.frame.filter(asked)
    if people.is_empty():
        msg = f"no annotation of the question {question!r} is left to examine."
        raise NoDataError(msg)
    # in order of their names, so that the order of rows in a file changes no figure
    items = people.select(pl.col("item").unique()).sort("item").with_row_index("row")
    names = sorted(people["rater"].cast(pl.String).unique().to_list())
    judge_names = machines["rater"].unique(maintain_order=True).cast(pl.String).to_list()
    parts = [_placed(people, items, names), _placed(machines, items, judge_names)]
    truth = None if gold is None else gold.frame.filter(asked)
    if truth is not None:
        parts.append(_placed(truth, items, _gold_name(truth)))
        if parts[-1].is_empty():
            msg = "`gold` must share items with `humans`, got none in common."
            raise NoDataError(msg)
    _check_common(parts[1], judge_names, question, held=judges.frame["question"])
    codes, categories = _coded(parts, humans.kind)
    sizes = [len(names), len(judge_names), 1][: len(parts)]
    filled = [
        _filled(part, code, (items.height, width))
        for part, code, width in zip(parts, codes, sizes, strict=True)
    ]
    if labels is not None:
        labels = list(dict.fromkeys(labels))
    if humans.kind == "multilabel":
        given = filled[0][filled[0] >= 0]
        counts = np.bincount(given, minlength=len(categories))
        categories = with_typical_sets(categories, counts.tolist())
    if numeric:
        filled = [_numbers(matrix, categories) for matrix in filled]
    sets, universe = _sets(categories, labels) if humans.kind == "multilabel" else (None, labels)
    return LabelMatrix(
        items=tuple(items["item"].to_list()),
        annotators=tuple(names),
        judges=tuple(judge_names),
        humans=filled[0],
        answers=filled[1],
        failed=_failures(parts[1], (items.height, len(judge_names))),
        gold=filled[2][:, 0] if gold is not None else None,
        clusters=_clusters(people, machines, items) if clustered else None,
        categories=() if numeric else tuple(categories),
        label_sets=sets,
        universe=None if universe is None else tuple(universe),
        declared=labels is not None,
        dropped=_unannotated(machines, parts[1], question)
        + (() if truth is None else _unusable_gold(truth, parts[2], question)),
        n_unjudged=_unjudged(parts[1], items.height),
    )


def _gold_name(truth: pl.DataFrame) -> list[str]:
    import polars as pl

    names = truth["rater"].unique(maintain_order=True).cast(pl.String).to_list()
    if len(names) > 1:
        shown = " and ".join(repr(shorten(name)) for name in names[:2])
        msg = f"`gold` must hold one label per item, got labels by {shown}. Name one column."
        raise InputError(msg)
    return names


def _placed(frame: pl.DataFrame, items: pl.DataFrame, raters: Sequence[str]) -> pl.DataFrame:
    """Add row and column numbers; rows about items that nobody annotated are left out."""
    import polars as pl

    columns = pl.DataFrame(
        {"rater": list(raters), "column": np.arange(len(raters))},
        schema={"rater": pl.String, "column": pl.Int64},
    )
    return (
        frame.with_columns(pl.col("rater").cast(pl.String))
        .join(items, on="item", how="inner", maintain_order="left")
        .join(columns, on="rater", how="inner", maintain_order="left")
    )


def _check_common(
    judged: pl.DataFrame, judges: Sequence[str], question: str, *, held: pl.Series
) -> None:
    if not judges:
        others = held.unique(maintain_order=True).head(_MOST_SHOWN).to_list()
        msg = (
            "`judges` must hold at least one label for the question "
            f"{shorten(question)!r}, got none."
        )
        if others:
            shown = ", ".join(repr(shorten(name)) for name in others)
            msg += f" They hold {shown}: name one with `question`."
        raise NoDataError(msg)
    known = set(judged["rater"].unique().to_list())
    lost = [name for name in judges if name not in known]
    if lost:
        msg = (
            "`judges` must share items with `humans`, got none in common for "
            f"{shorten(lost[0])!r}. Check that both use the same item ids."
        )
        raise NoDataError(msg)


def _coded(parts: Sequence[pl.DataFrame], kind: str) -> tuple[list[NDArray[Any]], list[Any]]:
    """Codes of the labels of every part, -1 where there is none, and the distinct labels."""
    import polars as pl

    keys = [part["label"] if kind != "multilabel" else _set_keys(part) for part in parts]
    together = pl.concat(keys)
    first = pl.DataFrame({"key": together, "label": pl.concat([part["label"] for part in parts])})
    distinct = first.drop_nulls("key").unique("key", maintain_order=True).with_row_index("code")
    joined = pl.DataFrame({"key": together}).join(
        distinct.select("key", "code"), on="key", how="left", maintain_order="left"
    )
    codes = joined["code"].cast(pl.Int64).fill_null(-1).to_numpy()
    edges = np.cumsum([len(key) for key in keys])[:-1]
    labels = distinct["label"].to_list()
    if kind == "multilabel":
        labels = [frozenset(label) for label in labels]
    return np.split(codes, edges), labels


def _set_keys(part: pl.DataFrame) -> pl.Series:
    import polars as pl

    escaped = (
        pl.element()
        .str.replace_all("\\", "\\\\", literal=True)
        .str.replace_all(_UNIT, "\\u", literal=True)
    )
    key = pl.col("label").list.eval(escaped).list.join(_UNIT)
    marked = pl.col("label").list.len().cast(pl.String) + _UNIT + key
    return part.select(key=pl.when(pl.col("label").is_not_null()).then(marked))["key"]


def _filled(part: pl.DataFrame, codes: NDArray[Any], shape: tuple[int, int]) -> NDArray[Any]:
    matrix = np.full(shape, -1, dtype=np.int32, order="F")
    matrix[part["row"].to_numpy(), part["column"].to_numpy()] = codes
    return matrix


def _numbers(matrix: NDArray[Any], categories: Sequence[float]) -> NDArray[np.float64]:
    values = np.asarray([*categories, np.nan], dtype=np.float64)
    return values[matrix]  # code -1 is the last value


def _failures(judged: pl.DataFrame, shape: tuple[int, int]) -> NDArray[np.bool_]:
    failed = np.zeros(shape, dtype=np.bool_)
    lost = judged.filter(judged["failure"].is_not_null())
    failed[lost["row"].to_numpy(), lost["column"].to_numpy()] = True
    return failed


def _sets(
    categories: Sequence[frozenset[str]], labels: Sequence[str] | None
) -> tuple[LabelSets, tuple[str, ...]]:
    universe = (
        tuple(labels) if labels is not None else tuple(sorted(frozenset().union(*categories)))
    )
    position = {label: place for place, label in enumerate(universe)}
    strange = frozenset().union(*categories) - position.keys()
    if strange:
        msg = (
            f"`labels` must hold every label of the tables, got none {shorten(min(strange))!r}. "
            "Declare the same labels where they are read."
        )
        raise InputError(msg)
    positions = [[position[label] for label in category] for category in categories]
    return LabelSets.from_positions(positions, n_labels=len(universe)), universe


def _clusters(
    people: pl.DataFrame, machines: pl.DataFrame, items: pl.DataFrame
) -> NDArray[np.intp]:
    import polars as pl

    named = (
        pl.concat([people.select("item", "cluster"), machines.select("item", "cluster")])
        .filter(pl.col("cluster").str.strip_chars() != "")
        .unique()
        .join(items, on="item", how="inner")
    )
    twice = named.filter(pl.col("item").is_duplicated())
    if not twice.is_empty():
        item = twice["item"][0]
        found = sorted(twice.filter(pl.col("item") == item)["cluster"].to_list())
        msg = f"column `cluster` must be one value per item, got {found!r} for {shorten(item)!r}."
        raise InputError(msg)
    if named.height < items.height:
        lost = items.join(named, on="item", how="anti")["item"]
        msg = (
            f"column `cluster` must be given for every annotated item, got none for {len(lost)}, "
            f"the first {shorten(lost[0])!r}."
        )
        raise InputError(msg)
    ordered = named.sort("row")["cluster"].to_numpy()
    return np.unique(ordered.astype(str), return_inverse=True)[1]


def _unjudged(judged: pl.DataFrame, n_items: int) -> dict[str, int]:
    counts = judged.group_by("rater").len().iter_rows()
    return {name: n_items - count for name, count in counts if count < n_items}


def _unannotated(given: pl.DataFrame, placed: pl.DataFrame, question: str) -> tuple[Dropped, ...]:
    import polars as pl

    kept = dict(placed.group_by("rater").len().iter_rows())
    counts = given.group_by(pl.col("rater").cast(pl.String), maintain_order=True).agg(
        pl.len(), pl.col("source").cast(pl.String).first()
    )
    return tuple(
        Dropped(
            reason=f"{total - kept.get(rater, 0)} items that nobody annotated",
            source=source,
            rater=rater,
            question=question,
        )
        for rater, total, source in counts.iter_rows()
        if total > kept.get(rater, 0)
    )


def _unusable_gold(truth: pl.DataFrame, placed: pl.DataFrame, question: str) -> tuple[Dropped, ...]:
    """Count gold rows about items that nobody annotated, and those without a label."""
    n_lost = truth.height - placed.height
    n_missing = placed["label"].null_count()
    found = (
        (n_lost, "items that nobody annotated"),
        (n_missing, "gold labels are missing or cannot be read"),
    )
    return tuple(
        Dropped(reason=f"{count} {what}", source="gold", rater="gold", question=question)
        for count, what in found
        if count
    )
