"""Language models behind one interface: a request in, a reply out.

Nothing heavy is imported here: the HTTP client is imported at the first call, other libraries with
their first model.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
