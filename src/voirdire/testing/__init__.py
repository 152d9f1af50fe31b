"""For your own tests: models with scripted replies, and golden rewards.

The models replace a language model wherever `voirdire` takes one, without a key and a network. The
golden table has responses with rewards computed by hand, which every adapter passes.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
