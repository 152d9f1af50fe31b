"""Which completions answer one prompt, and which of them cannot be used together."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from voirdire._validation import shorten
from voirdire.records import Dropped

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from voirdire.records import Message
    from voirdire.rewards.comparisons.completions import Completion

__all__ = ["Prompt", "PromptBook"]


@dataclass(kw_only=True, eq=False)
class Prompt:
    """A prompt with the completions that are kept.

    Attributes
    ----------
    name : str
        The group of its completions, or the id of its first.
    messages : tuple of Message
        The conversation, as its first completion has it.
    behavior, split : str or None
        What its first completion that names one names.
    kept : dict of str to int
        By response the place of the completion.
    """

    name: str
    messages: tuple[Message, ...]
    behavior: str | None = None
    split: str | None = None
    kept: dict[str, int] = field(default_factory=dict)


class PromptBook:
    """All prompts, and what was set aside on the way.

    Parameters
    ----------
    completions : sequence of Completion
        In the order of the file.
    source : str
        What messages call it.
    behavior : str or None
        Of prompts that name none.
    known : collection of str or None
        The behaviors that there are; None takes any.
    """

    def __init__(
        self,
        completions: Sequence[Completion],
        *,
        source: str,
        behavior: str | None,
        known: Collection[str] | None,
    ) -> None:
        self.completions = completions
        self.source = source
        self.known = known
        self.dropped: list[Dropped] = []
        self.prompts: dict[Any, Prompt] = {}
        self.same_as: dict[int, int] = {}
        self.prompt_of: list[Prompt | None] = [self._opened(one) for one in completions]
        for prompt in self.prompts.values():
            prompt.behavior = prompt.behavior or behavior
        for place in range(len(completions)):
            if not self._take(place):
                self.prompt_of[place] = None

    def _opened(self, one: Completion) -> Prompt | None:
        """Find the prompt, by its group or its messages, and what the row says of it."""
        if one.group is None and not one.item.prompt:
            if one.item.group is None:
                return None
            key: Any = (None, one.item.group)  # made for the row: its completions are of one
            name = one.item.group
        else:
            key = one.item.prompt if one.group is None else one.group
            name = one.group or one.item.id
        prompt = self.prompts.get(key)
        if prompt is None:
            prompt = self.prompts[key] = Prompt(name=name, messages=one.item.prompt)
        if self._is_known(one.behavior):
            prompt.behavior = prompt.behavior or one.behavior
        prompt.split = prompt.split or one.split
        return prompt

    def _is_known(self, behavior: str | None) -> bool:
        return behavior is not None and (self.known is None or behavior in self.known)

    def _take(self, place: int) -> bool:
        """Keep a completion, or say why not."""
        one, prompt = self.completions[place], self.prompt_of[place]
        if prompt is None:
            return self._drop(place, "no prompt: name it, or the `group` of completions of one")
        reason, value = self._why_not(one, prompt)
        if reason is not None:
            return self._drop(place, reason, value=value)
        first = prompt.kept.setdefault(one.item.response, place)
        return first == place or self._take_again(place, first, prompt)

    def _why_not(self, one: Completion, prompt: Prompt) -> tuple[str | None, str | None]:
        if one.behavior is not None and not self._is_known(one.behavior):
            return f"unknown behavior: must be one of {_shown(self.known or ())}", one.behavior
        if self.known is not None and prompt.behavior is None:
            return f"no behavior: must be one of {_shown(self.known)}", None
        if one.behavior not in (None, prompt.behavior):
            return f"two behaviors of one prompt: {prompt.behavior!r} came first", one.behavior
        if one.item.prompt != prompt.messages:
            return f"two prompts in one group: that of {shorten(prompt.name)!r} came first", None
        if one.split not in (None, prompt.split):
            return f"two splits of one prompt: {prompt.split!r} came first", one.split
        return None, None

    def _take_again(self, place: int, first: int, prompt: Prompt) -> bool:
        """Deal with a completion that the prompt has already.

        What a row declares of it is said of the first one. Two different labels are a
        contradiction, of which neither side is taken.
        """
        one, other = self.completions[place], self.completions[first]
        if one.label != other.label and None not in (one.label, other.label):
            self._drop(place, _same_as(other, with_label=True), value=one.label)
            if self.prompt_of[first] is prompt:
                self._drop(first, _same_as(one, with_label=True), value=other.label)
                self.prompt_of[first] = None
            return False
        if self.prompt_of[first] is not prompt:
            return self._drop(place, _same_as(other))
        self.same_as[place] = first
        other.label = other.label or one.label
        other.base = one.base if math.isnan(other.base) else other.base
        other.in_pair = other.in_pair or one.in_pair
        return False if one.in_pair else self._drop(place, _same_as(other))

    def _drop(self, place: int, reason: str, *, value: str | None = None) -> bool:
        one = self.completions[place]
        self.dropped.append(
            Dropped(
                reason=reason,
                source=self.source,
                line=one.line,
                item=one.item.id,
                value=None if value is None else shorten(value),
            )
        )
        return False


def _same_as(one: Completion, *, with_label: bool = False) -> str:
    label = f" with label {shorten(one.label or '')!r}" if with_label else ""
    return f"duplicated completion: {shorten(one.item.id)!r} is the same{label}"


def _shown(known: Collection[str]) -> str:
    return ", ".join(shorten(name) for name in known) or "none"
