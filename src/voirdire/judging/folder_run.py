"""Judges the items of a folder of files into a folder of verdict files, one for each.

Each file of verdicts is whole or absent, and its name carries a key of the items and of the judge.
So what is there is not done again, a changed judge reuses nothing, and any number of processes and
machines share the work: each takes a shard of the files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping  # noqa: TC003  # msgspec reads the annotation
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._validation import change_fields
from voirdire.errors import InputError
from voirdire.io.parts import plan_outputs
from voirdire.io.verdict_files import read_parts, verdict_format
from voirdire.judging.binding import EngineJudge, check_behavior, plan_judging
from voirdire.judging.items import ItemSource
from voirdire.judging.outputs import STORE_NAME, SetAside, TableWriter, open_replies
from voirdire.judging.run import judge_batches
from voirdire.judging.settings import JudgingSettings, StoredReplies
from voirdire.judging.summary import JudgingProgress, JudgingSummary, RunRecord
from voirdire.judging.tables import make_verdicts
from voirdire.records.tables import Tabular
from voirdire.records.verdicts import is_verdict_table

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence

    from voirdire.io.parts import FolderOutputs, ItemPart, Shard
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.jury import JudgeLike
    from voirdire.records import Dropped, Item
    from voirdire.rubrics import Rubric


@dataclass(frozen=True, kw_only=True)
class FolderSummary(Tabular, rows="judged.questions"):
    """Summary of a run over a folder.

    Attributes
    ----------
    judged : JudgingSummary
        Of all files that were judged now; `output` is the folder.
    n_files : int
        Files of items, or parts of them, of the run or of its shard.
    n_files_there : int
        Those whose verdicts were there.
    failed : mapping of str to str
        By its file, why it has no verdicts. The others have theirs.
    """

    judged: JudgingSummary
    n_files: int
    n_files_there: int
    failed: Mapping[str, str] = field(default_factory=dict)


def judge_folder(
    source: str | Path,
    output: str | Path,
    *,
    rubric: Rubric | str | Path = "safety",
    judge: JudgeLike = "local",
    shard: Shard | str | None = None,
    suffix: str = ".parquet",
    settings: JudgingSettings | None = None,
    stopping: threading.Event | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
    **changed: Any,
) -> FolderSummary:
    """Judge every item of a folder of files, into a file of verdicts for each of them.

    Parameters
    ----------
    source : str or path
        A folder, a pattern such as ``"in/*.parquet"``, or a file.
    output : str or path
        Folder of the verdicts, ``NAME.KEY.parquet`` for each file. It is created where it is
        missing.
    rubric, judge
        As for `judge_file`.
    shard : Shard or str, optional
        Which files are judged: ``"3/100"`` takes the third of every hundred. Where there are fewer
        files than shards, Parquet and JSONL count by parts of 100,000 rows.
    suffix : str, optional
        ``".parquet"``, ``".jsonl"`` or ``".csv"``.
    settings : JudgingSettings, optional
        As for `judge_file`. Replies are stored in ``voirdire-replies.sqlite`` in the folder by
        default, of a shard in a file of its own. With `retry_failures`, files of verdicts with
        failures are made again.
    stopping, progress
        As for `judge_file`.
    **changed
        Fields of `JudgingSettings`, each of which counts before that of `settings`.

    Returns
    -------
    FolderSummary
        One summary of all files that were judged, and why others were not.

    Raises
    ------
    InputError
        If there are no files; if two have one name; if the output is no folder, or that of the
        items.

    Notes
    -----
    *Order*: of the files by name, and of the items in them. *Errors*: a file that cannot be read or
    holds no item is named in the summary, and the others are judged. *Cancellation and retries*: as
    for `judge_file`; the same command goes on. *Concurrency*: any number of processes, on any
    machines that share the folders, each with its shard.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from voirdire.judging import judge_folder
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     items = Path(folder) / "items"
    ...     items.mkdir()
    ...     for name in "ab":
    ...         text = '{"id": "%s", "prompt": "Hi", "response": "I cannot help."}' % name
    ...         _ = (items / f"{name}.jsonl").write_text(text)
    ...     first = judge_folder(items, Path(folder) / "verdicts")
    ...     again = judge_folder(items, Path(folder) / "verdicts")
    >>> first.judged.n_items, first.n_files_there, again.judged.n_items, again.n_files_there
    (2, 0, 0, 2)
    """
    job = plan_folder(
        source,
        output,
        plan=partial(plan_judging, judge, rubric),
        shard=shard,
        suffix=suffix,
        settings=change_fields(settings or JudgingSettings(), changed),
    )
    record = RunRecord(job.plan, progress)
    place = job.outputs.place(STORE_NAME)
    failed = judge_parts(job, job.todo, record=record, store=place, stopping=stopping)
    return job.summarize(record, failed)


@dataclass(frozen=True, kw_only=True)
class FolderJob:
    """What a run over a folder is to do: `outputs` is all of it, `todo` what is not there."""

    plan: JudgingPlan
    settings: JudgingSettings
    outputs: FolderOutputs
    todo: dict[Path, ItemPart]

    def summarize(self, record: RunRecord, failed: Mapping[str, str]) -> FolderSummary:
        """Sum up what was judged, and which files were not."""
        record.add([], make_verdicts([], [], self.plan))  # there may have been nothing
        folder, n_files = self.outputs.folder, len(self.outputs.parts)
        judged = record.summarize(
            output=str(folder),
            layout=self.settings.layout,
            dropped_output=str(folder / "*.dropped.jsonl") if record.set_aside.count else None,
        )
        n_there = n_files - len(self.todo)
        return FolderSummary(judged=judged, n_files=n_files, n_files_there=n_there, failed=failed)


def plan_folder(
    source: str | Path,
    output: str | Path,
    *,
    plan: Callable[..., JudgingPlan],
    shard: Shard | str | None,
    suffix: str,
    settings: JudgingSettings,
) -> FolderJob:
    """Check what is asked for, and find out what of it is not there."""
    if settings.limit is not None:
        msg = "`limit` must be left out for a folder. Try the judge on one of its files."
        raise InputError(msg)
    made = plan(threshold=settings.threshold, judged=settings.judged, whole=False)
    check_behavior(settings.behavior, made.rubric)
    verdict_format(Path(f"any{suffix}"))
    outputs = plan_outputs(source, output, shard=shard, suffix=suffix, settings=settings,
                           fingerprint=made.fingerprint)  # fmt: skip
    todo = {
        target: part
        for target, part in outputs.parts.items()
        if not target.exists() or (settings.retry_failures and _has_failures(target))
    }
    return FolderJob(plan=made, settings=settings, outputs=outputs, todo=todo)


def judge_parts(
    job: FolderJob,
    todo: Mapping[Path, ItemPart],
    *,
    record: RunRecord,
    store: Path,
    stopping: threading.Event | None = None,
) -> dict[str, str]:
    """Judge parts, each into its output; return why some were not, by their names.

    Replies are kept in `store` where the settings name none.
    """
    plan, told = job.plan, job.settings
    columns = make_verdicts([], [], plan).frame(told.layout).columns  # raises where they clash
    with ExitStack() as stack:
        replies = told.replies
        if isinstance(plan.judge, EngineJudge):
            place = store if replies.store is None else replies.store
            replies = StoredReplies(place, replies.retry_failures)
            replies = stack.enter_context(open_replies(replies))
        run = _Run(plan, told, todo, record=record)
        stack.callback(run.close)
        asking: dict[str, Any] = {"stopping": stopping, "workers": told.workers}
        batches = judge_batches(run.items(), plan, record, replies=replies, **asking)
        for verdicts in stack.enter_context(closing(batches)):
            run.publish(columns)
            run.add(verdicts.frame(told.layout), n_items=len(verdicts.items))
        record.report(finishing=True)
        run.publish(columns)
        return run.failed


def _has_failures(path: Path) -> bool:
    return any(
        "failure" in frame.columns and frame["failure"].null_count() < frame.height
        for frame in read_parts([path])
    )


class _Output:
    """The verdicts of a part, while its items are read and judged."""

    def __init__(self, part: ItemPart, target: Path, settings: JudgingSettings) -> None:
        self.items = ItemSource(source=part.source, layout=settings)
        about: Any = {"holds": "verdicts", "is_ours": is_verdict_table}
        self.writer = TableWriter(target, source=part.path, **about).__enter__()
        self.name = str(part)
        self.n_read = self.n_written = 0
        self.is_read = False


class _Both:
    """Where rows of a part are set aside: with the part, and among those of the run."""

    def __init__(self, *places: SetAside) -> None:
        self.places = places

    def add(self, rows: Sequence[Dropped]) -> None:
        for place in self.places:
            place.add(rows)


class _Run:
    """Reads parts one after another, a little ahead of their verdicts, and writes these."""

    def __init__(
        self,
        plan: JudgingPlan,
        settings: JudgingSettings,
        todo: Mapping[Path, ItemPart],
        *,
        record: RunRecord,
    ) -> None:
        self._plan, self._settings, self._todo, self._record = plan, settings, todo, record
        self._opened: deque[_Output] = deque()
        self.failed: dict[str, str] = {}

    def items(self) -> Iterator[Item | None]:
        """Read the items, with None after those of a part."""
        for target, part in self._todo.items():
            output = None
            try:
                output = _Output(part, target, self._settings)
                self._opened.append(output)
                set_aside: Any = _Both(output.writer.set_aside, self._record.set_aside)
                for item in output.items.stream(self._plan, set_aside):
                    output.n_read += len(item.criteria) or 1
                    yield item
                if not output.n_read:
                    output.items.refuse_empty(output.writer.set_aside)
            except InputError as error:
                if output is not None and output.n_read:
                    raise
                self.failed[str(part)] = str(error)
                if output is not None:
                    self._opened.remove(output)
                    output.writer.__exit__()
                continue
            output.is_read = True
            yield None

    def add(self, frame: Any, *, n_items: int) -> None:
        """Write verdicts of the first part that is not written."""
        output = self._opened[0]
        output.writer.add(frame)
        output.n_written += n_items

    def publish(self, columns: Sequence[str]) -> None:
        """Let the files appear whose items are all read and judged."""
        while self._opened:
            output = self._opened[0]
            if not output.is_read or output.n_written < output.n_read:
                return
            self._opened.popleft()
            try:
                output.items.check_unchanged()
                output.writer.publish(columns)
            except InputError as error:
                self.failed[output.name] = str(error)
            output.writer.__exit__()

    def close(self) -> None:
        """Remove what is unfinished."""
        for output in self._opened:
            output.writer.__exit__()
