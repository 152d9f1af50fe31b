"""Which shape a row has, told by its keys alone; a key whose value is null counts as absent.

The first line that fits decides:

==============================================  ====================================
keys                                            read as
==============================================  ====================================
`response` and `other`                          pair: one item with two responses
`response` or `completion`                      prompt and response; a chat completion
                                                where `response` is an object of one
`response_a` or `response_b`                    pair
`chosen` or `rejected`                          preference: one item for each, or a pair
`messages` or `conversations`                   chat that ends in the response
`choices`, and no prompt                        chat completion without its request
`output` or `answer`                            prompt and response
`error`                                         a request that failed: set aside
==============================================  ====================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from voirdire._validation import shorten
from voirdire.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voirdire.io.items.declared import ItemRequest

__all__ = ["CHAT_COLUMNS", "ID_COLUMNS", "RowShape", "ShapeFinder"]

ShapeName: TypeAlias = Literal[
    "response", "pair", "preference", "chat", "choices", "failed", "none"
]

CHAT_COLUMNS = ("messages", "conversations")
"""Columns in which text is JSON, whatever the format."""

ID_COLUMNS = ("custom_id", "id", "item")
"""Where an item's id stands; the first that holds something."""

_PROMPTS = ("prompt", "question", "instruction", "input")
_RATERS = {"annotator", "judge", "rater"}
_MAX_SHAPES = 1_000
_MAX_NAMES_SHOWN = 20


@dataclass(frozen=True, kw_only=True, slots=True)
class RowShape:
    """Where in a row everything stands; None for what is not there.

    Attributes
    ----------
    name : str
        The shape.
    body : str or None
        The key of the response, the messages (also of those that end in the first response of a
        pair) or the choices; where there is no response, the key that was declared for it.
    prompt : str or None
        The key of the prompt.
    prompt_is_chat : bool
        Whether that is a column of messages, where text is JSON.
    prompt_rest : str or None
        The key of the text that goes on with the prompt: `input` beside `instruction`.
    request : str or None
        The key of the request that a server was sent, where no prompt stands elsewhere.
    first, second : str or None
        The keys of two responses: of a pair, or the chosen and the rejected one.
    id, behavior, group, cluster : str or None
        Further keys.
    metadata : tuple of str
        All other keys.
    """

    name: ShapeName
    body: str | None
    prompt: str | None
    prompt_is_chat: bool
    prompt_rest: str | None
    request: str | None
    first: str | None
    second: str | None
    id: str | None
    behavior: str | None
    group: str | None
    cluster: str | None
    metadata: tuple[str, ...]


class ShapeFinder:
    """Tell the shapes of rows, each set of keys once."""

    def __init__(self, request: ItemRequest, *, source: str, is_tabular: bool) -> None:
        self.columns = dict(request.columns or {})
        self.source = source
        self.is_tabular = is_tabular
        given = self.columns.get("messages")
        self.chat_columns = (given,) if given is not None else CHAT_COLUMNS
        self.unseen = {*self.columns.values(), *request.json_columns}
        self._known: dict[tuple[str, ...], RowShape] = {}
        content = ("prompt", "response", "other", "messages", "chosen", "rejected")
        # A column given for one part of an item is not taken for another by its name.
        self._taken = {self.columns[name] for name in content if name in self.columns}

    def shape(self, keys: tuple[str, ...]) -> RowShape:
        """Tell the shape of a row with these keys, nulls left out."""
        known = self._known.get(keys)
        if known is None:
            if len(self._known) >= _MAX_SHAPES:  # rows of a hostile file may all differ
                self._known.clear()
            known = self._known[keys] = self._found(keys)
        return known

    def check_header(self, header: Sequence[str]) -> None:
        """Refuse a table whose columns can give no item at all."""
        self.unseen -= set(header)
        self.check_seen(header)
        if not self.has_response(tuple(header)):
            self._refuse(header, missing="response", way_out=self.way_out(header))

    def has_response(self, keys: tuple[str, ...]) -> bool:
        """Tell keys that may give an item."""
        return self.shape(keys).name not in ("failed", "none")

    def check_seen(self, header: Sequence[str]) -> None:
        """Refuse a declared column that was not seen; `header` is shown beside it."""
        if self.unseen:
            missing = min(self.unseen)
            ours = "columns" if missing in self.columns.values() else "json_columns"
            self._refuse(header, missing=missing, way_out=f"Correct `{ours}`.")

    def way_out(self, header: Sequence[str]) -> str:
        """Say what to do about columns that give no item."""
        if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
            return "Separate columns by commas, or by tabs in a .tsv file."
        if {"item", "label"} <= set(header) or not _RATERS.isdisjoint(header):
            return "This looks like labels: name the file of the responses that they are about."
        return 'Name it with columns={"response": ...}.'

    def shown(self, header: Sequence[str]) -> str:
        """Show columns by name, not too many of them."""
        known = ", ".join(shorten(repr(column)) for column in header[:_MAX_NAMES_SHOWN])
        more = len(header) - _MAX_NAMES_SHOWN
        rest = f" and {more} more" if more > 0 else ""
        return f"{known or 'none'}{rest}"

    def _refuse(self, header: Sequence[str], *, missing: str, way_out: str) -> NoReturn:
        message = (
            f"{self.source}: column `{shorten(missing)}` must exist, "
            f"got columns {self.shown(header)}. {way_out}"
        )
        raise InputError(message)

    def _key(self, keys: tuple[str, ...], concept: str, *ours: str) -> str | None:
        theirs = self.columns.get(concept)
        if theirs is not None:
            return theirs if theirs in keys else None
        return next((name for name in ours if name in keys and name not in self._taken), None)

    def _found(self, keys: tuple[str, ...]) -> RowShape:
        prompt = self._key(keys, "prompt", *_PROMPTS)
        chat = self._key(keys, "messages", *CHAT_COLUMNS)
        name, body, first, second = self._responses(keys, chat=chat, prompt=prompt)
        rest = request = None
        has_prompt = name in ("response", "pair", "preference")
        if first is not None and first == chat:
            body, chat = chat, None  # its last turn is the response: all else is the prompt
        prompt_is_chat = has_prompt and prompt is None
        if not has_prompt:
            prompt = None
        elif prompt is None:
            prompt = chat
            request = "request" if chat is None and "request" in keys else None
        elif prompt == "instruction" and "prompt" not in self.columns:
            rest = self._key(keys, "", "input")
        places = {
            "body": body, "prompt": prompt, "prompt_rest": rest, "request": request,
            "first": first, "second": second,
            "id": self._key(keys, "id", *ID_COLUMNS),
            "behavior": self._key(keys, "behavior", "behavior"),
            "group": self._key(keys, "group", "group"),
            "cluster": self._key(keys, "cluster", "cluster"),
        }  # fmt: skip
        used = set(places.values())
        metadata = tuple(key for key in keys if key not in used and not self._is_unnamed(key))
        return RowShape(name=name, prompt_is_chat=prompt_is_chat, metadata=metadata, **places)

    def _responses(
        self, keys: tuple[str, ...], *, chat: str | None, prompt: str | None
    ) -> tuple[ShapeName, str | None, str | None, str | None]:
        """Tell the shape, and where one response stands or two do."""
        pair = self._pair(keys, chat=chat)
        if pair is not None:
            return "pair", None, *pair
        response = self._key(keys, "response", "response", "completion")
        if response is not None:
            return "response", response, None, None
        chosen = self._key(keys, "chosen", "chosen")
        rejected = self._key(keys, "rejected", "rejected")
        if chosen is not None or rejected is not None:
            first, second = (self.columns.get(name, name) for name in ("chosen", "rejected"))
            return "preference", None, first, second
        return *self._body(keys, chat=chat, prompt=prompt), None, None

    def _pair(self, keys: tuple[str, ...], *, chat: str | None) -> tuple[str, str] | None:
        """Tell where the responses of a pair stand; one of them may be missing in this row."""
        response = self._key(keys, "response", "response", "completion")
        may_be_named = response is None and "response" not in self.columns
        given = self.columns.get("other")
        if given is not None:
            if may_be_named:
                response = self._key(keys, "", "response_a", "output", "answer") or chat
            return None if response is None else (response, given)
        if response == "response":
            other = self._key(keys, "", "other")
            return None if other is None else (response, other)
        first = self._key(keys, "", "response_a")
        second = self._key(keys, "", "response_b")
        if may_be_named and (first is not None or second is not None):
            return first or "response_a", second or "response_b"
        return None

    def _body(
        self, keys: tuple[str, ...], *, chat: str | None, prompt: str | None
    ) -> tuple[ShapeName, str | None]:
        if chat is not None:
            return "chat", chat
        choices = self._key(keys, "", "choices")
        if choices is not None and prompt is None:
            return "choices", choices
        response = None
        if "response" not in self.columns:
            response = self._key(keys, "", "output", "answer")
        if response is not None:
            return "response", response
        return ("failed", "error") if "error" in keys else ("none", self.columns.get("response"))

    def _is_unnamed(self, key: str) -> bool:
        """Tell the index column that pandas writes and reads without a name."""
        return self.is_tabular and (not key.strip() or key.startswith("Unnamed: "))
