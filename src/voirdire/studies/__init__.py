"""Studies: examine judges against annotators or gold labels, and record the result.

Modules are loaded when a name is first used.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
