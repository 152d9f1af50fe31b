"""Cut the items of a matrix into slices by what is known about them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from voirdire.stats.diagnosis.slices import quartile_codes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl
    from numpy.typing import NDArray

__all__ = ["SkippedColumn", "SliceColumn", "Slicing", "slice_items"]

MOST_VALUES = 20
_FEW_NUMBERS = 4


@dataclass(frozen=True, kw_only=True)
class SliceColumn:
    """One way to cut the items: the names of the slices, and the slice of each item or -1."""

    name: str
    values: tuple[str, ...]
    codes: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class SkippedColumn:
    """A column by which the items were not cut, and why."""

    column: str
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Give the fields under the names of the JSON."""
        return {"column": self.column, "reason": self.reason}


@dataclass(frozen=True, kw_only=True)
class Slicing:
    """Every way to cut the items.

    Attributes
    ----------
    columns : tuple of SliceColumn
        The columns that were used.
    skipped : tuple of SkippedColumn
        Those that were not.
    n_unknown : int
        Items about which nothing is known.
    """

    columns: tuple[SliceColumn, ...] = ()
    skipped: tuple[SkippedColumn, ...] = ()
    n_unknown: int = 0


def slice_items(metadata: pl.DataFrame, items: Sequence[str]) -> Slicing:
    """Cut items by every column of their metadata.

    Text and truth values with 2 to 20 distinct values give a slice per value; numbers do so up to
    4 distinct values, and are cut into quarters beyond.

    Parameters
    ----------
    metadata : polars.DataFrame
        As `voirdire.io.read_metadata` gives it.
    items : sequence of str
        The items, in the order of the matrix.
    """
    import polars as pl

    place = metadata.select("item").with_row_index("place")
    wanted = pl.DataFrame({"item": pl.Series(items, dtype=pl.String)})
    found = wanted.join(place, on="item", how="left", maintain_order="left")["place"]
    columns: list[SliceColumn] = []
    skipped: list[SkippedColumn] = []
    for position, name in enumerate(metadata.columns):
        if name == "item":
            continue
        values = metadata.to_series(position).gather(found)
        cut = _cut_numbers(values) if values.dtype == pl.Float64 else _cut_texts(values)
        if isinstance(cut, str):
            skipped.append(SkippedColumn(column=name, reason=cut))
        else:
            columns.append(SliceColumn(name=name, values=tuple(cut[0]), codes=cut[1]))
    return Slicing(columns=tuple(columns), skipped=tuple(skipped), n_unknown=found.null_count())


def _cut_texts(values: pl.Series) -> tuple[list[str], NDArray[np.int64]] | str:
    import polars as pl

    distinct = values.drop_nulls().unique().sort()
    if len(distinct) < 2:
        return _too_few(len(distinct))
    if len(distinct) > MOST_VALUES:
        return f"{len(distinct)} distinct values, more than {MOST_VALUES}"
    codes = values.replace_strict(
        distinct, pl.Series(range(len(distinct))), default=-1, return_dtype=pl.Int64
    )
    return distinct.cast(pl.String).to_list(), codes.fill_null(-1).to_numpy()


def _cut_numbers(values: pl.Series) -> tuple[list[str], NDArray[np.int64]] | str:
    numbers = values.fill_null(float("nan")).to_numpy()
    distinct = np.unique(numbers[~np.isnan(numbers)])
    if len(distinct) < 2:
        return _too_few(len(distinct))
    if len(distinct) <= _FEW_NUMBERS:
        codes = np.searchsorted(distinct, numbers)
        codes[np.isnan(numbers)] = -1
        return [_number_text(x) for x in distinct.tolist()], codes
    codes = quartile_codes(numbers)
    ends = [
        (numbers[codes == code].min(), numbers[codes == code].max())
        for code in range(int(codes.max()) + 1)
    ]
    return [_range_text(float(low), float(high)) for low, high in ends], codes


def _too_few(n_values: int) -> str:
    return "one value only" if n_values else "no value for any item"


def _range_text(low: float, high: float) -> str:
    if low == high:
        return _number_text(low)
    return f"{_number_text(low)} to {_number_text(high)}"


def _number_text(number: float) -> str:
    return f"{number:.12g}"
