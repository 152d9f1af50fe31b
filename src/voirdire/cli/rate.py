"""`voirdire rate`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from voirdire._types import LabelledItems, RateMethod
from voirdire.cli import options as typed
from voirdire.cli.calls import require, say
from voirdire.cli.printing import Shown, progress, start_reading
from voirdire.cli.study_files import ReadingOptions, read_files, read_items


def rate_command(
    *,
    judges: typed.Sources,
    humans: typed.Sources,
    items: typed.Source = None,
    questions: typed.Questions = [],
    only: list[str] = [],
    label: str | None = None,
    by: Annotated[str | None, Parameter(metavar="COLUMN")] = None,
    chain: bool = False,
    labelled: LabelledItems = "random",
    method: RateMethod = "auto",
    probabilities: bool = False,
    confidence_level: float = 0.95,
    reading: ReadingOptions = ReadingOptions(),
    shown: Shown = Shown(),
) -> None:
    """Estimate how often something holds, from many verdicts and few labels of people.

    Parameters
    ----------
    judges
        Verdicts on all items: CSV, JSONL, Parquet, or a folder.
    humans
        Labels of some of the items by one or several annotators.
    items
        What is known about the items, for --by: a column item (or id), and that column.
    questions
        Estimate the rate of this question only; repeatable.
    only
        Use this judge only; repeatable.
    label
        Which label of a choice is counted; true for booleans.
    by
        A column of --items that splits the items, such as the model that wrote them; two groups are
        compared.
    chain
        Multiply the rates of the questions, which are steps in a row, in the order of --question.
    labelled
        How the labelled items were drawn: at random from all, so many of each verdict, or so many
        that hold and so many that do not.
    method
        How to estimate. By default Rogan and Gladen's for items labelled by class, the strata of
        verdicts for those labelled by verdict, else PPI++.
    probabilities
        Use the probabilities that judges state in place of their labels.
    confidence_level
        Of the intervals, in (0, 1).
    """
    shown.check()
    rule = "`--by` must name a column of `--items`, which is not given."
    require(by is None or items is not None, rule)
    start_reading()
    with progress("reading"):
        study = read_files(humans, judges, reading=reading, questions=questions, only=only)
        metadata = read_items(items, reading, [by] if by else [], streams="-" in [*humans, *judges])
    with progress("estimating"):
        from voirdire.studies import rate

        rates = rate(
            judges=study.judges,
            humans=study.humans,
            label=label,
            questions=questions or None,
            labelled=labelled,
            method=method,
            probabilities=probabilities,
            by=by,
            metadata=metadata,
            chain=chain,
            clustered=reading.cluster is not None,
            confidence_level=confidence_level,
        )
    say(rates.understood)
    shown.show(rates)
