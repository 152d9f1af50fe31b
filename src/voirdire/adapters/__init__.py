"""Rewards for training frameworks: one file per framework, which alone imports it."""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
