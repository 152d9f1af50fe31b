"""What is settled before anything is spent: the settings, the prompts, and what each is to get."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Unpack

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.io.items import ItemBatch, ItemReader, SeenIds, open_items
from voirdire.io.rows import open_frame, read_given_rows, table_rows
from voirdire.judging import Limits, LlmJudge
from voirdire.judging.plan import asks_a_model, plan_judging
from voirdire.records import Dropped, Item
from voirdire.records.items import as_bytes
from voirdire.rewards.synthesis.recipes import Traits, draw_traits, load_recipes
from voirdire.rewards.synthesis.settings import SynthesisSettingFields, SynthesisSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io import ItemReading
    from voirdire.judging import Price
    from voirdire.judging.judges.jury import JudgeLike
    from voirdire.judging.plan import JudgingPlan
    from voirdire.judging.runs.outputs import SetAside
    from voirdire.models import ChatModel
    from voirdire.rewards.synthesis.recipes import Recipes, Slot
    from voirdire.rubrics import Rubric

__all__ = [
    "Assignment",
    "Draft",
    "SynthesisFields",
    "SynthesisPlan",
    "assignments_of",
    "plan_synthesis",
    "read_prompts",
]


# Settings --------------------------------------------------------------------------------------


class SynthesisFields(SynthesisSettingFields, total=False):
    """The arguments of `plan_synthesis` beside the model, as keywords for type checkers."""

    rubric: Rubric | str | Path
    judge: JudgeLike
    recipes: Recipes | str | Path | None
    limits: Limits | None
    price: Price | None
    settings: SynthesisSettings | None


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
    limits: Limits | None = None,
    price: Price | None = None,
    settings: SynthesisSettings | None = None,
    **fields: Unpack[SynthesisSettingFields],
) -> SynthesisPlan:
    """Load and check everything; see `synthesize` for the arguments."""
    told = replace(settings or SynthesisSettings(), **fields)
    judging = plan_judging(judge, rubric, threshold=told.threshold)
    if asks_a_model(judging.judge):  # drafts are no sample of what it will judge: no check of order
        asked = replace(judging.judge.judge, order_check=0)
        judging = replace(judging, judge=replace(judging.judge, judge=asked))
    return SynthesisPlan(
        writer=LlmJudge(
            model=model,
            mode="single",
            probability="stated",
            temperature=told.temperature,
            language=told.language,
            seed=told.seed,
            limits=limits or Limits(),
            price=price,
        ),
        judging=judging,
        recipes=load_recipes(recipes, rubric=judging.rubric),
        settings=told,
    )


# Prompts ---------------------------------------------------------------------------------------

_PROMPTS = ("prompt", "question", "instruction", "input", "messages", "conversations", "request")
_RESPONSES = (
    "response", "completion", "other", "response_a", "response_b", "chosen", "rejected", "choices",
    "output", "answer", "error", "group",
)  # fmt: skip
"""What rows may hold besides a prompt, and what is not looked at."""

_FROM_ASSISTANT = ("assistant", "tool")
_BATCH_ROWS = 1_024


class _PromptReader(ItemReader):
    """Reads rows as rows of items are read, but they need no response."""

    held = "prompt"

    def check_header(self, header: Sequence[str]) -> None:
        """Refuse a table that lacks a column; a response is none of them."""
        super().check_header([*header, "response"])

    def is_row(self, document: dict[str, Any]) -> bool:
        """Tell by its prompt whether an object is a row of its own."""
        known = {*_PROMPTS, *(self.reading.columns or {}).values()}
        return bool(known & document.keys())

    def take(self, row: Any, line: int, items: list[Item]) -> list[Dropped]:
        """Put an empty response in the place of what answers the prompt."""
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
    found: dict[bytes, Item] = {}
    for batch in batches:
        set_aside.add(batch.dropped)
        for item in batch.items:
            prompt = _prompt_of(item, item.behavior or layout.behavior)
            reason, value = _find_problem(prompt, recipes)
            first = prompt if reason else found.setdefault(conversation_key(prompt), prompt)
            if first is not prompt:
                reason = f"the same prompt as {shorten(first.id)!r}"
            if reason:
                set_aside.add([Dropped(reason=reason, source=source, item=item.id, value=value)])
    if not found:
        _refuse_all(source, set_aside)
    return list(found.values())


def _open_prompts(given: Any, reading: ItemReading) -> tuple[str, Iterable[ItemBatch]]:
    """Give the name of the prompts in messages, and their rows as items."""
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
    rows = _rows_of(given)
    if rows and isinstance(rows[0], Item):
        SeenIds(source=name).add([item.id for item in rows], range(1, len(rows) + 1))
        return name, [ItemBatch(items=rows, n_rows=len(rows))]
    return name, reader.batches(read_given_rows(rows, source=name), batch_size=_BATCH_ROWS)


def _rows_of(given: Any) -> list[Any]:
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


def _prompt_of(item: Item, behavior: str | None) -> Item:
    """Take off the turn that was the response."""
    prompt = item.prompt
    while prompt and prompt[-1].role in _FROM_ASSISTANT:
        prompt = prompt[:-1]
    return Item(id=item.id, prompt=prompt, response="", behavior=behavior)


def _find_problem(prompt: Item, recipes: Recipes) -> tuple[str, str | None]:
    """Say what is wrong with a prompt, and the value that is; an empty reason where nothing is."""
    if not any(message.content.strip() for message in prompt.prompt):
        return "no prompt: the conversation holds no text", None
    if prompt.behavior is None:
        return "no behavior: which completions a prompt gets depends on it", None
    if prompt.behavior not in recipes.behaviors:
        known = ", ".join(recipes.behaviors)
        return f"unknown behavior: must be one of {known}", shorten(prompt.behavior)
    return "", None


def _refuse_all(source: str, set_aside: SetAside) -> NoReturn:
    """Say why no row is a prompt of a behavior, by the first of them."""
    first, n_rows = set_aside.first[0], set_aside.count
    way_out = "Declare another `format`."
    if first.reason.startswith("no prompt"):
        way_out = 'Name the column that holds them: columns={"prompt": ...}.'
    elif "behavior" in first.reason:
        way_out = "Name the behavior of each in a column of its own, or of all with `behavior`."
    counted = "one row" if n_rows == 1 else f"{n_rows:,} rows"
    msg = (
        f"{source}: must hold at least one prompt of a behavior, got {counted} and a reason "
        f"against each (first {shorten(first.place())}: {first.reason}). {way_out}"
    )
    raise NoDataError(msg)


def conversation_key(prompt: Item) -> bytes:
    """SHA-256 over conversation and behavior: what makes two prompts one."""
    told = [[row.role, row.content] for row in prompt.prompt]
    return hashlib.sha256(as_bytes([told, prompt.behavior])).digest()


# What a prompt is to get -----------------------------------------------------------------------


@dataclass(kw_only=True, slots=True)
class Draft:
    """What was written, what the judge says of it, and what is wrong with it.

    A `reason` says what is wrong with the text itself. Of the propositions that were asked for,
    `missed` came out otherwise; `unmet` are those of them that had to hold.
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
        """What the last draft got wrong, for the next one to mind."""
        return self.drafts[-1].missed if self.drafts else ()


def assignments_of(prompt: Item, plan: SynthesisPlan) -> Iterator[Assignment]:
    """Lay out the completions of a prompt, in the order of its recipe."""
    behavior, key = prompt.behavior or "", conversation_key(prompt)
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
