"""Judge a file of items into a file of verdicts: any size in flat memory, and it can go on."""

from __future__ import annotations

import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from voirdire._validation import check_choice, check_count
from voirdire.errors import InputError
from voirdire.judging.item_source import ItemSource
from voirdire.judging.outputs import checked_output, publish
from voirdire.judging.parts import (
    CALL_CHARACTERS,
    CALL_ITEMS,
    PART_CHARACTERS,
    PART_ITEMS,
    Part,
    key_of,
    stretches,
)
from voirdire.judging.plan import check_behavior, plan_judging
from voirdire.judging.set_aside import SetAside
from voirdire.judging.summary import JudgingSummary, summarize
from voirdire.judging.table import VerdictLayout, verdict_columns
from voirdire.judging.tally import add_tallies, tally_of
from voirdire.judging.verdict_files import join_parts, synced
from voirdire.judging.work_folder import WorkFolder
from voirdire.judging.workers import run_in_order

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from voirdire._types import Judged
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.port import Judge
    from voirdire.judging.tally import Tally
    from voirdire.judging.workers import Work
    from voirdire.rubrics import Rubric

__all__ = ["JudgingProgress", "judge_file"]


@dataclass(frozen=True, kw_only=True)
class JudgingProgress:
    """How far a run of judging has come.

    Attributes
    ----------
    n_items : int
        Items with verdicts, in finished parts.
    n_reused : int
        How many of them an earlier run had judged.
    n_dropped : int
        Rows that were set aside so far.
    finishing : bool
        Whether every item is judged and the parts are being put together.
    """

    n_items: int
    n_reused: int
    n_dropped: int
    finishing: bool = False


def judge_file(
    source: str | Path,
    output: str | Path,
    *,
    rubric: Rubric | str | Path = "safety",
    judge: Judge | str | Path = "local",
    threshold: float | None = None,
    judged: Judged = "final_answer",
    behavior: str | None = None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002  # the word people use for it
    layout: VerdictLayout = "long",
    workers: int | Literal["auto"] = 1,
    restart: bool = False,
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
    judge : Judge, str or path, optional
        Who answers: ``"local"`` is the judge of this package, a path one of your own.
    threshold : float, optional
        In (0, 1). A proposition is true from this probability on; by default the rubric says.
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
    progress : callable, optional
        Called with a `JudgingProgress` after every part.

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
    processes finish the part that they have begun, and end with this process. *Memory*: two parts
    per worker. *Going on*: a part is used again only where the ids and contents of its items, the
    judge, the rubric, the threshold, what is judged and the layout are the same.
    """
    plan = plan_judging(judge, rubric, threshold=threshold, judged=judged)
    check_behavior(behavior, plan.rubric)
    check_choice("layout", layout, VerdictLayout)
    n_workers = None if workers == "auto" else check_count("workers", workers, minimum=1)
    items = ItemSource(source=source, format=format, columns=columns, behavior=behavior)
    if str(output) == "-":
        return _to_standard_output(items, plan, layout=layout, progress=progress)
    target, written_as = checked_output(Path(output), source=source)
    run = _Run(
        items=items,
        plan=plan,
        layout=layout,
        folder=WorkFolder(target, written_as=written_as),
        set_aside=SetAside(target.with_name(f"{target.name}.dropped.jsonl")),
        progress=progress,
    )
    return run.judged(workers=n_workers, restart=restart, output=str(output))


class _Run:
    """One run: parts that are found or judged, then one file."""

    def __init__(
        self,
        *,
        items: ItemSource,
        plan: JudgingPlan,
        layout: VerdictLayout,
        folder: WorkFolder,
        set_aside: SetAside,
        progress: Callable[[JudgingProgress], None] | None,
    ) -> None:
        self.items = items
        self.plan = plan
        self.layout: VerdictLayout = layout
        self.columns = verdict_columns(plan.rubric, layout)
        self.folder = folder
        self.set_aside = set_aside
        self.progress = progress
        self.n_parts = 0
        self.n_reused = 0

    def judged(self, *, workers: int | None, restart: bool, output: str) -> JudgingSummary:
        """Judge, put together, publish, clean up."""
        with self.folder, self.set_aside:
            if restart:
                self.folder.clear()
            self.set_aside.open(self.folder.path / "dropped.jsonl")
            tally = self._tally(workers=workers)
            self.items.check_unchanged()
            self._say(tally, finishing=True)
            dropped_output = self._publish()
            self.folder.remove()
        return summarize(
            tally,
            self.plan,
            output=output,
            layout=self.layout,
            n_without_prompt=self.items.n_without_prompt,
            n_reused=self.n_reused,
            n_dropped=self.set_aside.count,
            dropped=self.set_aside.first,
            dropped_output=None if dropped_output is None else str(dropped_output),
        )

    def _tally(self, *, workers: int | None) -> Tally:
        total: Tally | None = None
        # closed at once on an interruption: no worker may write when the folder is let go
        with closing(run_in_order(self._work(), self.plan, workers=workers)) as records:
            for record in records:
                total = record.tally if total is None else add_tallies([total, record.tally])
                self._say(total)
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

    def _publish(self) -> Path | None:
        target = self.folder.output
        parts = [self.folder.part(number) for number in range(self.n_parts)]
        joined = self.folder.path / f"joined{target.suffix}"
        try:
            self.folder.forget_from(self.n_parts)
            with synced(joined):
                join_parts(parts, joined, written_as=self.folder.written_as, columns=self.columns)
            dropped_output = self.set_aside.publish()
            publish(joined, target)
        except OSError as error:
            msg = (
                f"{target}: cannot be written ({error.strerror}). The finished parts are kept: "
                "make room, and run the same command again."
            )
            raise InputError(msg) from error
        return dropped_output

    def _say(self, tally: Tally, *, finishing: bool = False) -> None:
        if self.progress is not None:
            self.progress(
                JudgingProgress(
                    n_items=tally.n_items,
                    n_reused=min(self.n_reused, tally.n_items),
                    n_dropped=self.set_aside.count,
                    finishing=finishing,
                )
            )


def _to_standard_output(
    items: ItemSource,
    plan: JudgingPlan,
    *,
    layout: VerdictLayout,
    progress: Callable[[JudgingProgress], None] | None,
) -> JudgingSummary:
    """Write verdicts as they come; there is nothing to go on from."""
    from voirdire.judging.answering import verdicts_on
    from voirdire.judging.verdict_files import encode_part

    verdict_columns(plan.rubric, layout)
    set_aside = SetAside(None)
    total: Tally | None = None
    for stretch in stretches(
        items.stream(plan, set_aside), most_items=CALL_ITEMS, most_characters=CALL_CHARACTERS
    ):
        batch = verdicts_on(stretch, plan)
        sys.stdout.buffer.write(encode_part(batch.to_frame(layout), "jsonl"))
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
        n_without_prompt=items.n_without_prompt,
        n_dropped=set_aside.count,
        dropped=set_aside.first,
    )
