"""Counts over the completions of a run, for its summary."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from voirdire._validation import shorten
from voirdire.judging.notes import distrust
from voirdire.rewards.synthesis.result import (
    RejectedSlot,
    SlotCount,
    SynthesisSummary,
    SynthesizedRow,
    WriterCalls,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.judging.engine.call_summary import CallSummary
    from voirdire.judging.runs.outputs import SetAside
    from voirdire.rewards.synthesis.assignment import Assignment, Draft
    from voirdire.rewards.synthesis.plan import SynthesisPlan
    from voirdire.rewards.synthesis.writing import Writer

__all__ = ["SynthesisTally", "rejected_of", "row_of", "words_of"]


class SynthesisTally:
    """Adds up finished prompts."""

    def __init__(self, plan: SynthesisPlan) -> None:
        self._plan = plan
        self.n_prompts = self.n_written = self.n_rejected = 0
        self._n_complete = self._n_without_best = self._n_empty = 0
        self._wanted: Counter[tuple[str, str]] = Counter()
        self._written: Counter[tuple[str, str]] = Counter()
        self._at_once: Counter[tuple[str, str]] = Counter()
        self._unmet: Counter[str] = Counter()
        self._reasons: Counter[str] = Counter()

    def add(self, completions: Sequence[Assignment]) -> None:
        """Take all completions of one prompt."""
        n_done = sum(each.is_done for each in completions)
        best = completions[0].slot.label
        self.n_prompts += 1
        self.n_written += n_done
        self.n_rejected += len(completions) - n_done
        self._n_complete += n_done == len(completions)
        self._n_empty += not n_done
        self._n_without_best += not any(
            each.is_done for each in completions if each.slot.label == best
        )
        for each in completions:
            kind = (each.prompt.behavior or "", each.slot.label)
            self._wanted[kind] += 1
            self._written[kind] += each.is_done
            self._at_once[kind] += each.is_done and len(each.drafts) == 1
            for draft in each.drafts:
                self._unmet.update(draft.unmet)
                if draft.reason is not None:
                    self._reasons[draft.reason.partition(":")[0]] += 1
                elif draft.wrong_class:
                    self._reasons["another class than the label"] += 1

    def summary(
        self,
        *,
        set_aside: SetAside,
        writer: Writer,
        judge_calls: CallSummary | None,
        output: str | None = None,
        rejected_output: str | None = None,
        dropped_output: str | None = None,
    ) -> SynthesisSummary:
        """Say what it came to."""
        plan, state = self._plan, writer.state
        return SynthesisSummary(
            output=output,
            rejected_output=rejected_output,
            dropped_output=dropped_output,
            rubric=plan.rubric.name,
            rubric_version=plan.rubric.version,
            rubric_hash=plan.rubric.content_hash,
            recipes=plan.recipes.title,
            recipes_hash=plan.recipes.content_hash,
            model=plan.model.name,
            judge=plan.judging.judge.name,
            judge_fingerprint=plan.judging.fingerprint,
            threshold=plan.judging.threshold,
            language=plan.language,
            seed=plan.seed,
            n_attempts=plan.n_attempts,
            n_prompts=self.n_prompts,
            n_complete=self._n_complete,
            n_without_best=self._n_without_best,
            n_empty=self._n_empty,
            n_written=self.n_written,
            n_rejected=self.n_rejected,
            slots=self._slots(),
            unmet=dict(self._unmet.most_common()),
            reasons=dict(self._reasons.most_common()),
            n_dropped=set_aside.count,
            dropped=set_aside.first,
            calls=WriterCalls(
                n_calls=state.n_calls,
                n_retries=state.n_retries,
                n_reused=writer.n_reused,
                n_failures=state.n_failures,
                prompt_tokens=state.prompt_tokens,
                cached_tokens=state.cached_tokens,
                completion_tokens=state.completion_tokens,
                cost=state.cost,
            ),
            judge_calls=judge_calls,
            notes=(*plan.judging.notes, *plan.recipes.notes, *distrust(plan.judging.judge)),
        )

    def _slots(self) -> tuple[SlotCount, ...]:
        """Give the sorts of completions that any prompt was to get, in the order of the recipes."""
        kinds = [
            (behavior, slot.label)
            for behavior, slots in self._plan.recipes.behaviors.items()
            for slot in slots
        ]
        return tuple(
            SlotCount(
                behavior=kind[0],
                label=kind[1],
                n_wanted=self._wanted[kind],
                n_written=self._written[kind],
                n_at_once=self._at_once[kind],
            )
            for kind in dict.fromkeys(kinds)
            if self._wanted[kind]
        )


def row_of(done: Assignment, plan: SynthesisPlan) -> SynthesizedRow:
    """Make the row of a completion that came about."""
    draft = done.drafts[-1]
    return SynthesizedRow(
        id=done.id,
        prompt=done.prompt.prompt,
        response=draft.response or "",
        behavior=done.prompt.behavior or "",
        group=done.prompt.id,
        label=done.slot.label,
        traits=dict(done.traits.wanted),
        sampled=dict(done.traits.sampled),
        probabilities=dict(draft.probabilities),
        completion_class=draft.completion_class,
        attempts=len(done.drafts),
        model=plan.model.name,
        judge=plan.judging.judge.name,
        judge_fingerprint=plan.judging.fingerprint,
        recipes=plan.recipes.title,
        seed=plan.seed,
    )


def rejected_of(given_up: Assignment) -> RejectedSlot:
    """Make the record of a completion that did not come about."""
    draft = given_up.drafts[-1]
    return RejectedSlot(
        id=given_up.id,
        group=given_up.prompt.id,
        behavior=given_up.prompt.behavior or "",
        label=given_up.slot.label,
        traits=dict(given_up.traits.wanted),
        sampled=dict(given_up.traits.sampled),
        attempts=len(given_up.drafts),
        failed=tuple(words_of(each, given_up) for each in given_up.drafts),
        unmet=draft.unmet,
        response=draft.response,
    )


def words_of(draft: Draft, assignment: Assignment) -> str:
    """Say what is wrong with a draft."""
    if draft.reason is not None:
        return shorten(draft.reason, width=240)
    said = []
    for name in draft.unmet:
        wanted = "true" if assignment.traits.wanted[name] else "false"
        said.append(f"{name} must be {wanted} (p {draft.probabilities[name] or 0.0:.2f})")
    if draft.wrong_class:
        label = shorten(assignment.slot.label)
        said.append(f"class must be {label}, got {draft.completion_class or 'none'}")
    return "; ".join(said)
