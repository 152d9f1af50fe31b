"""Plan a synthesis before the first call: settings, prompts, and the completions of each prompt."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from voirdire._messages import shorten
from voirdire._validation import change_fields
from voirdire.errors import InputError, NoDataError
from voirdire.io.items import ItemBatch, ItemReader, SeenIds, open_items
from voirdire.io.rows import open_frame, read_given_rows, table_rows
from voirdire.judging import LlmJudge
from voirdire.judging.binding import plan_judging
from voirdire.records import Dropped, Item
from voirdire.records.items import as_bytes
from voirdire.rewards.settings import SynthesisSettings
from voirdire.rewards.synthesis.recipes import Traits, draw_traits, load_recipes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io import ItemReading
    from voirdire.judging.binding import JudgingPlan
    from voirdire.judging.jury import JudgeLike
    from voirdire.judging.outputs import SetAside
    from voirdire.models import ChatModel
    from voirdire.rewards.synthesis.recipes import Recipes, Slot
    from voirdire.rubrics import Rubric

__all__ = [
    "Assignment",
    "Draft",
    "SynthesisPlan",
    "list_assignments",
    "plan_synthesis",
    "read_prompts",
]


# Settings --------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class SynthesisPlan:
    """Who writes what, and who verifies it; `synthesize` says more of each.

    The writer is held as a judge is: a model with its language, seed, temperature of first drafts,
    limits and price.
    """

    writer: LlmJudge
    judging: JudgingPlan
    recipes: Recipes
    settings: SynthesisSettings

    @property
    def rubric(self) -> Rubric:
        """What completions are judged by."""
        return self.judging.rubric


def plan_synthesis(
    model: ChatModel | str,
    *,
    rubric: Rubric | str | Path = "safety",
    judge: JudgeLike = "local",
    recipes: Recipes | str | Path | None = None,
    settings: SynthesisSettings | None = None,
    **given: Any,
) -> SynthesisPlan:
    """Load and check everything that a synthesis needs; see `synthesize` for the arguments."""
    own = {row.name for row in fields(SynthesisSettings)} & given.keys()
    run_settings = change_fields(
        settings or SynthesisSettings(), {name: given.pop(name) for name in own}
    )
    judging = plan_judging(judge, rubric, threshold=run_settings.threshold)
    return SynthesisPlan(
        writer=LlmJudge(
            model=model,
            mode="single",
            probability="stated",
            temperature=run_settings.temperature,
            language=run_settings.language,
            seed=run_settings.seed,
            **given,
        ),
        judging=judging,
        recipes=load_recipes(recipes, rubric=judging.rubric),
        settings=run_settings,
    )


# Prompts ---------------------------------------------------------------------------------------

_PROMPTS = ("prompt", "question", "instruction", "input", "messages", "conversations")
_RESPONSES = (
    "response", "completion", "other", "response_a", "response_b", "chosen", "rejected",
    "output", "answer", "group",
)  # fmt: skip
"""Columns that rows may have besides a prompt; they are not read."""

_FROM_ASSISTANT = ("assistant", "tool")
_BATCH_ROWS = 1_024


class _PromptReader(ItemReader):
    """Reads rows as items without a response."""

    held = "prompt"

    def check_header(self, header: Sequence[str]) -> None:
        """Refuse a table that lacks a column; a response is none of them."""
        super().check_header([*header, "response"])

    def is_row(self, document: dict[str, Any]) -> bool:
        """Tell by its prompt whether an object is a row of its own."""
        known = {*_PROMPTS, *(self.reading.columns or {}).values()}
        return bool(known & document.keys())

    def take(self, row: Any, line: int, items: list[Item]) -> list[Dropped]:
        """Read a row whose response is replaced by an empty one."""
        if isinstance(row, dict):
            row = {key: value for key, value in row.items() if key not in _RESPONSES}
            row["response"] = ""
        return super().take(row, line, items)


def read_prompts(given: Any, plan: SynthesisPlan, *, set_aside: SetAside) -> list[Item]:
    """Read all prompts, each once, as items without a response; the others are set aside.

    Raises
    ------
    NoDataError
        If there is no prompt of a behavior that has a recipe.
    InputError
        If the prompts cannot be read, or ids are the same, or the same but for white space.
    """
    recipes, layout = plan.recipes, plan.settings
    source, batches = _open_prompts(given, layout.reading())
    by_key: dict[bytes, Item] = {}
    for batch in batches:
        set_aside.add(batch.dropped)
        for item in batch.items:
            prompt = _make_prompt(item, item.behavior or layout.behavior)
            reason, value = _find_problem(prompt, recipes)
            first = prompt if reason else by_key.setdefault(hash_conversation(prompt), prompt)
            if first is not prompt:
                reason = f"the same prompt as {shorten(first.id)!r}"
            if reason:
                set_aside.add([Dropped(reason=reason, source=source, item=item.id, value=value)])
    if not by_key:
        _refuse_all(source, set_aside)
    return list(by_key.values())


def _open_prompts(given: Any, reading: ItemReading) -> tuple[str, Iterable[ItemBatch]]:
    """Return the name of the prompts for messages, and their rows as items."""
    if isinstance(given, str | Path) or hasattr(given, "read"):
        file = open_items(given, reading, held="prompt")
        stream = _PromptReader.of(file, reading).stream(file, batch_size=_BATCH_ROWS)
        return file.name, stream
    name, is_frame = "prompts", hasattr(given, "columns")
    reader = _PromptReader(reading, source=name, stem=name, is_tabular=is_frame)
    if is_frame:
        table = open_frame(given, name)
        reader.check_header(table.columns)
        return name, reader.batches(table_rows(table), batch_size=_BATCH_ROWS)
    rows = _check_rows(given)
    if rows and isinstance(rows[0], Item):
        SeenIds(source=name).add([item.id for item in rows], range(1, len(rows) + 1))
        return name, [ItemBatch(items=rows, n_rows=len(rows))]
    return name, reader.batches(read_given_rows(rows, source=name), batch_size=_BATCH_ROWS)


def _check_rows(given: Any) -> list[Any]:
    if isinstance(given, Item | Mapping):
        return [given]
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        msg = (
            f"`prompts` must be a file, or a sequence of texts, items or rows, got "
            f"{type(given).__name__}."
        )
        raise InputError(msg)
    rows = [{"prompt": row} if isinstance(row, str) else row for row in given]
    kind = Item if rows and isinstance(rows[0], Item) else Mapping
    wrong = next((row for row in rows if not isinstance(row, kind)), None)
    if wrong is not None:
        msg = (
            "`prompts` must all be items, or all be texts or mappings, got "
            f'{type(wrong).__name__} ({shorten(wrong)}). Write {{"prompt": ..., "behavior": ...}}.'
        )
        raise InputError(msg)
    return rows


def _make_prompt(item: Item, behavior: str | None) -> Item:
    """Make a prompt from an item: drop the turns at its end that are responses."""
    prompt = item.prompt
    while prompt and prompt[-1].role in _FROM_ASSISTANT:
        prompt = prompt[:-1]
    return Item(id=item.id, prompt=prompt, response="", behavior=behavior)


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


def _refuse_all(source: str, set_aside: SetAside) -> NoReturn:
    """Refuse a source without a usable prompt, with the reason of the first row."""
    first, n_rows = set_aside.first[0], set_aside.count
    way_out = "Declare another `format`."
    if first.reason.startswith("no prompt"):
        way_out = 'Name the column that holds them: columns={"prompt": ...}.'
    elif "behavior" in first.reason:
        way_out = "Name the behavior of each in a column of its own, or of all with `behavior`."
    count = "one row" if n_rows == 1 else f"{n_rows:,} rows"
    msg = (
        f"{source}: must hold at least one prompt of a behavior, got {count} and a reason "
        f"against each (first {shorten(first.place())}: {first.reason}). {way_out}"
    )
    raise NoDataError(msg)


def hash_conversation(prompt: Item) -> bytes:
    """Hash conversation and behavior; prompts with the same hash are one."""
    messages = [[row.role, row.content] for row in prompt.prompt]
    return hashlib.sha256(as_bytes([messages, prompt.behavior])).digest()


# Completions of a prompt -----------------------------------------------------------------------


@dataclass(kw_only=True, slots=True)
class Draft:
    """A written completion, the judge's verdicts on it, and its faults.

    `reason` names a fault of the text itself. `missed` are the propositions that are not as they
    were asked for; `unmet` are those of them that must hold.
    """

    response: str | None = None
    reason: str | None = None
    probabilities: Mapping[str, float | None] = field(default_factory=dict)
    completion_class: str | None = None
    unmet: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    wrong_class: bool = False


@dataclass(eq=False, kw_only=True, slots=True)
class Assignment:
    """A completion to be written, the place `number` of its prompt, and its drafts so far."""

    prompt: Item
    key: bytes
    slot: Slot
    id: str
    number: int
    traits: Traits
    drafts: list[Draft] = field(default_factory=list)

    @property
    def is_done(self) -> bool:
        """Whether the last draft may be kept."""
        if not self.drafts:
            return False
        last = self.drafts[-1]
        return last.reason is None and not last.unmet and not last.wrong_class

    @property
    def missed(self) -> tuple[str, ...]:
        """The propositions that the last draft got wrong."""
        return self.drafts[-1].missed if self.drafts else ()


def list_assignments(prompt: Item, plan: SynthesisPlan) -> Iterator[Assignment]:
    """List the completions that a prompt is to get, in the order of its recipe."""
    behavior, key = prompt.behavior or "", hash_conversation(prompt)
    slots = [slot for slot in plan.recipes.behaviors[behavior] for _ in range(slot.count)]
    counts: Counter[str] = Counter()
    for number, slot in enumerate(slots):
        counts[slot.label] += 1
        traits = draw_traits(
            slot,
            rubric=plan.rubric,
            behavior=plan.rubric.behavior(behavior),
            implies=plan.recipes.implies,
            key=f"{plan.writer.seed}/{key.hex()}/{number}",
        )
        name = f"{prompt.id}/{slot.label}/{counts[slot.label]}"
        yield Assignment(prompt=prompt, key=key, slot=slot, id=name, number=number, traits=traits)
