"""A run of synthesis: prompts in stretches, each written, verified and written again."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from voirdire.errors import CostLimitReachedError, StoppedError
from voirdire.judging.engine.background_loop import BackgroundLoop
from voirdire.judging.engine.stopping import Stopping
from voirdire.rewards.synthesis.assignment import assignments_of
from voirdire.rewards.synthesis.result import SynthesisProgress
from voirdire.rewards.synthesis.tally import SynthesisTally
from voirdire.rewards.synthesis.verifying import Verifier
from voirdire.rewards.synthesis.writing import Writer

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from voirdire.judging.runs.outputs import SetAside
    from voirdire.rewards.synthesis.assignment import Assignment, Draft
    from voirdire.rewards.synthesis.plan import SynthesisPlan
    from voirdire.rewards.synthesis.prompt_source import PromptSource
    from voirdire.rewards.synthesis.result import SynthesisSummary
    from voirdire.store import ReplyStore

__all__ = ["SynthesisRun"]

STRETCH = 200
"""Prompts that are worked on together; memory is of so many."""


class SynthesisRun:
    """One run; `finished` does it, `summary` says afterwards what it came to.

    Parameters
    ----------
    plan : SynthesisPlan
        Who writes what, who verifies.
    prompts : PromptSource
        For what.
    store : ReplyStore or None
        Where replies are kept and found again.
    set_aside : SetAside
        Takes prompts that cannot be used.
    retry_failures : bool
        Whether calls that failed in an earlier run are made again.
    stopping : threading.Event or None
        Set, the run ends as by Ctrl-C.
    progress : callable or None
        Told how far it is.
    """

    def __init__(
        self,
        plan: SynthesisPlan,
        prompts: PromptSource,
        *,
        store: ReplyStore | None,
        set_aside: SetAside,
        retry_failures: bool,
        stopping: threading.Event | None,
        progress: Callable[[SynthesisProgress], None] | None,
    ) -> None:
        self._plan = plan
        self._prompts = prompts
        self._set_aside = set_aside
        self._stopping = stopping
        self._progress = progress
        self._tally = SynthesisTally(plan)
        self._writer = Writer(plan, store=store, retry_failures=retry_failures)
        self._verifier = Verifier(
            plan, store=store, retry_failures=retry_failures, stopping=stopping
        )

    def finished(self) -> Iterator[list[Assignment]]:
        """Give the completions of each prompt, in the order of the prompts."""
        prompts = self._prompts.stream(self._plan.recipes, self._set_aside)
        with BackgroundLoop() as loop:
            try:
                while stretch := list(islice(prompts, STRETCH)):
                    groups = [list(assignments_of(prompt, self._plan)) for prompt in stretch]
                    self._work_on([each for group in groups for each in group], loop)
                    for group in groups:
                        self._tally.add(group)
                    self._tell()
                    yield from groups
            except CostLimitReachedError as error:
                n_done = self._tally.n_prompts
                done = "1 prompt is" if n_done == 1 else f"{n_done:,} prompts are"
                raise CostLimitReachedError(f"{error} {done} done.") from error
            finally:
                loop.run(self._writer.close())

    def summary(
        self,
        *,
        output: str | None = None,
        rejected_output: str | None = None,
        dropped_output: str | None = None,
    ) -> SynthesisSummary:
        """Say what it came to."""
        return self._tally.summary(
            set_aside=self._set_aside,
            writer=self._writer,
            judge_calls=self._verifier.calls,
            output=output,
            rejected_output=rejected_output,
            dropped_output=dropped_output,
        )

    def _work_on(self, assignments: list[Assignment], loop: BackgroundLoop) -> None:
        """Write, verify, and write anew what is not right, so often at most."""
        left = assignments
        for _ in range(self._plan.n_attempts):
            if not left:
                return
            drafts = self._drafts(left, loop)
            self._tell(is_judging=True)
            for each, draft in zip(left, self._verifier.verify(left, drafts), strict=True):
                each.drafts.append(draft)
            left = [each for each in left if not each.is_done]

    def _drafts(self, assignments: list[Assignment], loop: BackgroundLoop) -> list[Draft]:
        """Wait for drafts; whatever ends the waiting, replies in flight are stored first."""
        future = loop.begin(self._writer.drafts(assignments))
        try:
            return loop.wait(future, watch=self._watch)
        except BaseException as error:
            if not future.done():
                self._drain(future, loop, is_told=isinstance(error, KeyboardInterrupt))
            raise

    def _drain(self, future: Future[list[Draft]], loop: BackgroundLoop, *, is_told: bool) -> None:
        """Begin nothing more, and wait for what is under way; a second Ctrl-C does not wait.

        Whoever watches is told of it, unless that is where the error came from.
        """
        loop.call(self._writer.stop)
        try:
            loop.wait(future, watch=self._wait_for_last if is_told else self._hurry)
        except StoppedError:
            pass
        except BaseException:
            future.cancel()
            raise

    def _watch(self) -> None:
        if self._stopping is not None and self._stopping.is_set():
            raise KeyboardInterrupt
        self._tell()

    def _hurry(self) -> None:
        if isinstance(self._stopping, Stopping) and self._stopping.at_once.is_set():
            raise KeyboardInterrupt

    def _wait_for_last(self) -> None:
        self._hurry()
        self._tell(stopping=True)

    def _tell(self, *, is_judging: bool = False, stopping: bool = False) -> None:
        if self._progress is None:
            return
        state = self._writer.state
        self._progress(
            SynthesisProgress(
                n_prompts=self._tally.n_prompts,
                n_written=self._tally.n_written,
                n_rejected=self._tally.n_rejected,
                n_calls=state.n_calls,
                n_in_flight=state.n_in_flight,
                concurrency=state.concurrency,
                cost=state.cost,
                is_judging=is_judging,
                stopping=stopping,
            )
        )
