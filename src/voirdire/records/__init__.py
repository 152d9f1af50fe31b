"""Defines the frozen records that travel between the layers.

They are loaded when they are first used, since verdicts need numpy and polars.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
