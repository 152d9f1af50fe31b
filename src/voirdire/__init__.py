"""Judge responses by a rubric, examine LLM judges against people, turn verdicts into rewards.

Everything here is loaded when it is first used.
"""

from voirdire import _lazy
from voirdire._version import __version__ as __version__

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
