"""Replies of models read as answers: strict about their form, exact about probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.reading.json_members import value_spans
    from voirdire.judging.reading.reply_reader import READING_VERSION, ReplyReader, RouterReader

__all__ = ["READING_VERSION", "ReplyReader", "RouterReader", "value_spans"]

_HOMES = {
    "READING_VERSION": "reply_reader",
    "ReplyReader": "reply_reader",
    "RouterReader": "reply_reader",
    "value_spans": "json_members",
}


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
