"""Compares bounds for a cascade, from both judges' answers to the same items."""

from __future__ import annotations

import math
from dataclasses import dataclass
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

__all__ = ["cascade_table"]


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
    """Show for several bounds how many items a cascade passes on, and how often it agrees.

    Choose bounds with it on some items, and examine the cascade on others.

    Parameters
    ----------
    first_verdicts : polars.DataFrame, Verdicts, str or path
        Verdicts of the first judge, with probabilities.
    then_verdicts : polars.DataFrame, Verdicts, str or path
        Verdicts of the second judge on the same items, or a long table of annotations with `item`,
        `question` and `label`: then the share of annotators who say yes is used as the probability,
        and a tie is no answer.
    grid : sequence of pair or mapping, optional
        Bounds as `CascadeJudge` takes them. By default eleven pairs from ``(0, 0)``, which pass
        nothing on, to ``(-1, 2)``, which pass everything on.
    propositions : sequence of str, optional
        Those whose probabilities decide; by default all propositions of both judges.
    threshold : float, optional
        In (0, 1): an answer is yes from this probability on.
    first_time : float, optional
        Time of the first judge for an item, as a share of the second's, at least 0.
    cost_per_item : float, optional
        Cost of the second judge for an item, at least 0.

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
        If a table does not hold verdicts, if the two have no item or proposition in common, or if
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
    first, then = (
        _read_answers(given, called=called)
        for given, called in ((first_verdicts, "first_verdicts"), (then_verdicts, "then_verdicts"))
    )
    items = first.items.filter(first.items.is_in(then.items.implode()))
    questions = [name for name in first.questions if name in then.questions]
    if items.is_empty() or not questions:
        what = "item" if items.is_empty() else "proposition"
        msg = (
            f"`first_verdicts`, `then_verdicts` must be about the same {what}s, got none in "
            "common. Judge the same file with both."
        )
        raise InputError(msg)
    for name in propositions or ():
        if name not in questions:
            msg = (
                f"`propositions` must be among those that both judges were asked, got "
                f"{shorten(name)!r}. Correct the name."
            )
            raise InputError(msg)
    deciding = questions if propositions is None else propositions
    chances, second = first.values(items, questions), then.values(items, questions)
    agrees = (chances >= limit) == (second >= limit)
    is_known = ~np.isnan(second) & (then.has_probabilities | (second != 0.5))  # it may be a tie
    rows = []
    for unsure in _GRID if grid is None else grid:
        bounds = read_bounds(unsure)
        low, high = bounds[DEFAULT]
        on = is_unsure(
            chances,
            [bounds.get(name, (low, high)) if name in deciding else None for name in questions],
        )
        share = float(on.mean())
        time = share + first_time
        rows.append(
            {
                "low": low,
                "high": high,
                "n_items": len(items),
                "n_passed_on": int(on.sum()),
                "share_passed_on": share,
                "speed_up": 1 / time if time else None,
                "cost": None if cost_per_item is None else cost_per_item * int(on.sum()),
                **_agreement((agrees | on[:, None]) & is_known, is_known, questions),
            }
        )
    if not rows:
        msg = "`grid` must hold at least one pair of bounds, got none. Leave it out."
        raise InputError(msg)
    return pl.DataFrame(rows, infer_schema_length=None).with_columns(
        pl.col("speed_up", "cost").cast(pl.Float64)
    )


def _agreement(
    is_same: NDArray[np.bool_], is_known: NDArray[np.bool_], questions: Sequence[str]
) -> dict[str, object]:
    """Return the agreement of each proposition, their mean and the worst of them."""
    counts = zip(questions, is_same.sum(axis=0), is_known.sum(axis=0), strict=True)
    found = {name: float(n_same / n) if n else None for name, n_same, n in counts}
    told = [(value, name) for name, value in found.items() if value is not None]
    worst, name = min(told, default=(None, None))
    return {
        "agreement": sum(value for value, _ in told) / len(told) if told else None,
        "worst_proposition": name,
        "worst_agreement": worst,
        **{f"agreement_{name}": value for name, value in found.items()},
    }


def _check_at_least_zero(name: str, value: Any) -> None:
    if not is_number(value) or value < 0:
        msg = f"`{name}` must be a finite number of at least 0, got {value!r}."
        raise InputError(msg)


_DERIVED = "derived"
_ENDS = {name for ends in WIDE_ENDS for name in ends} | {"annotator", THRESHOLD}
_TRUTHS = dict.fromkeys(TRUE_WORDS, 1.0) | dict.fromkeys(FALSE_WORDS, 0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class _JudgeAnswers:
    """Answers about items: a probability, or the share of annotators who say yes.

    The frame has a column ``.item`` and one per question, which never has a dot before its name.
    """

    frame: pl.DataFrame
    has_probabilities: bool

    @property
    def items(self) -> pl.Series:
        return self.frame[".item"]

    @property
    def questions(self) -> list[str]:
        return self.frame.columns[1:]

    def values(self, items: pl.Series, questions: Sequence[str]) -> NDArray[np.float64]:
        """Return the answers about these items, in their order; nan where there is none."""
        rows = items.to_frame().join(self.frame, on=".item", how="left", maintain_order="left")
        return rows.select(pl.col(questions).fill_null(math.nan)).to_numpy()


def _read_answers(source: Any, *, called: str) -> _JudgeAnswers:
    """Read a verdict table, long or wide, or a long table of annotations."""
    frame = _frame(source, called=called)
    columns = frame.columns
    values = {"probability", "label"} & set(columns)
    numbers = [
        name
        for name, kind in frame.schema.items()
        if name not in _ENDS and "." not in name and (kind.is_numeric() or kind == pl.Boolean)
    ]
    is_long = "question" in columns
    if "item" not in columns or not (values if is_long else numbers):
        _refuse(called, f"columns {shorten(columns)}")
    frame = frame.with_columns(pl.col("item").cast(pl.String).alias(".item"))
    if not is_long:
        told = frame.group_by(".item", maintain_order=True).agg(
            pl.col(numbers).cast(pl.Float64).mean()
        )
        return _JudgeAnswers(frame=told, has_probabilities=True)
    if "source" in columns:
        frame = frame.filter(pl.col("source").ne_missing(_DERIVED))
    is_said = "probability" in values
    value = pl.col("probability").cast(pl.Float64)
    if not is_said:
        words = pl.col("label").cast(pl.String).str.to_lowercase()
        value = words.replace_strict(_TRUTHS, default=None, return_dtype=pl.Float64)
    told = frame.select(".item", "question", value=value).pivot(
        "question", index=".item", values="value", aggregate_function="mean"
    )
    return _JudgeAnswers(frame=told, has_probabilities=is_said)


def _frame(source: Any, *, called: str) -> pl.DataFrame:
    if isinstance(source, pl.DataFrame):
        return source
    if isinstance(source, str | Path):
        return _read_table(Path(source))
    if not hasattr(source, "frame"):
        _refuse(called, type(source).__name__)
    made: pl.DataFrame = source.frame("long")
    return made


def _read_table(path: Path) -> pl.DataFrame:
    written_as = verdict_format(path)
    try:
        if written_as == "parquet":
            return pl.read_parquet(path)
        return pl.read_ndjson(path) if written_as == "jsonl" else pl.read_csv(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        msg = f"{path}: must be a table of verdicts, got {shorten(error)}."
        raise InputError(msg) from error


def _refuse(called: str, got: str) -> NoReturn:
    msg = (
        f"`{called}` must be a table of verdicts with `item` and `question`, or a column per "
        f"proposition, got {got}. Name a file that `voirdire judge` wrote."
    )
    raise InputError(msg)
