"""Judge a file of items into a file of verdicts: any size in flat memory, and it can go on."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from voirdire._validation import check_choice, check_count
from voirdire.judging.call_summary import JudgingProgress
from voirdire.judging.file_run import FileRun
from voirdire.judging.item_source import ItemSource
from voirdire.judging.outputs import checked_output
from voirdire.judging.parts import (
    CALL_CHARACTERS,
    CALL_ITEMS,
    PART_CHARACTERS,
    PART_ITEMS,
    Part,
    key_of,
    stretches,
)
from voirdire.judging.plan import asks_a_model, check_behavior, plan_judging
from voirdire.judging.reply_stores import opened_store
from voirdire.judging.set_aside import SetAside
from voirdire.judging.summary import JudgingSummary, summarize
from voirdire.judging.tally import add_tallies, tally_of
from voirdire.judging.work_folder import WorkFolder
from voirdire.judging.workers import run_in_order
from voirdire.records.verdict_tables import VerdictLayout

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping

    from voirdire._types import Judged, Threshold
    from voirdire.judging.cascade.judge import CascadeJudge
    from voirdire.judging.llm import LlmJudge
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.port import Judge
    from voirdire.judging.tally import Tally
    from voirdire.judging.workers import Work
    from voirdire.rubrics import Rubric

__all__ = ["check_workers", "judge_file", "judge_source"]


def judge_file(
    source: str | Path,
    output: str | Path,
    *,
    rubric: Rubric | str | Path = "safety",
    judge: Judge | LlmJudge | CascadeJudge | str | Path = "local",
    threshold: Threshold | None = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002  # the word people use for it
    layout: VerdictLayout = "long",
    workers: int | Literal["auto"] = 1,
    restart: bool = False,
    store: str | Path | None = None,
    retry_failures: bool = False,
    stopping: threading.Event | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
) -> JudgingSummary:
    """Judge every item of a file.

    Finished parts of 2,000 items wait in the folder ``OUTPUT.partial`` until all of them are
    there; then they become one file, which appears under its name whole or not at all. Rows that
    cannot be judged are listed in ``OUTPUT.dropped.jsonl``.

    Parameters
    ----------
    source : str or path
        The items, as `voirdire.io.stream_items` reads them; ``"-"`` is standard input.
    output : str or path
        A file that ends in ``.parquet``, ``.jsonl`` or ``.csv``; ``"-"`` writes JSONL to standard
        output. Nothing but a file of verdicts is replaced.
    rubric : Rubric, str or path, optional
        What is asked: a rubric, the name of a built-in one, or a YAML file.
    judge : Judge, LlmJudge, CascadeJudge, str or path, optional
        Who answers: ``"local"`` is the judge of this package, a path one of your own,
        ``"openai/gpt-4o-mini"`` a language model, a YAML file a cascade.
    threshold : float, or mapping of str to float, optional
        In (0, 1). A proposition is true from this probability on; one that a mapping does not name,
        from 1/2 on. By default the rubric says, or else the judge, or else it is 1/2.
    judged : {"final_answer", "with_reasoning", "whole_turn"}, optional
        What of a response is judged.
    behavior : str, optional
        The behavior of items that have none.
    columns : mapping of str to str, optional
        Our names to the file's.
    format : str, optional
        How the items are written, where the ending of the name does not say.
    layout : {"long", "wide"}, optional
        One row per item and question, which `voirdire.examine` reads, or one row per item.
    workers : int or "auto", optional
        Processes that judge. "auto" takes one per core, at most 8, once 20,000 items are judged.
        Above 1, a script must guard its start with ``if __name__ == "__main__"``.
    restart : bool, optional
        Throw away what an interrupted run left, instead of going on from there.
    store : str or path, optional
        Where a language model's replies are kept: a file for SQLite, or a ``postgresql://``
        address. By default ``voirdire-replies.sqlite`` beside the output, or in the current folder
        where that is standard output. A run that is repeated
        calls nothing that is in it; `restart` does not touch it.
    retry_failures : bool, optional
        Call a language model again where it failed in an earlier run.
    stopping : threading.Event, optional
        Set it from another thread to end a run of a language model as Ctrl-C does.
    progress : callable, optional
        Called with a `JudgingProgress` after every part, and a few times a second where a
        language model is asked.

    Returns
    -------
    JudgingSummary
        Counts, shares per proposition and class, and what was set aside.

    Raises
    ------
    NoDataError
        If no item of the file can be judged.
    InputError
        If a file cannot be read or written, if `output` is something else than a file of
        verdicts, if the judge lacks a proposition, or if the items change while they are read.

    Notes
    -----
    *Order*: verdicts follow the items, whatever `workers` is. *Errors*: an item without a usable
    response is set aside; a judge that fails on an item gives verdicts with `failure`; anything
    else ends the run. *Cancellation*: at most 2,000 items per worker are judged again; worker
    processes finish the part that they have begun, and end with this process. Calls to a language
    model that are in flight are waited for and stored; a second Ctrl-C does not wait. *Memory*:
    two parts per worker. *Going on*: a part is used again only where the ids and contents of its
    items, the judge, the rubric, the threshold, what is judged and the layout are the same; a
    language model's replies are found in the store.
    """
    plan = plan_judging(judge, rubric, threshold=threshold, judged=judged, whole=False)
    check_behavior(behavior, plan.rubric)
    check_choice("layout", layout, VerdictLayout)
    n_workers = check_workers(workers)
    items = ItemSource(source=source, format=format, columns=columns, behavior=behavior)
    return judge_source(
        items,
        output,
        plan,
        layout=layout,
        workers=n_workers,
        restart=restart,
        store=store,
        retry_failures=retry_failures,
        stopping=stopping,
        progress=progress,
    )


def check_workers(workers: int | Literal["auto"]) -> int | None:
    """Give a number of processes, or None where it is chosen."""
    return None if workers == "auto" else check_count("workers", workers, minimum=1)


def judge_source(
    items: ItemSource,
    output: str | Path,
    plan: JudgingPlan,
    *,
    layout: VerdictLayout,
    workers: int | None = 1,
    restart: bool = False,
    store: str | Path | None = None,
    retry_failures: bool = False,
    stopping: threading.Event | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
) -> JudgingSummary:
    """Judge every item of a source by a plan; see `judge_file`."""
    if str(output) == "-":
        if asks_a_model(plan.judge):
            from voirdire.judging.llm.streamed_run import stream_verdicts

            with opened_store(store, beside=Path.cwd() / "any") as replies:
                return stream_verdicts(
                    items,
                    plan,
                    layout=layout,
                    store=replies,
                    retry_failures=retry_failures,
                    stopping=stopping,
                    progress=progress,
                )
        return _to_standard_output(items, plan, layout=layout, progress=progress)
    target, written_as = checked_output(Path(output), source=items.source)
    dropped = target.with_name(f"{target.name}.dropped.jsonl")
    about = {
        "items": items,
        "plan": plan,
        "layout": layout,
        "folder": WorkFolder(target, written_as=written_as),
        "set_aside": SetAside(dropped),
        "progress": progress,
    }
    if not asks_a_model(plan.judge):
        return _PartsRun(workers=workers, **about).judged(restart=restart, output=str(output))
    from voirdire.judging.llm.model_run import ModelRun

    with opened_store(store, beside=target, written=(target, dropped)) as replies:
        run = ModelRun(store=replies, retry_failures=retry_failures, stopping=stopping, **about)
        # its parts hold nothing that is not in the store, and are made anew
        return run.judged(restart=True, output=str(output))


class _PartsRun(FileRun):
    """A run whose finished parts are found again by the next one."""

    def __init__(self, *, workers: int | None, **about: Any) -> None:
        super().__init__(**about)
        self.workers = workers

    def tally(self) -> Tally:
        """Judge the parts that are not finished."""
        total: Tally | None = None
        # closed at once on an interruption: no worker may write when the folder is let go
        with closing(run_in_order(self._work(), self.plan, workers=self.workers)) as records:
            for record in records:
                total = record.tally if total is None else add_tallies([total, record.tally])
                self.say(total)
        if total is None:
            self.items.refuse_empty(self.set_aside)
        return total

    def _work(self) -> Iterator[Work]:
        """Cut the items into parts, and find those that an earlier run has finished."""
        written_as = self.folder.written_as
        found = stretches(
            self.items.stream(self.plan, self.set_aside),
            most_items=PART_ITEMS,
            most_characters=PART_CHARACTERS,
        )
        for number, items in enumerate(found):
            key = key_of(items, self.plan, layout=self.layout, written_as=written_as)
            self.n_parts = number + 1
            record = self.folder.reusable(number, key=key)
            if record is not None:
                self.n_reused += len(items)
            yield record or Part(
                items=items,
                path=self.folder.part(number),
                key=key,
                written_as=written_as,
                layout=self.layout,
            )


def _to_standard_output(
    items: ItemSource,
    plan: JudgingPlan,
    *,
    layout: VerdictLayout,
    progress: Callable[[JudgingProgress], None] | None,
) -> JudgingSummary:
    """Write verdicts as they come; there is nothing to go on from."""
    from voirdire.io.verdict_files import encode_part
    from voirdire.judging.verdict_making import table_columns, verdicts_on

    table_columns(plan, layout)
    set_aside = SetAside(None)
    total: Tally | None = None
    for stretch in stretches(
        items.stream(plan, set_aside), most_items=CALL_ITEMS, most_characters=CALL_CHARACTERS
    ):
        batch = verdicts_on(stretch, plan)
        sys.stdout.buffer.write(encode_part(batch.frame(layout), "jsonl"))
        found = tally_of(batch)
        total = found if total is None else add_tallies([total, found])
        if progress is not None:
            progress(JudgingProgress(n_items=total.n_items, n_reused=0, n_dropped=set_aside.count))
    if total is None:
        items.refuse_empty(set_aside)
    sys.stdout.buffer.flush()
    return summarize(
        total,
        plan,
        output="-",
        layout=layout,
        notes=items.notes(),
        n_dropped=set_aside.count,
        dropped=set_aside.first,
    )
