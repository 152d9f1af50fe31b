"""Ask a judge about items: verdicts with probabilities, in memory or from file to file.

Nothing heavy is imported here: numpy and polars are imported when the first name is used.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
