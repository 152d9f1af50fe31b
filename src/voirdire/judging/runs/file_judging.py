"""Judges a file in parts beside the output, then joins them into one file."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from voirdire._validation import change_fields
from voirdire.io.verdict_files import encode_part
from voirdire.judging.engine.call_summary import JudgingProgress, RunRecord
from voirdire.judging.engine.run import judge_batches
from voirdire.judging.engine.verdict_making import judge_at_once, name_table_columns
from voirdire.judging.items import CALL_CHARACTERS, CALL_ITEMS, split_into_batches
from voirdire.judging.plan import check_behavior, needs_engine, plan_judging
from voirdire.judging.runs.item_source import ItemSource
from voirdire.judging.runs.outputs import (
    SetAside,
    check_output,
    explain_write_errors,
    open_replies,
    publish,
)
from voirdire.judging.runs.parts import PART_CHARACTERS, PART_ITEMS, Part, WorkFolder, hash_part
from voirdire.judging.runs.summary import JudgingSummary, add_tallies, count_batch, summarize
from voirdire.judging.runs.workers import run_in_order
from voirdire.judging.settings import JudgingSettings, StoredReplies

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping

    from voirdire._types import VerdictLayout
    from voirdire.judging.bound import JudgingPlan
    from voirdire.judging.engine.call_summary import CallProgress
    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.runs.summary import Tally
    from voirdire.judging.runs.workers import Work
    from voirdire.judging.settings import RunSettings
    from voirdire.records import Verdicts
    from voirdire.rubrics import Rubric

__all__ = ["judge_file", "judge_source"]


def judge_file(
    source: str | Path,
    output: str | Path,
    *,
    rubric: Rubric | str | Path = "safety",
    judge: JudgeLike = "local",
    settings: JudgingSettings | None = None,
    stopping: threading.Event | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
    **fields: Any,
) -> JudgingSummary:
    """Judge every item of a file.

    Finished parts of 2,000 items are kept in the folder ``OUTPUT.partial``. When all are finished,
    they are joined into one file, which appears under its name as a whole. Rows that cannot be
    judged are listed in ``OUTPUT.dropped.jsonl``.

    Parameters
    ----------
    source : str or path
        The items, as `voirdire.io.stream_items` reads them; ``"-"`` is standard input.
    output : str or path
        A file that ends in ``.parquet``, ``.jsonl`` or ``.csv``; ``"-"`` writes JSONL to standard
        output. Only a file of verdicts is replaced.
    rubric : Rubric, str or path, optional
        What is asked: a rubric, the name of a built-in one, or a YAML file.
    judge : Judge, LlmJudge, CascadeJudge, JuryJudge, str or path, optional
        Who answers: ``"local"`` is the judge of this package, a path one of your own,
        ``"openai/gpt-4o-mini"`` a language model, a YAML file a cascade or a jury.
    settings : JudgingSettings, optional
        How the file is laid out, what is judged and written, and how a run goes on.
    stopping : threading.Event, optional
        Set it from another thread to end a language model's run as Ctrl-C does.
    progress : callable, optional
        Called with a `JudgingProgress` after every part, and a few times a second where a
        language model is asked.
    **fields
        Fields of `JudgingSettings`, each of which counts before that of `settings`:

        - `threshold`: in (0, 1). A proposition is true from this probability on; one that a mapping
          does not name, from 1/2 on. By default the rubric says, or else the judge, or else it is
          1/2.
        - `judged`: what of a response is judged.
        - `layout`: ``"long"``, one row per item and question, which `voirdire.examine` reads, or
          ``"wide"``, one row per item.
        - `behavior`, `columns`, `format` and other fields of `voirdire.io.ItemLayout`: how the
          items are written.
        - `workers`: processes that judge. "auto" takes one per core, at most 8, once 20,000 items
          are judged. Above 1, a script must guard its start with ``if __name__ == "__main__"``.
        - `restart`: discard the finished parts of an interrupted run, instead of continuing it.
        - `store`: where a language model's replies are stored: a file for SQLite, or a
          ``postgresql://`` address. By default ``voirdire-replies.sqlite`` beside the output, or in
          the current folder where that is standard output. A repeated run makes no call whose reply
          is in it; `restart` does not change it.
        - `retry_failures`: repeat the calls that failed in an earlier run.

    Returns
    -------
    JudgingSummary
        Counts, shares per proposition and class, and the rows that were set aside.

    Raises
    ------
    NoDataError
        If no item of the file can be judged.
    InputError
        If a file cannot be read or written, if `output` is a file without verdicts, if the judge
        lacks a proposition, or if the items change while they are read.

    Notes
    -----
    *Order*: verdicts follow the items, whatever `workers` is. *Errors*: an item without a usable
    response is set aside; a judge that fails on an item gives verdicts with `failure`; anything
    else ends the run. *Cancellation*: at most 2,000 items per worker are judged again; worker
    processes finish their current part, and end with this process. Calls in flight to a language
    model finish and are stored; a second Ctrl-C does not wait. *Memory*: two parts per worker.
    *Continuing*: a part is used again only where the ids and contents of its items, the judge, the
    rubric, the threshold, what is judged and the layout are the same; a language model's replies
    are found in the store.
    """
    told = change_fields(settings or JudgingSettings(), fields)
    plan = plan_judging(judge, rubric, threshold=told.threshold, judged=told.judged, whole=False)
    check_behavior(told.behavior, plan.rubric)
    items = ItemSource(source=source, layout=told)
    return judge_source(
        items, output, plan, told, layout=told.layout, stopping=stopping, progress=progress
    )


def judge_source(
    items: ItemSource,
    output: str | Path,
    plan: JudgingPlan,
    settings: RunSettings,
    *,
    layout: VerdictLayout = "long",
    stopping: threading.Event | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
) -> JudgingSummary:
    """Judge every item of a source by a plan; see `judge_file`."""
    about: dict[str, Any] = {"items": items, "plan": plan, "layout": layout, "progress": progress}
    is_asked = needs_engine(plan.judge)
    if str(output) == "-":
        with open_replies(settings.replies if is_asked else StoredReplies(store=False)) as replies:
            asking = {"replies": replies, "stopping": stopping}
            return _StreamedRun(set_aside=SetAside(None), asking=asking, **about).judged()
    target, written_as = check_output(Path(output), source=items.source)
    dropped = target.with_name(f"{target.name}.dropped.jsonl")
    about |= {"folder": WorkFolder(target, written_as=written_as), "set_aside": SetAside(dropped)}
    if not is_asked:
        run = _PartsRun(workers=settings.workers, **about)
        return run.judged(restart=settings.restart, output=str(output))
    with open_replies(settings.replies, output=target, written=(target, dropped)) as replies:
        # its parts are made again, since all replies are in the store
        asked = _ModelRun(asking={"replies": replies, "stopping": stopping}, **about)
        return asked.judged(restart=True, output=str(output))


@dataclass(kw_only=True, eq=False)
class _Run:
    """A run over the items of a source: verdicts batch by batch, and their sums."""

    items: ItemSource
    plan: JudgingPlan
    layout: VerdictLayout
    set_aside: SetAside
    progress: Callable[[JudgingProgress], None] | None
    asking: Mapping[str, Any] = field(default_factory=dict)
    total: Tally | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.columns = name_table_columns(self.plan, self.layout)
        self.record = RunRecord(self.plan, self._tell)

    def batches(self) -> Iterator[Verdicts]:
        """Judge the items as they come."""
        stream = self.items.stream(self.plan, self.set_aside)
        if needs_engine(self.plan.judge):
            judged = judge_batches(stream, self.plan, record=self.record, **self.asking)
        else:
            cut = split_into_batches(stream, most_items=CALL_ITEMS, most_characters=CALL_CHARACTERS)
            judged = (judge_at_once(batch, self.plan) for batch in cut)
        with closing(judged):  # type: ignore[type-var]  # a generator
            for batch in judged:
                self.add(count_batch(batch))
                yield batch
                if not needs_engine(self.plan.judge):
                    self.say()

    def add(self, tally: Tally) -> None:
        """Add up."""
        self.total = tally if self.total is None else add_tallies([self.total, tally])

    @property
    def tally(self) -> Tally:
        """Return the sums over all batches; raise an error where there was no item."""
        if self.total is None:
            self.items.refuse_empty(self.set_aside)
        return self.total

    @property
    def n_reused(self) -> int:
        """Items that an earlier run had judged."""
        return self.record.n_reused

    def say(self, *, finishing: bool = False) -> None:
        """Report the progress."""
        n_items = 0 if self.total is None else self.total.n_items
        self._say(n_items=n_items, finishing=finishing)

    def summary(self, **more: Any) -> JudgingSummary:
        """Return the summary."""
        is_asked = needs_engine(self.plan.judge)
        return summarize(
            self.tally,
            self.plan,
            layout=self.layout,
            notes=self.items.notes(),
            n_reused=self.n_reused,
            n_dropped=self.set_aside.count,
            dropped=self.set_aside.first,
            calls=self.record.summary() if is_asked else None,
            **more,
        )

    def _tell(self, calls: CallProgress) -> None:
        self._say(n_items=self.record.n_items, calls=calls)

    def _say(self, *, n_items: int, **more: Any) -> None:
        if self.progress is not None:
            n_reused = min(self.n_reused, n_items)
            n_dropped = self.set_aside.count
            told = JudgingProgress(n_items=n_items, n_reused=n_reused, n_dropped=n_dropped, **more)
            self.progress(told)


class _StreamedRun(_Run):
    """A run that writes JSONL to standard output; a repeated one continues from the store."""

    def judged(self) -> JudgingSummary:
        """Judge and write."""
        for batch in self.batches():
            sys.stdout.buffer.write(encode_part(batch.frame(self.layout), "jsonl"))
            sys.stdout.buffer.flush()
        return self.summary(output="-")


@dataclass(kw_only=True, eq=False)
class _FileRun(_Run, ABC):
    """A run that judges parts in a folder, then joins them into one file."""

    folder: WorkFolder
    n_parts: int = 0

    def judged(self, *, restart: bool, output: str) -> JudgingSummary:
        """Judge the parts, join them, publish the file, clean up."""
        with self.folder, self.set_aside:
            if restart:
                self.folder.clear()
            self.set_aside.open(self.folder.path / "dropped.jsonl")
            self.judge_parts()
            _ = self.tally  # an empty input is an error before the parts are joined
            self.items.check_unchanged()
            self.say(finishing=True)
            dropped_output = self._publish()
            self.folder.remove()
        dropped = None if dropped_output is None else str(dropped_output)
        return self.summary(output=output, dropped_output=dropped)

    @abstractmethod
    def judge_parts(self) -> None:
        """Judge every item into parts, and add up the sums."""

    def _publish(self) -> Path | None:
        target = self.folder.output
        with explain_write_errors(target):
            joined = self.folder.join(self.n_parts, columns=self.columns)
            dropped_output = self.set_aside.publish()
            publish(joined, target)
        return dropped_output


@dataclass(kw_only=True, eq=False)
class _PartsRun(_FileRun):
    """A run whose finished parts the next run uses again."""

    workers: int | Literal["auto"]
    _n_found: int = 0

    @property
    def n_reused(self) -> int:
        """Items in parts that an earlier run had finished."""
        return self._n_found

    def judge_parts(self) -> None:
        """Judge the parts that are not finished."""
        # closed at once on an interruption: no worker may write after the folder is released
        with closing(run_in_order(self._work(), self.plan, workers=self.workers)) as records:
            for record in records:
                self.add(record.tally)
                self.say()

    def _work(self) -> Iterator[Work]:
        """Cut the items into parts, and find those that an earlier run has finished."""
        written_as = self.folder.written_as
        found = split_into_batches(
            self.items.stream(self.plan, self.set_aside),
            most_items=PART_ITEMS,
            most_characters=PART_CHARACTERS,
        )
        for number, items in enumerate(found):
            key = hash_part(items, self.plan, layout=self.layout, written_as=written_as)
            self.n_parts = number + 1
            record = self.folder.reusable(number, key=key)
            if record is not None:
                self._n_found += len(items)
            yield record or Part(
                items=items,
                path=self.folder.part(number),
                key=key,
                written_as=written_as,
                layout=self.layout,
            )


class _ModelRun(_FileRun):
    """A run of a language model: every reply is in the store, and parts only save memory."""

    def judge_parts(self) -> None:
        """Judge every item, and write parts of a few thousand."""
        waiting: list[Verdicts] = []
        for batch in self.batches():
            waiting.append(batch)
            if sum(len(each.items) for each in waiting) >= PART_ITEMS:
                self._write(waiting)
                waiting = []
        if waiting:
            self._write(waiting)

    def _write(self, batches: list[Verdicts]) -> None:
        import polars as pl

        frame = pl.concat([batch.frame(self.layout) for batch in batches])
        path = self.folder.part(self.n_parts)
        with explain_write_errors(path, kept="Every reply is in the store"):
            path.write_bytes(encode_part(frame, self.folder.written_as))
        self.n_parts += 1
