"""One call to a model, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from voirdire._types import ReplyForm
    from voirdire.models import ChatRequest
    from voirdire.records import Failure, Reply

__all__ = ["Call", "Outcome"]

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Call(Generic[T]):
    """Something to ask a model.

    Attributes
    ----------
    item : bytes
        32 bytes: hash of what it is about. With `name` and the judge's fingerprint, its place in
        the store.
    name : str
        Which of the item's calls it is, such as ``"joint/order1"``.
    request : callable
        Makes the request for a form of reply; called once per attempt, so that every attempt has
        a fence of its own.
    read : callable
        Reads a reply, or raises `VerdictParseError`.
    """

    item: bytes
    name: str
    request: Callable[[ReplyForm], ChatRequest]
    read: Callable[[Reply], T]


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome(Generic[T]):
    """What became of a call: a value or a failure, never both and never neither.

    Attributes
    ----------
    value : object or None
        What was read.
    failure : Failure or None
        Why nothing was.
    form : {"json_schema", "json_object", "text"} or None
        How the reply was asked for.
    attempts : int
        Replies and failures that are stored of it, at least 1.
    is_reused : bool
        Whether it came from the store and nothing was called.
    is_partial : bool
        Whether the value holds some answers and not others.
    """

    value: T | None = None
    failure: Failure | None = None
    form: ReplyForm | None = None
    attempts: int = 1
    is_reused: bool = False
    is_partial: bool = False
