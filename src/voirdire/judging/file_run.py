"""A run that judges a file: parts in a folder, then one file, whole or not at all."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from voirdire.errors import InputError
from voirdire.io.verdict_files import join_parts, synced
from voirdire.judging.call_summary import JudgingProgress
from voirdire.judging.outputs import publish
from voirdire.judging.summary import JudgingSummary, summarize
from voirdire.judging.verdict_making import table_columns

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from voirdire.judging.call_summary import CallSummary
    from voirdire.judging.item_source import ItemSource
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.set_aside import SetAside
    from voirdire.judging.tally import Tally
    from voirdire.judging.work_folder import WorkFolder
    from voirdire.records import VerdictLayout

__all__ = ["FileRun"]


class FileRun(ABC):
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
        self.columns = table_columns(plan, layout)
        self.folder = folder
        self.set_aside = set_aside
        self.progress = progress
        self.n_parts = 0
        self.n_reused = 0

    def judged(self, *, restart: bool, output: str) -> JudgingSummary:
        """Judge, put together, publish, clean up."""
        with self.folder, self.set_aside:
            if restart:
                self.folder.clear()
            self.set_aside.open(self.folder.path / "dropped.jsonl")
            tally = self.tally()
            self.items.check_unchanged()
            self.say(tally, finishing=True)
            dropped_output = self._publish()
            self.folder.remove()
        return summarize(
            tally,
            self.plan,
            output=output,
            layout=self.layout,
            notes=self.items.notes(),
            n_reused=self.n_reused,
            n_dropped=self.set_aside.count,
            dropped=self.set_aside.first,
            dropped_output=None if dropped_output is None else str(dropped_output),
            calls=self.call_summary(),
        )

    @abstractmethod
    def tally(self) -> Tally:
        """Judge every item into parts, and add up."""

    def call_summary(self) -> CallSummary | None:
        """Say what the calls came to, where the judge is a language model."""
        return None

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

    def say(self, tally: Tally, *, finishing: bool = False) -> None:
        """Tell whoever watches."""
        if self.progress is not None:
            self.progress(
                JudgingProgress(
                    n_items=tally.n_items,
                    n_reused=min(self.n_reused, tally.n_items),
                    n_dropped=self.set_aside.count,
                    finishing=finishing,
                )
            )
