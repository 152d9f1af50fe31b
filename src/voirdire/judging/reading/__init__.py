"""Reads answers and probabilities from the replies of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from voirdire import _lazy

if TYPE_CHECKING:
    from voirdire.judging.reading.reply_reader import (
        READING_VERSION,
        ReplyReader,
        make_parse_failure,
    )

__all__ = ["READING_VERSION", "ReplyReader", "make_parse_failure"]

_HOMES = dict.fromkeys(__all__, "reply_reader")


__getattr__, __dir__ = _lazy.lazy_names(__name__, _HOMES)
