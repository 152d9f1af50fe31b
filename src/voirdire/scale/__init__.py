"""Judges folders of files on a cluster of machines.

Ray is imported when it is used.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
