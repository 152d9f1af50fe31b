"""Where the verdicts of a run that scores come from: stored ones, or a judge that is asked first.

A run that is killed between judging and scoring finds its verdicts again; a second run on the same
output meets a lock while the first one writes.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.errors import InputError
from voirdire.judging.fingerprint import hash_of
from voirdire.judging.plan import needs_engine
from voirdire.judging.runs.file_judging import judge_source
from voirdire.judging.runs.outputs import STORE_NAME
from voirdire.judging.runs.parts import MARK, remove_folder
from voirdire.judging.verdict_making import table_columns
from voirdire.rewards.scoring.judge_check import check_judge
from voirdire.rewards.scoring.scoring import judge_named, judging_plan
from voirdire.rewards.scoring.stored_verdicts import StoredVerdicts

if TYPE_CHECKING:
    from contextlib import ExitStack

    from voirdire.judging import CallSummary
    from voirdire.judging.item_source import ItemSource
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import VerdictLayout
    from voirdire.rewards.model import RewardModel

__all__ = ["VerdictSource", "open_verdicts"]

_MARK_TEXT = (
    "Verdicts of an unfinished run of `voirdire score`. The same command goes on from here; with\n"
    "--restart it starts anew. This folder goes when the run is finished.\n"
)


@dataclass(frozen=True, kw_only=True)
class VerdictSource:
    """Verdicts on the items of a run.

    Attributes
    ----------
    stored : StoredVerdicts
        Finds them by item id.
    notes : tuple of str
        What the reader should know.
    calls : CallSummary or None
        What calls came to, where items were judged.
    folder : path or None
        What only an unfinished run needs.
    """

    stored: StoredVerdicts
    notes: tuple[str, ...]
    calls: CallSummary | None = None
    folder: Path | None = None

    def remove(self) -> None:
        """Take away what only an unfinished run needs."""
        if self.folder is not None:
            remove_folder(self.folder)


def open_verdicts(
    model: RewardModel,
    items: ItemSource,
    *,
    output: str | Path,
    verdicts: Any,
    judge: Any,
    other_judge: bool,
    store: str | Path | None,
    restart: bool,
    stack: ExitStack,
    **running: Any,
) -> VerdictSource:
    """Open the verdicts that are named, or judge the items first."""
    if verdicts is not None:
        stored = StoredVerdicts(verdicts, rubric=model.rubric, judge=judge_named(judge))
        about = stack.enter_context(stored).about
        notes = check_judge(
            model,
            name=about.judge,
            fingerprint=about.fingerprint,
            threshold=about.threshold,
            argument="verdicts",
            other_judge=other_judge,
        )
        return VerdictSource(stored=stored, notes=notes)
    items.keep()
    plan, notes = judging_plan(model, judge, other_judge=other_judge)
    if str(output) == "-":  # there is nothing beside it to go on from, except the store
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="voirdire-")))
        beside = Path.cwd()
    else:
        target = Path(output).resolve()
        folder, beside = target.with_name(f"{target.name}.scoring"), target.parent
    place = beside / STORE_NAME if store is None else store
    judged = _JudgedFile(folder)
    calls = judged.judge(items, plan, restart=restart, store=place, **running)
    stored = StoredVerdicts(judged.path, rubric=model.rubric, judge=None)
    return VerdictSource(
        stored=stack.enter_context(stored), notes=notes, calls=calls, folder=folder
    )


class _Finished(msgspec.Struct, kw_only=True):
    """What is kept of a run of judging that came to its end."""

    key: str


class _JudgedFile:
    """The verdicts of a run that scores, in a folder beside its output."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.path = folder / "verdicts.parquet"

    def judge(
        self, items: ItemSource, plan: JudgingPlan, *, restart: bool, **running: Any
    ) -> CallSummary | None:
        """Judge every item, or find that an earlier run has."""
        self._make(restart=restart)
        key = hash_of({"items": items.key(), "fingerprint": plan.fingerprint})
        if self._is_finished(key):
            return None
        summary = judge_source(
            items, self.path, plan, layout=_layout(plan), restart=restart, **running
        )
        self._finished.write_bytes(msgspec.json.encode(_Finished(key=key)))
        return summary.calls

    @property
    def _finished(self) -> Path:
        return self._folder / "finished.json"

    def _make(self, *, restart: bool) -> None:
        folder = self._folder
        is_ours = (folder / MARK).is_file()
        if folder.exists() and not (folder.is_dir() and (is_ours or not any(folder.iterdir()))):
            msg = (
                f"{str(folder)!r} must be free for the verdicts of the run, got something that "
                "this command did not make. Move it, or name another `output`."
            )
            raise InputError(msg)
        try:
            folder.mkdir(exist_ok=True)
            (folder / MARK).write_text(_MARK_TEXT, encoding="utf-8")
            if restart:
                self._finished.unlink(missing_ok=True)
        except OSError as error:
            msg = f"{folder}: cannot be written ({error.strerror}). Name another `output`."
            raise InputError(msg) from error

    def _is_finished(self, key: str) -> bool:
        try:
            found = msgspec.json.decode(self._finished.read_bytes(), type=_Finished)
        except (OSError, msgspec.DecodeError):
            return False
        return found.key == key and self.path.is_file()


def _layout(plan: JudgingPlan) -> VerdictLayout:
    """Choose the small layout where no call can fail: the other one keeps the reasons."""
    if needs_engine(plan.judge):
        return "long"
    try:
        table_columns(plan, "wide")
    except InputError:  # a question is called as a column is
        return "long"
    return "wide"
