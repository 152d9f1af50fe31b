"""The prompts that completions are written for: from files, records, rows or a frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from voirdire._validation import shorten
from voirdire.errors import InputError, NoDataError
from voirdire.records import Dropped, Item
from voirdire.records.items import as_bytes
from voirdire.rewards.synthesis.prompt_rows import prompts_in_frame, prompts_in_rows, stream_prompts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from voirdire.judging.runs.outputs import SetAside
    from voirdire.rewards.synthesis.recipe import Recipes

__all__ = ["PromptSource", "conversation_key"]

_FROM_ASSISTANT = ("assistant", "tool")


@dataclass(frozen=True, kw_only=True)
class PromptSource:
    """Where prompts come from, and how they are read.

    Attributes
    ----------
    given : object
        A path, ``"-"``, an open binary file; or texts, `Item` records, rows, a data frame.
    format : str or None
        How a file is written, where its ending does not say.
    columns : mapping of str to str or None
        Our names to the file's: `id`, `prompt`, `messages`, `behavior`.
    behavior : str or None
        The behavior of prompts that have none.
    """

    given: Any
    format: str | None = None
    columns: Mapping[str, str] | None = None
    behavior: str | None = None
    _seen: dict[bytes, str] = field(default_factory=dict, init=False, repr=False)

    @property
    def name(self) -> str:
        """What messages call it."""
        if not isinstance(self.given, str | Path):
            return str(getattr(self.given, "name", "prompts"))
        return "<stdin>" if str(self.given) == "-" else str(self.given)

    def stream(self, recipes: Recipes, set_aside: SetAside) -> Iterator[Item]:
        """Give the prompts, each once, as items without a response; the others are set aside."""
        self._seen.clear()
        n_prompts = 0
        for items, dropped in self._batches():
            set_aside.add(dropped)
            for item in items:
                prompt = self._checked(item, recipes)
                if isinstance(prompt, Dropped):
                    set_aside.add((prompt,))
                else:
                    n_prompts += 1
                    yield prompt
        if not n_prompts:
            self._refuse_empty(set_aside)

    def _batches(self) -> Iterator[tuple[list[Item], tuple[Dropped, ...]]]:
        given = self.given
        if isinstance(given, str | Path) or hasattr(given, "read"):
            yield from stream_prompts(
                given, format=self.format, columns=self.columns, behavior=self.behavior
            )
            return
        if hasattr(given, "columns"):
            yield from prompts_in_frame(given, columns=self.columns, behavior=self.behavior)
            return
        rows = _rows(given)
        if rows and all(isinstance(row, Item) for row in rows):
            _check_ids(rows)
            yield [self._of_behavior(row) for row in rows], ()
            return
        yield from prompts_in_rows(rows, columns=self.columns, behavior=self.behavior)

    def _of_behavior(self, item: Item) -> Item:
        if item.behavior is not None or self.behavior is None:
            return item
        return msgspec.structs.replace(item, behavior=self.behavior)

    def _checked(self, item: Item, recipes: Recipes) -> Item | Dropped:
        prompt = item.prompt
        while prompt and prompt[-1].role in _FROM_ASSISTANT:
            prompt = prompt[:-1]  # the turn that was the response
        found = Item(id=item.id, prompt=prompt, response="", behavior=item.behavior)
        if not any(message.content.strip() for message in prompt):
            return self._dropped(item, "no prompt: the conversation holds no text")
        if item.behavior is None:
            reason = "no behavior: which completions a prompt gets depends on it"
            return self._dropped(item, reason)
        if item.behavior not in recipes.behaviors:
            known = ", ".join(recipes.behaviors)
            reason = f"unknown behavior: must be one of {known}"
            return self._dropped(item, reason, value=shorten(item.behavior))
        first = self._seen.setdefault(conversation_key(found), item.id)
        if first != item.id:
            return self._dropped(item, f"the same prompt as {shorten(first)!r}")
        return found

    def _dropped(self, item: Item, reason: str, *, value: str | None = None) -> Dropped:
        return Dropped(reason=reason, source=self.name, item=item.id, value=value)

    def _refuse_empty(self, set_aside: SetAside) -> None:
        why = ""
        if set_aside.first:
            first = set_aside.first[0]
            why = f"; {set_aside.count} set aside, the first ({first.place()}): {first.reason}"
        way_out = "Give each a `behavior`, by a column or for all of them."
        msg = f"{self.name}: must hold at least one prompt of a behavior, got none{why}. {way_out}"
        raise NoDataError(msg)


def conversation_key(prompt: Item) -> bytes:
    """SHA-256 over conversation and behavior: what makes two prompts one."""
    import hashlib

    told = [[row.role, row.content] for row in prompt.prompt]
    return hashlib.sha256(as_bytes([told, prompt.behavior])).digest()


def _rows(given: Any) -> list[Any]:
    if isinstance(given, Item | Mapping):
        return [given]
    if isinstance(given, bytes) or not isinstance(given, Iterable):
        msg = (
            f"`prompts` must be a file, or a sequence of texts, items or rows, got "
            f"{type(given).__name__}."
        )
        raise InputError(msg)
    rows = [{"prompt": row} if isinstance(row, str) else row for row in given]
    for row in rows:
        is_known = isinstance(row, Item | Mapping)
        if not is_known or isinstance(row, Item) != isinstance(rows[0], Item):
            msg = (
                "`prompts` must all be items, or all be texts or mappings, got "
                f'{type(row).__name__} ({shorten(row)}). Write {{"prompt": ..., "behavior": ...}}.'
            )
            raise InputError(msg)
    return rows


def _check_ids(items: list[Item]) -> None:
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            msg = f"`prompts` must have unique ids, got {shorten(item.id)!r} twice."
            raise InputError(msg)
        seen.add(item.id)
