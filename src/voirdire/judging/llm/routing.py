"""The router: a model chooses the behavior that a prompt deserves, where its item has none."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from voirdire.errors import InputError
from voirdire.judging.calls.call import Call
from voirdire.judging.fingerprint import hash_of
from voirdire.judging.prompts import RouterPrompt, new_nonce
from voirdire.judging.reading import RouterReader
from voirdire.records.items import as_bytes

if TYPE_CHECKING:
    from voirdire._types import ReplyForm
    from voirdire.judging.llm.judge import LlmJudge
    from voirdire.models import ChatRequest
    from voirdire.records import Item
    from voirdire.rubrics import Rubric

__all__ = ["Router"]


class Router:
    """Asks once per prompt which behavior of a rubric it deserves.

    Parameters
    ----------
    judge : LlmJudge
        Who chooses.
    rubric : Rubric
        Whose behaviors there are to choose from; at least two.

    Raises
    ------
    InputError
        If the rubric has fewer than two behaviors.
    """

    def __init__(self, judge: LlmJudge, rubric: Rubric) -> None:
        behaviors = tuple(row.id for row in rubric.behaviors)
        if len(behaviors) < 2:  # one is no choice
            msg = (
                f"`route` must be false for rubric {rubric.name!r}, which has {len(behaviors)} "
                "behaviors: there is nothing to choose from."
            )
            raise InputError(msg)
        self._prompt = RouterPrompt(rubric, judge.language)
        self._reader = RouterReader(behaviors)
        self._temperature = 0.0 if judge.asked_temperature is not None else None
        told = [[row.id, sorted(row.description.items())] for row in rubric.behaviors]
        self._name = f"router/{hash_of(told)[7:23]}"

    def key(self, item: Item) -> bytes | None:
        """SHA-256 over the conversation; None where the item has a behavior, or no prompt."""
        if item.behavior is not None or not item.prompt:
            return None
        told = ["router", [[row.role, row.content] for row in item.prompt]]
        return hashlib.sha256(as_bytes(told)).digest()

    def call(self, item: Item, *, key: bytes) -> Call[str]:
        """Make the call about an item's prompt."""
        return Call(
            item=key, name=self._name, request=partial(self._request, item), read=self._reader.read
        )

    def _request(self, item: Item, form: ReplyForm) -> ChatRequest:
        return self._prompt.request(
            item, nonce=new_nonce(), form=form, temperature=self._temperature
        )
