"""Reads answers and probabilities from the replies of models."""

from voirdire.judging.reading.decision_reader import DecisionReader
from voirdire.judging.reading.reply_reader import READING_VERSION, ReplyReader, make_parse_failure

__all__ = ["READING_VERSION", "DecisionReader", "ReplyReader", "make_parse_failure"]
