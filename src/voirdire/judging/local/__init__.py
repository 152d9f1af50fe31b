"""The local judge: calibrated text classifiers that need no key, no network and no GPU."""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
