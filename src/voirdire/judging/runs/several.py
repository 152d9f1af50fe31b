"""Judges the same items with several judges in one run, each with its own file."""

from __future__ import annotations

import re
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire._validation import change_fields
from voirdire.errors import InputError, VoirdireError
from voirdire.judging.engine.run import Stopping
from voirdire.judging.judges_file import load_judges
from voirdire.judging.plan import plan_judging
from voirdire.judging.runs.file_judging import judge_file
from voirdire.judging.runs.outputs import STORE_NAME
from voirdire.judging.settings import JudgingSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from voirdire.judging.engine.call_summary import JudgingProgress
    from voirdire.judging.model_settings import LlmJudge
    from voirdire.judging.runs.summary import JudgingSummary
    from voirdire.rubrics import Rubric

__all__ = ["SeveralJudged", "judge_file_with_several"]

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
    told = change_fields(settings or JudgingSettings(), fields)
    outputs = _outputs(asked, Path(folder), suffix=suffix)
    for judge in asked:  # errors of any judge are raised before another one spends money
        plan_judging(judge, rubric, threshold=told.threshold, judged=told.judged)
    _make(Path(folder))
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
                progress=_name_progress(progress, judge.name),
            ): judge.name
            for judge in asked
        }
        _wait_for(running, stopping)
    return _collect_results(running)


def _outputs(judges: Sequence[LlmJudge], folder: Path, *, suffix: str) -> dict[str, Path]:
    if not judges:
        msg = "`judges` must hold at least one judge, got none."
        raise InputError(msg)
    found: dict[str, Path] = {}
    for judge in judges:
        path = folder / f"{_NOT_IN_NAMES.sub('-', judge.name).strip('-.') or 'judge'}{suffix}"
        if judge.name in found or path in found.values():
            msg = (
                f"`judges` must have different names, got {judge.name!r} twice, or two names "
                f"that lead to {path.name!r}. Give each a `name`."
            )
            raise InputError(msg)
        found[judge.name] = path
    return found


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        msg = (
            f"`output` must be a folder for several judges, and {str(folder)!r} cannot be made "
            f"({error.strerror}). Name another."
        )
        raise InputError(msg) from error


def _name_progress(
    progress: Callable[[str, JudgingProgress], None] | None, name: str
) -> Callable[[JudgingProgress], None] | None:
    if progress is None:
        return None
    return lambda state: progress(name, state)


def _wait_for(running: dict[Future[JudgingSummary], str], stopping: Stopping) -> None:
    """Wait for all; after Ctrl-C every judge finishes its calls in flight, after a second not."""
    waiting = set(running)
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


def _collect_results(running: dict[Future[JudgingSummary], str]) -> SeveralJudged:
    results = SeveralJudged()
    for future, name in running.items():
        try:
            results.append(future.result())
        except VoirdireError as error:
            results.failed[name] = error
    return results
