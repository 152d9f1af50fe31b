"""Read items, human annotations, judge labels and verdicts from files and tables.

Nothing heavy is imported here: polars is imported when the first name is used.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
