"""Results as text, tables, plots, JSON, and one HTML page.

Everything is loaded when it is first used: a table needs no plotting library.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
