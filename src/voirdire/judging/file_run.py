"""Judges the items of a file into a file of verdicts, with one judge or with several at once."""

from __future__ import annotations

import re
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._validation import change_fields
from voirdire.errors import InputError, VoirdireError
from voirdire.judging.binding import EngineJudge, check_behavior, plan_judging
from voirdire.judging.items import ItemSource
from voirdire.judging.judges_file import load_judges
from voirdire.judging.outputs import STORE_NAME, TableWriter, open_replies
from voirdire.judging.run import Stopping, judge_batches
from voirdire.judging.settings import JudgingSettings
from voirdire.judging.summary import JudgingProgress, JudgingSummary, RunRecord
from voirdire.judging.tables import make_verdicts
from voirdire.records.plain import as_plain
from voirdire.records.tables import Tabular
from voirdire.records.verdicts import is_verdict_table

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Sequence

    from voirdire._types import VerdictLayout
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.model_settings import LlmJudge
    from voirdire.judging.settings import RunSettings
    from voirdire.rubrics import Rubric


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
    columns = make_verdicts([], [], plan).frame(layout).columns  # raises where they clash
    with ExitStack() as stack:
        ours: dict[str, Any] = {"holds": "verdicts", "is_ours": is_verdict_table}
        writer = stack.enter_context(TableWriter(output, source=items.source, **ours))
        record = RunRecord(plan, progress, set_aside=writer.set_aside)
        replies = settings.replies
        if isinstance(plan.judge, EngineJudge):
            replies = stack.enter_context(open_replies(replies, output=writer.target))
            if replies.opened is not None and writer.target is not None:
                stack.enter_context(
                    replies.opened.lock(f"{plan.judge.fingerprint} {writer.target}")
                )
        stream = islice(items.stream(plan, record.set_aside), limit)
        asking: dict[str, Any] = {"stopping": stopping, "workers": settings.workers}
        batches = judge_batches(stream, plan, record, replies=replies, **asking)
        for verdicts in stack.enter_context(closing(batches)):
            writer.add(verdicts.frame(layout))
        if not record.n_items:
            items.refuse_empty(record.set_aside)
        if writer.target is not None:
            items.check_unchanged()
            record.report(finishing=True)
        dropped_output = writer.publish(columns)
    return record.summarize(output=str(output), layout=layout, dropped_output=dropped_output)


# Several judges ----------------------------------------------------------------------------------

_NOT_IN_NAMES = re.compile(r"[^\w.@+-]+")


class SeveralJudged(list["JudgingSummary"], Tabular, rows="judged.questions"):
    """Summaries of the judges that finished, and the errors of the others.

    Attributes
    ----------
    failed : dict of str to VoirdireError
        By the judge's name.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failed: dict[str, VoirdireError] = {}

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        failed = {name: str(error) for name, error in self.failed.items()}
        return {"judged": [as_plain(row) for row in self], "failed": failed}


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
    told = change_fields(settings or JudgingSettings(), fields)
    outputs = _name_outputs(asked, Path(folder), suffix)
    for judge in asked:  # errors of any judge are raised before another one spends money
        plan_judging(judge, rubric, threshold=told.threshold, judged=told.judged)
    try:
        Path(folder).mkdir(exist_ok=True)
    except OSError as error:
        msg = f"`output` must be a folder for several judges, and {str(folder)!r} cannot be made "
        raise InputError(f"{msg}({error.strerror}). Name another.") from error
    stopping, store = Stopping(), Path(folder) / STORE_NAME if told.store is None else told.store
    about: dict[str, Any] = {"rubric": rubric, "settings": told, "store": store}
    about["stopping"] = stopping
    results = SeveralJudged()
    with ThreadPoolExecutor(len(asked), thread_name_prefix="judge") as pool:
        runs = {}
        for path, judge in outputs.items():
            about["progress"] = progress and partial(progress, judge.name)
            runs[judge.name] = pool.submit(judge_file, source, path, judge=judge, **about)
        waiting = set(runs.values())
        while waiting:  # after Ctrl-C for the calls in flight, after a second one not
            try:
                _, waiting = wait(waiting, timeout=0.25, return_when=FIRST_COMPLETED)
            except KeyboardInterrupt:
                (stopping.at_once if stopping.is_set() else stopping).set()
    if stopping.is_set():
        raise KeyboardInterrupt
    for name, run in runs.items():
        try:
            results.append(run.result())
        except VoirdireError as error:
            results.failed[name] = error
    return results


def _name_outputs(judges: Sequence[LlmJudge], folder: Path, suffix: str) -> dict[Path, LlmJudge]:
    """Name the file of each judge; refuse two that lead to one."""
    outputs: dict[Path, LlmJudge] = {}
    for judge in judges:
        path = folder / f"{_NOT_IN_NAMES.sub('-', judge.name).strip('-.') or 'judge'}{suffix}"
        if path in outputs:
            msg = (
                f"`judges` must have different names, got {judge.name!r} twice, or two names "
                f"that lead to {path.name!r}. Give each a `name`."
            )
            raise InputError(msg)
        outputs[path] = judge
    if not outputs:
        msg = "`judges` must hold at least one judge, got none."
        raise InputError(msg)
    return outputs
