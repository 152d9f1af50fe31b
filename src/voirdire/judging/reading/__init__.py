"""Reads answers from the replies of models: a strict form, exact probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.reading.reply_reader import READING_VERSION, ReplyReader, as_failure

__all__ = ["READING_VERSION", "ReplyReader", "as_failure"]

_HOMES = dict.fromkeys(__all__, "reply_reader")


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
