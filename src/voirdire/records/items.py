"""Defines the item that a judge is asked about, and the records of what was set aside or failed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping  # noqa: TC003  # msgspec reads the annotation
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import msgspec


@dataclass(frozen=True, kw_only=True, slots=True)
class Failure:
    """A judge's call that gave no usable answer; never a score.

    Attributes
    ----------
    reason : str
        What went wrong, in a word or a sentence (``"timeout"``, ``"unreadable reply"``).
    """

    reason: str = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Dropped:
    """A label or row that was set aside, and why.

    Attributes
    ----------
    reason : str
        The rule that it broke, in words.
    source : str
        File name, or ``"humans"`` / ``"judge"`` for labels given in memory.
    line : int or None
        1-based line of a text file, or row of a table; None in memory.
    column : str or None
        The column or key at fault.
    item, rater, question : str or None
        Whose answer about what, as far as it is known.
    value : str or None
        What stood there, shortened for display.
    n_rows : int
        How many there are of this kind, where labels are counted.
    """

    reason: str
    source: str
    line: int | None = None
    column: str | None = None
    item: str | None = None
    rater: str | None = None
    question: str | None = None
    value: str | None = None
    n_rows: int = field(default=1, metadata={"key": None})

    def place(self) -> str:
        """Where it stood: ``source``, ``source:line`` or ``source:line: column `x```."""
        where = self.source if self.line is None else f"{self.source}:{self.line}"
        return where if self.column is None else f"{where}: column `{self.column}`"


class Message(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message of a conversation.

    Attributes
    ----------
    role : str
        ``"system"``, ``"user"``, ``"assistant"``, ``"tool"`` or whatever the file says.
    content : str
        Its text; an image in it is shown as ``[image]``.
    images : tuple of str
        The addresses of its images, in their order: ``https:``, or ``data:`` with the image in it.
    """

    role: str
    content: str
    images: tuple[str, ...] = ()


class Rule(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Code that says of a response whether a proposition is true, without a call.

    Attributes
    ----------
    kind : str
        What is looked at, such as ``"contains"`` or ``"words"``.
    value : object
        What it is compared with, as JSON holds it.
    negated : bool
        Whether the proposition is true where this does not hold.
    ignore_case : bool
        Whether letters count alike in either case.
    """

    kind: str
    value: Any
    negated: bool = False
    ignore_case: bool = False


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """A proposition that an item brings itself, with its points.

    Attributes
    ----------
    text : str
        What is true of a response that meets it.
    points : float
        What a response that meets it gets: above 0, below 0, or 0 to watch only. A judge never sees
        them.
    id : str or None
        What the file calls it.
    tags : tuple of str
        What it is about.
    rule : Rule or None
        What answers it in place of a judge.
    """

    text: str
    points: float = 1.0
    id: str | None = None
    tags: tuple[str, ...] = ()
    rule: Rule | None = None

    @property
    def content(self) -> Any:
        """What its answer depends on: its text, and its rule where it has one."""
        return self.text if self.rule is None else [self.text, msgspec.to_builtins(self.rule)]

    @property
    def key(self) -> str:
        """Its name in prompts and verdicts: `c` and 10 digits of a hash of text and rule."""
        return f"c{hashlib.sha256(as_bytes(self.content)).hexdigest()[:10]}"


IS_MET = "is_met"
"""The one question that is asked of all criteria."""

SCORE, TAG = "score", "tag:"
"""What columns call the score of an item by its criteria, and how those by a tag begin."""


def is_share(column: str) -> bool:
    """Tell whether a column of verdicts lies in [0, 1], which scores by criteria need not."""
    return column != SCORE and not column.startswith(TAG)


class Item(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A prompt with one response: what a judge is asked about.

    A million of these exist at once in some runs, so it is a struct and not a dataclass.

    Attributes
    ----------
    id : str
        Its name, unique within a file.
    prompt : tuple of Message
        The conversation before the response, usually with the user's text last; may be empty.
    response : str
        The text that is judged. Empty text is a response.
    other : str or None
        A second response to the same prompt, for pairwise questions: `response` is A, this is B.
    behavior : str or None
        The behavior that the prompt deserves, where it is known.
    group : str or None
        The prompt that it shares with other items.
    cluster : str or None
        What it is statistically dependent with.
    criteria : tuple of Criterion
        Where the rubric asks about those of the item.
    reference : str or None
        An answer that is known to be right, which a judge of criteria is shown.
    metadata : mapping of str to object
        Everything else that the file says of it.
    """

    id: str
    prompt: tuple[Message, ...] = ()
    response: str
    other: str | None = None
    behavior: str | None = None
    group: str | None = None
    cluster: str | None = None
    criteria: tuple[Criterion, ...] = ()
    reference: str | None = None
    metadata: Mapping[str, Any] = {}

    def content_hash(self) -> bytes:
        """SHA-256 over what a judge sees: prompt, responses and behavior, not the id."""
        seen = [[message.role, message.content, *message.images] for message in self.prompt]
        told = [seen, self.response, self.behavior]
        if self.other is not None:
            told.append(self.other)
        if self.criteria:
            criteria = sorted(self.criteria, key=attrgetter("text"))
            told += [self.reference, *(each.content for each in criteria)]
        return hashlib.sha256(as_bytes(told)).digest()

    def response_hash(self) -> str:
        """16 digits of the SHA-256 over the responses alone, which a file of verdicts names."""
        told = [self.response, self.other]
        return f"sha256:{hashlib.sha256(as_bytes(told)).hexdigest()[:16]}"


def split_criteria(item: Item) -> list[Item]:
    """Make an item of each criterion, ``ID:KEY``, that depends on the others of its prompt.

    An item that is called so already, since it is about one criterion, keeps its name.
    """
    cluster = item.cluster or item.group or item.id
    return [
        msgspec.structs.replace(
            item,
            id=item.id if item.id.endswith(f":{each.key}") else f"{item.id}:{each.key}",
            criteria=(each,),
            cluster=cluster,
        )
        for each in item.criteria
    ]


def as_bytes(told: Any) -> bytes:
    """Write texts as JSON; half a surrogate pair, which is no text, as an escape."""
    try:
        return msgspec.json.encode(told)
    except UnicodeEncodeError:
        return json.dumps(told, ensure_ascii=True, separators=(",", ":")).encode()
