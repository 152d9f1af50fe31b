"""Judges against gold labels as a table for a terminal."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table
from rich.text import Text

from voirdire._validation import shorten
from voirdire.reporting.narrow_tables import NarrowTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions, RenderableType

    from voirdire.stats import CrossFittedThreshold, Estimate
    from voirdire.studies import GoldExamination

__all__ = ["GoldTables"]

_NAME_WIDTH = 40
_BOOLEAN = {"sensitivity": "finds yes", "specificity": "finds no", "mcc": "MCC", "auc": "AUC"}
_CHOICE = {"balanced_accuracy": "balanced", "f1": "F1", "mcc": "MCC"}


class GoldTables:
    """Judges against gold labels laid out for `rich`: print it with `rich.print` or a `Console`.

    Parameters
    ----------
    examination : GoldExamination
        What was found.
    details : bool, optional
        Whether to print every figure.
    """

    def __init__(self, examination: GoldExamination, *, details: bool = False) -> None:
        self._results = examination.results
        self._details = details

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """Yield a table, and in words what to mind."""
        judges = dict.fromkeys(row.judge for row in self._results)
        if len(judges) == 1:
            yield Text(shorten(next(iter(judges)), width=_NAME_WIDTH), style="bold")
        yield NarrowTable(self._table(with_judge=len(judges) > 1))
        level = self._results[0].classification.confidence_level
        yield Text(
            f"{level:.0%} intervals. In brackets the accuracy of the one answer that is right most "
            "often.",
            style="dim",
        )
        if self._details and any(row.threshold is not None for row in self._results):
            yield Text(
                "Threshold: where probabilities had best be cut, and MCC there on items that did "
                "not choose it.",
                style="dim",
            )
        if self._details:
            yield from self._calibration()
        for row in self._results:
            found = row.classification
            if found.n_failures:
                yield Text(
                    f"note: {shorten(row.judge)} failed on {found.n_failures:,} items of "
                    f"{shorten(row.question)}; as wrong answers accuracy is "
                    f"{found.worst_case['accuracy']:.2f}"
                )
            if found.reason is not None:
                yield Text(f"note: {shorten(row.question)}, {shorten(row.judge)}: {found.reason}")

    def _calibration(self) -> Iterator[RenderableType]:
        """Yield what calibrators fitted to other items would make of the probabilities."""
        rows = [(row, row.brier) for row in self._results if row.brier is not None]
        if not rows:
            return
        methods = list(dict.fromkeys(name for row, _ in rows for name in row.recalibrated))
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for head in ("calibration", "judge"):
            table.add_column(head, overflow="ellipsis", no_wrap=True)
        for head in ("error", "Brier", "of it reliability", *methods):
            table.add_column(head, justify="right", no_wrap=True)
        for row, brier in rows:
            after = [row.recalibrated.get(name) for name in methods]
            table.add_row(
                shorten(row.question, width=_NAME_WIDTH),
                shorten(row.judge, width=_NAME_WIDTH),
                _shown(brier.calibration_error),
                _bare(brier.brier),
                _shown(brier.reliability),
                *("–" if each is None else _bare(each.brier) for each in after),
            )
        yield NarrowTable(table)
        if methods:
            yield Text(
                "The error is debiased; the last columns are the Brier score after a calibrator "
                "that was fitted to other items.",
                style="dim",
            )

    def _table(self, *, with_judge: bool) -> Table:
        known = dict.fromkeys(name for row in self._results for name in row.classification.figures)
        figures = {n: x for n, x in (_BOOLEAN | _CHOICE).items() if n in known}
        if "sensitivity" in known:
            figures = {name: head for name, head in _BOOLEAN.items() if name in known}
        if self._details:
            figures |= {n: n.replace("_", " ") for n in known if n not in ("accuracy", *figures)}
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for head in ("question", *(["judge"] if with_judge else [])):
            table.add_column(head, overflow="ellipsis", no_wrap=True)
        cut = ["threshold"] if self._details else []
        for head in ("items", "accuracy", *figures.values(), *cut):
            table.add_column(head, justify="right", no_wrap=True)
        for row in self._results:
            found = row.classification
            table.add_row(
                shorten(row.question, width=_NAME_WIDTH),
                *([shorten(row.judge, width=_NAME_WIDTH)] if with_judge else []),
                f"{found.n_items:,}",
                f"{found.figures['accuracy'].estimate:.2f} ({_bare(found.always['accuracy'])})",
                *(_shown(found.figures.get(name)) for name in figures),
                *([_cut(row.threshold)] if self._details else []),
            )
        return table


def _cut(threshold: CrossFittedThreshold | None) -> str:
    if threshold is None:
        return ""
    return f"{threshold.threshold:.2f}: {threshold.result.figures['mcc'].estimate:.2f}"


def _shown(estimate: Estimate | None) -> str:
    if estimate is None or math.isnan(estimate.estimate):
        return "–"
    if math.isnan(estimate.low):
        return f"{estimate.estimate:.2f}"
    return f"{estimate.estimate:.2f} ({_bare(estimate.low)}–{_bare(estimate.high)})"


def _bare(number: float) -> str:
    """Write a number in two digits, without a leading zero."""
    return f"{number:.2f}".replace("0.", ".", 1) if abs(number) < 0.995 else f"{number:.0f}"
