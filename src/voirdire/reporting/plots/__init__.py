"""Figures of every result, for Python and, as themed inline SVG, for the pages.

Everything is loaded when it is first used: a table needs no plotting library.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
