"""Results of a synthesis: completions, rejected ones, and a summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping  # noqa: TC003  # what reads the JSON looks at the types
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._messages import shorten
from voirdire._types import Threshold  # noqa: TC001  # as above
from voirdire.judging.binding import note_distrust
from voirdire.records.items import Dropped  # noqa: TC001  # as above
from voirdire.records.replies import CallSummary  # noqa: TC001  # as above
from voirdire.records.tables import Tabular

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.records import Message
    from voirdire.rewards.synthesis.plan import Assignment, Draft, SynthesisPlan

__all__ = [
    "RejectedSlot",
    "SlotCount",
    "SynthesisProgress",
    "SynthesisResult",
    "SynthesisSummary",
    "SynthesisTally",
    "SynthesizedRow",
    "WriterCalls",
    "make_rejected",
    "make_row",
]


@dataclass(frozen=True, kw_only=True)
class SynthesizedRow:
    """One completion that a model wrote and the judge verified; a row of the output.

    Attributes
    ----------
    id : str
        ``PROMPT/LABEL/NUMBER``.
    prompt : tuple of Message
        What it answers.
    response : str
        Its text.
    behavior : str
        That the prompt deserves.
    group : str
        Id of the prompt.
    label : str
        Its completion label.
    traits : mapping of str to bool
        Every proposition that was asked for, in the state that was wanted.
    sampled : mapping of str to bool
        Those of them that were drawn.
    probabilities : mapping of str to (float or None)
        The judge's, by proposition; None where it gave none.
    completion_class : str or None
        The class that holds under the judge's threshold.
    attempts : int
        Drafts that it took, from 1.
    model, judge : str
        Who wrote it, and who verified it.
    judge_fingerprint : str
        Of the verdicts.
    recipes : str
        Name, version and hash of the recipes.
    seed : int
        Of the run.
    """

    id: str
    prompt: tuple[Message, ...]
    response: str
    behavior: str
    group: str
    label: str
    traits: Mapping[str, bool]
    sampled: Mapping[str, bool]
    probabilities: Mapping[str, float | None]
    completion_class: str | None
    attempts: int
    model: str
    judge: str
    judge_fingerprint: str
    recipes: str
    seed: int

    def to_dict(self) -> dict[str, Any]:
        """Write it as the output has it; a prompt of one user text is that text.

        Returns
        -------
        dict
            JSON values, in the order of the attributes.
        """
        row: dict[str, Any] = msgspec.to_builtins(self)
        if len(self.prompt) == 1 and self.prompt[0].role == "user":
            row["prompt"] = self.prompt[0].content
        return row


@dataclass(frozen=True, kw_only=True)
class RejectedSlot:
    """A completion that was wanted and did not come about.

    Attributes
    ----------
    id : str
        As a row would have been called.
    group, behavior, label : str
        The prompt's id, its behavior, and the completion label.
    traits, sampled : mapping of str to bool
        What was wanted, and what of it was drawn.
    attempts : int
        Drafts that were tried.
    failed : tuple of str
        For each draft what was wrong with it.
    unmet : tuple of str
        The propositions that the last draft got wrong, of those that must hold.
    response : str or None
        The last draft; None where the model gave none.
    """

    id: str
    group: str
    behavior: str
    label: str
    traits: Mapping[str, bool]
    sampled: Mapping[str, bool]
    attempts: int
    failed: tuple[str, ...]
    unmet: tuple[str, ...]
    response: str | None

    def to_dict(self) -> dict[str, Any]:
        """Write it as the list of rejected completions has it.

        Returns
        -------
        dict
            JSON values, in the order of the attributes.
        """
        row: dict[str, Any] = msgspec.to_builtins(self)
        return row


@dataclass(frozen=True, kw_only=True)
class SlotCount:
    """How one sort of completion fared.

    Attributes
    ----------
    behavior, label : str
        Which sort.
    n_wanted, n_written : int
        How many the prompts were to get, and got.
    """

    behavior: str
    label: str
    n_wanted: int
    n_written: int


@dataclass(frozen=True, kw_only=True)
class WriterCalls:
    """What the calls to the writing model came to.

    Attributes
    ----------
    n_calls, n_retries : int
        Calls of this run, and how many of them were made again after an error.
    n_reused : int
        Drafts that were in the store.
    n_failures : int
        Calls of this run that ended without a reply.
    prompt_tokens, cached_tokens, completion_tokens : int
        Tokens of this run, as far as the server counted them.
    cost : float or None
        US dollars of this run; None where the price is not known.
    """

    n_calls: int
    n_retries: int
    n_reused: int
    n_failures: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float | None


@dataclass(frozen=True, kw_only=True)
class SynthesisProgress:
    """How far a synthesis is.

    Attributes
    ----------
    n_prompts, n_prompts_in_all : int
        Prompts that are finished, and all of them.
    n_written, n_rejected : int
        Completions that came about, and that did not.
    n_calls, n_in_flight, concurrency : int
        Calls to the writing model: made, under way, and under way at most.
    cost : float or None
        US dollars of the writing so far; None where the price is not known.
    is_judging : bool
        Whether drafts are being verified.
    is_stopped : bool
        Whether the run was interrupted, and the calls in flight are waited for.
    """

    n_prompts: int
    n_prompts_in_all: int
    n_written: int
    n_rejected: int
    n_calls: int
    n_in_flight: int
    concurrency: int
    cost: float | None
    is_judging: bool = False
    is_stopped: bool = False


@dataclass(frozen=True, kw_only=True)
class SynthesisSummary(Tabular, rows="slots"):
    """How a synthesis went.

    Attributes
    ----------
    output, rejected_output, dropped_output : str or None
        Files that were written; None where there was nothing for one, or all is in memory.
    rubric, rubric_version, rubric_hash : str
        What completions were judged by.
    recipes, recipes_hash : str
        Name, version and short hash of the recipes, and the whole hash.
    model, judge, judge_fingerprint : str
        Who wrote, who verified, and under what.
    threshold : float, or mapping of str to float
        A proposition is true from this probability on.
    language : str
        Of the instructions.
    seed, n_attempts : int
        Of the draws, and drafts per completion at most.
    n_prompts : int
        Prompts of a known behavior.
    n_complete : int
        Prompts that got every completion of their recipe.
    n_written, n_rejected : int
        Completions.
    slots : tuple of SlotCount
        By behavior and label.
    n_dropped : int
        Prompts that were set aside.
    dropped : tuple of Dropped
        The first of them.
    calls : WriterCalls
        Of the writing.
    judge_calls : CallSummary or None
        Of the verifying, where the judge is a language model.
    notes : tuple of str
        What the reader should know.
    """

    output: str | None
    rejected_output: str | None
    dropped_output: str | None
    rubric: str
    rubric_version: str
    rubric_hash: str
    recipes: str
    recipes_hash: str
    model: str
    judge: str
    judge_fingerprint: str
    threshold: Threshold
    language: str
    seed: int
    n_attempts: int
    n_prompts: int
    n_complete: int
    n_written: int
    n_rejected: int
    slots: tuple[SlotCount, ...]
    n_dropped: int
    dropped: tuple[Dropped, ...] = field(repr=False)
    calls: WriterCalls
    judge_calls: CallSummary | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SynthesisResult:
    """Completions in memory.

    Attributes
    ----------
    rows : tuple of SynthesizedRow
        By prompt, in the order of the prompts, and in the order of the recipes.
    rejected : tuple of RejectedSlot
        What did not come about, in the same order.
    summary : SynthesisSummary
        How it went.
    """

    rows: tuple[SynthesizedRow, ...] = field(repr=False)
    rejected: tuple[RejectedSlot, ...] = field(repr=False)
    summary: SynthesisSummary


# From drafts to rows and counts ----------------------------------------------------------------


def make_row(assignment: Assignment, plan: SynthesisPlan) -> SynthesizedRow:
    """Make the row of a completion that was accepted."""
    draft = assignment.drafts[-1]
    return SynthesizedRow(
        **_describe_assignment(assignment),
        prompt=assignment.prompt.prompt,
        response=draft.response or "",
        probabilities=draft.probabilities,
        completion_class=draft.completion_class,
        model=plan.writer.name,
        judge=plan.judging.judge.name,
        judge_fingerprint=plan.judging.fingerprint,
        recipes=plan.recipes.title,
        seed=plan.writer.seed,
    )


def make_rejected(assignment: Assignment) -> RejectedSlot:
    """Make the record of a completion that was given up."""
    draft = assignment.drafts[-1]
    return RejectedSlot(
        **_describe_assignment(assignment),
        failed=tuple(_explain_fault(each, assignment) for each in assignment.drafts),
        unmet=draft.unmet,
        response=draft.response,
    )


def _describe_assignment(completion: Assignment) -> dict[str, Any]:
    """Describe the completion that was wanted."""
    return {
        "id": completion.id,
        "group": completion.prompt.id,
        "behavior": completion.prompt.behavior,
        "label": completion.slot.label,
        "traits": completion.traits.wanted,
        "sampled": completion.traits.sampled,
        "attempts": len(completion.drafts),
    }


def _explain_fault(draft: Draft, assignment: Assignment) -> str:
    """Explain what is wrong with a draft."""
    if draft.reason is not None:
        return shorten(draft.reason, width=240)
    wanted = assignment.traits.wanted
    faults = [
        f"{name} must be {str(wanted[name]).lower()} (p {draft.probabilities[name] or 0.0:.2f})"
        for name in draft.unmet
    ]
    if draft.wrong_class:
        label = shorten(assignment.slot.label)
        faults.append(f"class must be {label}, got {draft.completion_class or 'none'}")
    return "; ".join(faults)


class SynthesisTally:
    """Adds up finished prompts; `counts` has the names that they have in a summary."""

    def __init__(self) -> None:
        names = ("n_prompts", "n_complete", "n_written", "n_rejected")
        self.counts: Counter[str] = Counter(dict.fromkeys(names, 0))
        self._slots: Counter[tuple[str, str | None, str]] = Counter()

    def add(self, completions: Sequence[Assignment]) -> None:
        """Add all completions of one prompt."""
        done = [each for each in completions if each.is_done]
        self.counts.update(
            n_prompts=1,
            n_complete=len(done) == len(completions),
            n_written=len(done),
            n_rejected=len(completions) - len(done),
        )
        for name, several in {"n_wanted": completions, "n_written": done}.items():
            self._slots.update((name, each.prompt.behavior, each.slot.label) for each in several)

    def summarize(self, plan: SynthesisPlan, **known: Any) -> SynthesisSummary:
        """Make the summary; `known` are its fields about files, calls and prompts set aside."""
        judging, recipes = plan.judging, plan.recipes
        kinds = dict.fromkeys(
            (behavior, slot.label)
            for behavior, slots in recipes.behaviors.items()
            for slot in slots
        )
        names = ("n_wanted", "n_written")
        slots = [
            SlotCount(behavior=kind[0], label=kind[1], **{n: self._slots[n, *kind] for n in names})
            for kind in kinds
        ]
        return SynthesisSummary(
            **known,
            **dict[str, Any](self.counts),
            rubric=plan.rubric.name,
            rubric_version=plan.rubric.version,
            rubric_hash=plan.rubric.content_hash,
            recipes=recipes.title,
            recipes_hash=recipes.content_hash,
            model=plan.writer.name,
            judge=judging.judge.name,
            judge_fingerprint=judging.fingerprint,
            threshold=judging.threshold,
            language=plan.writer.language,
            seed=plan.writer.seed,
            n_attempts=plan.settings.n_attempts,
            slots=tuple(row for row in slots if row.n_wanted),
            notes=(*judging.notes, *recipes.notes, *note_distrust(judging.judge)),
        )
