"""Verdicts from wherever they are, as probabilities by item: files, tables, memory, or a judge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._validation import check_choice, shorten
from voirdire.errors import InputError
from voirdire.io.files import DataFile, files_of
from voirdire.io.rows import open_frame, open_table
from voirdire.judging.batch import VerdictBatch
from voirdire.judging.verdict_files import VerdictFormat
from voirdire.rewards.judged_items import JudgedItems
from voirdire.rewards.verdict_lines import read_verdict_lines
from voirdire.rewards.verdict_parts import (
    MEMORY,
    VerdictPart,
    joined_parts,
    part_of_batches,
)
from voirdire.rewards.verdict_tables import part_of_table

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Collection

    from voirdire.io.rows import Table
    from voirdire.judging import JudgingProgress
    from voirdire.judging.calls.caller import CallerState
    from voirdire.judging.llm.run_record import RunRecord
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item
    from voirdire.rubrics import Rubric

__all__ = ["judged_items", "read_judged_items"]

_BATCH_ITEMS = 1_000


def read_judged_items(
    source: Any,
    *,
    rubric: Rubric,
    judge: str | None = None,
    negated: Collection[str] = (),
    format: VerdictFormat | None = None,  # noqa: A002  # the word people use for it
) -> JudgedItems:
    """Read what a judge said of items.

    Parameters
    ----------
    source : path, binary file, Verdicts, VerdictBatch, JudgedItems, data frame, or a sequence
        Verdicts as `voirdire judge` writes them, long or wide, in Parquet, JSONL or CSV, or a
        folder of such files; ``"-"`` is standard input. Verdicts in memory. Of several, each is
        about other items or other propositions.
    rubric : Rubric
        Whose propositions are wanted; other questions are passed over.
    judge : str, optional
        Whose verdicts, where there are several judges.
    negated : collection of str, optional
        Propositions whose absence the judge was asked for: the probability that they are true is
        one minus what it said. A column `negated` says the same row by row.
    format : {"parquet", "jsonl", "csv"}, optional
        How files are written; by default the endings of their names say, JSONL for a stream.

    Returns
    -------
    JudgedItems
        Probabilities of those propositions that there are verdicts on, in the rubric's order;
        items in order of appearance.

    Raises
    ------
    NoDataError
        If a file is empty, or has no rows.
    InputError
        If a file is no table of verdicts, or has none on a proposition of the rubric; if two
        verdicts are about one item and proposition; if there are several judges and none was
        named, or not the one that was; if verdicts were made in different ways, as their
        fingerprints or thresholds say; if a probability is not in [0, 1].

    Notes
    -----
    *Labels.* A true or false without a probability is 1 or 0 where a table has no column
    `probability` at all, or where `source` says that it is a vote. Where other rows have one, it
    is missing: nothing is made up.

    *Missing.* Where a call failed, where a probability is null, and where there is no row, it is
    nan, and `failures` has the reason.

    Examples
    --------
    >>> import polars as pl
    >>> from voirdire import load_rubric
    >>> frame = pl.DataFrame({"item": ["a", "b"], "apology": [0.9, None], "judgement": [0.0, 0.2]})
    >>> found = read_judged_items(frame, rubric=load_rubric("safety"), judge="mine")
    >>> found.propositions, found.probabilities.tolist(), found.failures
    (('judgement', 'apology'), [[0.0, 0.9], [0.2, nan]], {'b': 'no verdict'})
    """
    if isinstance(source, JudgedItems):
        return source
    _check_negated(negated, rubric)
    if format is not None:
        check_choice("format", format, VerdictFormat)
    found: list[VerdictPart] = []
    others: list[str] = []
    for one in _several(source):
        part = _part(one, rubric=rubric, judge=judge, negated=negated, written_as=format)
        if isinstance(part, VerdictPart):
            found.append(part)
        else:
            others += part
    if not found:
        known = ", ".join(repr(shorten(name)) for name in dict.fromkeys(others))
        msg = f"`judge` must be among the judges of the verdicts ({known}), got {shorten(judge)!r}."
        raise InputError(msg)
    return joined_parts(found, rubric=rubric)


def judged_items(
    items: Sequence[Item],
    plan: JudgingPlan,
    *,
    store: str | Path | None = None,
    retry_failures: bool = False,
    progress: Callable[[JudgingProgress], None] | None = None,
    stopping: threading.Event | None = None,
    record: RunRecord | None = None,
) -> JudgedItems:
    """Judge items.

    Parameters
    ----------
    items : sequence of Item
        At least one; ids are unique.
    plan : JudgingPlan
        Judge and rubric.
    store : str or path, optional
        Where a language model's replies are kept and found again.
    retry_failures : bool, optional
        Call a language model again where it failed in an earlier run.
    progress : callable, optional
        Called now and then with a `JudgingProgress`.
    stopping : threading.Event, optional
        Once it is set, a language model's calls in flight end, and then the run does with
        `KeyboardInterrupt`.
    record : RunRecord, optional
        Adds up what the calls of a language model come to.

    Returns
    -------
    JudgedItems
        In the order of the items.

    Raises
    ------
    InputError
        If there is no item, or one is of a behavior that the rubric does not have.

    Examples
    --------
    >>> from voirdire.judging.plan import plan_judging
    >>> from voirdire.records import Item
    >>> plan = plan_judging("local", "safety")
    >>> found = judged_items([Item(id="a", response="I'm sorry, but I can't help.")], plan)
    >>> found.items, found.probabilities.shape, found.judge
    (('a',), (1, 21), 'local')
    """
    if not items:
        msg = "`items` must hold at least one item, got none. Give some to judge."
        raise InputError(msg)
    batches = _judged(
        items,
        plan,
        store=store,
        retry_failures=retry_failures,
        progress=progress,
        stopping=stopping,
        record=record,
    )
    part = part_of_batches(batches, plan.rubric.propositions, judge=None, negated=())
    if not isinstance(part, VerdictPart):
        msg = "no judge was asked for, so no other can have been found"
        raise TypeError(msg)
    return joined_parts([part], rubric=plan.rubric)


def _judged(
    items: Sequence[Item],
    plan: JudgingPlan,
    *,
    store: str | Path | None,
    retry_failures: bool,
    progress: Callable[[JudgingProgress], None] | None,
    stopping: threading.Event | None,
    record: RunRecord | None,
) -> list[VerdictBatch]:
    from voirdire.judging import JudgingProgress
    from voirdire.judging.answering import verdicts_on
    from voirdire.judging.plan import asks_a_model

    if not asks_a_model(plan.judge):
        batches = []
        for start in range(0, len(items), _BATCH_ITEMS):
            batches.append(verdicts_on(items[start : start + _BATCH_ITEMS], plan))
            if progress is not None:
                n_done = min(start + _BATCH_ITEMS, len(items))
                progress(JudgingProgress(n_items=n_done, n_reused=0, n_dropped=0))
        return batches
    from voirdire.judging.llm.batches import judged_batches
    from voirdire.judging.llm.model_run import call_progress
    from voirdire.judging.llm.run_record import RunRecord
    from voirdire.store import open_store

    record = RunRecord(plan.rubric) if record is None else record

    def tick(n_answered: float, state: CallerState) -> None:
        if progress is not None:
            calls = call_progress(n_answered, state)
            progress(
                JudgingProgress(
                    n_items=record.n_items, n_reused=record.n_reused, n_dropped=0, calls=calls
                )
            )

    with nullcontext() if store is None else open_store(store) as replies:
        return list(
            judged_batches(
                items,
                plan,
                store=replies,
                retry_failures=retry_failures,
                tick=tick,
                stopping=stopping,
                record=record,
            )
        )


def _several(source: Any) -> list[Any]:
    """Tell one source from a sequence of them; batches in a row are one source."""
    if isinstance(source, str | Path):
        return list(files_of(source))
    if not isinstance(source, Sequence) or isinstance(source, bytes):
        return [source]
    if not source:
        msg = "`verdicts` must hold at least one file or table, got none. Name one."
        raise InputError(msg)
    if all(isinstance(one, VerdictBatch) for one in source):
        return [tuple(source)]
    return list(source)


def _part(
    source: Any,
    *,
    rubric: Rubric,
    judge: str | None,
    negated: Collection[str],
    written_as: VerdictFormat | None,
) -> VerdictPart | tuple[str, ...]:
    propositions = rubric.propositions
    batches = _batches_of(source)
    if batches:
        return part_of_batches(batches, propositions, judge=judge, negated=negated)
    if hasattr(source, "columns"):
        table, stem = open_frame(source, MEMORY), MEMORY
    else:
        file = DataFile(source, format=written_as, held="verdict")
        table, stem = _open_file(file), file.stem
    return part_of_table(table, propositions=propositions, judge=judge, stem=stem, negated=negated)


def _batches_of(source: Any) -> tuple[VerdictBatch, ...]:
    if isinstance(source, VerdictBatch):
        return (source,)
    if isinstance(source, tuple):
        return source
    from voirdire.judging.verdicts import Verdicts

    return source._batches if isinstance(source, Verdicts) else ()  # arrays, no copy


def _open_file(file: DataFile) -> Table:
    if file.format == "jsonl":
        return read_verdict_lines(file)
    if file.format in ("csv", "parquet"):
        return open_table(file)
    msg = f"`verdicts` must be Parquet, JSONL or CSV, got {file.name!r}. Convert it."
    raise InputError(msg)


def _check_negated(negated: Collection[str], rubric: Rubric) -> None:
    if isinstance(negated, str | Mapping):
        msg = f"`negated` must be a collection of propositions, got {shorten(negated)!r}. "
        raise InputError(msg + 'Write negated=["apology"].')
    for name in negated:
        if name not in rubric.propositions:
            msg = (
                f"`negated` must hold propositions of rubric {shorten(rubric.name)!r}, got "
                f"{shorten(name)!r}."
            )
            raise InputError(msg)
