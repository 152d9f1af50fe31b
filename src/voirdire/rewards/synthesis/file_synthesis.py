"""Comparisons that a language model writes, from file to file."""

from __future__ import annotations

import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from voirdire.errors import InputError
from voirdire.judging.runs.outputs import SetAside, opened_store, publish
from voirdire.judging.runs.parts import WorkFolder
from voirdire.rewards.synthesis.output_files import checked_outputs, line_of
from voirdire.rewards.synthesis.plan import plan_synthesis
from voirdire.rewards.synthesis.prompt_source import PromptSource
from voirdire.rewards.synthesis.run import SynthesisRun
from voirdire.rewards.synthesis.synthesize import MAX_TOKENS
from voirdire.rewards.synthesis.tally import rejected_of, row_of

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Mapping

    from voirdire._types import Language
    from voirdire.judging.client.limits import Limits
    from voirdire.judging.judges.cascade import CascadeJudge
    from voirdire.judging.judges.llm_judge import LlmJudge
    from voirdire.judging.judges.pricing import Price
    from voirdire.judging.port import Judge
    from voirdire.models import ChatModel
    from voirdire.rewards.synthesis.plan import SynthesisPlan
    from voirdire.rewards.synthesis.recipe import Recipes
    from voirdire.rewards.synthesis.result import SynthesisProgress, SynthesisSummary
    from voirdire.rubrics import Rubric
    from voirdire.store import ReplyStore

__all__ = ["synthesize_file"]


def synthesize_file(
    source: str | Path,
    output: str | Path,
    *,
    rubric: Rubric | str | Path = "safety",
    model: ChatModel | str,
    judge: Judge | LlmJudge | CascadeJudge | str | Path = "local",
    recipes: Recipes | str | Path | None = None,
    language: Language = "en",
    n_attempts: int = 3,
    seed: int = 0,
    temperature: float | None = 1.0,
    max_tokens: int | None = MAX_TOKENS,
    threshold: float | None = None,
    behavior: str | None = None,
    columns: Mapping[str, str] | None = None,
    format: str | None = None,  # noqa: A002  # the word people use for it
    store: str | Path | None = None,
    retry_failures: bool = False,
    limits: Limits | None = None,
    price: Price | None = None,
    stopping: threading.Event | None = None,
    progress: Callable[[SynthesisProgress], None] | None = None,
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
    rubric, model, judge, recipes, language, n_attempts, seed, temperature, max_tokens
        As for `synthesize`.
    threshold, behavior
        As for `synthesize`.
    columns : mapping of str to str, optional
        Our names to the file's, for `id`, `prompt`, `messages` and `behavior`.
    format : str, optional
        How the prompts are written, where the ending of the name does not say.
    store : str or path, optional
        Where replies are kept: a file for SQLite, or a ``postgresql://`` address. By default
        ``voirdire-replies.sqlite`` beside the output, or in the current folder where that is
        standard output. The same command goes on from there, and pays for nothing twice.
    retry_failures, limits, price, stopping, progress
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
    *Order*, *Errors*, *Cancellation*, *Retries and caching*: as for `synthesize`. *Memory*: the
    completions of 200 prompts, and 32 bytes and an id per prompt to find repeated ones.
    """
    plan = plan_synthesis(
        rubric=rubric,
        model=model,
        judge=judge,
        recipes=recipes,
        language=language,
        n_attempts=n_attempts,
        seed=seed,
        temperature=temperature,
        max_tokens=max_tokens,
        threshold=threshold,
        limits=limits,
        price=price,
    )
    prompts = PromptSource(given=source, format=format, columns=columns, behavior=behavior)
    told: dict[str, Any] = {
        "retry_failures": retry_failures,
        "stopping": stopping,
        "progress": progress,
    }
    if str(output) == "-":
        with opened_store(store, beside=Path.cwd() / "any") as replies:
            return _to_standard_output(plan, prompts, store=replies, **told)
    targets = checked_outputs(Path(output), source=source)
    with opened_store(store, beside=targets[0], written=targets) as replies:
        return _to_files(plan, prompts, targets, store=replies, output=str(output), **told)


def _to_files(
    plan: SynthesisPlan,
    prompts: PromptSource,
    targets: tuple[Path, Path, Path],
    *,
    store: ReplyStore,
    output: str,
    **told: Any,
) -> SynthesisSummary:
    target, rejected, dropped = targets
    with WorkFolder(target, written_as="jsonl") as folder, SetAside(dropped) as set_aside:
        set_aside.open(folder.path / "dropped.jsonl")
        run = SynthesisRun(plan, prompts, store=store, set_aside=set_aside, **told)
        unfinished = folder.path / "rows.jsonl", folder.path / "rejected.jsonl"
        try:
            with ExitStack() as files:
                rows, list_of_rejected = (
                    files.enter_context(path.open("wb")) for path in unfinished
                )
                n_rejected = _write(run, plan, rows=rows, rejected=list_of_rejected)
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
        output=output,
        rejected_output=str(rejected) if n_rejected else None,
        dropped_output=None if dropped_output is None else str(dropped_output),
    )


def _to_standard_output(
    plan: SynthesisPlan, prompts: PromptSource, *, store: ReplyStore, **told: Any
) -> SynthesisSummary:
    run = SynthesisRun(plan, prompts, store=store, set_aside=SetAside(None), **told)
    _write(run, plan, rows=sys.stdout.buffer, rejected=None)
    sys.stdout.buffer.flush()
    return run.summary(output="-")


def _write(
    run: SynthesisRun, plan: SynthesisPlan, *, rows: IO[bytes], rejected: IO[bytes] | None
) -> int:
    """Write completions as they are finished; give how many did not come about."""
    n_rejected = 0
    with closing(run.finished()) as groups:  # type: ignore[type-var]  # a generator
        for group in groups:
            for each in group:
                if each.is_done:
                    rows.write(line_of(row_of(each, plan).to_dict()))
                    continue
                n_rejected += 1
                if rejected is not None:
                    rejected.write(line_of(rejected_of(each).to_dict()))
    return n_rejected
