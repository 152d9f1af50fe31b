"""Synthesize completions to compare, in memory and from file to file."""

from __future__ import annotations

import math
import sys
from contextlib import closing
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from msgspec.structs import replace

from voirdire.errors import CostLimitReachedError, InputError
from voirdire.judging.engine import make_engine
from voirdire.judging.outputs import (
    SetAside,
    check_place,
    explain_write_errors,
    may_replace,
    open_replies,
    publish,
    unfinished_folder,
)
from voirdire.judging.run import run_engine
from voirdire.judging.settings import StoredReplies
from voirdire.judging.summary import RunRecord
from voirdire.judging.tables import make_verdicts
from voirdire.records.items import as_bytes
from voirdire.rewards.synthesis.plan import list_assignments, plan_synthesis, read_prompts
from voirdire.rewards.synthesis.result import (
    RejectedSlot,
    SynthesisProgress,
    SynthesisResult,
    SynthesisTally,
    SynthesizedRow,
    WriterCalls,
    make_rejected,
    make_row,
)
from voirdire.rewards.synthesis.writer import Writer

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from voirdire.judging.caller import CallCounts
    from voirdire.models import ChatModel
    from voirdire.records import Item
    from voirdire.rewards.synthesis.plan import (
        Assignment,
        Draft,
        SynthesisPlan,
    )
    from voirdire.rewards.synthesis.result import SynthesisSummary

__all__ = ["synthesize", "synthesize_file"]

_PROMPTS_AT_ONCE = 200
"""Prompts that are worked on together; memory holds their completions."""

_SUFFIX = ".jsonl"


def synthesize(
    prompts: Any,
    *,
    model: ChatModel | str,
    stopping: threading.Event | None = None,
    progress: Callable[[SynthesisProgress], None] | None = None,
    **settings: Any,
) -> SynthesisResult:
    """Have a model write completions of every quality for prompts, and a judge verify them.

    Each prompt gets the completions of its behavior's recipe. The model is told, proposition by
    proposition, what a completion must be like; some of that is drawn by the seed, such as the
    flaws of a bad one. The judge then answers the rubric's propositions about it. Where a trait
    that the recipe demands or drew does not hold, or the completion's class is not its label, it
    is written again, with a word about what was missed.

    Parameters
    ----------
    prompts : path, sequence of str, of Item or of mapping, or a data frame
        What is answered, each with the behavior that it deserves. A response beside a prompt is
        not looked at.
    model : ChatModel or str
        Who writes, such as ``"openai/gpt-4o-mini"``. A model that declines to write flawed
        responses leaves those out.
    stopping : threading.Event, optional
        Set it from another thread to end the run as Ctrl-C does.
    progress : callable, optional
        Told a `SynthesisProgress` a few times a second.
    **settings
        Any of these:

        - `rubric`: one with behaviors: a `Rubric`, the name of a built-in one, or a YAML file; by
          default ``"safety"``.
        - `judge`: who verifies, as for `voirdire.judge`; by default ``"local"``.
        - `recipes`: what each prompt gets, `Recipes` or a YAML file; by default those that ship
          for the rubric, or else one completion of each class.
        - `language`: of the instructions, ``"en"`` (the default) or ``"zh"``; completions are in
          the language of their prompt.
        - `n_attempts`: drafts per completion at most, at least 1; by default 3.
        - `seed`: of the draws, and of drafts where a server can repeat itself; by default 0.
        - `temperature`: of a first draft, in [0, 2], by default 1; every further one is .1
          warmer. None takes the model's own.
        - `max_tokens`: tokens of a completion at most, by default 1,024; a draft that reaches it
          counts as cut off. None sets no limit, for models whose reasoning counts.
        - `threshold`: in (0, 1): a proposition is true from this probability on; by default the
          rubric says.
        - fields of `voirdire.judging.ModelSettings` for the model that writes, such as `base_url`,
          `concurrency`, `max_cost`, and `price`, where that is not known.
        - `behavior`: the behavior of prompts that have none.
        - `store`: where replies are kept and found again: a file for SQLite, or a
          ``postgresql://`` address. By default they are kept nowhere.
        - `retry_failures`: whether calls that failed in an earlier run are made again.
        - `settings`: `SynthesisSettings`, which hold the plain ones of these; a keyword counts
          before its field there.

    Returns
    -------
    SynthesisResult
        Completions with their labels, traits and probabilities; what did not come about; counts.

    Raises
    ------
    NoDataError
        If there is no prompt of a known behavior.
    InputError
        If an argument breaks its rule, if the judge lacks a proposition of the rubric, or if two
        prompts have the same id, or ids that differ only in white space.
    ModelCallError
        If every call would fail.
    CostLimitReachedError
        If the writer has spent its `max_cost`.

    Notes
    -----
    *Order*: by prompt, and then in the order of the recipe. *Errors*: a call without a reply
    counts as a draft that is not right; what would fail about every call ends the run. All prompts
    are read before the first call, so that a mistake in them costs nothing.
    *Cancellation*: on Ctrl-C the calls in flight are waited for and stored; a second one does not
    wait. *Memory*: all completions; `synthesize_file` holds those of 200 prompts. *Retries and
    caching*: calls are retried; with a store, a second run finds every draft there
    and pays for nothing twice, as long as prompts, recipes, model, seed and verdicts are the same.

    A draft is verified by the judge that will later be paid by: a completion that fools it is kept.
    Read some of them.

    Examples
    --------
    >>> from voirdire.judging import ScriptedJudge
    >>> from voirdire.testing import ScriptedModel
    >>> from voirdire.rubrics import rubric_from_text
    >>> rubric = rubric_from_text('''
    ... schema: voirdire.rubric/1
    ... name: thanks
    ... version: "1"
    ... questions:
    ...   - {id: thanks, kind: boolean, text: "Does it thank the user?"}
    ... behaviors:
    ...   reply:
    ...     demands: {thanks: required}
    ...     classes: {good: thanks, bad: otherwise}
    ... ''')
    >>> model = ScriptedModel(
    ...     lambda request: "Thank you!" if "is yes" in request.messages[0].content else "Hm."
    ... )
    >>> judge = ScriptedJudge(questions=("thanks",), answer=lambda item: ["Thank" in item.response])
    >>> made = synthesize(["Hello"], rubric=rubric, model=model, judge=judge, behavior="reply")
    >>> [(row.label, row.response) for row in made.rows]
    [('good', 'Thank you!'), ('bad', 'Hm.')]
    """
    plan = plan_synthesis(model, **settings)
    set_aside = SetAside()
    items = read_prompts(prompts, plan, set_aside=set_aside)
    stored = StoredReplies(plan.settings.store or False, plan.settings.retry_failures)
    with open_replies(stored) as replies:
        run = SynthesisRun(
            plan=plan, prompts=items, replies=replies, stopping=stopping, progress=progress
        )
        assignments = list(run.make_completions())
    return SynthesisResult(
        rows=tuple(make_row(each, plan) for each in assignments if each.is_done),
        rejected=tuple(make_rejected(each) for each in assignments if not each.is_done),
        summary=run.summarize(set_aside),
    )


# Files -----------------------------------------------------------------------------------------


def synthesize_file(
    source: str | Path,
    output: str | Path,
    *,
    model: ChatModel | str,
    stopping: threading.Event | None = None,
    progress: Callable[[SynthesisProgress], None] | None = None,
    **settings: Any,
) -> SynthesisSummary:
    """Write completions of every quality for the prompts of a file; see `synthesize`.

    The output appears under its name whole or not at all. Completions that did not come about are
    listed in ``OUTPUT.rejected.jsonl``, prompts that were set aside in ``OUTPUT.dropped.jsonl``.

    Parameters
    ----------
    source : str or path
        Prompts with their behaviors: JSONL, CSV, Parquet or JSON; ``"-"`` is standard input.
    output : str or path
        A file that ends in ``.jsonl``; ``"-"`` writes to standard output. Nothing but a file of an
        earlier synthesis is replaced.
    model, stopping, progress
        As for `synthesize`.
    **settings
        As for `synthesize`; also fields of `voirdire.io.ItemLayout`, such as `columns`, our names
        to the file's for `id`, `prompt`, `messages` and `behavior`, and `format`, how the prompts
        are written. Replies are kept in ``voirdire-replies.sqlite`` beside the output, or in the
        current folder where that is standard output, where no `store` is named. The same call goes
        on from there, and pays for nothing twice.

    Returns
    -------
    SynthesisSummary
        Counts, what went wrong, tokens, cost.

    Raises
    ------
    NoDataError, InputError, ModelCallError, CostLimitReachedError
        As for `synthesize`; also if a file cannot be read or written, or `output` is something
        else than a file of a synthesis.

    Notes
    -----
    *Order*, *Errors*, *Cancellation*, *Retries and caching*: as for `synthesize`. *Memory*: all
    prompts, and the completions of 200 of them.
    """
    plan = plan_synthesis(model, **settings)
    settled: dict[str, Any] = {"stopping": stopping, "progress": progress}
    if str(output) == "-":
        set_aside = SetAside()
        prompts = read_prompts(source, plan, set_aside=set_aside)
        with open_replies(plan.settings.replies) as replies:
            run = SynthesisRun(plan=plan, prompts=prompts, replies=replies, **settled)
            _write(run, rows=sys.stdout.buffer, rejected=None)
        sys.stdout.buffer.flush()
        return run.summarize(set_aside, output="-")
    target, rejected, dropped = _check_outputs(Path(output), source=source)
    with unfinished_folder(target) as folder:
        set_aside = SetAside(dropped, folder / "dropped.jsonl")
        prompts = read_prompts(source, plan, set_aside=set_aside)
        rows, given_up = folder / "rows.jsonl", folder / "rejected.jsonl"
        with (
            open_replies(plan.settings.replies, output=target) as replies,
            explain_write_errors(target),
        ):
            run = SynthesisRun(plan=plan, prompts=prompts, replies=replies, **settled)
            with rows.open("wb") as row_file, given_up.open("wb") as rejected_file:
                _write(run, rows=row_file, rejected=rejected_file)
            publish(rows, target)
            rejected.unlink(missing_ok=True)
            if given_up.stat().st_size:
                publish(given_up, rejected)
            dropped_output = set_aside.publish()
    return run.summarize(
        set_aside,
        output=str(output),
        rejected_output=str(rejected) if rejected.exists() else None,
        dropped_output=dropped_output,
    )


def _write(run: SynthesisRun, *, rows: IO[bytes], rejected: IO[bytes] | None) -> None:
    """Write completions as they are finished, and those that did not come about."""
    with closing(run.make_completions()) as completions:  # type: ignore[type-var]  # a generator
        for each in completions:
            if each.is_done:
                rows.write(as_bytes(make_row(each, run.plan).to_dict()) + b"\n")
            elif rejected is not None:
                rejected.write(as_bytes(make_rejected(each).to_dict()) + b"\n")


def _check_outputs(output: Path, *, source: object) -> tuple[Path, Path, Path]:
    """Check the files of completions, of rejected ones and of dropped prompts; return them."""
    if output.resolve().suffix.lower() != _SUFFIX:
        msg = f"`output` must end in {_SUFFIX}, got {str(output)!r}. Rename it."
        raise InputError(msg)
    target = check_place(output, source=source, what="prompts")
    rejected = target.with_name(f"{target.name}.rejected{_SUFFIX}")
    for path, kind in ((target, SynthesizedRow), (rejected, RejectedSlot)):
        if not may_replace(path, tuple(each.name for each in fields(kind)).__eq__):
            msg = (
                f"`output` must not replace {str(path)!r}, which is no file of a synthesis. Move "
                "it, or name another."
            )
            raise InputError(msg)
    return target, rejected, target.with_name(f"{target.name}.dropped{_SUFFIX}")


# One run ---------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False)
class SynthesisRun:
    """One run: `make_completions` runs it, `summarize` makes its summary."""

    plan: SynthesisPlan
    prompts: Sequence[Item]
    replies: StoredReplies
    stopping: threading.Event | None = None
    progress: Callable[[SynthesisProgress], None] | None = None

    def __post_init__(self) -> None:
        self._writer = Writer(self.plan, self.replies)
        self._judge = make_engine(self.plan.judging, self.replies)
        self._record = RunRecord(self.plan.judging)
        self._tally = SynthesisTally()
        self._groups: list[list[Assignment]] = []
        self._is_judging = False

    def make_completions(self) -> Iterator[Assignment]:
        """Give the completions of each prompt, in the order of the prompts."""
        prompts = iter(self.prompts)
        tell = None if self.progress is None else self._tell
        try:
            with run_engine(self, stopping=self.stopping, report=tell) as ask:
                while some := list(islice(prompts, _PROMPTS_AT_ONCE)):
                    self._groups = [list(list_assignments(each, self.plan)) for each in some]
                    self._write_and_verify(ask)
                    for group in self._groups:
                        self._tally.add(group)
                    groups, self._groups = self._groups, []
                    for group in groups:
                        yield from group
        except CostLimitReachedError as error:
            n_done = self._tally.counts["n_prompts"]
            done = "1 prompt is" if n_done == 1 else f"{n_done:,} prompts are"
            raise CostLimitReachedError(f"{error} {done} done.") from error

    def summarize(self, set_aside: SetAside, **outputs: str | None) -> SynthesisSummary:
        """Say how it went; `outputs` are the files that were written."""
        self._record.report(self._judge.counts)
        known = {**vars(self._writer.counts), "n_reused": self._writer.n_reused}
        return self._tally.summarize(
            self.plan,
            calls=WriterCalls(**{row.name: known[row.name] for row in fields(WriterCalls)}),
            judge_calls=self._record.summarize_calls(),
            n_dropped=set_aside.count,
            dropped=set_aside.first,
            **{"output": None, "rejected_output": None, "dropped_output": None} | outputs,
        )

    @property
    def counts(self) -> CallCounts:
        """Counts of the writer's calls."""
        return self._writer.counts

    @property
    def n_done(self) -> int:
        """Completions until now."""
        return sum(each.is_done for group in self._groups for each in group)

    async def start(self) -> None:
        """Open the stores."""
        await self._writer.start()
        await self._judge.start()

    def stop(self) -> None:
        """Begin no more calls; calls that are sent may finish."""
        self._writer.stop()
        self._judge.stop()

    async def close(self, *, drain_s: float | None = None) -> None:
        """Wait for the calls in flight, and store their replies."""
        self.stop()
        try:
            await self._writer.close(drain_s=drain_s)
        finally:
            await self._judge.close(drain_s=drain_s)

    def _write_and_verify(self, ask: Callable[[Any], Any]) -> None:
        """Write and verify drafts, and repeat this for rejected ones, up to `n_attempts` times."""
        waiting = [each for group in self._groups for each in group]
        for _ in range(self.plan.settings.n_attempts):
            drafts = ask(self._writer.write(waiting))
            self._is_judging = True
            ask(self._verify(waiting, drafts))
            self._is_judging = False
            for each, draft in zip(waiting, drafts, strict=True):
                each.drafts.append(draft)
            waiting = [each for each in waiting if not each.is_done]
            if not waiting:
                return

    async def _verify(self, assignments: Sequence[Assignment], drafts: Sequence[Draft]) -> None:
        """Add the judge's verdicts to drafts; drafts without a text stay as they are."""
        pairs = zip(assignments, drafts, strict=True)
        pending = [(each, draft) for each, draft in pairs if draft.reason is None]
        if not pending:
            return
        items = [
            replace(each.prompt, id=each.id, response=draft.response) for each, draft in pending
        ]
        verdicts = await self._judge.ask(items)
        judged = make_verdicts(items, verdicts, self.plan.judging)
        self._record.add(items, judged, verdicts)
        classes = {
            row: each.classes[number]
            for each in judged.completion_classes
            for row, number in zip(each.rows.tolist(), each.hard.tolist(), strict=True)
            if number >= 0
        }
        labels = judged.labels.tolist()
        for row, (each, draft) in enumerate(pending):
            values = zip(judged.questions, judged.probabilities[row].tolist(), strict=True)
            draft.probabilities = {name: None if math.isnan(p) else p for name, p in values}
            draft.completion_class = classes.get(row)
            _check(each, draft, dict(zip(judged.questions, labels[row], strict=True)))

    def _tell(self, state: CallCounts) -> None:
        """Say how far it is, by how the calls of the writer stand."""
        n_done = [sum(each.is_done for each in group) for group in self._groups]
        n_complete = sum(n == len(group) for n, group in zip(n_done, self._groups, strict=True))
        counts = self._tally.counts
        if self.progress is not None:
            self.progress(
                SynthesisProgress(
                    n_prompts=counts["n_prompts"] + n_complete,
                    n_prompts_in_all=len(self.prompts),
                    n_written=counts["n_written"] + sum(n_done),
                    n_rejected=counts["n_rejected"],
                    n_calls=state.n_calls,
                    n_in_flight=state.n_in_flight,
                    concurrency=state.concurrency,
                    cost=state.cost,
                    is_judging=self._is_judging,
                    is_stopped=state.is_stopped,
                )
            )


def _check(assignment: Assignment, draft: Draft, labels: Mapping[str, bool]) -> None:
    """Note which traits do not hold, and whether the class is another one."""
    slot, wanted = assignment.slot, assignment.traits.wanted
    checked = assignment.traits.checked if slot.verify != "class" else frozenset()
    answered = [name for name in wanted if draft.probabilities[name] is not None]
    unclear = [name for name in wanted if name in checked and name not in answered]
    if unclear:
        draft.reason = f"no verdict about {unclear[0]}"
        return
    draft.missed = tuple(name for name in answered if labels[name] != wanted[name])
    draft.unmet = tuple(name for name in draft.missed if name in checked)
    draft.wrong_class = slot.verify != "traits" and draft.completion_class != slot.label
