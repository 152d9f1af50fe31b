"""Computes frozen results from arrays, without files, models, clocks or global randomness."""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
