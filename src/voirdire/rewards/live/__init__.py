"""A reward that is asked while a model trains: in time, never infinite, missing where it fails."""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
