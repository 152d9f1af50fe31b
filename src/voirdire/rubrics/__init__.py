"""Rubrics: questions, the behaviors that prompts deserve, and the logic of completion classes.

Nothing heavy is imported here: the YAML reader and numpy arrive with the first name that needs
them.
"""

from voirdire import _lazy

__all__, __getattr__, __dir__ = _lazy.lazy_names(__name__)
