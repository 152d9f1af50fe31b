"""Comparisons that a language model writes: in memory, from file to file, and what they cost."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Unpack

import msgspec
from msgspec.structs import replace

from voirdire.errors import InputError
from voirdire.judging.plan import is_cascade, is_jury, needs_engine
from voirdire.judging.runs.outputs import SetAside, opened_store, publish
from voirdire.judging.runs.parts import WorkFolder
from voirdire.records import Usage
from voirdire.rewards.synthesis.plan import assignments_of, plan_synthesis, read_prompts
from voirdire.rewards.synthesis.result import (
    RejectedSlot,
    SynthesisResult,
    SynthesizedRow,
    rejected_of,
    row_of,
)
from voirdire.rewards.synthesis.run import SynthesisRun, drafts_to_write

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from voirdire.judging import RunEstimate
    from voirdire.models import ChatModel
    from voirdire.records import Item
    from voirdire.rewards.synthesis.plan import SynthesisFields, SynthesisPlan
    from voirdire.rewards.synthesis.result import SynthesisProgress, SynthesisSummary

__all__ = ["SynthesisEstimate", "estimate_synthesis", "synthesize", "synthesize_file"]

_SUFFIX = ".jsonl"
_COMPLETION_TOKENS = 150
"""Of a usual completion; nobody knows how much a model writes before it has."""

_SAMPLE = "word " * _COMPLETION_TOKENS


def synthesize(
    prompts: Any,
    *,
    model: ChatModel | str,
    behavior: str | None = None,
    store: str | Path | None = None,
    retry_failures: bool = False,
    stopping: threading.Event | None = None,
    progress: Callable[[SynthesisProgress], None] | None = None,
    **settings: Unpack[SynthesisFields],
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
    behavior : str, optional
        The behavior of prompts that have none.
    store : str or path, optional
        Where replies are kept and found again: a file for SQLite, or a ``postgresql://`` address.
        By default they are kept nowhere.
    retry_failures : bool, optional
        Whether calls that failed in an earlier run are made again.
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
        - `limits`: `Limits` of the calls that write.
        - `price`: the `Price` of the writer's tokens, where it is not known.

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
        If the money of `limits` is spent.

    Notes
    -----
    *Order*: by prompt, and then in the order of the recipe. *Errors*: a call without a reply
    counts as a draft that is not right; what would fail about every call ends the run. All prompts
    are read before the first call, so that a mistake in them costs nothing.
    *Cancellation*: on Ctrl-C the calls in flight are waited for and stored; a second one does not
    wait. *Memory*: all completions; `synthesize_file` holds those of 200 prompts. *Retries and
    caching*: calls are retried within `limits`; with a store, a second run finds every draft there
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
    set_aside = SetAside(None)
    items = read_prompts(prompts, plan.recipes, set_aside=set_aside, behavior=behavior)
    with opened_store(False if store is None else store) as replies:
        run = SynthesisRun(
            plan,
            items,
            store=replies,
            retry_failures=retry_failures,
            stopping=stopping,
            progress=progress,
        )
        with closing(run.completions()) as groups:  # type: ignore[type-var]  # a generator
            made = [each for group in groups for each in group]
    return SynthesisResult(
        rows=tuple(row_of(each, plan) for each in made if each.is_done),
        rejected=tuple(rejected_of(each) for each in made if not each.is_done),
        summary=run.summary(set_aside),
    )


# Files -----------------------------------------------------------------------------------------


def synthesize_file(
    source: str | Path,
    output: str | Path,
    *,
    model: ChatModel | str,
    behavior: str | None = None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002  # the word people use for it
    store: str | Path | None = None,
    retry_failures: bool = False,
    stopping: threading.Event | None = None,
    progress: Callable[[SynthesisProgress], None] | None = None,
    **settings: Unpack[SynthesisFields],
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
    model, behavior
        As for `synthesize`.
    columns : mapping of str to str, optional
        Our names to the file's, for `id`, `prompt`, `messages` and `behavior`.
    format : str, optional
        How the prompts are written, where the ending of the name does not say.
    store : str or path, optional
        Where replies are kept: a file for SQLite, or a ``postgresql://`` address. By default
        ``voirdire-replies.sqlite`` beside the output, or in the current folder where that is
        standard output. The same command goes on from there, and pays for nothing twice.
    retry_failures, stopping, progress, **settings
        As for `synthesize`.

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
    reading: dict[str, Any] = {"behavior": behavior, "columns": columns, "format": format}
    run_settings: dict[str, Any] = {
        "retry_failures": retry_failures,
        "stopping": stopping,
        "progress": progress,
    }
    if str(output) == "-":
        set_aside = SetAside(None)
        prompts = read_prompts(source, plan.recipes, set_aside=set_aside, **reading)
        with opened_store(store) as replies:
            run = SynthesisRun(plan, prompts, store=replies, **run_settings)
            _write(run, plan, rows=sys.stdout.buffer, rejected=None)
        sys.stdout.buffer.flush()
        return run.summary(set_aside, output="-")
    targets = target, rejected, dropped = _check_outputs(Path(output), source=source)
    with WorkFolder(target, written_as="jsonl") as folder, SetAside(dropped) as set_aside:
        set_aside.open(folder.path / "dropped.jsonl")
        prompts = read_prompts(source, plan.recipes, set_aside=set_aside, **reading)
        unfinished = folder.path / "rows.jsonl", folder.path / "rejected.jsonl"
        with opened_store(store, output=target, written=targets) as replies:
            run = SynthesisRun(plan, prompts, store=replies, **run_settings)
            try:
                with unfinished[0].open("wb") as rows, unfinished[1].open("wb") as given_up:
                    n_rejected = _write(run, plan, rows=rows, rejected=given_up)
                publish(unfinished[0], target)
                rejected.unlink(missing_ok=True)
                if n_rejected:
                    publish(unfinished[1], rejected)
                dropped_output = set_aside.publish()
            except OSError as error:
                msg = (
                    f"{target}: cannot be written ({error.strerror}). Every reply is kept in the "
                    "store: make room, and run the same command again."
                )
                raise InputError(msg) from error
        folder.remove()
    return run.summary(
        set_aside,
        output=str(output),
        rejected_output=str(rejected) if n_rejected else None,
        dropped_output=None if dropped_output is None else str(dropped_output),
    )


def _write(
    run: SynthesisRun, plan: SynthesisPlan, *, rows: IO[bytes], rejected: IO[bytes] | None
) -> int:
    """Write completions as they are finished; give how many did not come about."""
    n_rejected = 0
    with closing(run.completions()) as groups:  # type: ignore[type-var]  # a generator
        for each in (each for group in groups for each in group):
            if each.is_done:
                rows.write(_line_of(row_of(each, plan).to_dict()))
                continue
            n_rejected += 1
            if rejected is not None:
                rejected.write(_line_of(rejected_of(each).to_dict()))
    return n_rejected


def _line_of(row: Mapping[str, Any]) -> bytes:
    """Write a row as a line of JSON; ids may hold the name of a file that is no UTF-8."""
    try:
        return msgspec.json.encode(row) + b"\n"
    except UnicodeEncodeError:
        return json.dumps(row, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def _check_outputs(output: Path, *, source: object) -> tuple[Path, Path, Path]:
    """Give the files of completions, of rejected ones and of dropped prompts, or say why not.

    Files of an earlier synthesis are replaced, and empty ones; nothing else is.
    """
    target = output.resolve()
    if target.suffix.lower() != _SUFFIX:
        msg = f"`output` must end in {_SUFFIX}, got {str(output)!r}. Rename it."
        raise InputError(msg)
    if target.exists() and not target.is_file():
        msg = f"`output` must be a regular file, got a folder or a device: {str(output)!r}."
        raise InputError(msg)
    folder = target.parent
    if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        what = "cannot be written to" if folder.is_dir() else "does not exist"
        msg = f"`output` must be in a folder that can be written to; {str(folder)!r} {what}."
        raise InputError(msg)
    if target.exists() and Path(str(source)).exists() and target.samefile(str(source)):
        msg = f"`output` must be another file than the prompts, got {str(source)!r} for both."
        raise InputError(msg)
    rejected = target.with_name(f"{target.name}.rejected{_SUFFIX}")
    for path, kind in ((target, SynthesizedRow), (rejected, RejectedSlot)):
        if not _is_ours(path, kind):
            msg = (
                f"`output` must not replace {str(path)!r}, which is no file of a synthesis. Move "
                "it, or name another."
            )
            raise InputError(msg)
    return target, rejected, target.with_name(f"{target.name}.dropped{_SUFFIX}")


def _is_ours(path: Path, kind: type[SynthesizedRow | RejectedSlot]) -> bool:
    """Say whether a file may be replaced: it is not there, is empty, or begins with such a row."""
    if not path.exists() or not path.stat().st_size:
        return True
    try:
        with path.open("rb") as file:
            first = msgspec.json.decode(file.readline())
    except (OSError, msgspec.DecodeError):
        return False
    return isinstance(first, dict) and list(first) == [each.name for each in fields(kind)]


# What it would cost ----------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SynthesisEstimate:
    """What a synthesis would call and cost.

    Attributes
    ----------
    model, judge : str
        Who would write, and who verify.
    n_prompts, n_dropped : int
        Prompts of a known behavior, and those that would be set aside.
    n_completions : int
        Completions that the prompts are to get.
    n_stored : int
        How many first drafts are stored already.
    n_calls, n_calls_most : int
        Calls to write what is not stored: where every first draft is right, and where none of
        their drafts ever is.
    prompt_tokens, completion_tokens : int
        About, of `n_calls`; reasoning comes on top.
    cost, cost_most : float or None
        US dollars of the writing, about, for `n_calls` and `n_calls_most`; None where no price is
        known.
    n_judge_calls : int
        Calls to verify the first drafts that are not stored; 0 where the judge calls nothing. Of a
        cascade it is the most, since the first judge answers some of them.
    judge_cost, judge_cost_most : float or None
        US dollars of the verifying, about; None where no price is known.
    price_source : str
        Where the writer's price is from; empty where there is none.
    is_cascade : bool
        Whether the judge is one.
    """

    model: str
    judge: str
    n_prompts: int
    n_dropped: int
    n_completions: int
    n_stored: int
    n_calls: int
    n_calls_most: int
    prompt_tokens: int
    completion_tokens: int
    cost: float | None
    cost_most: float | None
    n_judge_calls: int
    judge_cost: float | None
    judge_cost_most: float | None
    price_source: str = ""
    is_cascade: bool = False


def estimate_synthesis(
    source: Any,
    *,
    model: ChatModel | str,
    behavior: str | None = None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002  # the word people use for it
    output: str | Path | None = None,
    store: str | Path | None = None,
    **settings: Unpack[SynthesisFields],
) -> SynthesisEstimate:
    """Work out what `synthesize_file` would call and cost; the arguments are the same.

    Parameters
    ----------
    source : path, or prompts as `synthesize` takes them
        The prompts.
    model, behavior, columns, format
        As for `synthesize_file`.
    output : str or path, optional
        Where the completions would go; a store beside it is looked at.
    store : str or path, optional
        The store, where it is another one. One that does not exist is not made.
    **settings
        As for `synthesize`.

    Returns
    -------
    SynthesisEstimate
        Calls, tokens, price.

    Raises
    ------
    NoDataError
        If there is no prompt of a known behavior.
    InputError
        If an argument breaks its rule.
    """
    plan = plan_synthesis(model, **settings)
    set_aside, price = SetAside(None), plan.price
    reading: dict[str, Any] = {"behavior": behavior, "columns": columns, "format": format}
    prompts = read_prompts(source, plan.recipes, set_aside=set_aside, **reading)
    n_completions, n_tokens, cost = 0, 0, 0.0
    judged: list[Item] = []
    with opened_store(store, output=output, makes=False) as replies:
        for prompt in prompts:
            completions = list(assignments_of(prompt, plan))
            n_completions += len(completions)
            for _, used in drafts_to_write(completions, plan, replies):
                n_tokens += used
                cost += 0.0 if price is None else price.cost(Usage(used, _COMPLETION_TOKENS))
                judged.append(replace(prompt, id=f"{len(judged)}", response=_SAMPLE))
    verifying = _estimate_verifying(judged, plan, store=store, output=output)
    judge_cost = 0.0 if verifying is None else verifying.cost
    return SynthesisEstimate(
        model=plan.model.name,
        judge=plan.judging.judge.name,
        n_prompts=len(prompts),
        n_dropped=set_aside.count,
        n_completions=n_completions,
        n_stored=n_completions - len(judged),
        n_calls=len(judged),
        n_calls_most=len(judged) * plan.n_attempts,
        prompt_tokens=n_tokens,
        completion_tokens=len(judged) * _COMPLETION_TOKENS,
        cost=None if price is None else cost,
        cost_most=None if price is None else cost * plan.n_attempts,
        n_judge_calls=0 if verifying is None else verifying.n_calls,
        judge_cost=judge_cost,
        judge_cost_most=None if judge_cost is None else judge_cost * plan.n_attempts,
        price_source="" if price is None else price.source,
        is_cascade=is_cascade(plan.judging.judge),
    )


def _estimate_verifying(
    items: list[Item],
    plan: SynthesisPlan,
    *,
    output: str | Path | None,
    store: str | Path | None,
) -> RunEstimate | None:
    """Estimate what a language model would cost that judges items; None where none is asked."""
    bound: Any = plan.judging.judge
    if not items or not needs_engine(bound):
        return None
    from voirdire.judging import estimate_run

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"drafts{_SUFFIX}"
        with path.open("w", encoding="utf-8", errors="replace") as file:
            for item in items:
                file.write(json.dumps(msgspec.to_builtins(item), ensure_ascii=False) + "\n")
        made_from = "jury" if is_jury(bound) else "judge"
        judge = getattr(bound, made_from)
        return estimate_run(path, judge=judge, rubric=plan.rubric, output=output, store=store)
