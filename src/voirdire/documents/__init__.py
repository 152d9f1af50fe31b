"""Reads files that people write: rubrics, judges, cascades, recipes, rewards, certificates.

A document is read whole or refused with every mistake at once, each with its line, its column and
what may be meant; it is written whole or not at all.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
