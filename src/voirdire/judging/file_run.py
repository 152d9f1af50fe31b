"""Judges the items of a file into a file of verdicts, with one judge or with several at once."""

from __future__ import annotations

import re
import sys
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._validation import change_fields
from voirdire.errors import InputError, VoirdireError
from voirdire.io.verdict_files import encode_part
from voirdire.judging.binding import check_behavior, needs_engine, plan_judging
from voirdire.judging.items import CALL_CHARACTERS, CALL_ITEMS, ItemSource, split_into_batches
from voirdire.judging.judges_file import load_judges
from voirdire.judging.outputs import (
    STORE_NAME,
    PartsWriter,
    SetAside,
    check_output,
    open_replies,
)
from voirdire.judging.run import Stopping, judge_batches
from voirdire.judging.settings import JudgingSettings
from voirdire.judging.summary import JudgingProgress, JudgingSummary, RunRecord, Tally, summarize
from voirdire.judging.tables import judge_at_once, name_table_columns
from voirdire.judging.workers import judge_in_processes

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from voirdire._types import VerdictLayout
    from voirdire.io.verdict_files import VerdictFormat
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.model_settings import LlmJudge
    from voirdire.judging.settings import RunSettings
    from voirdire.judging.summary import CallProgress
    from voirdire.records import Item, Verdicts
    from voirdire.rubrics import Rubric

__all__ = ["SeveralJudged", "judge_file", "judge_file_with_several", "judge_source"]

_PART_ITEMS = 2_000
"""Items in a part of the output, which bounds memory."""

_ALONE_ITEMS = 20_000
"""Items that are judged before worker processes are started, since their start is slow."""


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

    The output appears under its name as a whole, or not at all. Rows that cannot be judged are
    listed in ``OUTPUT.dropped.jsonl``.

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
        How the file is laid out, what is judged and written.
    stopping : threading.Event, optional
        Set it from another thread to end a language model's run as Ctrl-C does.
    progress : callable, optional
        Called with a `JudgingProgress` after every batch, and a few times a second where a
        language model is asked.
    **fields
        Fields of `JudgingSettings`, each of which counts before that of `settings`.

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
        lacks a proposition, if the items change while they are read, or if another run with this
        judge writes the same output.

    Notes
    -----
    *Order*: verdicts follow the items, whatever `workers` is. *Errors*: an item without a usable
    response is set aside; a judge that fails on an item gives verdicts with `failure`; anything
    else ends the run. *Cancellation*: calls in flight to a language model finish and are stored; a
    second Ctrl-C does not wait; worker processes end with this process. *Memory*: a few thousand
    items. *Retries and caching*: a language model's replies are found in the store, and no call
    whose reply is there is made again; a local judge judges anew.
    """
    told = change_fields(settings or JudgingSettings(), fields)
    plan = plan_judging(judge, rubric, threshold=told.threshold, judged=told.judged, whole=False)
    check_behavior(told.behavior, plan.rubric)
    items = ItemSource(source=source, layout=told)
    about: dict[str, Any] = {"limit": told.limit, "stopping": stopping, "progress": progress}
    return judge_source(items, output, plan, told, layout=told.layout, **about)


def judge_source(
    items: ItemSource,
    output: str | Path,
    plan: JudgingPlan,
    settings: RunSettings,
    *,
    layout: VerdictLayout = "long",
    limit: int | None = None,
    stopping: threading.Event | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
) -> JudgingSummary:
    """Judge the items of a source, or the first of them, by a plan; see `judge_file`."""
    columns = name_table_columns(plan, layout)
    tally = Tally()

    def tell(calls: CallProgress | None = None, *, finishing: bool = False) -> None:
        if progress is not None:
            n_items = record.n_items if needs_engine(plan.judge) else tally.n_items
            progress(
                JudgingProgress(
                    n_items=n_items,
                    n_reused=record.n_reused,
                    n_dropped=set_aside.count,
                    finishing=finishing,
                    calls=calls,
                )
            )

    record = RunRecord(plan, tell)
    with ExitStack() as stack:
        target, writer, set_aside, written_as = _open_output(output, items.source, stack)
        dropped_output = None
        encode = partial(_encode, layout=layout, written_as=written_as)
        stream = islice(items.stream(plan, set_aside), limit)
        judged: Iterator[tuple[bytes, Tally]]
        if needs_engine(plan.judge):
            written = (target, set_aside.target)
            opening = open_replies(settings.replies, output=target, written=written)
            replies = stack.enter_context(opening)
            if replies.opened is not None and target is not None:
                stack.enter_context(replies.opened.lock(f"{plan.judge.fingerprint} {target}"))
            asking: dict[str, Any] = {"replies": replies, "stopping": stopping, "record": record}
            judged = _join_batches(
                judge_batches(stream, plan, **asking), encode, 1 if writer is None else _PART_ITEMS
            )
        else:
            judged = _judge_in_process(stream, plan, encode=encode, workers=settings.workers)
        with closing(judged):  # type: ignore[type-var]  # a generator
            for data, sums in judged:
                tally.add(sums)
                if writer is None:
                    sys.stdout.buffer.write(data)
                    sys.stdout.buffer.flush()
                else:
                    writer.add(data)
                if not needs_engine(plan.judge):
                    tell()
        if not tally.n_items:
            items.refuse_empty(set_aside)
        if writer is not None:
            items.check_unchanged()
            tell(finishing=True)
            dropped_output = set_aside.publish()
            writer.publish(columns)
    return summarize(
        tally,
        plan,
        output=str(output),
        layout=layout,
        notes=items.notes(),
        n_reused=record.n_reused,
        n_dropped=set_aside.count,
        dropped=set_aside.first,
        dropped_output=None if dropped_output is None else str(dropped_output),
        calls=record.summary() if needs_engine(plan.judge) else None,
    )


def _open_output(
    output: str | Path, source: object, stack: ExitStack
) -> tuple[Path | None, PartsWriter | None, SetAside, VerdictFormat]:
    """Open the file of verdicts and that of dropped rows; neither for standard output."""
    if str(output) == "-":
        return None, None, SetAside(None), "jsonl"
    target, written_as = check_output(Path(output), source=source)
    set_aside = stack.enter_context(SetAside(target.with_name(f"{target.name}.dropped.jsonl")))
    writer = stack.enter_context(PartsWriter(target, written_as))
    set_aside.open(writer.folder / "dropped.jsonl")
    return target, writer, set_aside, written_as


def _judge_in_process(
    items: Iterator[Item],
    plan: JudgingPlan,
    *,
    encode: Callable[[Sequence[Verdicts]], bytes],
    workers: int | str,
) -> Iterator[tuple[bytes, Tally]]:
    """Judge batches here, and in worker processes where there are many."""
    judge = partial(_judge_batch, plan=plan, encode=encode)
    if workers in (1, "auto"):
        alone = items if workers == 1 else islice(items, _ALONE_ITEMS)
        cut = split_into_batches(alone, most_items=CALL_ITEMS, most_characters=CALL_CHARACTERS)
        yield from map(judge, cut)
    if workers != 1:
        cut = split_into_batches(items, most_items=_PART_ITEMS, most_characters=CALL_CHARACTERS)
        yield from judge_in_processes(judge, cut, workers=workers, name=plan.judge.name)


def _judge_batch(
    items: list[Item], *, plan: JudgingPlan, encode: Callable[[Sequence[Verdicts]], bytes]
) -> tuple[bytes, Tally]:
    verdicts = judge_at_once(items, plan)
    return encode([verdicts]), _count([verdicts])


def _join_batches(
    batches: Iterator[Verdicts], encode: Callable[[Sequence[Verdicts]], bytes], size: int
) -> Iterator[tuple[bytes, Tally]]:
    """Join batches until there are so many items."""
    waiting: list[Verdicts] = []
    with closing(batches):  # type: ignore[type-var]  # a generator
        for batch in batches:
            waiting.append(batch)
            if sum(len(each.items) for each in waiting) >= size:
                yield encode(waiting), _count(waiting)
                waiting = []
    if waiting:
        yield encode(waiting), _count(waiting)


def _encode(batches: Sequence[Verdicts], *, layout: VerdictLayout, written_as: Any) -> bytes:
    import polars as pl

    return encode_part(pl.concat([batch.frame(layout) for batch in batches]), written_as)


def _count(batches: Sequence[Verdicts]) -> Tally:
    tally = Tally()
    for batch in batches:
        tally.add_batch(batch)
    return tally


# Several judges ----------------------------------------------------------------------------------

_LOOK_S = 0.25
_NOT_IN_NAMES = re.compile(r"[^\w.@+-]+")


class SeveralJudged(list["JudgingSummary"]):
    """Summaries of the judges that finished, and the errors of the others.

    Attributes
    ----------
    failed : dict of str to VoirdireError
        By the judge's name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failed: dict[str, VoirdireError] = {}


def judge_file_with_several(
    source: str | Path,
    folder: str | Path,
    *,
    judges: Sequence[LlmJudge] | str | Path,
    rubric: Rubric | str | Path = "safety",
    suffix: str = ".parquet",
    settings: JudgingSettings | None = None,
    progress: Callable[[str, JudgingProgress], None] | None = None,
    **fields: Any,
) -> SeveralJudged:
    """Judge every item of a file with several language models at once.

    Parameters
    ----------
    source : str or path
        The items; not standard input, which can be read only once.
    folder : str or path
        Folder of the verdicts, ``NAME.parquet`` for each judge. It is created where it is missing.
    judges : sequence of LlmJudge, str or path
        Judges with different names, or a file of judges.
    rubric : Rubric, str or path, optional
        What is asked.
    suffix : str, optional
        ``".parquet"``, ``".jsonl"`` or ``".csv"``.
    settings : JudgingSettings, optional
        As for `judge_file`; replies are stored in ``voirdire-replies.sqlite`` in the folder by
        default.
    progress : callable, optional
        Called with the name of a judge and its `JudgingProgress`, from several threads.
    **fields
        Fields of `JudgingSettings`, each of which counts before that of `settings`.

    Returns
    -------
    SeveralJudged
        One summary per judge that finished, in their order; `failed` has the others.

    Raises
    ------
    InputError
        If two judges have one name, or an argument breaks its rule; before anything is called.

    Notes
    -----
    *Order*: as the judges. *Errors*: a judge that cannot go on (no access, its cost limit) does not
    stop the others. *Cancellation*: Ctrl-C stops all of them; calls in flight finish and are
    stored; a second Ctrl-C does not wait. *Memory*: that of `judge_file`, per judge. *Retries and
    caching*: the same command continues each judge.
    """
    asked: Any = load_judges(judges) if isinstance(judges, str | Path) else tuple(judges)
    if str(source) == "-":
        msg = "`source` must be a file for several judges, got standard input. Save it first."
        raise InputError(msg)
    if not asked:
        msg = "`judges` must hold at least one judge, got none."
        raise InputError(msg)
    told = change_fields(settings or JudgingSettings(), fields)
    outputs = _name_outputs(asked, Path(folder), suffix)
    for judge in asked:  # errors of any judge are raised before another one spends money
        plan_judging(judge, rubric, threshold=told.threshold, judged=told.judged)
    try:
        Path(folder).mkdir(exist_ok=True)
    except OSError as error:
        msg = f"`output` must be a folder for several judges, and {str(folder)!r} cannot be made "
        raise InputError(f"{msg}({error.strerror}). Name another.") from error
    stopping = Stopping()
    if told.store is None:
        told = replace(told, store=Path(folder) / STORE_NAME)
    with ThreadPoolExecutor(len(asked), thread_name_prefix="judge") as pool:
        running = {
            pool.submit(
                judge_file,
                source,
                outputs[judge.name],
                rubric=rubric,
                judge=judge,
                settings=told,
                stopping=stopping,
                progress=None if progress is None else partial(progress, judge.name),
            ): judge.name
            for judge in asked
        }
        _wait_for_all(set(running), stopping)
    results = SeveralJudged()
    for future, name in running.items():
        try:
            results.append(future.result())
        except VoirdireError as error:
            results.failed[name] = error
    return results


def _name_outputs(judges: Sequence[LlmJudge], folder: Path, suffix: str) -> dict[str, Path]:
    """Name the file of each judge; refuse two that lead to one."""
    outputs: dict[str, Path] = {}
    for judge in judges:
        name = _NOT_IN_NAMES.sub("-", judge.name).strip("-.") or "judge"
        path = folder / f"{name}{suffix}"
        if judge.name in outputs or path in outputs.values():
            msg = (
                f"`judges` must have different names, got {judge.name!r} twice, or two names "
                f"that lead to {path.name!r}. Give each a `name`."
            )
            raise InputError(msg)
        outputs[judge.name] = path
    return outputs


def _wait_for_all(waiting: set[Future[JudgingSummary]], stopping: Stopping) -> None:
    """Wait for all; after Ctrl-C every judge finishes its calls in flight, after a second not."""
    try:
        while waiting:
            _, waiting = wait(waiting, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
    except KeyboardInterrupt:
        stopping.set()
        try:
            wait(waiting)
        except KeyboardInterrupt:
            stopping.at_once.set()
            wait(waiting)
        raise
