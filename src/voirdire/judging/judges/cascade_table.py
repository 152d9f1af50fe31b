"""What bounds of a cascade would come to, from what both judges said of the same items."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import polars as pl

from voirdire._types import FALSE_WORDS, TRUE_WORDS
from voirdire._validation import check_fraction, is_number, shorten
from voirdire.errors import InputError
from voirdire.io.verdict_files import verdict_format
from voirdire.judging.judges.cascade import DEFAULT, is_unsure, read_bounds
from voirdire.records.verdict_tables import THRESHOLD, WIDE_ENDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from voirdire.judging.judges.cascade import Unsure
    from voirdire.records.verdicts import Verdicts

__all__ = ["VerdictGrid", "cascade_table", "verdict_grid"]


_GRID = (
    (0.0, 0.0), (0.45, 0.55), (0.4, 0.6), (0.3, 0.7), (0.2, 0.8), (0.15, 0.85), (0.1, 0.9),
    (0.05, 0.95), (0.02, 0.98), (0.01, 0.99), (-1.0, 2.0),
)  # fmt: skip


def cascade_table(
    first_verdicts: pl.DataFrame | Verdicts | str | Path,
    then_verdicts: pl.DataFrame | Verdicts | str | Path,
    *,
    grid: Sequence[Unsure] | None = None,
    propositions: Sequence[str] | None = None,
    threshold: float = 0.5,
    first_time: float = 0.0,
    cost_per_item: float | None = None,
) -> pl.DataFrame:
    """Show for several bounds how much a cascade passes on, and how often it says the same.

    Bounds are chosen by it on some items; the cascade is examined on others.

    Parameters
    ----------
    first_verdicts : polars.DataFrame, Verdicts, str or path
        Verdicts of the first judge, with probabilities.
    then_verdicts : polars.DataFrame, Verdicts, str or path
        Verdicts of the second judge on the same items, or a long table of annotations with `item`,
        `question` and `label`: then the share of the annotators who say yes takes the place of
        the probability, and a tie is no answer.
    grid : sequence of pair or mapping, optional
        Bounds as `CascadeJudge` takes them. By default eleven pairs from ``(0, 0)``, which pass
        nothing on, to ``(-1, 2)``, which pass everything on.
    propositions : sequence of str, optional
        Those whose probabilities decide; by default all that both judges were asked.
    threshold : float, optional
        In (0, 1): an answer is yes from this probability on.
    first_time : float, optional
        Time that the first judge takes for an item, as a share of the second's, at least 0.
    cost_per_item : float, optional
        What the second judge costs for an item, at least 0.

    Returns
    -------
    polars.DataFrame
        A row per bounds: `low` and `high` (those by default), `n_items` (that both judges were
        asked about), `n_passed_on`, `share_passed_on`, `speed_up` (how many times as many items
        in the same time as the second judge alone; null without any bound), `cost` of these items
        (null where `cost_per_item` is not known), `agreement` with the second judge (the mean over
        propositions, in [0, 1]), `worst_proposition`, `worst_agreement`, and for each proposition
        its agreement as ``agreement_ID``. Null where the second judge has no answer.

    Raises
    ------
    InputError
        If a table is no table of verdicts, if the two have no item or proposition in common, or if
        an argument breaks its rule.

    Notes
    -----
    An item is counted in the agreement of a proposition where the second judge has an answer. One
    that is passed on agrees, since the answer is the second judge's own.

    Examples
    --------
    >>> import polars as pl
    >>> first = pl.DataFrame({"item": ["a", "b", "c", "d"], "apology": [0.99, 0.6, 0.3, 0.02]})
    >>> then = pl.DataFrame({"item": ["a", "b", "c", "d"], "apology": [1.0, 0.1, 0.2, 0.0]})
    >>> table = cascade_table(first, then, grid=[(0, 0), (0.5, 0.9), (0.1, 0.9)])
    >>> table["share_passed_on"].to_list(), table["agreement"].to_list()
    ([0.0, 0.25, 0.5], [0.75, 1.0, 1.0])
    """
    limit = check_fraction("threshold", threshold)
    _check_at_least_zero("first_time", first_time)
    if cost_per_item is not None:
        _check_at_least_zero("cost_per_item", cost_per_item)
    both = _Both(
        verdict_grid(first_verdicts, called="first_verdicts"),
        verdict_grid(then_verdicts, called="then_verdicts"),
        threshold=limit,
    )
    deciding = both.deciding(propositions)
    rows = [
        both.row(pair, deciding, first_time=first_time, cost_per_item=cost_per_item)
        for pair in (_GRID if grid is None else grid)
    ]
    if not rows:
        msg = "`grid` must hold at least one pair of bounds, got none. Leave it out."
        raise InputError(msg)
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col("speed_up", "cost").cast(pl.Float64)
    )


class _Both:
    """What two judges say of the same items and propositions."""

    def __init__(self, first: VerdictGrid, then: VerdictGrid, *, threshold: float) -> None:
        known = set(then.items)
        self.items = tuple(name for name in first.items if name in known)
        self.questions = tuple(name for name in first.questions if name in then.questions)
        if not self.items or not self.questions:
            what = "item" if not self.items else "proposition"
            msg = (
                f"`first_verdicts`, `then_verdicts` must be about the same {what}s, got none in "
                "common. Judge the same file with both."
            )
            raise InputError(msg)
        self.first = first.taken(self.items, self.questions)
        second = then.taken(self.items, self.questions)
        self.is_known = ~np.isnan(second) & ~_is_tie(second, then)
        self.agrees = (self.first >= threshold) == (second >= threshold)

    def deciding(self, propositions: Sequence[str] | None) -> tuple[str, ...]:
        """Check the names of those that decide."""
        unknown = [name for name in propositions or () if name not in self.questions]
        if unknown:
            msg = (
                f"`propositions` must be among those that both judges were asked, got "
                f"{shorten(unknown[0])!r}. Correct the name."
            )
            raise InputError(msg)
        return self.questions if propositions is None else tuple(propositions)

    def row(
        self,
        unsure: Unsure,
        deciding: tuple[str, ...],
        *,
        first_time: float,
        cost_per_item: float | None,
    ) -> dict[str, object]:
        """Work out what one pair of bounds comes to."""
        known = read_bounds(unsure)
        bounds = [
            known.get(name, known[DEFAULT]) if name in deciding else None for name in self.questions
        ]
        on = is_unsure(self.first, bounds)
        agreement = self._agreement(on)
        share = float(on.mean())
        time = share + first_time
        told = [(value, name) for name, value in agreement.items() if value is not None]
        worst, name = min(told, default=(None, None))
        return {
            "low": known[DEFAULT][0],
            "high": known[DEFAULT][1],
            "n_items": len(self.items),
            "n_passed_on": int(on.sum()),
            "share_passed_on": share,
            "speed_up": 1 / time if time else None,
            "cost": None if cost_per_item is None else cost_per_item * int(on.sum()),
            "agreement": sum(value for value, _ in told) / len(told) if told else None,
            "worst_proposition": name,
            "worst_agreement": worst,
            **{f"agreement_{name}": value for name, value in agreement.items()},
        }

    def _agreement(self, on: NDArray[np.bool_]) -> dict[str, float | None]:
        same = (self.agrees | on[:, None]) & self.is_known
        n_known = self.is_known.sum(axis=0)
        return {
            name: float(n_same / n) if n else None
            for name, n_same, n in zip(self.questions, same.sum(axis=0), n_known, strict=True)
        }


def _is_tie(values: NDArray[np.float64], grid: VerdictGrid) -> NDArray[np.bool_]:
    """Where as many annotators say yes as no; a judge's probability of a half is an answer."""
    if grid.has_probabilities:
        return np.zeros(values.shape, dtype=bool)
    return np.asarray(values == 0.5)


def _check_at_least_zero(name: str, value: Any) -> None:
    if not is_number(value) or value < 0:
        msg = f"`{name}` must be a finite number of at least 0, got {value!r}."
        raise InputError(msg)


_DERIVED = "derived"
_ENDS = {name for ends in WIDE_ENDS for name in ends} | {"annotator", THRESHOLD}
_TRUTHS = dict.fromkeys(TRUE_WORDS, 1.0) | dict.fromkeys(FALSE_WORDS, 0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class VerdictGrid:
    """What somebody says of items.

    Attributes
    ----------
    items, questions : tuple of str
        Rows and columns.
    values : ndarray of float, shape (n_items, n_questions)
        In [0, 1]: probabilities, or the share of the annotators who say yes; nan where nothing is
        said.
    has_probabilities : bool
        False where all there is are labels.
    """

    items: tuple[str, ...] = field(repr=False)
    questions: tuple[str, ...]
    values: NDArray[np.float64] = field(repr=False)
    has_probabilities: bool = True

    def taken(self, items: tuple[str, ...], questions: tuple[str, ...]) -> NDArray[np.float64]:
        """Give the values of these items and questions, all of which are there."""
        rows = {name: place for place, name in enumerate(self.items)}
        columns = [self.questions.index(name) for name in questions]
        return self.values[np.ix_([rows[name] for name in items], columns)]


def verdict_grid(source: Any, *, called: str) -> VerdictGrid:
    """Read a verdict table, long or wide, or a long table of annotations."""
    frame = _frame(source, called=called)
    if "item" not in frame.columns:
        _refuse(called, f"columns {shorten(frame.columns)}")
    frame = frame.with_columns(pl.col("item").cast(pl.String))
    if "question" not in frame.columns:
        return _of_wide(frame, called=called)
    if "probability" not in frame.columns and "label" not in frame.columns:
        _refuse(called, f"columns {shorten(frame.columns)}")
    if "source" in frame.columns:
        frame = frame.filter(pl.col("source").ne_missing(_DERIVED))
    known = frame.select("item", "question", value=_value(frame))
    told = known.group_by("item", "question", maintain_order=True).agg(pl.mean("value"))
    items = tuple(told["item"].unique(maintain_order=True).to_list())
    questions = tuple(told["question"].unique(maintain_order=True).to_list())
    values = np.full((len(items), len(questions)), np.nan)
    rows = {name: place for place, name in enumerate(items)}
    columns = {name: place for place, name in enumerate(questions)}
    for item, question, value in told.iter_rows():
        values[rows[item], columns[question]] = np.nan if value is None else value
    is_said = "probability" in frame.columns
    return VerdictGrid(items=items, questions=questions, values=values, has_probabilities=is_said)


def _frame(source: Any, *, called: str) -> pl.DataFrame:
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, str | Path):
        return _of_file(Path(source))
    if not hasattr(source, "frame"):
        _refuse(called, type(source).__name__)
    made: pl.DataFrame = source.frame("long")
    return made


def _of_file(path: Path) -> pl.DataFrame:
    written_as = verdict_format(path)
    try:
        if written_as == "parquet":
            return pl.read_parquet(path)
        return pl.read_ndjson(path) if written_as == "jsonl" else pl.read_csv(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        msg = f"{path}: must be a table of verdicts, got {shorten(error)}."
        raise InputError(msg) from error


def _value(frame: pl.DataFrame) -> pl.Expr:
    """Take the probability, or what the label says where there is no column for one."""
    if "probability" in frame.columns:
        return pl.col("probability").cast(pl.Float64)
    words = pl.col("label").cast(pl.String).str.to_lowercase()
    return words.replace_strict(_TRUTHS, default=None, return_dtype=pl.Float64)


def _of_wide(frame: pl.DataFrame, *, called: str) -> VerdictGrid:
    asked = [
        name
        for name, kind in frame.schema.items()
        if name not in _ENDS and "." not in name and (kind.is_numeric() or kind == pl.Boolean)
    ]
    if not asked:
        _refuse(called, f"columns {shorten(frame.columns)}")
    told = frame.select("item", pl.col(asked).cast(pl.Float64))
    told = told.group_by("item", maintain_order=True).agg(pl.mean(*asked))
    return VerdictGrid(
        items=tuple(told["item"].to_list()),
        questions=tuple(asked),
        values=told.select(pl.col(asked).fill_null(float("nan"))).to_numpy(),
    )


def _refuse(called: str, got: str) -> NoReturn:
    msg = (
        f"`{called}` must be a table of verdicts with `item` and `question`, or a column per "
        f"proposition, got {got}. Name a file that `voirdire judge` wrote."
    )
    raise InputError(msg)
