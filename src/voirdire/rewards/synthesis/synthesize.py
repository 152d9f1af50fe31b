"""Synthesize completions to compare: a model writes, a judge verifies, until they are right.

There is one loop: every completion that is not right yet is written, judged, and kept or written
again. Drafts and verdicts are stored as they come, so that the same call goes on where it was.
"""

from __future__ import annotations

import hashlib
import math
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field, fields
from dataclasses import replace as replace_fields
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from voirdire._messages import shorten
from voirdire._types import Threshold  # noqa: TC001  # what reads the JSON looks at the types
from voirdire._validation import change_fields
from voirdire.errors import CostLimitReachedError, InputError, NoDataError
from voirdire.io.items import ItemBatch, ItemReader, open_items
from voirdire.judging import LlmJudge
from voirdire.judging.binding import note_distrust, plan_judging
from voirdire.judging.engine import ModelEngine, make_engine
from voirdire.judging.items import read_items_in_memory
from voirdire.judging.outputs import (
    SetAside,
    check_place,
    explain_write_errors,
    may_replace,
    open_replies,
    publish,
    unfinished_folder,
)
from voirdire.judging.prompts import escape_invisible, pick_language
from voirdire.judging.run import run_engine
from voirdire.judging.settings import StoredReplies
from voirdire.judging.summary import JudgingProgress, RunRecord
from voirdire.judging.tables import make_verdicts
from voirdire.records import Dropped, Item
from voirdire.records.items import as_bytes
from voirdire.records.replies import CallSummary
from voirdire.records.tables import Tabular
from voirdire.rewards.settings import SynthesisSettings
from voirdire.rewards.synthesis.recipes import draw_traits, load_recipes, make_seed
from voirdire.rewards.synthesis.writing import Writing, choose_words, read_words

if TYPE_CHECKING:
    import threading
    from collections.abc import Callable, Generator, Sequence

    from voirdire.judging.caller import CallCounts
    from voirdire.judging.combine import ItemVerdict
    from voirdire.judging.jury import JudgeLike
    from voirdire.models import ChatModel
    from voirdire.rewards.synthesis.recipes import Recipes, Slot
    from voirdire.rubrics import Rubric

_PROMPTS_AT_ONCE = 200
"""Prompts that are worked on together; memory holds their completions."""

_LARGEST_SEED = 2**31
"""Servers accept seeds below this."""

_HOTTEST = 2.0
_WARMER = 0.1
"""Each further draft has a higher temperature, so that it differs where a server ignores seeds."""

_SUFFIX = ".jsonl"
_ROW = (
    "id", "prompt", "response", "behavior", "group", "label", "worst_label", "traits", "sampled",
    "probabilities", "completion_class", "attempts", "model", "judge", "judge_fingerprint",
    "recipes", "seed",
)  # fmt: skip
_REJECTED = (
    "id", "group", "behavior", "label", "traits", "sampled", "attempts", "failed", "unmet",
    "response",
)  # fmt: skip
"""Keys of a row of the output, and of the list of completions that did not come about."""


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
class SynthesisSummary(Tabular, rows="slots"):
    """How a synthesis went.

    Attributes
    ----------
    output, rejected_output, dropped_output : str or None
        The files of completions, of those that did not come about, and of prompts that were set
        aside; None where there is none.
    rubric, rubric_version, rubric_hash : str
        The rubric.
    recipes : str
        Name, version and hash of the recipes.
    model, judge, judge_fingerprint : str
        Who wrote, and who verified.
    threshold : float, or mapping of str to float
        In (0, 1): a proposition is true from this probability on.
    language : {"en", "zh"}
        Of the instructions.
    seed, n_attempts : int
        Of the draws, and drafts per completion at most.
    n_prompts, n_complete : int
        Prompts of a known behavior, and those that got every completion of their recipe.
    n_written, n_rejected : int
        Completions.
    slots : tuple of SlotCount
        By behavior and label.
    n_dropped : int
        Prompts that were set aside.
    dropped : tuple of Dropped
        The first of them.
    calls : CallSummary
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
    calls: CallSummary
    judge_calls: CallSummary | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SynthesisResult:
    """Completions in memory.

    Attributes
    ----------
    rows : tuple of dict
        The completions, as a file of them has them: `fit_reward` reads them. By prompt, in the
        order of the prompts, and in the order of the recipes.
    rejected : tuple of dict
        What did not come about, in the same order: `failed` says what was wrong with each draft.
    summary : SynthesisSummary
        How it went.
    """

    rows: tuple[dict[str, Any], ...] = field(repr=False)
    rejected: tuple[dict[str, Any], ...] = field(repr=False)
    summary: SynthesisSummary


def synthesize(
    prompts: Any,
    *,
    model: ChatModel | str,
    stopping: threading.Event | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
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
        Told a `voirdire.judging.JudgingProgress` a few times a second: the prompts that are
        finished, and the calls to the writer.
    **settings
        Any of these:

        - `rubric`: one with behaviors: a `Rubric`, the name of a built-in one, or a YAML file; by
          default ``"safety"``.
        - `judge`: who verifies, as for `voirdire.judge`; by default ``"local"``.
        - `recipes`: what each prompt gets, `Recipes` or a YAML file; the safety rubric has its
          own.
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
    >>> from voirdire.rewards import Recipes, Slot
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
    >>> good, bad = Slot(label="good"), Slot(label="bad", demands={"thanks": False})
    >>> recipes = Recipes(name="t", version="1", rubric="thanks", behaviors={"reply": [good, bad]})
    >>> model = ScriptedModel(
    ...     lambda request: "Thank you!" if "is yes" in request.messages[0].content else "Hm."
    ... )
    >>> judge = ScriptedJudge(questions=("thanks",), answer=lambda item: ["Thank" in item.response])
    >>> made = synthesize(
    ...     ["Hello"], rubric=rubric, recipes=recipes, model=model, judge=judge, behavior="reply"
    ... )
    >>> [(row["label"], row["response"]) for row in made.rows]
    [('good', 'Thank you!'), ('bad', 'Hm.')]
    """
    run = _Run(model, progress, **settings)
    set_aside, stored = SetAside(), run.settings.replies
    run.read_prompts(prompts, set_aside)
    with open_replies(StoredReplies(stored.store or False, stored.retry_failures)) as replies:
        made = list(run.make_completions(replies, stopping))
    return SynthesisResult(
        rows=tuple(run.make_row(each) for each in made if each.is_done),
        rejected=tuple(run.make_row(each) for each in made if not each.is_done),
        summary=run.summarize(set_aside),
    )


def synthesize_file(
    source: str | Path,
    output: str | Path,
    *,
    model: ChatModel | str,
    stopping: threading.Event | None = None,
    progress: Callable[[JudgingProgress], None] | None = None,
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
    run = _Run(model, progress, **settings)

    def write(replies: StoredReplies, rows: IO[bytes], rejected: IO[bytes] | None) -> None:
        with closing(run.make_completions(replies, stopping)) as completions:
            for each in completions:
                file = rows if each.is_done else rejected
                if file is not None:
                    file.write(as_bytes(run.make_row(each)) + b"\n")

    if str(output) == "-":
        set_aside = SetAside()
        run.read_prompts(source, set_aside)
        with open_replies(run.settings.replies) as replies:
            write(replies, sys.stdout.buffer, None)
        sys.stdout.buffer.flush()
        return run.summarize(set_aside, output="-")
    if Path(output).resolve().suffix.lower() != _SUFFIX:
        msg = f"`output` must end in {_SUFFIX}, got {str(output)!r}. Rename it."
        raise InputError(msg)
    target = check_place(Path(output), source=source, what="prompts")
    rejected = target.with_name(f"{target.name}.rejected{_SUFFIX}")
    for path, keys in ((target, _ROW), (rejected, _REJECTED)):
        if not may_replace(path, keys.__eq__):
            msg = (
                f"`output` must not replace {str(path)!r}, which is no file of a synthesis. Move "
                "it, or name another."
            )
            raise InputError(msg)
    with unfinished_folder(target) as folder:
        dropped = target.with_name(f"{target.name}.dropped{_SUFFIX}")
        set_aside = SetAside(dropped, folder / "dropped.jsonl")
        run.read_prompts(source, set_aside)
        finished, given_up = folder / "rows.jsonl", folder / "rejected.jsonl"
        with (
            open_replies(run.settings.replies, output=target) as replies,
            explain_write_errors(target),
        ):
            with finished.open("wb") as row_file, given_up.open("wb") as rejected_file:
                write(replies, row_file, rejected_file)
            publish(finished, target)
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


# Prompts ---------------------------------------------------------------------------------------

_RESPONSES = (
    "response", "completion", "other", "response_a", "response_b", "chosen", "rejected",
    "output", "answer", "group",
)  # fmt: skip
"""Columns that rows may have besides a prompt; they are not read."""

_FROM_ASSISTANT = ("assistant", "tool")
_BATCH_ROWS = 1_024


def _read_items(given: Any, settings: SynthesisSettings) -> tuple[str, Iterator[ItemBatch]]:
    """Read rows as items with an empty response: the name of the source, and batches of items."""

    def make_item(row: dict[str, Any]) -> Any:
        made = row if settings.make_item is None else settings.make_item(row)
        rows = made if isinstance(made, list | tuple) else [made] if made is not None else []
        bare = [{x: y for x, y in one.items() if x not in _RESPONSES} for one in rows]
        prompts = [one | {"response": ""} for one in bare]
        return prompts if isinstance(made, list | tuple) else next(iter(prompts), None)

    reading = settings.reading(make_item=make_item)
    if isinstance(given, str | Path) or hasattr(given, "read"):
        file = open_items(given, reading, held="prompt")
        reader = ItemReader.of(file, reading)
        reader.held = "prompt"
        return file.name, reader.stream(file, batch_size=_BATCH_ROWS)
    if not hasattr(given, "columns"):
        if not isinstance(given, Iterable) or isinstance(given, bytes):
            what = "a file, or a sequence of texts, items or rows"
            msg = f"`prompts` must be {what}, got {type(given).__name__}."
            raise InputError(msg)
        given = [given] if isinstance(given, Mapping) else list(given)
        given = [{"prompt": row} if isinstance(row, str) else row for row in given]
    items, dropped = read_items_in_memory(given, reading)
    return "prompts", iter([ItemBatch(items=list(items), dropped=dropped, n_rows=len(items))])


def _find_problem(prompt: Item, recipes: Recipes) -> tuple[str, str | None]:
    """Find the fault of a prompt and the wrong value; an empty reason where there is none."""
    if not any(message.content.strip() for message in prompt.prompt):
        return "no prompt: the conversation holds no text", None
    if prompt.behavior is None:
        return "no behavior: which completions a prompt gets depends on it", None
    if prompt.behavior not in recipes.behaviors:
        behaviors = ", ".join(recipes.behaviors)
        return f"unknown behavior: must be one of {behaviors}", shorten(prompt.behavior)
    return "", None


def _hash_prompt(prompt: Item) -> bytes:
    """Hash conversation and behavior; prompts with the same hash are one."""
    messages = [[row.role, row.content] for row in prompt.prompt]
    return hashlib.sha256(as_bytes([messages, prompt.behavior])).digest()


# Completions -----------------------------------------------------------------------------------


@dataclass(eq=False, kw_only=True, slots=True)
class _Completion:
    """A completion that is wanted, and how its last draft fared.

    `missed` are the propositions that are not as they were asked for; `unmet` are those of them
    that must hold. `failed` says for each draft what was wrong with it; nothing where it is right.
    """

    prompt: Item
    key: bytes
    slot: Slot
    id: str
    number: int
    traits: Any
    failed: list[str] = field(default_factory=list)
    response: str | None = None
    probabilities: Mapping[str, float | None] = field(default_factory=dict)
    completion_class: str | None = None
    missed: tuple[str, ...] = ()
    unmet: tuple[str, ...] = ()

    @property
    def is_done(self) -> bool:
        """Whether the last draft is right."""
        return bool(self.failed) and not self.failed[-1]

    def check(
        self,
        labels: Mapping[str, bool],
        probabilities: Mapping[str, float | None],
        completion_class: str | None,
    ) -> str:
        """Compare a draft with what was wanted; say what is wrong."""
        self.probabilities, self.completion_class = probabilities, completion_class
        wanted, verify = self.traits.wanted, self.slot.verify
        checked = frozenset() if verify == "class" else self.traits.checked
        answered = [name for name in wanted if probabilities[name] is not None]
        for name in wanted:
            if name in checked and name not in answered:
                return f"no verdict about {name}"
        self.missed = tuple(name for name in answered if labels[name] != wanted[name])
        self.unmet = tuple(name for name in self.missed if name in checked)
        faults = [
            f"{name} must be {str(wanted[name]).lower()} (p {probabilities[name] or 0.0:.2f})"
            for name in self.unmet
        ]
        if verify != "traits" and completion_class != self.slot.label:
            label = shorten(self.slot.label)
            faults.append(f"class must be {label}, got {completion_class or 'none'}")
        return "; ".join(faults)


class _Run:
    """One run: the model that writes, the judge that verifies, and what came about."""

    def __init__(
        self,
        model: ChatModel | str,
        progress: Callable[[JudgingProgress], None] | None,
        *,
        rubric: Rubric | str | Path = "safety",
        judge: JudgeLike = "local",
        recipes: Recipes | str | Path | None = None,
        settings: SynthesisSettings | None = None,
        **given: Any,
    ) -> None:
        own = {row.name for row in fields(SynthesisSettings)} & given.keys()
        self.settings = change_fields(
            settings or SynthesisSettings(), {name: given.pop(name) for name in own}
        )
        self._judging = plan_judging(judge, rubric, threshold=self.settings.threshold)
        self._rubric = self._judging.rubric
        # held as a judge is: a model with its seed, temperature, limits and price
        self._writer = LlmJudge(
            model=model,
            mode="single",
            probability="stated",
            temperature=self.settings.temperature,
            language=self.settings.language,
            seed=self.settings.seed,
            **given,
        )
        self._recipes = load_recipes(recipes, rubric=self._rubric)
        self._progress, self._record = progress, RunRecord(self._judging)
        self._prompts: list[Item] = []
        self._waiting: list[list[_Completion]] = []
        self._counts: Counter[Any] = Counter()
        self._n_reused = 0

    def read_prompts(self, given: Any, set_aside: SetAside) -> None:
        """Read all prompts, each once; the others are set aside."""
        source, batches = _read_items(given, self.settings)
        by_key: dict[bytes, Item] = {}
        for batch in batches:
            set_aside.add(batch.dropped)
            for item in batch.items:
                messages = item.prompt
                while messages and messages[-1].role in _FROM_ASSISTANT:  # a response
                    messages = messages[:-1]
                behavior = item.behavior or self.settings.behavior
                prompt = Item(id=item.id, prompt=messages, response="", behavior=behavior)
                reason, value = _find_problem(prompt, self._recipes)
                same = prompt if reason else by_key.setdefault(_hash_prompt(prompt), prompt)
                if same is not prompt:
                    reason = f"the same prompt as {shorten(same.id)!r}"
                if reason:
                    drop = Dropped(reason=reason, source=source, item=item.id, value=value)
                    set_aside.add([drop])
        if not by_key:
            first, n_rows = set_aside.first[0], set_aside.count
            count = "one row" if n_rows == 1 else f"{n_rows:,} rows"
            msg = (
                f"{source}: must hold at least one prompt of a behavior, got {count} and a reason "
                f"against each (first {shorten(first.place())}: {first.reason}). Name the columns "
                'with columns={"prompt": ..., "behavior": ...}, or the behavior of all with '
                "`behavior`."
            )
            raise NoDataError(msg)
        self._prompts = list(by_key.values())

    def make_completions(
        self, replies: StoredReplies, stopping: threading.Event | None
    ) -> Generator[_Completion]:
        """Give the completions of each prompt, in the order of the prompts."""
        prompts, writing = iter(self._prompts), Writing(self._writer, self.settings)
        self._writing = ModelEngine(cast("Any", writing), replies)
        self._verifying = make_engine(self._judging, replies)
        told: dict[str, Any] = {"report": None if self._progress is None else self._tell}
        try:
            with (
                run_engine(self._writing, stopping=stopping, **told) as write,
                run_engine(self._verifying, stopping=stopping) as verify,
            ):
                while some := list(islice(prompts, _PROMPTS_AT_ONCE)):
                    self._waiting = [list(self._list_completions(each)) for each in some]
                    for _ in range(self.settings.n_attempts):
                        rows = [x for group in self._waiting for x in group if not x.is_done]
                        if not rows:
                            break
                        drafts = [self._make_draft(each) for each in rows]
                        faults = self._take_drafts(rows, write(self._writing.ask(drafts)))
                        for each, fault in zip(rows, faults, strict=True):
                            each.failed.append(fault)
                        right = [each for each in rows if each.is_done]
                        if right:
                            items = [replace(x.prompt, id=x.id, response=x.response) for x in right]
                            self._check(right, items, verify(self._verifying.ask(items)))
                    groups, self._waiting = self._waiting, []
                    for group in groups:
                        done = [each for each in group if each.is_done]
                        self._counts["n_prompts"] += 1
                        self._counts["n_complete"] += len(done) == len(group)
                        self._counts["n_written"] += len(done)
                        self._counts["n_rejected"] += len(group) - len(done)
                        for name, several in (("n_wanted", group), ("n_written", done)):
                            about = [(name, x.prompt.behavior, x.slot.label) for x in several]
                            self._counts.update(about)
                    for group in groups:
                        yield from group
        except CostLimitReachedError as error:
            n_done = self._counts["n_prompts"]
            prompts_are = "1 prompt is" if n_done == 1 else f"{n_done:,} prompts are"
            raise CostLimitReachedError(f"{error} {prompts_are} done.") from error

    def _list_completions(self, prompt: Item) -> Iterator[_Completion]:
        """List the completions that a prompt is to get, in the order of its recipe."""
        behavior, key = str(prompt.behavior), _hash_prompt(prompt)
        slots = [slot for slot in self._recipes.behaviors[behavior] for _ in range(slot.count)]
        counts: Counter[str] = Counter()
        for number, slot in enumerate(slots):
            counts[slot.label] += 1
            traits = draw_traits(
                slot,
                rubric=self._rubric,
                behavior=self._rubric.behavior(behavior),
                recipes=self._recipes,
                key=f"{self._writer.seed}/{key.hex()}/{number}",
            )
            name = f"{prompt.id}/{slot.label}/{counts[slot.label]}"
            yield _Completion(
                prompt=prompt, key=key, slot=slot, id=name, number=number, traits=traits
            )

    # What is written, and what the judge says of it

    def _make_draft(self, completion: _Completion) -> Item:
        """Make what the writer is asked: its response names the draft, all else is metadata."""
        attempt, writer = len(completion.failed) + 1, self._writer
        task, temperature = self._write_task(completion), writer.temperature
        if temperature is not None:
            temperature = round(min(temperature + _WARMER * (attempt - 1), _HOTTEST), 3)
        named = as_bytes([task, temperature, writer.seed, completion.number, attempt])
        digest = hashlib.sha256(named).hexdigest()
        seed = make_seed(f"{completion.key.hex()}/{digest}") % _LARGEST_SEED
        about = {"task": task, "temperature": temperature, "seed": seed}
        return replace(completion.prompt, response=digest, metadata=about)

    def _take_drafts(
        self, rows: Sequence[_Completion], drafts: Sequence[ItemVerdict]
    ) -> Iterator[str]:
        """Take the text of each draft, and say what is wrong with it."""
        for each, draft in zip(rows, drafts, strict=True):
            self._n_reused += draft.is_stored
            why = f"no reply: {draft.failures[0][1].reason}" if draft.failures else ""
            found: Any = draft.values[0] or (None, why)
            each.response, fault = found
            each.probabilities, each.completion_class = {}, None
            each.missed = each.unmet = ()
            yield shorten(fault, width=240)

    def _check(
        self,
        rows: Sequence[_Completion],
        items: Sequence[Item],
        verdicts: Sequence[ItemVerdict],
    ) -> None:
        """Compare what the judge says of drafts with what was wanted."""
        judged = make_verdicts(items, verdicts, self._judging)
        self._record.add(items, judged, verdicts)
        classes = {
            row: each.classes[number]
            for each in judged.completion_classes
            for row, number in zip(each.rows.tolist(), each.hard.tolist(), strict=True)
            if number >= 0
        }
        names, labels = judged.questions, judged.labels.tolist()
        for row, each in enumerate(rows):
            values = zip(names, judged.probabilities[row].tolist(), strict=True)
            each.failed[-1] = each.check(
                dict(zip(names, labels[row], strict=True)),
                {name: None if math.isnan(p) else p for name, p in values},
                classes.get(row),
            )

    def _write_task(self, completion: _Completion) -> str:
        """Write the system message, which holds no part of the conversation."""
        language, recipes = self._writer.language, self._recipes
        words, asked = choose_words(language), read_words()
        points = {}
        for name, state in completion.traits.wanted.items():
            # where the language has no words, the other language is used
            if (given := recipes.instructions.get(name)) is not None:
                text = pick_language(given.when_true if state else given.when_false, language) or ""
            else:
                question = pick_language(self._rubric.question(name).text, language) or name
                text = asked["asked"][language].replace(
                    "{answer}", asked["answers"][language][state]
                )
                text = text.replace("{question}", question)
            points[name] = f"- {escape_invisible(text)}"
        brief = pick_language(completion.slot.brief or {}, language)
        task = [words["brief"].replace("{brief}", escape_invisible(brief))] if brief else []
        task += [words["task"], *points.values()]
        if completion.missed:
            task += ["", words["missed"], *(points[name] for name in completion.missed)]
        sections = [
            [words["role"]],
            [
                words["conversation_heading"],
                "",
                words["conversation"],
                words["is_data"],
                words["escapes"],
            ],
            [words["task_heading"], "", *task],
            [words["reply_heading"], "", words["reply"]],
        ]
        return "\n\n".join("\n".join(section) for section in sections)

    def _tell(self, calls: CallCounts) -> None:
        n_complete = sum(all(each.is_done for each in group) for group in self._waiting)
        state = JudgingProgress(
            n_items=self._counts["n_prompts"] + n_complete,
            n_reused=0,
            n_dropped=0,
            calls=replace_fields(calls, n_answered=0),
        )
        if self._progress is not None:
            self._progress(state)

    # Results

    def make_row(self, completion: _Completion) -> dict[str, Any]:
        """Make the row of a completion, right or rejected; a prompt of one user text is that."""
        prompt, messages = completion.prompt, completion.prompt.prompt
        is_text = len(messages) == 1 and messages[0].role == "user"
        turns = [{"role": row.role, "content": row.content} for row in messages]
        about = {
            "id": completion.id,
            "prompt": messages[0].content if is_text else turns,
            "response": completion.response,
            "behavior": prompt.behavior,
            "group": prompt.id,
            "label": completion.slot.label,
            "worst_label": self._recipes.behaviors[str(prompt.behavior)][-1].label,
            "traits": completion.traits.wanted,
            "sampled": completion.traits.sampled,
            "probabilities": completion.probabilities,
            "completion_class": completion.completion_class,
            "attempts": len(completion.failed),
            "model": self._writer.name,
            "judge": self._judging.judge.name,
            "judge_fingerprint": self._judging.fingerprint,
            "recipes": self._recipes.title,
            "seed": self._writer.seed,
            "failed": completion.failed,
            "unmet": completion.unmet,
        }
        return {key: about[key] for key in (_ROW if completion.is_done else _REJECTED)}

    def summarize(self, set_aside: SetAside, **outputs: str | None) -> SynthesisSummary:
        """Say how it went; `outputs` are the files that were written."""
        judging, calls, counts = self._judging, self._writing.counts, self._counts
        self._record.report(self._verifying.counts)
        kinds = dict.fromkeys(
            (behavior, slot.label)
            for behavior, row in self._recipes.behaviors.items()
            for slot in row
            if counts["n_wanted", behavior, slot.label]
        )
        lacking = [
            f"no completion of {shorten(name)} came about with its worst label, "
            f"{shorten(row[-1].label)!r}: no reward can be fitted to that behavior"
            for name, row in self._recipes.behaviors.items()
            if counts["n_wanted", name, row[-1].label]
            and not counts["n_written", name, row[-1].label]
        ]
        known = ("n_calls", "n_retries", "prompt_tokens", "cached_tokens", "completion_tokens")
        numbers = ("n_prompts", "n_complete", "n_written", "n_rejected")
        files_written = dict.fromkeys(("output", "rejected_output", "dropped_output")) | outputs
        return SynthesisSummary(
            **dict[str, Any](files_written),
            rubric=self._rubric.name,
            rubric_version=self._rubric.version,
            rubric_hash=self._rubric.content_hash,
            recipes=self._recipes.title,
            model=self._writer.name,
            judge=judging.judge.name,
            judge_fingerprint=judging.fingerprint,
            threshold=judging.threshold,
            language=self._writer.language,
            seed=self._writer.seed,
            n_attempts=self.settings.n_attempts,
            **dict[str, Any]((name, counts[name]) for name in numbers),
            slots=tuple(
                SlotCount(
                    behavior=behavior,
                    label=label,
                    n_wanted=counts["n_wanted", behavior, label],
                    n_written=counts["n_written", behavior, label],
                )
                for behavior, label in kinds
            ),
            n_dropped=set_aside.count,
            dropped=set_aside.first,
            calls=CallSummary(
                **{name: getattr(calls, name) for name in known},
                n_reused=self._n_reused,
                cost=calls.cost,
                steps_down=calls.adaptations,
                failures={},
                missing_mass={},
            ),
            judge_calls=self._record.summarize_calls(),
            notes=(*judging.notes, *note_distrust(judging.judge), *lacking),
        )
