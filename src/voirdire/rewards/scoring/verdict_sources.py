"""Where the verdicts of a run that scores come from: stored ones, or a judge."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voirdire.judging.plan import asks_a_model
from voirdire.rewards.scoring.alignment import to_be_judged
from voirdire.rewards.scoring.judge_check import check_judge
from voirdire.rewards.scoring.judged_file import JudgedFile
from voirdire.rewards.scoring.scoring import judge_named, judging_plan
from voirdire.rewards.scoring.stored_verdicts import StoredVerdicts
from voirdire.rewards.verdict_reading import read_judged_items

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from contextlib import ExitStack

    from voirdire.judging import CallSummary
    from voirdire.judging.plan import JudgingPlan
    from voirdire.records import Item
    from voirdire.rewards.judged_items import JudgedItems
    from voirdire.rewards.model import RewardModel
    from voirdire.store import ReplyStore

__all__ = ["Verdicts", "opened_verdicts"]


class Verdicts(ABC):
    """Gives items their verdicts, batch by batch.

    Attributes
    ----------
    judge, fingerprint : str
        Whose they are.
    propositions : tuple of str
        What they are on.
    notes : tuple of str
        What the reader should know.
    calls : CallSummary or None
        What calls came to.
    needs_texts : bool
        Whether prompts and responses of the items are needed.
    """

    judge: str
    fingerprint: str
    propositions: tuple[str, ...]
    notes: tuple[str, ...] = ()
    calls: CallSummary | None = None
    needs_texts: bool = True

    @abstractmethod
    def of(self, batches: Iterable[list[Item]]) -> Iterator[tuple[list[Item], JudgedItems]]:
        """Give batches of items with verdicts in their order; batches may be cut anew."""

    def finish(self) -> None:  # noqa: B027  # most need not
        """Check what could not be checked before the last item."""

    def remove(self) -> None:  # noqa: B027
        """Take away what only an unfinished run needs."""


def opened_verdicts(
    model: RewardModel,
    source: str | Path,
    *,
    output: str | Path,
    verdicts: Any,
    judge: Any,
    other_judge: bool,
    store: str | Path | None,
    reading: dict[str, Any],
    running: dict[str, Any],
    restart: bool,
    stack: ExitStack,
) -> Verdicts:
    """Find the verdicts, judge the file first, or make ready to judge as items come.

    A stream cannot be read twice, and what goes to one has nothing to go on from: there items are
    judged as they come.
    """
    if verdicts is not None:
        stored = StoredVerdicts(verdicts, rubric=model.rubric, judge=judge_named(judge))
        return _Stored(model, stack.enter_context(stored), other_judge=other_judge)
    plan, notes = judging_plan(model, judge, other_judge=other_judge)
    if "-" not in (str(source), str(output)):
        judged = JudgedFile(Path(output).resolve())
        judged.judge(source, plan, restart=restart, store=store, reading=reading, running=running)
        stored = StoredVerdicts(judged.path, rubric=model.rubric, judge=None)
        return _JudgedFirst(model, stack.enter_context(stored), judged=judged, notes=notes)
    if not asks_a_model(plan.judge):
        return _JudgedNow(plan, notes)
    from voirdire.judging.reply_stores import opened_store

    beside = Path.cwd() / "any" if str(output) == "-" else Path(output).resolve()
    replies = stack.enter_context(opened_store(store, beside=beside))
    return _AskedNow(plan, notes, replies=replies, running=running)


class _Stored(Verdicts):
    """Verdicts that are there."""

    needs_texts = False

    def __init__(self, model: RewardModel, stored: StoredVerdicts, *, other_judge: bool) -> None:
        about = stored.about
        self._stored = stored
        self.judge, self.fingerprint = about.judge, about.fingerprint
        self.propositions = about.propositions
        self.notes = check_judge(
            model,
            name=about.judge,
            fingerprint=about.fingerprint,
            threshold=about.threshold,
            argument="verdicts",
            other_judge=other_judge,
        )

    def of(self, batches: Iterable[list[Item]]) -> Iterator[tuple[list[Item], JudgedItems]]:
        for items in batches:
            yield items, self._stored.take([item.id for item in items])

    def finish(self) -> None:
        self._stored.finish()


class _JudgedFirst(_Stored):
    """Verdicts of a file that was judged for this."""

    def __init__(
        self,
        model: RewardModel,
        stored: StoredVerdicts,
        *,
        judged: JudgedFile,
        notes: tuple[str, ...],
    ) -> None:
        super().__init__(model, stored, other_judge=True)  # that was checked before
        self._judged = judged
        self.notes, self.calls = notes, judged.calls

    def remove(self) -> None:
        self._judged.remove()


class _JudgedNow(Verdicts):
    """A local judge answers as items come."""

    def __init__(self, plan: JudgingPlan, notes: tuple[str, ...]) -> None:
        self._plan = plan
        self.judge, self.fingerprint = plan.judge.name, plan.fingerprint
        self.propositions, self.notes = plan.rubric.propositions, notes

    def of(self, batches: Iterable[list[Item]]) -> Iterator[tuple[list[Item], JudgedItems]]:
        from voirdire.judging.answering import verdicts_on

        for items in batches:
            batch = verdicts_on(to_be_judged(items, self._plan.rubric), self._plan)
            yield items, read_judged_items(batch, rubric=self._plan.rubric)


class _AskedNow(Verdicts):
    """A language model answers as items come; the store is what a later run goes on from."""

    def __init__(
        self,
        plan: JudgingPlan,
        notes: tuple[str, ...],
        *,
        replies: ReplyStore,
        running: dict[str, Any],
    ) -> None:
        from voirdire.judging.llm.run_record import RunRecord

        self._plan, self._replies, self._running = plan, replies, running
        self._record = RunRecord(plan.rubric)
        self.judge, self.fingerprint = plan.judge.name, plan.fingerprint
        self.propositions, self.notes = plan.rubric.propositions, notes

    def of(self, batches: Iterable[list[Item]]) -> Iterator[tuple[list[Item], JudgedItems]]:
        from voirdire.judging.llm.batches import judged_batches

        waiting: deque[Item] = deque()  # as many as the workers are ahead

        def each() -> Iterator[Item]:
            for items in batches:
                waiting.extend(items)
                yield from to_be_judged(items, self._plan.rubric)

        found = judged_batches(
            each(),
            self._plan,
            store=self._replies,
            retry_failures=self._running["retry_failures"],
            stopping=self._running["stopping"],
            record=self._record,
        )
        with closing(found):  # type: ignore[type-var]  # a generator
            for batch in found:
                items = [waiting.popleft() for _ in batch.items]
                yield items, read_judged_items(batch, rubric=self._plan.rubric)
        self.calls = self._record.summary()
