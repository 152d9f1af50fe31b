"""Items that are judged before they are scored: verdicts in a folder beside the rewards.

The verdicts are a file of their own until the rewards are there, so that a run which is killed
goes on where `voirdire judge` would: finished parts and replies are used again.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire.errors import InputError
from voirdire.judging.fingerprint import hash_of
from voirdire.judging.plan import asks_a_model
from voirdire.judging.reply_stores import STORE_NAME
from voirdire.judging.table import verdict_columns
from voirdire.judging.work_folder import MARK, remove_folder

if TYPE_CHECKING:
    from voirdire.judging import CallSummary
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.table import VerdictLayout

__all__ = ["JudgedFile"]

_MARK_TEXT = (
    "Verdicts of an unfinished run of `voirdire score`. The same command goes on from here; with\n"
    "--restart it starts anew. This folder goes when the run is finished.\n"
)


class _Finished(msgspec.Struct, kw_only=True):
    """What is kept of a run of judging that came to its end."""

    key: str


class JudgedFile:
    """The verdicts of a run that scores, which alone may write its output."""

    def __init__(self, target: Path) -> None:
        self._target = target
        self._folder = target.with_name(f"{target.name}.scoring")
        self.path = self._folder / "verdicts.parquet"
        self.calls: CallSummary | None = None

    def judge(
        self,
        source: str | Path,
        plan: JudgingPlan,
        *,
        restart: bool,
        store: str | Path | None,
        reading: dict[str, Any],
        running: dict[str, Any],
    ) -> None:
        """Judge every item, or find that an earlier run has.

        Parameters
        ----------
        source : str or path
            A file of items.
        plan : JudgingPlan
            Who judges, and by what.
        restart : bool
            Whether what an earlier run left is thrown away.
        store : str or path, optional
            Of a language model's replies; by default beside the rewards.
        reading, running : dict
            Arguments of `judge_file` that the verdicts depend on, and others.
        """
        from voirdire.judging import judge_file

        self._make(restart=restart)
        key = _key(source, plan, reading)
        if self._is_finished(key):
            return
        place = self._target.parent / STORE_NAME if store is None else store
        summary = judge_file(
            source,
            self.path,
            rubric=plan.rubric,
            judge=plan.judge,
            threshold=plan.threshold,
            judged=plan.judged,
            layout=_layout(plan),
            restart=restart,
            store=place,
            **reading,
            **running,
        )
        self.calls = summary.calls
        self._finished.write_bytes(msgspec.json.encode(_Finished(key=key)))

    def remove(self) -> None:
        """Take the folder away."""
        remove_folder(self._folder)

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


def _key(source: str | Path, plan: JudgingPlan, reading: dict[str, Any]) -> str:
    """Hash over the file as it is now, and everything else that its verdicts depend on."""
    try:
        found = Path(source).stat()
    except OSError:
        stamp: list[int] = []
    else:
        stamp = [found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns]
    said = {name: value for name, value in reading.items() if value is not None}
    return hash_of({"stamp": stamp, "fingerprint": plan.fingerprint, "reading": said})


def _layout(plan: JudgingPlan) -> VerdictLayout:
    """Choose the small layout where no call can fail: the other one keeps the reasons."""
    if asks_a_model(plan.judge):
        return "long"
    try:
        verdict_columns(plan, "wide")
    except InputError:  # a question is called as a column is
        return "long"
    return "wide"
