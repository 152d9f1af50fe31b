"""Measures how far raters agree, with intervals and the human ceiling beside every judge."""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
